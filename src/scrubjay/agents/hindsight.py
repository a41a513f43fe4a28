"""Hindsight: an episode told again, as if a goal that it reached had been the desired one.

For observations with a desired and an achieved goal. What a reward would have been is asked of the
environment's own `compute_reward`; where there is none, goals are equal that are as close as those
of observed successes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from scrubjay.embedding.flatten import Flattener

Floats = npt.NDArray[np.float64]
Rewards = Callable[[Floats, Floats], Floats]


class Goals(NamedTuple):
    """Where in a flattened observation the goals are.

    Attributes:
        desired: The numbers of the desired goal.
        achieved: The numbers of the achieved goal.
        shape: The shape of a goal.
    """

    desired: slice
    achieved: slice
    shape: tuple[int, ...]


class Retold(NamedTuple):
    """An episode with another goal, up to where it is reached.

    Attributes:
        vectors: (m + 1, size): the flattened observations.
        rewards: (m,): what the rewards would have been.
    """

    vectors: Floats
    rewards: Floats


class Hindsight:
    """What an agent knows about the goals of its environment.

    Args:
        flattener: What turns observations into vectors.
        n_goals: How many achieved goals of an episode are taken for desired ones.
    """

    def __init__(self, flattener: Flattener, n_goals: int) -> None:
        self.goals = find_goals(flattener) if n_goals else None
        self.n_goals = n_goals
        self.goes_on = False  # whether episodes do not end at their goal
        self.distance = 0.0  # of the goals of observed successes
        self._env: Any = None
        self._compute: Rewards | None = None

    def retell(self, env: Any, vectors: Floats, rewards: Floats, gamma: float) -> list[Retold]:
        """The episode for goals that it reached.

        Args:
            env: The environment, or None.
            vectors: (n + 1, size): the flattened observations, the last one too.
            rewards: (n,): the rewards.
            gamma: Discount factor.

        Returns:
            The episodes, none where observations have no goals.
        """
        if self.goals is None:
            return []
        compute = self._reward_function(env, self.goals, vectors, rewards)
        self.goes_on |= goes_on(vectors, self.goals, compute)
        found = retell(vectors, rewards, self.goals, compute, self.n_goals)
        if self.goes_on and gamma < 1:
            for retold in found:  # it would stay at the goal
                retold.rewards[-1] += gamma * retold.rewards[-1] / (1.0 - gamma)
        return found

    def _reward_function(self, env: Any, goals: Goals, vectors: Floats, rewards: Floats) -> Rewards:
        """The environment's own, or one that knows how close successes were."""
        if env is not self._env:
            self._env, self._compute = env, reward_function(env, goals)
        if self._compute is not None:
            return self._compute
        if len(np.unique(rewards)) == 2:
            apart = vectors[1:, goals.achieved] - vectors[:-1, goals.desired]
            paid = np.linalg.norm(apart[rewards == rewards.max()], axis=1)
            self.distance = max(self.distance, float(paid.max()))
        return within(self.distance)

    def __getstate__(self) -> dict[str, Any]:
        """Without the environment."""
        return {**vars(self), "_env": None, "_compute": None}


def find_goals(flattener: Flattener) -> Goals | None:
    """Where the goals are, None where an observation has none."""
    keys = flattener.keys or ()
    if "desired_goal" not in keys or "achieved_goal" not in keys:
        return None
    ends = np.cumsum(flattener.sizes).tolist()
    desired, achieved = keys.index("desired_goal"), keys.index("achieved_goal")
    if flattener.shapes[desired] != flattener.shapes[achieved]:
        return None
    parts = [slice(ends[i] - flattener.sizes[i], ends[i]) for i in (desired, achieved)]
    return Goals(parts[0], parts[1], tuple(flattener.shapes[desired]))


def retell(
    vectors: Floats, rewards: Floats, goals: Goals, compute: Rewards, n_goals: int
) -> list[Retold]:
    """The episode for goals that it reached, evenly spaced over its steps.

    A reward keeps what does not depend on the goal: r - c(desired goal) + c(other goal).

    Args:
        vectors: (n + 1, size): the flattened observations, the last one too.
        rewards: (n,): the rewards.
        goals: Where the goals are.
        compute: The reward of achieved and desired goals.
        n_goals: How many goals.

    Returns:
        An episode for each goal that was not reached from the start.
    """
    n, achieved = len(rewards), vectors[:, goals.achieved]
    other = rewards - compute(achieved[1:], vectors[:-1, goals.desired])
    times = np.unique(np.ceil(n * np.arange(1, n_goals + 1) / n_goals).astype(np.int64))
    found = []
    for time in times:
        goal = np.repeat(achieved[time : time + 1], time + 1, axis=0)
        paid = compute(achieved[: time + 1], goal)
        reached = np.flatnonzero(paid >= paid[time])
        first = int(reached[0])
        if first > 0:
            changed = vectors[: first + 1].copy()
            changed[:, goals.desired] = goal[0]
            found.append(Retold(changed, other[:first] + paid[1 : first + 1]))
    return found


def goes_on(vectors: Floats, goals: Goals, compute: Rewards) -> bool:
    """Whether an episode went on after its goal had been reached."""
    achieved, desired = vectors[1:-1, goals.achieved], vectors[:-2, goals.desired]
    if len(desired) == 0:
        return False
    return bool((compute(achieved, desired) >= compute(desired, desired)).any())


def within(distance: float) -> Rewards:
    """The rewards of an environment that pays 1 within a distance of the goal."""

    def compute(achieved: Floats, desired: Floats) -> Floats:
        found: Floats = (np.linalg.norm(achieved - desired, axis=1) <= distance).astype(np.float64)
        return found

    return compute


def reward_function(env: Any, goals: Goals) -> Rewards | None:
    """The `compute_reward` of an environment for many goals at once, None if it has none."""
    call = _find(env)
    if call is None:
        return None

    def compute(achieved: Floats, desired: Floats) -> Floats:
        shape = (len(achieved), *goals.shape)
        paid = np.asarray(call(achieved.reshape(shape), desired.reshape(shape), {}), np.float64)
        if paid.shape != (len(achieved),) or not np.isfinite(paid).all():
            raise ValueError(f"expected {len(achieved)} rewards of compute_reward, got {paid}")
        return paid

    two = np.zeros((2, int(np.prod(goals.shape))))
    try:
        compute(two, two)
    except Exception:  # it may be written for single goals, or need what only a step knows
        return None
    return compute


def _find(env: Any) -> Callable[..., Any] | None:
    """The function `compute_reward` of an environment of any kind."""
    if isinstance(env, gymnasium.Env):
        return env.get_wrapper_attr("compute_reward") if _has(env) else None
    if hasattr(env, "env_method"):  # a VecEnv of Stable-Baselines3
        return lambda *given: env.env_method("compute_reward", *given, indices=[0])[0]
    if isinstance(env, VectorEnv) and hasattr(env, "call"):
        return lambda *given: env.call("compute_reward", *given)[0]
    return None


def _has(env: gymnasium.Env[Any, Any]) -> bool:
    try:
        env.get_wrapper_attr("compute_reward")
    except AttributeError:
        return False
    return True

"""Greedy episodes on an environment of their own, with the same seeds every time.

Nothing here touches what is being trained: how often one evaluates never changes what is learned.
"""

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from scrubjay.randomness import Stream, reset_seed
from scrubjay.training.environments import EpisodeLimit
from scrubjay.training.protocols import Policy
from scrubjay.training.records import EpisodeRecord, SuccessReader

Trajectory = list[tuple[int, float, float]]  # step, x, y


class EvaluationStopped(Exception):  # noqa: N818
    """An evaluation was interrupted; its results are discarded."""


N_PATHS, N_POINTS = 3, 200  # episodes of an evaluation whose path is stored, points of each


class Evaluator:
    """Runs greedy episodes; episode i starts from the same seed in every call.

    Where the task has a `position`, `paths` are the trajectories of the last call's first episodes.

    Args:
        env: An environment of its own.
        n_episodes: How many episodes an evaluation has.
        seed: Decides the episodes' seeds.
        max_episode_steps: Where longer episodes are ended as time-outs.
        success_key: The entry of `info` that says whether an episode was solved; by default
            "is_success", then "success".
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        n_episodes: int,
        seed: int,
        max_episode_steps: int | None = None,
        success_key: str | None = None,
    ) -> None:
        if n_episodes < 1:
            raise ValueError(f"expected at least 1 evaluation episode, got {n_episodes}")
        self.env = env
        self.n_episodes = n_episodes
        self.seed = seed
        self._success_of = SuccessReader(success_key)
        self._limit = EpisodeLimit(env, max_episode_steps)
        self.paths: list[Trajectory] = []
        self.n_steps = 0  # of all its episodes

    @property
    def walls(self) -> list[list[float]]:
        """The walls of the task as line segments, if it has any."""
        return list(getattr(self.env.unwrapped, "outline", []))

    def run(
        self,
        policy: Policy,
        timestep: int,
        n_episodes: int | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[EpisodeRecord]:
        """Run greedy episodes.

        Args:
            policy: What is evaluated.
            timestep: The number of training steps so far, for the records.
            n_episodes: How many episodes, if not as many as usual.
            should_stop: Called before each step.

        Returns:
            A record of each episode.

        Raises:
            EvaluationStopped: If `should_stop` returned True.
        """
        count = self.n_episodes if n_episodes is None else n_episodes
        with warnings.catch_warnings():
            # before the first finished episode the memory is empty, as expected
            warnings.filterwarnings("ignore", message="the memory is empty")
            self.paths = []
            return [self._episode(policy, timestep, i, should_stop) for i in range(count)]

    def _episode(
        self, policy: Policy, timestep: int, number: int, should_stop: Callable[[], bool]
    ) -> EpisodeRecord:
        seed = reset_seed(self.seed, Stream.EVALUATION, 0, number)
        observation, info = self.env.reset(seed=seed)
        total, length, terminated, truncated = 0.0, 0, False, False
        path = self._new_path(number)
        while not (terminated or truncated):
            if should_stop():
                raise EvaluationStopped
            action, _ = policy.predict(observation, deterministic=True)
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            length += 1
            self.n_steps += 1
            if length >= self._limit.first:
                truncated = truncated or self._limit.ends(length, is_last=True)
            if path is not None:
                path.append((length, *self.env.unwrapped.position))  # type: ignore[attr-defined]
        return EpisodeRecord(
            number, 0, timestep, length, total, bool(terminated), bool(truncated),
            self._success_of(info),
        )  # fmt: skip

    def _new_path(self, number: int) -> Trajectory | None:
        if number >= N_PATHS or not has_position(self.env.unwrapped):
            return None
        self.paths.append([(0, *self.env.unwrapped.position)])  # type: ignore[attr-defined]
        return self.paths[-1]


def has_position(task: Any) -> bool:
    """Whether a task has a `position` of two floats; in other tasks it may mean something else."""
    position = getattr(task, "position", None)
    return isinstance(position, tuple) and [type(x) for x in position] == [float, float]


def thinned(path: Trajectory) -> Trajectory:
    """A path, reduced to a few hundred points, including its two ends."""
    if len(path) <= N_POINTS:
        return path
    chosen = np.unique(np.linspace(0, len(path) - 1, N_POINTS).round().astype(int))
    return [path[index] for index in chosen]


def success_rate(records: list[EpisodeRecord]) -> float:
    """The share of solved episodes; NaN where the environment does not say."""
    known = [record.is_success for record in records if record.is_success is not None]
    return float(np.mean(known)) if known else float("nan")

"""Vector environments of Stable-Baselines3, which is not imported unless one of them is given.

They step all lanes together, begin a new episode by themselves and put the last observation of the
old one into `info`. Plain ones (`DummyVecEnv`, `SubprocVecEnv`, also inside a `VecMonitor`) are
reset lane by lane with the seed of each episode, as Gymnasium's are, and give the same episodes.
Wrappers that change observations are taken as they are: they are seeded once, at the start.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from scrubjay.training.steps import LastStep, Stacked, over_parts, select

PLAIN = ("DummyVecEnv", "SubprocVecEnv", "VecMonitor", "VecCheckNan")


class VecEnv(Protocol):
    """The shape of Stable-Baselines3's `VecEnv`."""

    num_envs: int
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]

    def step_async(self, actions: npt.NDArray[Any], /) -> None: ...

    def step_wait(self) -> Any: ...

    def env_method(self, method_name: str, /, *args: Any, **kwargs: Any) -> list[Any]: ...


def is_vec_env(env: Any) -> bool:
    """Whether an object is a `VecEnv` of Stable-Baselines3."""
    shape = ("num_envs", "step_async", "step_wait", "env_method")
    return not isinstance(env, VectorEnv | gymnasium.Env) and all(hasattr(env, x) for x in shape)


def layers(env: Any) -> Iterator[Any]:
    """A `VecEnv` and all that it wraps, from outside to inside."""
    while env is not None:
        yield env
        env = vars(env).get("venv")


def is_plain(env: Any) -> bool:
    """Whether a lane's observations are those of its environment, unchanged."""
    return all(
        type(layer).__name__ in PLAIN and type(layer).__module__.startswith("stable_baselines3.")
        for layer in layers(env)
    )


def check_vec_env(env: Any) -> None:
    """Refuse a `VecNormalize` that would change what the memory has stored.

    Raises:
        ValueError: If there is one that still learns, or that changes rewards.
    """
    for layer in layers(env):
        if type(layer).__name__ == "VecNormalize" and (layer.training or layer.norm_reward):
            raise ValueError(
                "expected an environment without VecNormalize, whose scale changes while the "
                "memory keeps old observations and rewards; pass embedding=RunningNormalizer() to "
                "the agent instead, or set training=False and norm_reward=False"
            )


class VecEnvironment:
    """A `VecEnv` for the training loop: everything is stacked."""

    batched = True

    def __init__(self, env: Any) -> None:
        check_vec_env(env)
        self.env = env
        self.n_environments: int = env.num_envs
        self._plain = is_plain(env)
        self._begun = False
        self._dones: npt.NDArray[np.bool_] = np.ones(self.n_environments, np.bool_)

    def step(self, actions: Any) -> Any:
        """Step all lanes; returns what a Gymnasium vector environment does."""
        observations, rewards, dones, infos = self.env.step(actions)
        self._dones = np.asarray(dones, np.bool_)
        cut = [bool(info.get("TimeLimit.truncated", False)) for info in infos]
        truncated = self._dones & np.array(cut, np.bool_)
        return observations, rewards, self._dones & ~truncated, truncated, infos

    def reset(self, lanes: Sequence[int], seeds: Sequence[int], observations: Any) -> Any:
        """Start new episodes in some lanes.

        Args:
            lanes: The lanes.
            seeds: The seed of each lane's new episode.
            observations: The stack of observations after the last step.

        Returns:
            The stack with the first observations of the new episodes, and that none is pending.
        """
        if not self._begun:
            self._begun = True
            return self.begin(seeds), None
        if self._plain:
            return self._reset_each(lanes, seeds, observations), None
        if not self._dones[list(lanes)].all():
            raise ValueError(
                f"{type(self.env).__name__} cannot reset a single lane: wrap each "
                "of its environments in gymnasium.wrappers.TimeLimit instead of giving "
                "max_episode_steps"
            )
        return observations, None

    def begin(self, seeds: Sequence[int]) -> Any:
        """Start new episodes in all lanes; returns the stack of first observations."""
        if not self._plain:
            self.env.seed(int(seeds[0]) % 2**31)
            return self.env.reset()
        return self._reset_each(range(self.n_environments), seeds, self.env.reset())

    def _reset_each(self, lanes: Sequence[int], seeds: Sequence[int], observations: Any) -> Any:
        stack = over_parts(np.array, observations)
        for lane, seed in zip(lanes, seeds, strict=True):
            first, _ = self.env.env_method("reset", seed=seed, indices=[lane])[0]
            over_parts(lambda part, new, lane=lane: part.__setitem__(lane, new), stack, first)
        return stack

    def any_ended(self, step: Any) -> bool:  # noqa: ARG002
        """Whether the episode of some lane is over."""
        return bool(self._dones.any())

    def ended(self, step: Any) -> Sequence[int]:  # noqa: ARG002
        """The lanes whose episode is over."""
        return [int(lane) for lane in np.flatnonzero(self._dones)]

    def last_step(self, lane: int, step: Any) -> LastStep:
        """How a lane's episode ended."""
        observations, _, terminated, truncated, infos = step
        observation = select(observations, lane)
        if self._dones[lane]:
            observation = infos[lane]["terminal_observation"]
        return LastStep(observation, bool(terminated[lane]), bool(truncated[lane]), infos[lane])

    def stacked(self, step: Any, actions: Any) -> Stacked:
        """A step for callbacks."""
        infos = [dict(info) for info in step[4]]
        return Stacked(step[0], np.asarray(step[1]), infos, np.asarray(actions))


class FirstLane(gymnasium.Env[Any, Any]):
    """The first lane of a `VecEnv` as one environment, for evaluation.

    The other lanes get the same actions, because a `VecEnv` is stepped as a whole.
    """

    def __init__(self, env: Any) -> None:
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self._source = VecEnvironment(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:  # noqa: ARG002
        """Start a new episode."""
        seeds = [0 if seed is None else seed] * self._source.n_environments
        return select(self._source.begin(seeds), 0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step; the last observation of an episode is its own."""
        actions = np.repeat(np.asarray(action)[None], self._source.n_environments, axis=0)
        step = self._source.step(actions)
        observation, terminated, truncated, info = self._source.last_step(0, step)
        return observation, float(step[1][0]), terminated, truncated, dict(info)

    def close(self) -> None:
        """Close the `VecEnv`."""
        self._source.env.close()


def spec_of(env: Any) -> Any:
    """The specification with which Gymnasium made the environments of a `VecEnv`, if it did."""
    try:
        return env.get_attr("spec")[0]
    except (AttributeError, IndexError):
        return None

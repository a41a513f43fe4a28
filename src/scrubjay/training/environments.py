"""Single and vector environments, stepped and reset in one way.

Training sees numbered environments ("lanes") that it steps together and resets one by one, each
with the seed of its next episode. Gymnasium's own vector environments can be reset by a mask in
every autoreset mode, so that here all three modes give the same episodes: the environment's own,
unseeded reset (SAME_STEP) is replaced and the dummy step (NEXT_STEP) does not occur. Other vector
environments are used according to their mode, and have one seed for all their lanes, which is given
when all begin an episode together. With `seeds_by_lane` in the metadata they get a list of seeds.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from scrubjay.training.steps import LastStep, Stacked, over_parts, select, stack_of_one
from scrubjay.training.vec_env import VecEnv, VecEnvironment, is_vec_env, spec_of

Environment = str | gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv
"""What agents train on: an id, an environment, a vector environment of either library."""


SEEDS_BY_LANE = "seeds_by_lane"
"""Entry of a vector environment's metadata: `reset` takes a list of seeds, one for each lane, with
None for lanes that are not reset."""


class SingleEnvironment:
    """A plain Gymnasium environment: observations, rewards and ends are not stacked."""

    n_environments = 1
    batched = False

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env = env
        self.step = env.step

    def reset(self, lanes: Sequence[int], seeds: Sequence[int], observations: Any) -> Any:  # noqa: ARG002
        """Start a new episode; returns its first observation, and that none is pending."""
        return self.env.reset(seed=seeds[0])[0], None

    def any_ended(self, step: Any) -> bool:
        """Whether the episode is over."""
        return step[2] or step[3]  # type: ignore[no-any-return]

    def ended(self, step: Any) -> Sequence[int]:
        """The lanes whose episode is over."""
        return (0,) if self.any_ended(step) else ()

    def last_step(self, lane: int, step: Any) -> LastStep:  # noqa: ARG002
        """How the episode ended."""
        observation, _, terminated, truncated, info = step
        return LastStep(observation, bool(terminated), bool(truncated), info)

    def stacked(self, step: Any, actions: Any) -> Stacked:
        """A step for callbacks."""
        observation, reward, _, _, info = step
        observation = stack_of_one(observation)
        return Stacked(observation, np.array([reward]), [dict(info)], np.asarray(actions)[None])


class VectorEnvironment:
    """A Gymnasium vector environment in any autoreset mode: everything is stacked."""

    batched = True

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env: Any = env  # its type hints do not allow a list of seeds
        self.step = env.step
        self.n_environments = env.num_envs
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._seeds_by_lane = isinstance(
            env.unwrapped, SyncVectorEnv | AsyncVectorEnv
        ) or env.metadata.get(SEEDS_BY_LANE, False)
        self._resets_by_mask = self._seeds_by_lane or self._mode == AutoresetMode.DISABLED

    def reset(self, lanes: Sequence[int], seeds: Sequence[int], observations: Any) -> Any:
        """Start new episodes in some lanes.

        Args:
            lanes: The lanes.
            seeds: The seed of each lane's new episode.
            observations: The stack of observations after the last step.

        Returns:
            The stack with the first observations of the new episodes, and a mask of the lanes whose
            first observation is pending: their next step brings it (NEXT_STEP). None: no lane.
        """
        if len(lanes) == self.n_environments:
            first, _ = self.env.reset(seed=list(seeds) if self._seeds_by_lane else seeds[0])
            return first, None
        mask = np.zeros(self.n_environments, dtype=np.bool_)
        mask[list(lanes)] = True
        if self._resets_by_mask:
            first, _ = self.env.reset(
                seed=self._spread(lanes, seeds) if self._seeds_by_lane else None,
                options={"reset_mask": mask},
            )
            return _merged(observations, first, mask), None
        # a SAME_STEP environment has reset itself already
        return observations, None if self._mode == AutoresetMode.SAME_STEP else mask

    def _spread(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[int | None]:
        by_lane = dict(zip(lanes, seeds, strict=True))
        return [by_lane.get(lane) for lane in range(self.n_environments)]

    def any_ended(self, step: Any) -> bool:
        """Whether the episode of some lane is over."""
        return bool(step[2].any() or step[3].any())

    def ended(self, step: Any) -> Sequence[int]:
        """The lanes whose episode is over."""
        return [int(lane) for lane in np.flatnonzero(np.logical_or(step[2], step[3]))]

    def last_step(self, lane: int, step: Any) -> LastStep:
        """How a lane's episode ended."""
        observations, _, terminated, truncated, infos = step
        ends, cut = bool(terminated[lane]), bool(truncated[lane])
        observation = select(observations, lane)
        if self._mode == AutoresetMode.SAME_STEP and (ends or cut):
            observation = infos["final_obs"][lane]
            infos = infos.get("final_info", {})
        return LastStep(observation, ends, cut, _info(infos, lane))

    def stacked(self, step: Any, actions: Any) -> Stacked:
        """A step for callbacks."""
        observations, rewards, _, _, infos = step
        each = [_info(infos, lane) for lane in range(self.n_environments)]
        return Stacked(observations, np.asarray(rewards), each, np.asarray(actions))


def _info(infos: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """The lane's own entries of a vector info, according to their masks `_name`."""
    return {
        key: _entry(values, lane)
        for key, values in infos.items()
        if not key.startswith("_") and f"_{key}" in infos and infos[f"_{key}"][lane]
    }


def _entry(values: Any, lane: int) -> Any:
    """A lane's part of an entry; entries that are dicts have masks of their own, or none."""
    if not isinstance(values, Mapping):
        return values[lane]
    masked = _info(values, lane)
    return masked or {key: _entry(part, lane) for key, part in values.items()}


def _merged(observations: Any, first: Any, mask: npt.NDArray[np.bool_]) -> Any:
    """A stack of observations in which the lanes of the mask have other ones."""

    def merge(part: Any, other: Any) -> Any:
        merged = np.array(part)
        merged[mask] = np.asarray(other)[mask]
        return merged

    return over_parts(merge, observations, first)


class EpisodeLimit:
    """Ends episodes that the environment itself does not end.

    With `max_episode_steps`, an episode of that many steps is ended as a time-out. Without it, and
    where the environment declares no limit, an episode of `LONG` steps gives a warning, and is
    ended when the training budget is spent, because training waits for the last episode's end.
    """

    LONG = 10_000

    def __init__(self, env: Any, max_episode_steps: int | None = None) -> None:
        if max_episode_steps is not None and (
            isinstance(max_episode_steps, bool)
            or not isinstance(max_episode_steps, int | np.integer)
            or max_episode_steps < 1
        ):
            raise ValueError(
                "expected max_episode_steps to be a whole number of at least 1 or None, got "
                f"{max_episode_steps!r}"
            )
        self._given = max_episode_steps is not None
        self._warned = False
        declared = None if self._given else time_limit(env)
        self.first = max_episode_steps or (self.LONG if declared is None else 2**62)
        """The episode length from which on `ends` must be called."""

    def ends(self, length: int, is_last: bool) -> bool:
        """Whether an episode of this length ends now; `is_last`: training only waits for it."""
        if not self._given and not self._warned:
            self._warned = True
            warnings.warn(
                f"an episode has lasted {length:,} steps and nothing limits its length: set "
                "max_episode_steps, or wrap the environment in gymnasium.wrappers.TimeLimit",
                UserWarning,
                stacklevel=2,
            )
        return self._given or is_last


def time_limit(env: Any) -> int | None:
    """The number of steps after which an environment ends its episodes, where it declares one."""
    limits: list[Any] = []
    if is_vec_env(env):
        limits.append(getattr(spec_of(env), "max_episode_steps", None))
        env = getattr(env.unwrapped, "envs", [None])[0]
    while env is not None:
        spec = getattr(env, "spec", None)
        limits.append(getattr(spec, "max_episode_steps", None))
        limits.append(getattr(env, "_max_episode_steps", None))  # gymnasium.wrappers.TimeLimit
        inner = getattr(env, "envs", None) or [getattr(env, "env", None)]
        env = inner[0]
    known = [limit for limit in limits if isinstance(limit, int | np.integer)]
    return int(min(known)) if known else None


Environments = SingleEnvironment | VectorEnvironment | VecEnvironment


def open_environment(env: Any) -> Environments:
    """An environment of any kind, as the training loop steps it."""
    if isinstance(env, VectorEnv):
        return VectorEnvironment(env)
    if isinstance(env, gymnasium.Env):
        return SingleEnvironment(env)
    if is_vec_env(env):
        return VecEnvironment(env)
    raise TypeError(
        "expected a Gymnasium environment or vector environment, a VecEnv of Stable-Baselines3 or "
        f"an id, got {type(env).__name__}"
    )

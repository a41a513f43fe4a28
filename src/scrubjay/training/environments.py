"""One door to single and vector environments.

Training sees numbered environments ("lanes") that it steps together and resets one by one, each
with the seed of its next episode. Gymnasium's own vector environments can be reset by a mask in
every autoreset mode, so that here all three modes give the same episodes: the environment's own,
unseeded reset (SAME_STEP) is overruled and the dummy step (NEXT_STEP) never happens. Other vector
environments are taken as their mode says, and know one seed for all their lanes: it is given when
all begin an episode together.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from scrubjay.training.protocols import Action

PENDING: Any = object()
"""Stands for the first observation of an episode where the next step will bring it."""


class Step(NamedTuple):
    """What one environment answered; `observation` is always the episode's own last one."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


class SingleEnvironment:
    """A plain Gymnasium environment."""

    n_environments = 1

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env = env

    def reset(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Any]:
        return [self.env.reset(seed=seed)[0] for _, seed in zip(lanes, seeds, strict=True)]

    def step(self, actions: Sequence[Action]) -> list[Any]:
        return [self.env.step(actions[0])]


class VectorEnvironment:
    """A Gymnasium vector environment in any autoreset mode."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env: Any = env  # its own types know no list of seeds
        self.n_environments = env.num_envs
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._seeds_by_lane = isinstance(env.unwrapped, SyncVectorEnv | AsyncVectorEnv)
        self._resets_by_mask = self._seeds_by_lane or self._mode == AutoresetMode.DISABLED
        # What a SAME_STEP environment has already reset to, by lane.
        self._first: list[Any] = [PENDING] * self.n_environments

    def reset(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Any]:
        """Start new episodes; returns their first observations, in the order of `lanes`.

        `PENDING` instead of an observation means that the lane's next step brings it (NEXT_STEP).
        """
        if len(lanes) == self.n_environments:
            return self._reset_all(seeds)
        if self._resets_by_mask:
            return self._reset_some(lanes, seeds)
        first = [self._first[lane] for lane in lanes]
        self._first = [PENDING] * self.n_environments
        return first

    def step(self, actions: Sequence[Action]) -> list[Step]:
        observations, rewards, terminated, truncated, infos = self.env.step(np.stack(actions))
        ended = np.logical_or(terminated, truncated)
        return [
            Step(
                self._last_observation(observations, infos, lane, bool(ended[lane])),
                float(rewards[lane]),
                bool(terminated[lane]),
                bool(truncated[lane]),
                self._info(infos, lane, bool(ended[lane])),
            )
            for lane in range(self.n_environments)
        ]

    def _reset_all(self, seeds: Sequence[int]) -> list[Any]:
        observations, _ = self.env.reset(seed=list(seeds) if self._seeds_by_lane else seeds[0])
        return [_select(observations, lane) for lane in range(self.n_environments)]

    def _reset_some(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[Any]:
        mask = np.zeros(self.n_environments, dtype=np.bool_)
        mask[list(lanes)] = True
        observations, _ = self.env.reset(
            seed=self._spread(lanes, seeds) if self._seeds_by_lane else None,
            options={"reset_mask": mask},
        )
        return [_select(observations, lane) for lane in lanes]

    def _spread(self, lanes: Sequence[int], seeds: Sequence[int]) -> list[int | None]:
        by_lane = dict(zip(lanes, seeds, strict=True))
        return [by_lane.get(lane) for lane in range(self.n_environments)]

    def _last_observation(self, observations: Any, infos: Any, lane: int, ended: bool) -> Any:
        observation = _select(observations, lane)
        if ended and self._mode == AutoresetMode.SAME_STEP:
            self._first[lane] = observation
            return infos["final_obs"][lane]
        return observation

    def _info(self, infos: Mapping[str, Any], lane: int, ended: bool) -> dict[str, Any]:
        """The lane's own entries of a vector info: those whose mask `_name` says so."""
        if ended and self._mode == AutoresetMode.SAME_STEP:
            infos = infos.get("final_info", {})
        return {
            key: values[lane]
            for key, values in infos.items()
            if not key.startswith("_") and f"_{key}" in infos and infos[f"_{key}"][lane]
        }


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
        """The length from which on `ends` must be asked."""

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
    limits = []
    while env is not None:
        spec = getattr(env, "spec", None)
        limits.append(getattr(spec, "max_episode_steps", None))
        limits.append(getattr(env, "_max_episode_steps", None))  # gymnasium.wrappers.TimeLimit
        inner = getattr(env, "envs", None) or [getattr(env, "env", None)]
        env = inner[0]
    known = [limit for limit in limits if isinstance(limit, int | np.integer)]
    return int(min(known)) if known else None


def _select(observations: Any, lane: int) -> Any:
    """One environment's part of a batched observation."""
    if isinstance(observations, Mapping):
        return {key: _select(part, lane) for key, part in observations.items()}
    return observations[lane]


def open_environment(env: Any) -> "SingleEnvironment | VectorEnvironment":
    """The door for an environment of either kind."""
    if isinstance(env, VectorEnv):
        return VectorEnvironment(env)
    if isinstance(env, gymnasium.Env):
        return SingleEnvironment(env)
    raise TypeError(
        "a Gymnasium environment, a Gymnasium vector environment or an id was expected, "
        f"{type(env).__name__} came"
    )

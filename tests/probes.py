"""Environments whose right answers are known, for the tests of agents and training."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class Corridor(gym.Env[npt.NDArray[np.float32], npt.NDArray[Any]]):
    """States 0, 1, ..., n - 1, one step each whatever is done; the rewards are given.

    The value of state i is known: the discounted sum of the rewards from i on.
    """

    def __init__(self, rewards: Sequence[float] = (0.0, 0.0, 1.0), truncates: bool = False) -> None:
        self.observation_space = gym.spaces.Box(0, 1e6, (1,), np.float32)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.rewards, self.truncates, self.position = tuple(rewards), truncates, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.position = 0
        return self._observation(), {}

    def step(self, action: Any) -> Step:  # noqa: ARG002
        reward = self.rewards[self.position]
        self.position += 1
        ended = self.position == len(self.rewards)
        info = {"is_success": ended and reward > 0}
        return self._observation(), reward, ended and not self.truncates, (
            ended and self.truncates
        ), info  # fmt: skip

    def _observation(self) -> npt.NDArray[np.float32]:
        return np.array([self.position], np.float32)


class Drift(gym.Env[npt.NDArray[np.float64], npt.NDArray[Any]]):
    """A point that is pushed about from a random start; episodes end at the edge or in time."""

    def __init__(
        self, dim: int = 2, limit: int = 40, dtype: Any = np.float32, edge: float = 1.5
    ) -> None:
        self.observation_space = gym.spaces.Box(-10, 10, (dim,), np.float64)
        low = np.linspace(-1, -0.1, dim).astype(dtype)
        high = np.linspace(0.5, 0.1, dim).astype(dtype)
        self.action_space = gym.spaces.Box(low, high, dtype=dtype)
        self.limit, self.edge = limit, edge
        self.received: list[npt.NDArray[Any]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.point = self.np_random.uniform(-0.5, 0.5, self.observation_space.shape)
        self.time = 0
        return self.point.copy(), {}

    def step(self, action: Any) -> Step:
        self.received.append(action.copy())
        self.point = self.point + 0.3 * np.asarray(action, np.float64) + 0.05
        self.time += 1
        ended = bool(np.abs(self.point).max() > self.edge)
        reward = float(self.point.sum()) if ended else -0.01
        return self.point.copy(), reward, ended, self.time >= self.limit, {"is_success": ended}


class Keys(gym.Env[npt.NDArray[np.float64], Any]):
    """A point that is pushed by pressing keys: Discrete, or one of each row of a MultiDiscrete.

    Each number pushes into a direction of its own; episodes end at the edge or in time.
    """

    def __init__(self, space: gym.Space[Any] | None = None, limit: int = 40) -> None:
        self.observation_space = gym.spaces.Box(-10, 10, (2,), np.float64)
        self.action_space = gym.spaces.Discrete(4) if space is None else space
        self.limit = limit
        self.received: list[Any] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.point = self.np_random.uniform(-0.5, 0.5, 2)
        self.time = 0
        return self.point.copy(), {}

    def step(self, action: Any) -> Step:
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is no action of {self.action_space}")
        self.received.append(action)
        angles = 1.3 * np.ravel(np.asarray(action, np.float64))
        self.point = self.point + 0.2 * np.array([np.cos(angles).sum(), np.sin(angles).sum()])
        self.time += 1
        ended = bool(np.abs(self.point).max() > 1.5)
        reward = float(self.point.sum()) if ended else -0.01
        return self.point.copy(), reward, ended, self.time >= self.limit, {"is_success": ended}


class Counting(gym.Env[npt.NDArray[np.float64], npt.NDArray[Any]]):
    """Never shows the same observation twice: (lane, number of calls so far).

    `lengths` are the lengths of its episodes in turn; `log` keeps every step: the observation it
    was taken in, the action, and the number of the reset before it.
    """

    def __init__(self, lane: int = 0, lengths: Sequence[int] = (3,)) -> None:
        self.observation_space = gym.spaces.Box(0, 1e6, (2,), np.float64)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.lane, self.lengths = lane, tuple(lengths)
        self.calls = self.resets = self.episodes = self.time = 0
        self.log: list[tuple[int, float, int]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        # a second reset before any step does not use up a length
        self.episodes += 1 if self.time or not self.resets else 0
        self.resets += 1
        self.time = 0
        return self._observe(), {"reset": True}

    def _observe(self) -> npt.NDArray[np.float64]:
        self.calls += 1
        return np.array([100.0 * self.lane, self.calls], np.float64)

    def step(self, action: Any) -> Step:
        self.log.append((self.calls, float(action[0]), self.resets))
        self.time += 1
        ended = self.time == self.lengths[(self.episodes - 1) % len(self.lengths)]
        return self._observe(), float(self.calls), ended, False, {"is_success": ended}


class Handmade(VectorEnv[Any, Any, Any]):
    """A vector environment that is none of Gymnasium's own: seeded by one number.

    It resets by a mask only where its mode leaves no other way.
    """

    def __init__(self, makers: Sequence[Callable[[], gym.Env[Any, Any]]], mode: str) -> None:
        self.envs = [maker() for maker in makers]
        self.num_envs = len(self.envs)
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.mode = AutoresetMode(mode)
        self.metadata = {"autoreset_mode": self.mode}
        self.done = np.zeros(self.num_envs, np.bool_)
        self.seen: list[Any] = [None] * self.num_envs

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        mask = np.ones(self.num_envs, np.bool_)
        if options:
            if self.mode != AutoresetMode.DISABLED or options.keys() != {"reset_mask"}:
                raise ValueError(f"no such options are known here, {options} came")
            mask = options["reset_mask"]
        for lane in np.flatnonzero(mask):
            own = None if seed is None else seed + int(lane)
            self.seen[lane], _ = self.envs[lane].reset(seed=own)
        self.done[mask] = False
        return np.stack(self.seen), {}

    def step(self, actions: Any) -> Any:
        answers = [self._step_one(i, action) for i, action in enumerate(actions)]
        observations, rewards, terminated, truncated, infos = zip(*answers, strict=True)
        self.seen = list(observations)
        self.done = np.logical_or(terminated, truncated)
        merged: dict[str, Any] = {}
        for lane, info in enumerate(infos):
            merged = self._add_info(merged, info, lane)
        return (
            np.stack(observations), np.array(rewards), np.array(terminated), np.array(truncated),
            merged,
        )  # fmt: skip

    def _step_one(self, lane: int, action: Any) -> Any:
        if self.mode == AutoresetMode.NEXT_STEP and self.done[lane]:
            observation, info = self.envs[lane].reset()
            return observation, 0.0, False, False, info
        if self.mode == AutoresetMode.DISABLED and self.done[lane]:
            raise RuntimeError("an environment whose episode is over must be reset")
        observation, reward, terminated, truncated, info = self.envs[lane].step(action)
        if self.mode == AutoresetMode.SAME_STEP and (terminated or truncated):
            info = {"final_obs": observation, "final_info": info}
            observation, _ = self.envs[lane].reset()
        return observation, reward, terminated, truncated, info


class Faulty(gym.Wrapper[Any, Any, Any, Any]):
    """Behaves well until the given step, then does what it is told."""

    def __init__(self, env: gym.Env[Any, Any], at: int, fault: str) -> None:
        super().__init__(env)
        self.at, self.fault, self.count = at, fault, 0

    def step(self, action: Any) -> Any:
        self.count += 1
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self.count == self.at:
            if self.fault == "raise":
                raise RuntimeError("the simulator fell over")
            if self.fault.endswith("reward"):
                reward = float(self.fault.split()[0])
            if self.fault.endswith("observation"):
                observation = np.full_like(observation, float(self.fault.split()[0]))
        return observation, reward, terminated, truncated, info


def mixed_space() -> gym.spaces.Dict:
    """A Dict whose alphabetical order is not the order a user may want."""
    return gym.spaces.Dict(
        {
            "goal": gym.spaces.Box(-1, 1, (2,), np.float64),
            "body": gym.spaces.Box(-5, 5, (2, 2), np.float32),
            "arm": gym.spaces.Box(0, 1, (1,), np.float64),
        }
    )


class Mixed(gym.Env[dict[str, Any], npt.NDArray[Any]]):
    """Dict observations that are drawn at random; episodes of five steps."""

    def __init__(self) -> None:
        self.observation_space = mixed_space()
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.time = 0

    def _observe(self) -> dict[str, Any]:
        return {
            "goal": self.np_random.uniform(-1, 1, 2),
            "body": self.np_random.uniform(-5, 5, (2, 2)).astype(np.float32),
            "arm": self.np_random.uniform(0, 1, 1),
        }

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.time = 0
        return self._observe(), {}

    def step(self, action: Any) -> Step:
        self.time += 1
        return self._observe(), float(action[0]), self.time == 5, False, {}

"""Two tasks with noise on actions and observations, so that no episode can be repeated exactly."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from scrubjay.envs.mountain_car import SparseMountainCar

ACTION_NOISE = 0.2
OBSERVATION_NOISE = 0.01


class Noisy(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gaussian noise on actions (in half-widths of their box, clipped) and on observations.

    `scales` are lengths in the units of the observation, of which the noise is a share. The random
    numbers are those of the environment, so that a seed decides them.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        scales: Any,
        action_noise: float = ACTION_NOISE,
        observation_noise: float = OBSERVATION_NOISE,
    ) -> None:
        super().__init__(env)
        if min(action_noise, observation_noise) < 0:
            raise ValueError(f"expected noise >= 0, got {(action_noise, observation_noise)}")
        if not isinstance(env.action_space, spaces.Box):
            raise TypeError(f"expected a Box of actions to add noise to, got {env.action_space}")
        self._low, self._high = env.action_space.low, env.action_space.high
        if not isinstance(env.observation_space, spaces.Box):
            raise TypeError(
                f"expected a Box of observations to add noise to, got {env.observation_space}"
            )
        self._least, self._most = env.observation_space.low, env.observation_space.high
        self._action_std = action_noise * (self._high - self._low) / 2
        self._observation_std = observation_noise * np.asarray(scales, np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._seen(observation), info

    def step(self, action: Any) -> Any:
        noise = self.np_random.normal(0.0, self._action_std)
        done = np.clip(action + noise, self._low, self._high).astype(self._low.dtype)
        observation, *rest = self.env.step(done)
        return (self._seen(observation), *rest)

    def _seen(self, observation: Any) -> Any:
        noise = self.np_random.normal(0.0, self._observation_std)
        seen = np.clip(observation + noise, self._least, self._most)
        return seen.astype(observation.dtype)


def noisy_point_umaze(**options: Any) -> Noisy:
    """PointUMaze, seen with an error of 1% of 4 m (a cell of the maze) and of pi."""
    from scrubjay.envs.point_maze import PointUMaze

    noise = {name: options.pop(name) for name in _NOISES & options.keys()}
    return Noisy(PointUMaze(**options), [4.0, 4.0, np.pi], **noise)


def noisy_mountain_car(**options: Any) -> Noisy:
    """SparseMountainCar, seen with an error of 1% of the half-widths of its box."""
    noise = {name: options.pop(name) for name in _NOISES & options.keys()}
    return Noisy(SparseMountainCar(**options), [0.9, 0.07], **noise)


_NOISES = {"action_noise", "observation_noise"}

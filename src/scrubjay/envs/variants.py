"""Harder variants of known tasks: useless sensors, sticky actions, sparse rewards."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from scrubjay.envs.mountain_car import SparseMountainCar
from scrubjay.optional import require


class NoiseSensors(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Appends sensors that measure nothing: each is standard normal noise.

    The noise is drawn from the environment's own generator, so a seed determines it.

    Args:
        env: An environment whose observations are a vector.
        n_sensors: How many sensors to append.

    Raises:
        TypeError: If the observation space is not a Box with one axis.
        ValueError: If `n_sensors` is below 1.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], n_sensors: int = 1) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise TypeError(f"expected a Box with one axis as the observation space, got {space}")
        if n_sensors < 1:
            raise ValueError(f"expected n_sensors to be at least 1, got {n_sensors}")
        self._n_sensors = n_sensors
        unbounded = np.full(n_sensors, np.inf)
        self.observation_space = spaces.Box(
            np.concatenate([space.low, -unbounded]).astype(np.float64),
            np.concatenate([space.high, unbounded]).astype(np.float64),
            dtype=np.float64,
        )

    def observation(self, observation: Any) -> Any:
        """The observation followed by the noise."""
        return np.concatenate([observation, self.np_random.standard_normal(self._n_sensors)])


class StickyActions(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Executes the previous action again with some probability, as sticky actions in Atari do.

    Args:
        env: Any environment.
        probability: How often the previous action is repeated.

    Raises:
        ValueError: If `probability` is not in [0, 1].
    """

    def __init__(self, env: gymnasium.Env[Any, Any], probability: float = 0.1) -> None:
        super().__init__(env)
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"expected a probability between 0 and 1, got {probability}")
        self._probability = probability
        self._last: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin an episode; its first action is never replaced."""
        self._last = None
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        """Execute the action, or the previous one."""
        repeat = self.np_random.random() < self._probability
        if self._last is None or not repeat:
            self._last = action
        return self.env.step(self._last)


class SparseGoal(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Reward 1 at success, which ends the episode, and 0 before.

    For goal environments whose `info` contains `is_success` and whose `compute_reward` returns 0
    at the goal and -1 elsewhere (the Fetch tasks of gymnasium-robotics).
    """

    def step(self, action: Any) -> Any:
        """Step the environment; success ends the episode."""
        observation, _, _, truncated, info = self.env.step(action)
        success = bool(info["is_success"])
        return observation, float(success), success, truncated, {**info, "is_success": success}

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """The reward of one or many pairs of goals, for hindsight relabelling."""
        return self.env.unwrapped.compute_reward(achieved_goal, desired_goal, info) + 1.0  # type: ignore[attr-defined]

    def compute_terminated(self, achieved_goal: Any, desired_goal: Any, info: Any) -> Any:
        """Whether one or many pairs of goals end an episode, for hindsight relabelling."""
        return self.compute_reward(achieved_goal, desired_goal, info) > 0


class SparseReacher(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Gymnasium's Reacher-v5 with reward 1 within 2 cm of the target, which ends the episode.

    Args:
        render_mode: Passed to Reacher-v5.
    """

    DISTANCE = 0.02

    def __init__(self, render_mode: str | None = None) -> None:
        require("mujoco", "mujoco")
        super().__init__(gymnasium.make("Reacher-v5", render_mode=render_mode).unwrapped)

    def step(self, action: Any) -> Any:
        """Step the environment; reaching the target ends the episode."""
        observation, _, _, truncated, info = self.env.step(action)
        success = bool(np.linalg.norm(observation[-2:]) < self.DISTANCE)
        return observation, float(success), success, truncated, {**info, "is_success": success}


def sensor_mountain_car(n_sensors: int = 1, **options: Any) -> NoiseSensors:
    """SparseMountainCar with useless sensors."""
    return NoiseSensors(SparseMountainCar(**options), n_sensors)


def sticky_point_umaze(probability: float = 0.1, **options: Any) -> StickyActions:
    """PointUMaze with sticky actions."""
    from scrubjay.envs.point_maze import PointUMaze

    return StickyActions(PointUMaze(**options), probability)


def sparse_fetch_push(render_mode: str | None = None) -> SparseGoal:
    """FetchPush-v4 of gymnasium-robotics with reward 1 at success, which ends the episode."""
    from scrubjay.envs.fetch import MujocoFetchPushEnv

    return SparseGoal(MujocoFetchPushEnv(reward_type="sparse", render_mode=render_mode))

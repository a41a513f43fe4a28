"""Thousands of point mazes that are stepped in one compiled call, as one vector environment.

The robot turns, jumps and is kept from passing through walls by the same compiled rules as in
`PointMaze`, in the same maps. There is no MuJoCo: a robot drifts with the velocity of its start,
and touching a block does not change that velocity. Lanes are independent: what happens in one is a
function of its actions and of the seed of its episode, whatever the number of lanes.

The interface is that of simulators of many environments, such as Brax, MJX and Isaac Lab: actions
and observations are arrays with one row for each lane, ended episodes are begun again by
`reset(seed=..., options={"reset_mask": mask})`.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from scrubjay.compiled import compiled
from scrubjay.envs.maze_map import U_MAZE, MazeMap
from scrubjay.envs.maze_motion import (
    MAX_VELOCITY,
    START_POSITION,
    START_VELOCITY,
    Array,
    move,
    settle,
)

Flags = npt.NDArray[np.bool_]

U_GOALS = ((0.0, 8.0),)
TIMESTEP = 0.02
"""Seconds of a step, in which a robot drifts with its velocity."""


class BatchedPointMaze(VectorEnv[Array, npt.NDArray[np.floating[Any]], Any]):
    """Many point robots, each in a maze of its own; see `PointMaze` for map, goals and actions.

    Observations are x, y and heading of each lane. `infos` contains `is_success`, `goal_index` and
    `wall_hit`, one entry for each lane. Ended episodes must be begun again by `reset` with a
    `reset_mask`; `seed` is then one number for each lane, of which those of other lanes are
    ignored, or None.

    Args:
        num_envs: Number of lanes.
        map: The maze, one string of several lines or a list of rows; PointUMaze by default.
        goals: Further goals, each (x, y) or (x, y, reward).
        step_reward: The reward of every step that reaches no goal.
        max_episode_steps: Steps after which an episode is truncated.

    Raises:
        ValueError: If a number is out of range, or the map is none.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.DISABLED,
        "seeds_by_lane": True,
        "render_modes": [],
    }

    def __init__(
        self,
        num_envs: int,
        map: str | Sequence[str] = U_MAZE,
        goals: Sequence[Sequence[float]] = U_GOALS,
        *,
        step_reward: float = 0.0,
        max_episode_steps: int = 1000,
    ) -> None:
        for name, number in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            if number < 1:
                raise ValueError(f"expected {name} to be at least 1, got {number}")
        self.num_envs = num_envs
        self.maze = MazeMap(map)
        self.goals = self.maze.goals(goals)
        self._max_episode_steps, self.step_reward = max_episode_steps, float(step_reward)
        (left, low), (right, high) = self.maze.corners()
        self.single_observation_space = gym.spaces.Box(
            np.array([left, low, -np.inf]), np.array([right, high, np.inf]), dtype=np.float64
        )
        self.single_action_space = gym.spaces.Box(
            np.array([-1.0, -0.25], np.float32), np.array([1.0, 0.25], np.float32)
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._goals = np.array([(goal.x, goal.y) for goal in self.goals])
        self._paid = np.array([goal.reward for goal in self.goals])
        self._walls = self.maze.wall_lines
        self._positions, self._velocities = np.zeros((num_envs, 3)), np.zeros((num_envs, 3))
        self._steps = np.zeros(num_envs, np.int64)
        self._bounds = np.stack([self.single_action_space.low, self.single_action_space.high])
        self._everywhere = np.ones(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | npt.NDArray[np.int64] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begin episodes, in all lanes or in those of `options["reset_mask"]`.

        Args:
            seed: The seed of all lanes, from which each derives its own; one for each lane; or
                None for seeds drawn from the environment's own generator.
            options: May contain `reset_mask`, one bool for each lane.

        Returns:
            The observations of all lanes, and an empty dict.

        Raises:
            ValueError: If the mask or the seeds have a wrong shape.
        """
        mask = np.asarray((options or {}).get("reset_mask", self._everywhere))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise ValueError(
                f"expected a reset_mask of {self.num_envs} bools, got {mask.dtype} {mask.shape}"
            )
        start(self._seeds(seed), mask, self._positions, self._velocities, self._steps)
        return self._positions.copy(), {}

    def _seeds(self, seed: Any) -> npt.NDArray[np.uint64]:
        if seed is None or isinstance(seed, int | np.integer):
            if seed is not None:
                self._np_random = np.random.default_rng(int(seed))
            return self.np_random.integers(0, 2**63, self.num_envs).astype(np.uint64)
        seeds = np.array([0 if one is None else one for one in seed], np.uint64)
        if seeds.shape != (self.num_envs,):
            raise ValueError(f"expected {self.num_envs} seeds, got {len(seeds)}")
        return seeds

    def step(
        self, actions: npt.NDArray[np.floating[Any]]
    ) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """Move all lanes.

        Args:
            actions: (lanes, 2): displacement and turn, clipped to the box of actions.

        Returns:
            Observations, rewards, which episodes ended, which were truncated, and infos.

        Raises:
            ValueError: If actions have a wrong shape or are not finite.
        """
        moves = np.ascontiguousarray(actions, np.float64)
        if moves.shape != (self.num_envs, 2) or not np.isfinite(moves).all():
            raise ValueError(f"expected {self.num_envs} finite actions of 2 numbers, got {actions}")
        hits, reached = np.empty(self.num_envs, np.int64), np.empty(self.num_envs, np.int64)
        drive(
            self._positions, self._velocities, moves, self._bounds, self._walls, self._goals,
            self._steps, hits, reached,
        )  # fmt: skip
        ended = reached >= 0
        truncated = (self._steps >= self._max_episode_steps) & ~ended
        rewards = np.where(ended, self._paid[reached], self.step_reward)
        success = ended & (rewards == self._paid.max())
        infos: dict[str, Any] = {"is_success": success, "goal_index": reached, "wall_hit": hits}
        infos |= {f"_{name}": self._everywhere for name in tuple(infos)}
        return self._positions.copy(), rewards, ended, truncated, infos


# The compiled part.


@compiled(nogil=True)
def drive(
    positions: Array,
    velocities: Array,
    actions: Array,
    bounds: npt.NDArray[np.float32],
    walls: Array,
    goals: Array,
    steps: npt.NDArray[np.int64],
    hits: npt.NDArray[np.int64],
    reached: npt.NDArray[np.int64],
) -> None:
    """Move all lanes by one step."""
    for lane in range(len(positions)):
        forward = min(max(actions[lane, 0], bounds[0, 0]), bounds[1, 0])
        turn = min(max(actions[lane, 1], bounds[0, 1]), bounds[1, 1])
        x, y = move(positions[lane], velocities[lane], forward, turn)
        for i in range(3):
            positions[lane, i] += TIMESTEP * velocities[lane, i]
        hits[lane], reached[lane] = settle(positions[lane], x, y, walls, goals)
        steps[lane] += 1


@compiled()
def uniform(state: int, number: int) -> float:
    """The n-th uniform random number of a seed, by SplitMix64: above 0, at most 1."""
    mixed = np.uint64(state) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (np.float64(mixed >> np.uint64(11)) + 1.0) * 2.0**-53


@compiled()
def start(
    seeds: npt.NDArray[np.uint64],
    mask: Flags,
    positions: Array,
    velocities: Array,
    steps: npt.NDArray[np.int64],
) -> None:
    """Put the lanes of the mask at their start, with uniform positions and normal velocities."""
    for lane in range(len(positions)):
        if not mask[lane]:
            continue
        steps[lane] = 0
        for i in range(3):
            positions[lane, i] = START_POSITION * (2.0 * uniform(seeds[lane], i) - 1.0)
            # Box and Muller
            length = np.sqrt(-2.0 * np.log(uniform(seeds[lane], 3 + 2 * i)))
            angle = 2.0 * np.pi * uniform(seeds[lane], 4 + 2 * i)
            velocity = START_VELOCITY * length * np.cos(angle)
            velocities[lane, i] = min(max(velocity, -MAX_VELOCITY), MAX_VELOCITY)

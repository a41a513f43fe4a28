"""A point robot in mazes, paid at its goals: PointUMaze, Point4Rooms and custom maps.

After mujoco-maze (Apache-2.0), with which the paper's figures were made; rewritten for MuJoCo 3.
The robot turns and jumps by its action, MuJoCo then moves it by the velocity that it has from
earlier collisions, and a rule of its own keeps it from passing through walls.
"""

from collections.abc import Sequence
from math import inf
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from scrubjay.envs.maze_map import CELL, FOUR_ROOMS, HALF_CELL, U_MAZE, Goal, MazeMap
from scrubjay.envs.maze_motion import (
    GOAL_DISTANCE,
    START_POSITION,
    START_VELOCITY,
    Array,
    move,
    settle,
)
from scrubjay.envs.mujoco_task import MujocoTask, mujoco
from scrubjay.envs.top_view import TopView


class PointMaze(MujocoTask):
    """A point robot in a maze drawn as text, with rewards at its goals.

    `PointMaze(["#####", "#R G#", "#####"])` is a maze: `#` is a block, `R` the start, `G` a goal
    with reward 1 and a space is free. The start is the origin, a cell is 4 wide, x follows the
    columns and y the rows (a picture, in which y points up, shows the map's last row on top).

    Actions are a displacement forwards in [-1, 1] and a turn in [-0.25, 0.25], clipped to that.
    Observations are x, y and heading. Coming within 0.6 of a goal ends the episode with the goal's
    reward. An episode starts within 0.1 of the origin in position and heading, with normally
    distributed velocities of standard deviation 0.1.

    `info` contains `is_success` (at a goal with the highest reward), `goal_index` (-1 away from all
    goals), `goal_reward`, and `wall_hit` (0 no wall, 1 reflected, 2 stopped).

    Args:
        map: The maze, one string of several lines or a list of rows.
        goals: Further goals, each (x, y) or (x, y, reward).
        full_observation: Whether to observe the three velocities and a thousandth of the steps
            since the start, too.
        pixels: If given, observe a picture of the maze from above with that many pixels per side,
            (pixels, pixels, 3) bytes, instead. It is drawn without OpenGL.
        step_reward: The reward of every other step (-0.0001 in the original).
        render_mode: None, "human" or "rgb_array".
        width: Pixels of a rendered picture.
        height: Pixels of a rendered picture.
    """

    def __init__(
        self,
        map: str | Sequence[str],
        goals: Sequence[Sequence[float]] = (),
        *,
        full_observation: bool = False,
        pixels: int | None = None,
        step_reward: float = 0.0,
        render_mode: str | None = None,
        width: int | None = None,
        height: int | None = None,
    ) -> None:
        self.maze = MazeMap(map)
        self.goals = self.maze.goals(goals)
        self.full_observation = full_observation
        self.step_reward = float(step_reward)
        self._view = None if pixels is None else TopView(self.maze, self.goals, pixels)
        self._best_reward = max(goal.reward for goal in self.goals)
        self._goal_centers = np.array([(goal.x, goal.y) for goal in self.goals])
        self._walls = self.maze.wall_lines
        self._steps = 0
        self.action_space = gym.spaces.Box(
            np.array([-1.0, -0.25], np.float32), np.array([1.0, 0.25], np.float32)
        )
        self.observation_space: gym.Space[Any] = observation_space(self.maze, full_observation)
        if pixels is not None:
            self.observation_space = gym.spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
        default_width, default_height = picture_size(self.maze)
        width = default_width if width is None else width
        height = default_height if height is None else height
        mjcf = maze_mjcf(self.maze, self.goals, max(width, 1) / max(height, 1))
        super().__init__(mjcf, render_mode=render_mode, width=width, height=height)

    @property
    def position(self) -> tuple[float, float]:
        """The position of the robot, for drawings of its path."""
        return float(self.data.qpos[0]), float(self.data.qpos[1])

    @property
    def outline(self) -> list[list[float]]:
        """The walls as line segments [x1, y1, x2, y2]: for drawings."""
        return self.maze.outline

    def start_state(self) -> tuple[Array, Array]:
        qpos = self.np_random.uniform(-START_POSITION, START_POSITION, 3)
        qvel = START_VELOCITY * self.np_random.standard_normal(3)
        return qpos, qvel

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        self._steps = 0
        return super().reset(seed=seed, options=options)

    def observe(self) -> npt.NDArray[Any]:
        if self._view is not None:
            return self._view.draw(*self.qpos.tolist())
        if self.full_observation:
            return np.array([*self.qpos.tolist(), *self.qvel.tolist(), 0.001 * self._steps])
        return self.qpos.copy()

    def step(
        self, action: npt.NDArray[np.floating[Any]]
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        forward, turn = self.inside_box(action)
        x, y = move(self.qpos, self.qvel, forward, turn)
        mujoco.mj_step(self.model, self.data)
        wall_hit, goal_index = settle(self.qpos, x, y, self._walls, self._goal_centers)
        self._steps += 1
        self._show()
        at_goal = goal_index >= 0
        goal_reward = self.goals[goal_index].reward if at_goal else 0.0
        info = {
            "is_success": at_goal and goal_reward == self._best_reward,
            "goal_index": goal_index,
            "goal_reward": goal_reward,
            "wall_hit": wall_hit,
        }
        return self.observe(), goal_reward if at_goal else self.step_reward, at_goal, False, info


class PointUMaze(PointMaze):
    """The paper's PointUMaze: round two corners to the goal at (0, 8)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(U_MAZE, [(0.0, 8.0)], **options)


class Point4Rooms(PointMaze):
    """The paper's Point4Rooms: the goal at (24, -24), and on the way two sub-goals that pay half.

    A sub-goal ends the episode too, so that a greedy agent may settle for 0.5, as in the paper.
    """

    def __init__(self, **options: Any) -> None:
        goals = [(24.0, -24.0, 1.0), (0.0, -24.0, 0.5), (24.0, 0.0, 0.5)]
        super().__init__(FOUR_ROOMS, goals, **options)


class Point4RoomsOneGoal(PointMaze):
    """Point4Rooms without its sub-goals."""

    def __init__(self, **options: Any) -> None:
        super().__init__(FOUR_ROOMS, [(24.0, -24.0)], **options)


def observation_space(maze: MazeMap, full: bool) -> gym.Space[Array]:
    """Bounds for x and y, which walls keep; none for heading and velocities, which leave theirs.

    The heading is wrapped to +-pi before the physics, and the velocities are clipped before it,
    so that both may be larger when they are observed.
    """
    low, high = maze.corners()
    unbounded = [inf] * (5 if full else 1)
    return gym.spaces.Box(
        np.array([*low, *(-bound for bound in unbounded)]),
        np.array([*high, *unbounded]),
        dtype=np.float64,
    )


# The model.

RED = "0.85 0.2 0.17 1"
GREEN = "0.25 0.62 0.3 1"


def picture_size(maze: MazeMap) -> tuple[int, int]:
    """480 pixels for the longer side, in steps of 16 as video formats want them."""
    (left, low), (right, high) = maze.corners()
    longer = max(right - left, high - low)
    return 16 * round(30 * (right - left) / longer), 16 * round(30 * (high - low) / longer)


def maze_mjcf(maze: MazeMap, goals: Sequence[Goal], aspect: float) -> str:
    """The maze in MuJoCo's own format, with a camera for pictures of that width / height.

    The floor is only drawn. Since MuJoCo 3.0 rounding makes the sphere, which touches the floor at
    distance 0, brake in half of the steps, which it never did when the paper's figures were made.
    """
    return f"""
<mujoco model="point maze">
  <compiler inertiafromgeom="true"/>
  <option timestep="0.02" integrator="RK4"/>
  <visual>
    <headlight ambient="0.6 0.6 0.6" diffuse="0.25 0.25 0.25" specular="0 0 0"/>
  </visual>
  <default>
    <joint armature="0" damping="0" limited="false"/>
    <geom condim="3" conaffinity="0" contype="1" density="100" friction="1 0.5 0.5" margin="0"/>
  </default>
  <worldbody>
    {_surroundings(maze, aspect)}
    {"".join(_block(*maze.center(cell)) for cell in maze.cells("#"))}
    {_goal_markers(goals)}
    <body name="torso">
      <geom type="sphere" size="0.5" pos="0 0 0.5" solimp="0.9 0.99 0.001" rgba="0.2 0.4 0.7 1"/>
      <geom type="box" size="0.5 0.1 0.1" pos="0.6 0 0.5" solimp="0.9 0.99 0.001"
            rgba="0.95 0.5 0.05 1"/>
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="heading" type="hinge" axis="0 0 1"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="x" ctrllimited="true" ctrlrange="-1 1"/>
    <motor joint="heading" ctrllimited="true" ctrlrange="-0.25 0.25"/>
  </actuator>
</mujoco>"""


def _surroundings(maze: MazeMap, aspect: float) -> str:
    """Floor, light and the camera that sees the maze, with half of its border, from above."""
    (left, low), (right, high) = maze.corners()
    x, y = (left + right) / 2, (low + high) / 2
    span = max(high - low, (right - left) / aspect) + HALF_CELL
    # A narrow view from far away looks almost straight down everywhere: tan(10 degrees) = 0.176.
    distance = span / (2 * 0.176)
    return f"""
    <geom name="floor" type="plane" contype="0" conaffinity="0" pos="{x} {y} 0"
          size="{(right - left) / 2 + CELL} {(high - low) / 2 + CELL} 1" rgba="0.97 0.95 0.9 1"/>
    <light directional="true" castshadow="false" pos="{x} {y} 30" dir="0.4 0.5 -1"
           diffuse="0.25 0.25 0.25" specular="0 0 0"/>
    <camera name="top" pos="{x} {y} {distance}" fovy="20"/>"""


def _block(x: float, y: float) -> str:
    size = f"{HALF_CELL} {HALF_CELL} 1"
    return f"""
    <geom type="box" pos="{x} {y} 1" size="{size}" conaffinity="1" rgba="0.36 0.42 0.5 1"/>"""


def _goal_markers(goals: Sequence[Goal]) -> str:
    best = max(goal.reward for goal in goals)
    return "".join(_marker(goal, RED if goal.reward == best else GREEN) for goal in goals)


def _marker(goal: Goal, color: str) -> str:
    return f"""
    <site type="sphere" pos="{goal.x} {goal.y} 0.4" size="0.4" rgba="{color}"/>
    <site type="cylinder" pos="{goal.x} {goal.y} 0.02" size="{GOAL_DISTANCE} 0.02"
          rgba="{color[:-1]}0.35"/>"""

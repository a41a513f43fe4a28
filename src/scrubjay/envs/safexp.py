"""Safexp-PointGoal and Safexp-CarGoal: a robot drives round a block to a goal between 44 walls.

The paper built them from Safety Gym's engine, with a layout of its own. Every episode starts in
exactly the same state, for every seed, because the authors' settings drew the layout once; the
small random starts that the paper mentions are available as `start_noise=True`.
"""

import math
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled
from scrubjay.envs.mujoco_task import Array, MujocoTask, mujoco
from scrubjay.envs.safexp_models import (
    CAR,
    GOAL_HEIGHT,
    GOAL_RADIUS,
    INNER_WALLS,
    OUTER_WALLS,
    POINT,
    WALL_HALF_SIZE,
    Placement,
    Robot,
    Spot,
    world,
)

PHYSICS_STEPS = 10
LIDAR_BINS = 10

WALLS: tuple[Spot, ...] = (*INNER_WALLS, *OUTER_WALLS)
GOAL: Spot = (2.4, 1.5)
ROBOT: Placement = (1.0, 1.0, 0.8281103925769537)  # the heading that Safety Gym draws with seed 0

# The paper's "small randomness": uniform within +- (metres in x and y, radians in heading).
SMALL_NOISE = (0.05, 0.1)

StartNoise = bool | tuple[float, float] | None


@compiled()
def look(
    sensors: Array, position: Array, rotation: Array, walls: Array, goal: Array, observation: Array
) -> float:
    """Fill the observation and return the distance to the goal over the floor.

    `sensors` are MuJoCo's readings, `position` and `rotation` (row-major) the robot's pose.
    """
    has_ball = sensors.size > 12
    observation[:3] = sensors[:3]
    n, m = 3, 3
    if has_ball:
        observation[3:6] = sensors[3:6]
        w, x, y, z = sensors[6], sensors[7], sensors[8], sensors[9]
        observation[6] = w * w + x * x - y * y - z * z
        observation[7] = 2.0 * (x * y - w * z)
        observation[8] = 2.0 * (x * z + w * y)
        observation[9] = 2.0 * (x * y + w * z)
        observation[10] = w * w - x * x + y * y - z * z
        observation[11] = 2.0 * (y * z - w * x)
        observation[12] = 2.0 * (x * z - w * y)
        observation[13] = 2.0 * (y * z + w * x)
        observation[14] = w * w - x * x - y * y + z * z
        n, m = 15, 10

    dx, dy, dz = goal[0] - position[0], goal[1] - position[1], goal[2] - position[2]
    goal_distance = math.sqrt(dx * dx + dy * dy)
    forward = rotation[0] * dx + rotation[3] * dy + rotation[6] * dz
    left = rotation[1] * dx + rotation[4] * dy + rotation[7] * dz
    norm = math.sqrt(forward * forward + left * left) + 0.001
    observation[n] = forward / norm
    observation[n + 1] = left / norm

    observation[n + 2 : n + 11] = sensors[m : m + 9]

    lidar = observation[n + 11 :]
    lidar[:] = 0.0
    width = 2.0 * math.pi / LIDAR_BINS
    dz = -position[2]  # the lidar sees the centres of the walls' footprints, on the floor
    for i in range(walls.shape[0]):
        dx, dy = walls[i, 0] - position[0], walls[i, 1] - position[1]
        forward = rotation[0] * dx + rotation[3] * dy + rotation[6] * dz
        left = rotation[1] * dx + rotation[4] * dy + rotation[7] * dz
        closeness = math.exp(-math.sqrt(forward * forward + left * left))
        angle = math.atan2(left, forward)
        if angle < 0.0:
            angle += 2.0 * math.pi
        bin_ = int(angle / width)
        part = (angle - bin_ * width) / width
        bin_ %= LIDAR_BINS  # an angle just below 0 rounds to a full turn
        after, before = (bin_ + 1) % LIDAR_BINS, (bin_ - 1) % LIDAR_BINS
        lidar[bin_] = max(lidar[bin_], closeness)
        lidar[after] = max(lidar[after], part * closeness)
        lidar[before] = max(lidar[before], (1.0 - part) * closeness)
    return goal_distance


class SafexpGoal(MujocoTask):
    """What the two tasks share: the layout, the start, the step and the observation.

    `walls` are the centres (x, y) of cubes of 0.4 m, `goal` is the centre (x, y) of a disc of
    0.2 m, `robot` the start (x, y, heading in radians).

    `start_noise` is None (or False) for the deterministic start; a pair (metres, radians) for a
    start drawn uniformly within plus or minus that in x, y and in heading, again if it touches a
    wall or the goal; True for the pair (0.05, 0.1).

    The reward is 1 when the robot's centre comes within 0.2 m of the goal's, which ends the
    episode, and 0 before. Every step's info has `is_success`, `goal_met` (the same, by Safety
    Gym's name) and `cost` (always 0). Actions out of range are clipped.
    """

    camera = "overview"
    rebuilt = (*MujocoTask.rebuilt, "ctrl", "_sensors", "_position", "_rotation")

    kind: ClassVar[Robot]
    size: ClassVar[int]

    def __init__(
        self,
        *,
        walls: npt.ArrayLike = WALLS,
        goal: npt.ArrayLike = GOAL,
        robot: npt.ArrayLike = ROBOT,
        start_noise: StartNoise = None,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
    ) -> None:
        self.walls = checked_walls(walls)
        self.goal = np.array([*checked_numbers("goal", goal, 2), GOAL_HEIGHT])
        self.robot = checked_numbers("robot", robot, 3)
        self.start_noise = checked_noise(start_noise)
        self._check_layout()
        self.action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (self.size,), np.float64)
        mjcf = world(self.kind, self.walls.tolist(), self.goal[:2].tolist(), self.robot.tolist())
        super().__init__(mjcf, render_mode=render_mode, width=width, height=height)

    def _check_layout(self) -> None:
        x, y, _ = self.robot
        if self._gap(x, y) <= self.kind.footprint:
            raise ValueError(
                f"The robot at ({x}, {y}) touches a wall: leave at least {self.kind.footprint} m "
                f"around it."
            )
        if self._goal_distance(x, y) <= GOAL_RADIUS:
            raise ValueError(f"The robot at ({x}, {y}) starts in the goal: move one of them.")
        if self._gap(self.goal[0], self.goal[1]) <= 0.0:
            raise ValueError(f"The goal at {tuple(self.goal[:2])} lies in a wall: move it out.")

    def _gap(self, x: float, y: float) -> float:
        """Distance from a spot to the nearest wall, 0 inside one."""
        beyond = np.maximum(np.abs(self.walls - (x, y)) - WALL_HALF_SIZE, 0.0)
        return float(np.min(np.hypot(beyond[:, 0], beyond[:, 1]), initial=math.inf))

    def _goal_distance(self, x: float, y: float) -> float:
        return math.hypot(x - self.goal[0], y - self.goal[1])

    def bind(self) -> None:
        super().bind()
        body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY.value, "robot")
        self.ctrl: Array = self.data.ctrl
        self._sensors: Array = self.data.sensordata
        self._position: Array = self.data.xpos[body]
        self._rotation: Array = self.data.xmat[body]

    @property
    def position(self) -> tuple[float, float]:
        """The position of the robot, for drawings of its path."""
        return float(self._position[0]), float(self._position[1])

    @property
    def outline(self) -> list[list[float]]:
        """The sides of all walls as line segments [x1, y1, x2, y2]: for drawings."""
        h = WALL_HALF_SIZE
        corners = ((-h, -h), (h, -h), (h, h), (-h, h))
        sides = list(zip(corners, (*corners[1:], corners[0]), strict=True))
        return [
            [float(x + a), float(y + b), float(x + c), float(y + d)]
            for x, y in self.walls
            for (a, b), (c, d) in sides
        ]

    def start_state(self) -> tuple[Array, Array]:
        if self.start_noise == (0.0, 0.0):
            return self.model.qpos0.copy(), np.zeros(self.model.nv)
        return self._moved(*self._draw_start()), np.zeros(self.model.nv)

    def _draw_start(self) -> Placement:
        metres, radians = self.start_noise
        x, y, _ = self.robot
        while True:
            dx, dy, turn = self.np_random.uniform(-1.0, 1.0, 3) * (metres, metres, radians)
            if (
                self._gap(x + dx, y + dy) > self.kind.footprint
                and self._goal_distance(x + dx, y + dy) > GOAL_RADIUS
            ):
                return dx, dy, turn

    def _moved(self, dx: float, dy: float, turn: float) -> Array:
        """The start's qpos, moved by (dx, dy) in the world and turned."""
        raise NotImplementedError

    def observe(self) -> Array:
        return self._look()[0]

    def _look(self) -> tuple[Array, float]:
        observation = np.empty(self.size)
        distance = look(
            self._sensors, self._position, self._rotation, self.walls, self.goal, observation
        )
        return observation, distance

    def step(
        self, action: npt.NDArray[np.floating[Any]]
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self.ctrl[:] = self.inside_box(action)
        mujoco.mj_step(self.model, self.data, nstep=PHYSICS_STEPS)
        mujoco.mj_forward(self.model, self.data)  # sensors and pose of the state just reached
        self._show()
        observation, distance = self._look()
        reached = distance <= GOAL_RADIUS
        info = {"is_success": reached, "goal_met": reached, "cost": 0.0}
        return observation, float(reached), reached, False, info


class SafexpPointGoal(SafexpGoal):
    """A point that pushes forwards and turns: 24 numbers, two actions, 0.02 s a step.

    Observation: accelerometer 3, goal_compass 2, gyro 3, magnetometer 3, velocimeter 3,
    walls_lidar 10. Actions: push forwards, turn.
    """

    metadata: dict[str, Any] = {**MujocoTask.metadata, "render_fps": 50}  # noqa: RUF012
    kind = POINT
    size = 24

    def _moved(self, dx: float, dy: float, turn: float) -> Array:
        # The slide joints act along the axes of the start's heading. Their damping is the same in
        # all directions, so turning the hinge instead of the body gives the same physics.
        cos, sin = math.cos(self.robot[2]), math.sin(self.robot[2])
        return np.array([cos * dx + sin * dy, cos * dy - sin * dx, turn])


class SafexpCarGoal(SafexpGoal):
    """A car with two driven wheels and a ball: 36 numbers, two actions, 0.04 s a step.

    Observation: accelerometer 3, ballangvel_rear 3, ballquat_rear 9 (a rotation matrix, row by
    row), goal_compass 2, gyro 3, magnetometer 3, velocimeter 3, walls_lidar 10. Actions: torque
    of the left and of the right wheel; equal positive ones drive towards the car's -y.
    """

    metadata: dict[str, Any] = {**MujocoTask.metadata, "render_fps": 25}  # noqa: RUF012
    kind = CAR
    size = 36

    def _moved(self, dx: float, dy: float, turn: float) -> Array:
        qpos: Array = self.model.qpos0.copy()
        half = (self.robot[2] + turn) / 2
        qpos[:2] += (dx, dy)
        qpos[3:7] = (math.cos(half), 0.0, 0.0, math.sin(half))
        return qpos


def checked_numbers(name: str, value: npt.ArrayLike, count: int) -> Array:
    """That many finite numbers."""
    numbers = np.array(value, dtype=np.float64)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(f"expected {name} to be {count} finite numbers, got {value!r}")
    return numbers


def checked_walls(value: npt.ArrayLike) -> Array:
    """The centres of the walls, one per row."""
    walls = np.array(value, dtype=np.float64)
    if walls.size == 0:
        walls = walls.reshape(0, 2)
    if walls.ndim != 2 or walls.shape[1] != 2 or not np.isfinite(walls).all():
        raise ValueError(f"expected walls to be pairs (x, y) of finite numbers, got {value!r}")
    return walls


def checked_noise(value: StartNoise) -> tuple[float, float]:
    """The noise of the start in metres and radians."""
    if value is None or value is False:
        return (0.0, 0.0)
    if value is True:
        return SMALL_NOISE
    metres, radians = checked_numbers("start_noise", value, 2).tolist()
    if metres < 0.0 or radians < 0.0:
        raise ValueError(f"expected start_noise of at least 0, got {value!r}")
    return metres, radians

"""The worlds of the two Safexp tasks as MJCF text: floor, walls, goal and one of two robots.

The numbers are those of Safety Gym's `point` and `car` robots and of its engine; colours, lights
and cameras are ours and change no physics. The sensors stand in the order in which the observation
lists them, so that the observation can be filled from `sensordata` front to back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Spot = tuple[float, float]
Placement = tuple[float, float, float]

WALL_HALF_SIZE = 0.2
GOAL_RADIUS = 0.2
GOAL_HEIGHT = 0.11
ROBOT_HEIGHT = 0.1
CAMERA_ELEVATION = math.radians(68)

# The centres of the walls: a block between start and goal, and the border around both.
INNER_WALLS: tuple[Spot, ...] = tuple((x, 1.5) for x in (1.6, 1.8, 1.9))
OUTER_WALLS: tuple[Spot, ...] = (
    *((0.5, y) for y in (0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.2, 2.4)),
    *((x, 2.4) for x in (0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.3, 2.5, 2.7)),
    *((x, 0.5) for x in (0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.3, 2.5, 2.7, 2.9)),
    *((2.9, y) for y in (0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9)),
)

_SENSORS = """
    <accelerometer site="robot"/>{ball}
    <gyro site="robot"/>
    <magnetometer site="robot"/>
    <velocimeter site="robot"/>"""

_POINT_OPTIONS = """
  <option timestep="0.002"/>
  <default>
    <geom condim="6" density="1"/>
    <motor ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-0.05 0.05"/>
    <velocity ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-0.05 0.05"/>
  </default>"""

_POINT_BODY = """
      <joint name="x" type="slide" axis="1 0 0" damping="0.01"/>
      <joint name="y" type="slide" axis="0 1 0" damping="0.01"/>
      <joint name="z" type="hinge" axis="0 0 1" damping="0.005"/>
      <geom name="robot" type="sphere" size="0.1" friction="1 0.01 0.01" material="robot"/>
      <geom name="pointer" type="box" size="0.05 0.05 0.05" pos="0.1 0 0" material="pointer"/>
      <site name="robot" type="sphere" size="0.032" rgba="0 0 0 0"/>"""

_POINT_ACTUATORS = """
    <motor name="drive" site="robot" gear="0.3 0 0 0 0 0"/>
    <velocity name="turn" joint="z" gear="0.3 0 0 0 0 0" kv="1"/>"""

_CAR_OPTIONS = """
  <option timestep="0.004"/>
  <default>
    <geom condim="6" density="5"/>
    <joint damping="0.001"/>
    <motor ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-0.02 0.02"/>
  </default>"""

# The boxes behind the chassis stand on the side of the driven wheels; the car's front is -y.
_CAR_BODY = """
      <freejoint name="robot"/>
      <geom name="chassis" type="box" size="0.1 0.1 0.05" material="robot"/>
      <geom name="tail" type="box" size="0.1 0.01 0.05" pos="0 0.15 0" material="robot"/>
      <geom name="tail_arm" type="box" size="0.01 0.025 0.03" pos="0 0.125 0" material="robot"/>
      <geom name="front" type="box" size="0.05 0.01 0.05" pos="0 -0.165 0" material="pointer"/>
      <geom name="front_arm" type="box" size="0.05 0.03 0.01" pos="0 -0.13 0.04"
            material="pointer"/>
      <site name="robot" type="sphere" size="0.032" rgba="0 0 0 0"/>
      <body name="left" pos="-0.1 0.1 -0.05">
        <joint name="left" type="hinge" axis="1 0 0"/>
        <geom name="left" type="cylinder" size="0.05" fromto="-0.055 0 0 -0.005 0 0"
              material="wheel"/>
      </body>
      <body name="right" pos="0.1 0.1 -0.05">
        <joint name="right" type="hinge" axis="1 0 0"/>
        <geom name="right" type="cylinder" size="0.05" fromto="0.005 0 0 0.055 0 0"
              material="wheel"/>
      </body>
      <body name="rear" pos="0 -0.1 -0.05">
        <joint name="rear" type="ball"/>
        <geom name="rear" type="sphere" size="0.05" material="wheel"/>
      </body>"""

_CAR_ACTUATORS = """
    <motor name="left" joint="left"/>
    <motor name="right" joint="right"/>"""

_CAR_BALL_SENSORS = """
    <ballangvel joint="rear"/>
    <ballquat joint="rear"/>"""

_WORLD = """<mujoco model="{name}">
  <compiler angle="radian" inertiafromgeom="true"/>{options}
  <visual>
    <global offwidth="1920" offheight="1080"/>
    <headlight ambient="0.35 0.35 0.35" diffuse="0.35 0.35 0.35" specular="0 0 0"/>
  </visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.93 0.95 0.98"
             rgb2="0.75 0.82 0.9" width="32" height="32"/>
    <texture name="floor" type="2d" builtin="checker" rgb1="0.86 0.87 0.89"
             rgb2="0.8 0.81 0.84" width="32" height="32"/>
    <material name="floor" texture="floor" texrepeat="14 14" specular="0"/>
    <material name="wall" rgba="0.5 0.5 0.5 1" specular="0.1"/>
    <material name="robot" rgba="0.8 0.2 0.16 1" specular="0.3"/>
    <material name="pointer" rgba="0.98 0.75 0.2 1" specular="0.3"/>
    <material name="wheel" rgba="0.15 0.15 0.18 1" specular="0.3"/>
  </asset>
  <worldbody>
    <light directional="true" castshadow="false" dir="-0.25 0.35 -1" diffuse="0.5 0.5 0.5"
           specular="0.1 0.1 0.1"/>
    <camera name="overview" pos="{camera}" xyaxes="1 0 0 {camera_up}"/>
    <geom name="floor" type="plane" size="3.5 3.5 0.1" material="floor"/>{walls}
    <body name="goal" pos="{goal}">
      <geom name="goal" type="cylinder" size="{goal_size}" contype="0" conaffinity="0"
            rgba="0.1 0.75 0.25 0.45"/>
    </body>
    <body name="robot" pos="{position}" quat="{orientation}">{body}
    </body>
  </worldbody>
  <actuator>{actuators}
  </actuator>
  <sensor>{sensors}
  </sensor>
</mujoco>
"""

_WALL = """
    <body name="wall{index}" pos="{position}">
      <geom name="wall{index}" type="box" size="{size}" group="2" material="wall"/>
    </body>"""


@dataclass(frozen=True)
class Robot:
    """The differences between the robots; `footprint` is the radius seen from above."""

    name: str
    options: str
    body: str
    actuators: str
    ball_sensors: str
    footprint: float


POINT = Robot("point", _POINT_OPTIONS, _POINT_BODY, _POINT_ACTUATORS, "", 0.16)
CAR = Robot("car", _CAR_OPTIONS, _CAR_BODY, _CAR_ACTUATORS, _CAR_BALL_SENSORS, 0.22)


def world(robot: Robot, walls: Sequence[Spot], goal: Spot, start: Placement) -> str:
    """The MJCF text of a robot at its start (x, y, heading) among walls, and the goal."""
    x, y, heading = start
    return _WORLD.format(
        name=robot.name,
        options=robot.options,
        walls="".join(_wall(index, *wall) for index, wall in enumerate(walls)),
        goal=_numbers(*goal, GOAL_HEIGHT),
        goal_size=_numbers(GOAL_RADIUS, GOAL_HEIGHT - 0.01),
        camera=_numbers(*_overview([*walls, goal, (x, y)])),
        camera_up=_numbers(0.0, math.sin(CAMERA_ELEVATION), math.cos(CAMERA_ELEVATION)),
        position=_numbers(x, y, ROBOT_HEIGHT),
        orientation=_numbers(math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2)),
        body=robot.body,
        actuators=robot.actuators,
        sensors=_SENSORS.format(ball=robot.ball_sensors),
    )


def _overview(spots: Sequence[Spot]) -> Placement:
    """A camera position south of the middle from which all these points are visible."""
    xs, ys = zip(*spots, strict=True)
    width = max(xs) - min(xs) + 2 * WALL_HALF_SIZE
    depth = max(ys) - min(ys) + 2 * WALL_HALF_SIZE
    distance = (
        0.6 * max(width, depth) / math.tan(math.radians(45 / 2))
    )  # MuJoCo's view is 45 degrees
    return (
        (max(xs) + min(xs)) / 2,
        (max(ys) + min(ys)) / 2 - distance * math.cos(CAMERA_ELEVATION),
        distance * math.sin(CAMERA_ELEVATION),
    )


def _wall(index: int, x: float, y: float) -> str:
    size = _numbers(WALL_HALF_SIZE, WALL_HALF_SIZE, WALL_HALF_SIZE)
    return _WALL.format(index=index, position=_numbers(x, y, WALL_HALF_SIZE), size=size)


def _numbers(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)

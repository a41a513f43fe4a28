"""How the point robot of the mazes moves: the compiled part of a step, without MuJoCo."""

from math import cos, hypot, inf, pi, sin

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled

Array = npt.NDArray[np.float64]

MAX_VELOCITY = 10.0
GOAL_DISTANCE = 0.6
SHORTEST_MOVE = 1e-8
RESTITUTION = 0.8
START_POSITION = 0.1  # half width of the uniform distribution
START_VELOCITY = 0.1  # standard deviation of the normal distribution


@compiled()
def move(qpos: Array, qvel: Array, forward: float, turn: float) -> tuple[float, float]:
    """Turn, then jump along the new heading, and bound the velocities; returns the old x and y."""
    x, y, heading = qpos[0], qpos[1], qpos[2] + turn
    if heading < -pi:
        heading += 2 * pi
    elif heading > pi:
        heading -= 2 * pi
    qpos[0] = x + forward * cos(heading)
    qpos[1] = y + forward * sin(heading)
    qpos[2] = heading
    for i in range(3):
        qvel[i] = min(max(qvel[i], -MAX_VELOCITY), MAX_VELOCITY)
    return x, y


@compiled()
def settle(qpos: Array, old_x: float, old_y: float, walls: Array, goals: Array) -> tuple[int, int]:
    """Apply the wall rule to the way from old to qpos; returns its status and the goal reached."""
    qpos[0], qpos[1], status = apply_walls(walls, old_x, old_y, qpos[0], qpos[1])
    for index in range(len(goals)):
        if hypot(qpos[0] - goals[index, 0], qpos[1] - goals[index, 1]) <= GOAL_DISTANCE:
            return status, index
    return status, -1


@compiled()
def apply_walls(
    walls: Array, old_x: float, old_y: float, new_x: float, new_y: float
) -> tuple[float, float, int]:
    """Where a move ends, and 0 if no wall was in its way, 1 if it was thrown back, 2 if stopped.

    The end is mirrored at the nearest line crossed and drawn towards the crossing by a fifth of
    its distance; if that place lies behind a line too, the robot stays where it was.
    """
    wall, x, y = first_crossing(walls, old_x, old_y, new_x, new_y)
    if wall < 0:
        return new_x, new_y, 0
    mirrored_x, mirrored_y = new_x, new_y
    if walls[wall, 0] == walls[wall, 2]:
        mirrored_x = 2 * walls[wall, 0] - new_x
    else:
        mirrored_y = 2 * walls[wall, 1] - new_y
    end_x = x + RESTITUTION * (mirrored_x - x)
    end_y = y + RESTITUTION * (mirrored_y - y)
    if first_crossing(walls, old_x, old_y, end_x, end_y)[0] >= 0:
        return old_x, old_y, 2
    return end_x, end_y, 1


@compiled()
def first_crossing(
    walls: Array, old_x: float, old_y: float, new_x: float, new_y: float
) -> tuple[int, float, float]:
    """The wall line crossed nearest to old, the first of equally near ones, and where; -1 if none.

    Touching counts. A way exactly along a line has no one crossing point and does not count.
    """
    best, best_x, best_y, best_distance = -1, 0.0, 0.0, inf
    way_x, way_y = new_x - old_x, new_y - old_y
    if hypot(way_x, way_y) <= SHORTEST_MOVE:
        return best, best_x, best_y
    for i in range(len(walls)):
        x1, y1 = walls[i, 0], walls[i, 1]
        wall_x, wall_y = walls[i, 2] - x1, walls[i, 3] - y1
        # Sides of the wall's line on which the ends of the way lie, and the other way round.
        old_side = wall_x * (old_y - y1) - wall_y * (old_x - x1)
        new_side = wall_x * (new_y - y1) - wall_y * (new_x - x1)
        if old_side * new_side > 0:
            continue
        side1 = way_x * (y1 - old_y) - way_y * (x1 - old_x)
        side2 = way_x * (walls[i, 3] - old_y) - way_y * (walls[i, 2] - old_x)
        across = wall_x * way_y - wall_y * way_x
        if side1 * side2 > 0 or across == 0:
            continue
        share = -old_side / across
        x, y = old_x + share * way_x, old_y + share * way_y
        distance = hypot(x - old_x, y - old_y)
        if distance < best_distance:
            best, best_x, best_y, best_distance = i, x, y, distance
    return best, best_x, best_y

"""Mazes that are hard to explore: corridors and T mazes of any depth, and random starts."""

from typing import Any

import numpy as np

from scrubjay.envs.maze_map import CELL
from scrubjay.envs.maze_motion import Array
from scrubjay.envs.point_maze import PointMaze, PointUMaze


def corridor_map(depth: int) -> list[str]:
    """A straight corridor with the goal `depth` cells from the start."""
    wall = "#" * (depth + 3)
    return [wall, f"#R{' ' * (depth - 1)}G#", wall]


def t_maze_map(depth: int, arm: int) -> list[str]:
    """A T whose goal is at the end of one arm, `depth` cells from the start."""
    stem = depth - arm
    wall, side = "#" * (stem + 3), "#" * (stem + 1)
    upper = [f"{side}G#", *[f"{side} #"] * (arm - 1)]
    lower = [f"{side} #"] * arm
    return [wall, *upper, f"#R{' ' * stem}#", *lower, wall]


class PointCorridor(PointMaze):
    """A straight corridor.

    Args:
        depth: How many cells the goal is away from the start.
        options: The other arguments of `PointMaze`.

    Raises:
        ValueError: If `depth` is below 1.
    """

    def __init__(self, depth: int = 30, **options: Any) -> None:
        if depth < 1:
            raise ValueError(f"expected depth to be at least 1, got {depth}")
        super().__init__(corridor_map(depth), **options)


class PointTMaze(PointMaze):
    """A T maze with the goal at the end of one of its arms.

    Args:
        depth: How many cells of way the goal is away from the start.
        arm: How many of them are in the arm.
        options: The other arguments of `PointMaze`.

    Raises:
        ValueError: If `arm` is below 1, or `depth` is not greater.
    """

    def __init__(self, depth: int = 30, arm: int = 4, **options: Any) -> None:
        if not 1 <= arm < depth:
            raise ValueError(f"expected 1 <= arm < depth, got arm {arm} and depth {depth}")
        super().__init__(t_maze_map(depth, arm), **options)


class RandomStartPointUMaze(PointUMaze):
    """PointUMaze in which an episode starts in a random free cell, facing anywhere."""

    def start_state(self) -> tuple[Array, Array]:
        """A uniform position in a uniform free cell, and the usual small velocities."""
        _, velocity = super().start_state()
        cells = sorted(self.maze.reachable - {self.maze.cell_at(*goal[:2]) for goal in self.goals})
        center = self.maze.center(cells[self.np_random.integers(len(cells))])
        offset = self.np_random.uniform(-CELL / 4, CELL / 4, 2)
        heading = self.np_random.uniform(-np.pi, np.pi)
        return np.array([*(np.array(center) + offset), heading]), velocity

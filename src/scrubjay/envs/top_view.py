"""A small picture of a maze from above, drawn in NumPy: an observation without OpenGL."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scrubjay.envs.maze_map import Goal, MazeMap

WALL, FLOOR = (92, 107, 128), (248, 243, 232)
ROBOT, NOSE, GOAL = (51, 102, 178), (242, 128, 13), (217, 51, 43)


class TopView:
    """Draws the maze, its goals and the robot into a picture of (size, size, 3) bytes.

    Args:
        maze: The maze, of which the longer side fills the picture.
        goals: Where to draw the goals.
        size: Pixels of each side.

    Raises:
        ValueError: If `size` is below 8.
    """

    def __init__(self, maze: MazeMap, goals: Sequence[Goal], size: int) -> None:
        if size < 8:
            raise ValueError(f"expected pixels to be at least 8, got {size}")
        (left, low), (right, high) = maze.corners()
        self._pixel = max(right - left, high - low) / size
        self._x = (left + right) / 2 + (np.arange(size) - (size - 1) / 2) * self._pixel
        self._y = (low + high) / 2 + (np.arange(size)[:, None] - (size - 1) / 2) * self._pixel
        free = [[maze.is_free(maze.cell_at(x, y)) for x in self._x] for y in self._y[:, 0]]
        self._background = np.where(np.array(free)[..., None], FLOOR, WALL).astype(np.float64)
        for goal in goals:
            self._disc(self._background, goal.x, goal.y, 0.8, GOAL)

    def draw(self, x: float, y: float, heading: float) -> npt.NDArray[np.uint8]:
        """The picture with the robot at a place, facing somewhere.

        Args:
            x: The robot's position along the columns of the map.
            y: Its position along the rows.
            heading: Its direction in radians.

        Returns:
            The picture, (size, size, 3).
        """
        picture = self._background.copy()
        self._disc(picture, x, y, 0.8, ROBOT)
        self._disc(picture, x + 0.8 * np.cos(heading), y + 0.8 * np.sin(heading), 0.5, NOSE)
        return np.round(picture).astype(np.uint8)

    def _disc(
        self,
        picture: npt.NDArray[np.float64],
        x: float,
        y: float,
        radius: float,
        color: tuple[int, int, int],
    ) -> None:
        """A disc with a soft edge, so that it moves by less than a pixel too."""
        distance = np.hypot(self._x - x, self._y - y) - radius
        cover = np.clip(0.5 - distance / self._pixel, 0.0, 1.0)[..., None]
        picture += cover * (np.asarray(color, np.float64) - picture)

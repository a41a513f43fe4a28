"""Mazes as text: reading a map, checking it, and the lines at which the robot is stopped.

`#` is a block, `R` the start, `G` a goal that pays 1, a space is free. The centre of the start cell
is the origin; x grows with the column and y with the row, 4 to a cell.
"""

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

CELL = 4.0
HALF_CELL = CELL / 2
ROBOT_RADIUS = 0.4  # of the wall rule; the sphere in MuJoCo has 0.5

Cell = tuple[int, int]

U_MAZE = """
#####
#R  #
### #
#   #
#####
"""
FOUR_ROOMS = """
#########
#   #   #
#       #
#   #   #
## ### ##
#   #   #
#       #
#R  #   #
#########
"""


class Goal(NamedTuple):
    """A place that ends the episode and pays."""

    x: float
    y: float
    reward: float = 1.0


class MazeMap:
    """A checked map. `text` is one string of several lines, or a list of rows."""

    def __init__(self, text: str | Sequence[str]) -> None:
        rows = textwrap.dedent(text).strip("\n").split("\n") if isinstance(text, str) else text
        self.rows = tuple(rows)
        _check_shape(self.rows)
        self.start = self._find_start()

    def _find_start(self) -> Cell:
        starts = self.cells("R")
        if len(starts) != 1:
            raise ValueError(f"expected a maze with exactly one start 'R', got {len(starts)}")
        return starts[0]

    def cells(self, letter: str) -> list[Cell]:
        """(row, column) of every cell with that letter, row by row."""
        return [
            (i, j)
            for i, row in enumerate(self.rows)
            for j, here in enumerate(row)
            if here == letter
        ]

    def center(self, cell: Cell) -> tuple[float, float]:
        """The coordinates of a cell's centre."""
        return CELL * (cell[1] - self.start[1]), CELL * (cell[0] - self.start[0])

    def cell_at(self, x: float, y: float) -> Cell:
        """The cell that holds a point."""
        return round(y / CELL) + self.start[0], round(x / CELL) + self.start[1]

    def is_free(self, cell: Cell) -> bool:
        i, j = cell
        inside = 0 <= i < len(self.rows) and 0 <= j < len(self.rows[0])
        return inside and self.rows[i][j] != "#"

    def corners(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Lowest and highest coordinates inside the border blocks."""
        left, low = self.center((0, 0))
        right, high = self.center((len(self.rows) - 1, len(self.rows[0]) - 1))
        return (left + HALF_CELL, low + HALF_CELL), (right - HALF_CELL, high - HALF_CELL)

    @cached_property
    def wall_lines(self) -> npt.NDArray[np.float64]:
        """Rows (x1, y1, x2, y2): where the robot's centre may not pass, in the order of tests.

        One line beside every block for every free neighbour, in the order up, left, down, right
        of rows and columns.
        """
        return np.array([line for block in self.cells("#") for line in self._lines(block)])

    def _lines(self, block: Cell) -> Iterator[tuple[float, float, float, float]]:
        reach = HALF_CELL + ROBOT_RADIUS
        x, y = self.center(block)
        for di, dj in ((-1, 0), (0, -1), (1, 0), (0, 1)):
            if not self.is_free((block[0] + di, block[1] + dj)):
                continue
            if di:
                yield x - reach, y + di * reach, x + reach, y + di * reach
            else:
                yield x + dj * reach, y - reach, x + dj * reach, y + reach

    @cached_property
    def outline(self) -> list[list[float]]:
        """The faces of blocks that one can see, as [x1, y1, x2, y2]: for drawings."""
        faces = []
        for i, j in self.cells("#"):
            x, y = self.center((i, j))
            for di, dj in ((-1, 0), (0, -1), (1, 0), (0, 1)):
                if self.is_free((i + di, j + dj)):
                    at_x, at_y = x + dj * HALF_CELL, y + di * HALF_CELL
                    along_x, along_y = abs(di) * HALF_CELL, abs(dj) * HALF_CELL
                    faces.append([at_x - along_x, at_y - along_y, at_x + along_x, at_y + along_y])
        return faces

    @cached_property
    def reachable(self) -> frozenset[Cell]:
        """The free cells to which a way leads from the start."""
        found = {self.start}
        todo = [self.start]
        while todo:
            i, j = todo.pop()
            around = {(i - 1, j), (i, j - 1), (i + 1, j), (i, j + 1)}
            new = {cell for cell in around - found if self.is_free(cell)}
            found |= new
            todo += new
        return frozenset(found)

    def goals(self, more: Sequence[Sequence[float]] = ()) -> list[Goal]:
        """The goals given as (x, y) or (x, y, reward), then those of the map, all checked."""
        goals = [_as_goal(values) for values in more]
        goals += [Goal(*self.center(cell)) for cell in self.cells("G")]
        if not goals:
            raise ValueError("expected a maze with a goal; put a 'G' into the map or give `goals`")
        for goal in goals:
            self._check_goal(goal)
        return goals

    def _check_goal(self, goal: Goal) -> None:
        cell = self.cell_at(goal.x, goal.y)
        if not self.is_free(cell):
            raise ValueError(
                f"The goal at ({goal.x}, {goal.y}) is in a wall or outside of the maze. The start "
                f"is the origin, a cell is {CELL} wide, and y grows with the row of the map."
            )
        if cell not in self.reachable:
            warnings.warn(
                f"No way leads from the start to the goal at ({goal.x}, {goal.y}).", stacklevel=4
            )


def _check_shape(rows: Sequence[str]) -> None:
    text = "\n".join(rows)
    unknown = sorted(set(text) - set("#RG \n"))
    if unknown:
        raise ValueError(
            f"expected a maze of '#' (block), 'R' (start), 'G' (goal) and spaces, "
            f"got {', '.join(map(repr, unknown))}"
        )
    widths = sorted({len(row) for row in rows})
    if len(widths) != 1:
        raise ValueError(f"expected rows of the same width, got {widths}:\n{text}")
    border = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows if row)
    if set(border) != {"#"}:
        raise ValueError(f"expected a maze with a border of '#' all around, got\n{text}")


def _as_goal(values: Sequence[float]) -> Goal:
    numbers = [float(value) for value in values]
    if len(numbers) not in (2, 3) or not np.isfinite(numbers).all():
        raise ValueError(f"expected a finite goal (x, y) or (x, y, reward), got {tuple(values)!r}")
    return Goal(*numbers)

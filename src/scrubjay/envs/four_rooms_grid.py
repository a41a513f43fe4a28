"""A grid of four rooms with discrete actions, after Sutton, Precup and Singh (1999)."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

MAP = """
#############
#     #     #
#     #     #
#           #
#     #     #
#     #     #
## ####     #
#     ### ###
#     #     #
#     #     #
#           #
#     #    G#
#############
""".strip().split("\n")
SIZE = len(MAP)
GOAL = next((i, row.index("G")) for i, row in enumerate(MAP) if "G" in row)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left
PIXELS, MARGIN = 24, 4  # of a cell, and around what stands in it
WALL, FLOOR, RED, BLUE = (92, 107, 128), (248, 243, 232), (217, 51, 43), (51, 102, 178)
FREE = [(i, j) for i in range(SIZE) for j in range(SIZE) if MAP[i][j] != "#"]


class FourRoomsGrid(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """Walk from one corner to the opposite one; reward 1 at the goal, which ends the episode.

    Observations are row and column divided by 12, actions are up, right, down and left; a move
    into a wall does nothing.

    Args:
        random_start: Whether an episode starts in a random free cell.
        slip: Probability that a random move is made instead.
        render_mode: None or "rgb_array".

    Raises:
        ValueError: If `slip` is not in [0, 1], or the render mode is unknown.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012
    # index and factor: x is 12 times the second number, y is minus 12 times the first one
    position_in_observation = ((1, SIZE - 1.0), (0, 1.0 - SIZE))

    def __init__(
        self, random_start: bool = False, slip: float = 0.0, render_mode: str | None = None
    ) -> None:
        if not 0.0 <= slip <= 1.0:
            raise ValueError(f"expected slip between 0 and 1, got {slip}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"expected render_mode None or 'rgb_array', got {render_mode!r}")
        self.observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(len(MOVES))
        self.render_mode = render_mode
        self._random_start, self._slip = random_start, slip
        self._cell = (1, 1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start in the top left corner, or anywhere but at the goal."""
        super().reset(seed=seed, options=options)
        self._cell = (1, 1)
        if self._random_start:
            starts = [cell for cell in FREE if cell != GOAL]
            self._cell = starts[self.np_random.integers(len(starts))]
        return self._observation(), {"is_success": False}

    def step(self, action: np.int64) -> Any:
        """Move by one cell unless a wall is in the way."""
        if self._slip > 0.0 and self.np_random.random() < self._slip:
            action = np.int64(self.np_random.integers(len(MOVES)))
        di, dj = MOVES[int(action)]
        cell = (self._cell[0] + di, self._cell[1] + dj)
        if MAP[cell[0]][cell[1]] != "#":
            self._cell = cell
        success = self._cell == GOAL
        return self._observation(), float(success), success, False, {"is_success": success}

    @property
    def position(self) -> tuple[float, float]:
        """Column and minus row, so that y grows upwards as in the picture."""
        return float(self._cell[1]), -float(self._cell[0])

    @property
    def outline(self) -> list[list[float]]:
        """The sides of walls next to free cells, as [x1, y1, x2, y2]: for drawings."""
        return [
            [j + (dj - di) / 2, -i - (di - dj) / 2, j + (dj + di) / 2, -i - (di + dj) / 2]
            for i, j in FREE
            for di, dj in MOVES
            if MAP[i + di][j + dj] == "#"
        ]

    def _observation(self) -> npt.NDArray[np.float32]:
        return np.array(self._cell, np.float32) / np.float32(SIZE - 1)

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The grid from above, if `render_mode` is "rgb_array"."""
        if self.render_mode is None:
            return None
        colors = np.array([[WALL if letter == "#" else FLOOR for letter in row] for row in MAP])
        picture = colors.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1).astype(np.uint8)
        for (i, j), color in ((GOAL, RED), (self._cell, BLUE)):
            top, left = i * PIXELS + MARGIN, j * PIXELS + MARGIN
            side = PIXELS - 2 * MARGIN
            picture[top : top + side, left : left + side] = color
        return picture

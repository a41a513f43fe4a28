"""A few anti-aliased shapes in NumPy, for the pictures of tasks that need no simulator."""

import numpy as np
import numpy.typing as npt

Color = tuple[int, int, int]
Point = tuple[float, float]
Array = npt.NDArray[np.float64]
Box = tuple[slice, slice]

ALL: Box = (slice(None), slice(None))


class Canvas:
    """A picture with its own coordinates: x to the right, y up, equal scales."""

    def __init__(self, width: int, height: int, left: float, right: float, bottom: float) -> None:
        self._scale = width / (right - left)
        self._x = left + (np.arange(width, dtype=np.float64) + 0.5) / self._scale
        self._y = bottom + (np.arange(height, dtype=np.float64)[::-1, None] + 0.5) / self._scale
        self._pixels = np.zeros((height, width, 3))

    def gradient(self, below: Color, above: Color) -> None:
        """Fill the background, from one colour at the bottom to another at the top."""
        share = (self._y - self._y.min()) / np.ptp(self._y)
        self._pixels[:] = (1 - share)[..., None] * below + share[..., None] * above

    def disc(self, center: Point, radius: float, color: Color) -> None:
        """A filled circle."""
        x, y, box = self._near(center, center, radius)
        self._fill(np.hypot(x - center[0], y - center[1]) - radius, color, box=box)

    def line(self, start: Point, end: Point, radius: float, color: Color) -> None:
        """A straight line with round ends."""
        along = np.subtract(end, start)
        square = max(float(along @ along), 1e-12)
        x, y, box = self._near(start, end, radius)
        x, y = x - start[0], y - start[1]
        share = np.clip((x * along[0] + y * along[1]) / square, 0.0, 1.0)
        self._fill(np.hypot(x - share * along[0], y - share * along[1]) - radius, color, box=box)

    def below(self, height: npt.NDArray[np.float64] | float, color: Color) -> None:
        """Everything under a level or under a curve given at every column."""
        self._fill(self._y - height + 0.0 * self._x, color)

    def band(self, low: float, high: float, color: Color, opacity: float) -> None:
        """A translucent horizontal band."""
        middle = (low + high) / 2
        self._fill(np.abs(self._y - middle) - (high - low) / 2 + 0.0 * self._x, color, opacity)

    @property
    def columns(self) -> npt.NDArray[np.float64]:
        """The x coordinate of every column."""
        return self._x

    def pixels(self) -> npt.NDArray[np.uint8]:
        """The picture in 8 bits a channel."""
        return np.round(self._pixels).astype(np.uint8)

    def _near(self, start: Point, end: Point, radius: float) -> tuple[Array, Array, Box]:
        """The coordinates, and the place in the picture, of all that a line of that width covers.

        A small shape is drawn in its box alone: the whole picture would take a hundred times as
        long.
        """
        margin = radius + 1 / self._scale
        low, high = np.minimum(start, end) - margin, np.maximum(start, end) + margin
        left, right = np.searchsorted(self._x, (low[0], high[0]))
        # rows count from above
        top, bottom = np.searchsorted(-self._y[:, 0], (-high[1], -low[1]))
        box = np.s_[int(top) : int(bottom), int(left) : int(right)]
        return self._x[box[1]], self._y[box[0]], box

    def _fill(self, distance: Array, color: Color, opacity: float = 1.0, box: Box = ALL) -> None:
        """Paint where the distance to the shape is negative, with an edge one pixel wide."""
        cover = opacity * np.clip(0.5 - distance * self._scale, 0.0, 1.0)[..., None]
        part = self._pixels[box]
        part += cover * (np.asarray(color, dtype=np.float64) - part)

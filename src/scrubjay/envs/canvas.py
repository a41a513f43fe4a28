"""A few anti-aliased shapes in NumPy, for the pictures of tasks that need no simulator."""

import numpy as np
import numpy.typing as npt

Color = tuple[int, int, int]
Point = tuple[float, float]


class Canvas:
    """A picture with its own coordinates: x to the right, y up, equal scales."""

    def __init__(self, width: int, height: int, left: float, right: float, bottom: float) -> None:
        self._scale = width / (right - left)
        self._x = left + (np.arange(width, dtype=np.float64) + 0.5) / self._scale
        self._y = bottom + (np.arange(height)[::-1, None] + 0.5) / self._scale
        self._pixels = np.zeros((height, width, 3))

    def gradient(self, below: Color, above: Color) -> None:
        """Fill the background, from one colour at the bottom to another at the top."""
        share = (self._y - self._y.min()) / np.ptp(self._y)
        self._pixels[:] = (1 - share)[..., None] * below + share[..., None] * above

    def disc(self, center: Point, radius: float, color: Color) -> None:
        self._fill(np.hypot(self._x - center[0], self._y - center[1]) - radius, color)

    def line(self, start: Point, end: Point, radius: float, color: Color) -> None:
        """A straight line with round ends."""
        along = np.subtract(end, start)
        square = max(float(along @ along), 1e-12)
        x, y = self._x - start[0], self._y - start[1]
        share = np.clip((x * along[0] + y * along[1]) / square, 0.0, 1.0)
        self._fill(np.hypot(x - share * along[0], y - share * along[1]) - radius, color)

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
        return np.round(self._pixels).astype(np.uint8)

    def _fill(self, distance: npt.NDArray[np.float64], color: Color, opacity: float = 1.0) -> None:
        """Paint where the distance to the shape is negative, with an edge one pixel wide."""
        cover = opacity * np.clip(0.5 - distance * self._scale, 0.0, 1.0)[..., None]
        self._pixels += cover * (np.asarray(color, dtype=np.float64) - self._pixels)

"""Images as keys: grey, smaller, or as their low frequencies.

These stages read the observation itself and reduce it in one compiled pass, so that only the small
result is ever copied to float64. They come first in a `Chain`; a random projection or a normaliser
may follow. Frames that are stacked are reduced one by one.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.base import Bounds, Vector, unbounded, whole_number
from scrubjay.embedding.flatten import Flattener
from scrubjay.embedding.pictures import Image, picture_of
from scrubjay.embedding.select import Identity
from scrubjay.pixels import LUMINANCE, Bands, averages, cosines, reduce_frames, resized

AXES = "NHWC"  # frames, height, width, colors
COLORS = (1, 3)  # grey, or red, green and blue
MAX_FRAMES = 8  # an axis of at most this length may be a stack of frames

KERNEL_TYPES = (np.dtype(np.uint8), np.dtype(np.float32), np.dtype(np.float64))


def find_layout(shape: tuple[int, ...], layout: str | None) -> str:
    """Find what each axis of an image is, one letter each: N frames, H height, W width, C colors.

    Args:
        shape: The shape of the image.
        layout: What its axes are, if that is known; None finds it where there is no doubt.

    Returns:
        The letters.

    Raises:
        ValueError: If the shape is not that of an image, or fits several layouts or none.
    """
    possible = [layout] if layout else ["HW", "HWC", "CHW", "NHW", "HWN", "NHWC", "NCHW"]
    fitting = [axes for axes in possible if _fits(shape, axes, certain=layout is None)]
    colored = [axes for axes in fitting if "C" in axes]
    found = colored or fitting  # (84, 84, 3) has three colors rather than three frames
    if len(found) == 1:
        return found[0]
    if layout:
        raise ValueError(f"expected an image with the axes {layout!r}, got the shape {shape}")
    raise ValueError(
        f"expected an image, as (height, width) or (height, width, 3), got the shape {shape}; say "
        'what its axes are, as in layout="HWC": H height, W width, C colors (1 or 3), N frames'
    )


def _fits(shape: tuple[int, ...], axes: str, certain: bool) -> bool:
    if len(axes) != len(shape) or not {"H", "W"} <= set(axes) or len(set(axes)) != len(axes):
        return False
    length = dict(zip(axes, shape, strict=True))
    if set(length) - set(AXES) or length.get("C", 1) not in COLORS:
        return False
    least = MAX_FRAMES + 1 if certain and len(axes) > 2 else 1
    few = not certain or length.get("N", 1) <= MAX_FRAMES
    return few and min(length["H"], length["W"]) >= least


def reduction(space: gymnasium.Space[Any], size: int = 8) -> int:
    """By how much to make an image smaller for about `size` blocks on its shorter side.

    Args:
        space: The observation space.
        size: The number of blocks.

    Returns:
        The factor, 0 if the space is not one of images of bytes at least twice as large.
    """
    if not isinstance(space, gymnasium.spaces.Box) or space.dtype != np.uint8:
        return 0
    try:
        layout = find_layout(space.shape, None)
    except ValueError:
        return 0
    length = dict(zip(layout, space.shape, strict=True))
    factor = min(length["H"], length["W"]) // size
    return factor if factor > 1 else 0


class ImageFlattener(Flattener):
    """Reduces images to vectors, after checking their shape and type.

    Args:
        space: The observation space, a Box.
        layout: What the axes of an image are.
        rows: How its rows are reduced.
        columns: How its columns are reduced.
        frequencies: Whether rows and columns are reduced to frequencies, not to pixels.
    """

    def __init__(
        self,
        space: gymnasium.spaces.Box,
        layout: str,
        rows: Bands,
        columns: Bands,
        frequencies: bool = False,
    ) -> None:
        length = dict(zip(layout, space.shape, strict=True))
        self.keys, self.shapes = None, (space.shape,)
        self.size = length.get("N", 1) * len(rows.first) * len(columns.first)
        self.sizes = (self.size,)
        low, high = float(np.min(space.low)), float(np.max(space.high))
        self.bounds = np.full(self.size, low), np.full(self.size, high)
        colors = LUMINANCE if length.get("C", 1) == len(LUMINANCE) else np.ones(1)
        self._arguments = colors, *rows, *columns
        self._reduced = length.get("N", 1), len(rows.first), len(columns.first)
        self._back = (rows.weights, columns.weights) if frequencies else None
        pixels = space.dtype == np.uint8 and not frequencies
        self.picture_type = np.dtype(np.uint8 if pixels else np.float32)
        self._order = tuple(layout.index(axis) for axis in AXES if axis in layout)
        self._places = tuple(slice(None) if axis in layout else None for axis in AXES)

    def picture(self, vector: npt.NDArray[Any]) -> Image:
        """Turn a reduced image into a picture; of frequencies, the smooth image they describe."""
        frame = vector.reshape(self._reduced)[-1]
        if self._back is not None:
            rows, columns = self._back
            frame = rows.T @ frame @ columns
        return picture_of(frame, float(self.bounds[0][0]), float(self.bounds[1][0]))

    def into(self, observation: Any, out: Vector) -> None:
        """Write a reduced image into `out`; raise an error if its shape or type is wrong."""
        image = np.asarray(observation)
        if image.shape != self.shapes[0]:
            raise ValueError(f"expected an image of shape {self.shapes[0]}, got {image.shape}")
        if image.dtype not in KERNEL_TYPES:
            if image.dtype.kind not in "fiub":
                raise TypeError(f"expected an image of numbers, got dtype {image.dtype}")
            image = image.astype(np.float64)
        frames = image.transpose(self._order)[self._places]
        reduce_frames(frames, *self._arguments, out)

    def into_batch(self, observations: Any, out: Vector) -> None:
        """Write a stack of reduced images into the rows of `out`."""
        if np.shape(observations) != (len(out), *self.shapes[0]):
            raise ValueError(
                f"expected {len(out)} images of shape {self.shapes[0]}, got "
                f"{np.shape(observations)}"
            )
        for observation, row in zip(observations, out, strict=True):
            self.into(observation, row)


class Grey(Identity):
    """The image in grey, all its pixels; red, green and blue have the weights of ITU-R BT.601.

    Images are Boxes of any numeric type and of any of these shapes: (H, W), (H, W, C), (C, H, W),
    (N, H, W), (H, W, N), (N, H, W, C) and (N, C, H, W), where C is 1 or 3 colors and N up to 8
    stacked frames.

    Args:
        layout: What the axes of an image are, such as "HWC", if the shape is ambiguous.

    Raises:
        ValueError: When an agent is made, if the observation is not such an image.
    """

    name = "grey"
    frequencies: ClassVar[bool] = False

    def __init__(self, layout: str | None = None) -> None:
        if layout is not None and not isinstance(layout, str):
            raise TypeError(f"expected a layout such as 'HWC', got {layout!r}")
        self.layout = layout

    def bands(self, height: int, width: int) -> tuple[Bands, Bands]:
        """How rows and columns are reduced.

        Args:
            height: Rows of the images.
            width: Columns of the images.

        Returns:
            The reduction of the rows and that of the columns.
        """
        return resized(height, height), resized(width, width)

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        if not isinstance(space, gymnasium.spaces.Box):
            raise TypeError(f"expected a Box of images as the observation space, got {space}")
        layout = find_layout(space.shape, self.layout)
        length = dict(zip(layout, space.shape, strict=True))
        bands = self.bands(length["H"], length["W"])
        self._flattener = ImageFlattener(space, layout, *bands, frequencies=self.frequencies)
        self._blank: npt.NDArray[Any] = np.zeros(space.shape, space.dtype)
        return self._flattener

    def warm_up(self) -> None:
        self._flattener.into(self._blank, np.empty(self._flattener.size))

    def config(self) -> dict[str, Any]:
        return {"name": self.name, **self.arguments(), "layout": self.layout}

    def arguments(self) -> dict[str, Any]:
        """The arguments of the constructor other than `layout`.

        Returns:
            The arguments by name, as JSON.
        """
        return {}


class Resize(Grey):
    """The image in grey and smaller: every new pixel is the mean of the area that it covers.

    Args:
        size: Height and width, or one number for both, at most those of the image.
        layout: As in `Grey`.

    Raises:
        ValueError: If `size` is not one or two whole numbers of at least 1; when an agent is made,
            if the image is smaller.
    """

    name = "resize"

    def __init__(self, size: int | Sequence[int] = 84, layout: str | None = None) -> None:
        super().__init__(layout)
        self.size = _pair("size", size)

    def bands(self, height: int, width: int) -> tuple[Bands, Bands]:
        _check_size("size", self.size, (height, width))
        return resized(height, self.size[0]), resized(width, self.size[1])

    def arguments(self) -> dict[str, Any]:
        return {"size": list(self.size)}


class Downsample(Grey):
    """The image in grey, and each block of `factor` by `factor` pixels as its mean.

    Args:
        factor: Pixels on each side of a block; blocks at the border may be smaller.
        layout: As in `Grey`.

    Raises:
        ValueError: If `factor` is not a whole number of at least 1.
    """

    name = "downsample"

    def __init__(self, factor: int = 4, layout: str | None = None) -> None:
        super().__init__(layout)
        self.factor = whole_number("factor", factor, at_least=1)

    def bands(self, height: int, width: int) -> tuple[Bands, Bands]:
        return self._blocks(height), self._blocks(width)

    def _blocks(self, n_pixels: int) -> Bands:
        return averages(np.append(np.arange(0, n_pixels, self.factor), n_pixels).astype(float))

    def arguments(self) -> dict[str, Any]:
        return {"factor": self.factor}


class LowFrequencies(Grey):
    """The lowest frequencies of the grey image: its two-dimensional DCT, orthonormal.

    Of all keys of this length, these keep most of a smooth image.

    Args:
        size: How many frequencies, along height and width, or one number for both.
        layout: As in `Grey`.

    Raises:
        ValueError: If `size` is not one or two whole numbers of at least 1; when an agent is made,
            if the image is smaller.
    """

    name = "low_frequencies"
    frequencies = True

    def __init__(self, size: int | Sequence[int] = 8, layout: str | None = None) -> None:
        super().__init__(layout)
        self.size = _pair("size", size)

    def bands(self, height: int, width: int) -> tuple[Bands, Bands]:
        _check_size("size", self.size, (height, width))
        return cosines(height, self.size[0]), cosines(width, self.size[1])

    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        super().bind(bounds, seed)
        return unbounded(self.key_dim)

    def arguments(self) -> dict[str, Any]:
        return {"size": list(self.size)}


def _pair(name: str, size: int | Sequence[int]) -> tuple[int, int]:
    numbers = size if isinstance(size, Sequence) and not isinstance(size, str) else (size, size)
    if len(numbers) != 2:
        raise ValueError(f"expected {name} to be one number or height and width, got {size!r}")
    height, width = (whole_number(name, number, at_least=1) for number in numbers)
    return height, width


def _check_size(name: str, size: tuple[int, int], image: tuple[int, int]) -> None:
    if size[0] > image[0] or size[1] > image[1]:
        raise ValueError(f"expected {name} of at most {image}, that of the image, got {size}")

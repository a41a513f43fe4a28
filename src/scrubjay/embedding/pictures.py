"""Observations as pictures for users, in 8 bits."""

from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]

# one for each channel that is not a color
CHANNEL_COLORS = np.array(
    [
        *((86, 180, 233), (240, 228, 66), (230, 159, 0), (0, 158, 115), (213, 94, 0)),
        *((204, 121, 167), (160, 160, 160), (0, 114, 178), (255, 255, 255), (150, 90, 40)),
    ],
    np.uint8,
)


def picture_of(frame: npt.NDArray[Any], low: float, high: float) -> Image:
    """Turn a frame into a picture, (height, width) in grey or (height, width, 3) in color.

    Of three axes the shortest are channels, the last ones if in doubt: one is grey, three are red,
    green and blue, others are kinds of objects if the numbers are 0 and 1, and otherwise stacked
    frames, of which the last is shown. Of four axes the last of the first is shown.

    Args:
        frame: The numbers, with two to four axes.
        low: The number that is black; if it is not finite, the lowest of the frame.
        high: The number that is white, likewise.

    Returns:
        The picture.
    """
    if frame.ndim == 4:
        frame = frame[-1]
    if frame.ndim == 3:
        shape = frame.shape
        frame = np.moveaxis(frame, 0, 2) if shape[0] < min(shape[1:]) else frame
        if frame.shape[2] not in (1, 3) and low == 0 and high == 1:
            return _objects(frame)
        frame = frame if frame.shape[2] == 3 else frame[..., -1]
    numbers = frame.astype(np.float64)
    low = low if np.isfinite(low) else float(numbers.min())
    high = high if np.isfinite(high) else float(numbers.max())
    share = (numbers - low) / (high - low if high > low else 1.0)
    return np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)


def _objects(frame: npt.NDArray[Any]) -> Image:
    """A color for each kind of object; later kinds are drawn over earlier ones."""
    picture = np.zeros((*frame.shape[:2], 3), np.uint8)
    for channel in range(frame.shape[2]):
        picture[frame[..., channel] != 0] = CHANNEL_COLORS[channel % len(CHANNEL_COLORS)]
    return picture

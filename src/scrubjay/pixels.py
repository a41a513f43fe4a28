"""Smaller grey pictures: compiled code for the embeddings of images and for the tasks that draw.

Every reduction here is L G R^T, with G the grey picture and one matrix for its rows and one for its
columns: averages of areas, or low frequencies. Row i of such a matrix is zero outside of a band,
which is all that is stored.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled

Floats = npt.NDArray[np.float64]

LUMINANCE = np.array([0.299, 0.587, 0.114])  # of red, green and blue, ITU-R BT.601


class Bands(NamedTuple):
    """A matrix whose row i has `weights[i]` from column `first[i]` on and is zero elsewhere."""

    first: npt.NDArray[np.int64]
    weights: Floats


def averages(edges: Floats) -> Bands:
    """Average pixels: entry i is the mean from edges[i] to edges[i + 1], in pixels."""
    low, high = edges[:-1], edges[1:]
    n_pixels = int(edges[-1])
    first = np.floor(low).astype(np.int64)
    width = int((np.ceil(high).astype(np.int64) - first).max())
    first = np.minimum(first, n_pixels - width)  # so that no band ends beyond the picture
    pixel = first[:, None] + np.arange(width)
    covered = np.minimum(pixel + 1, high[:, None]) - np.maximum(pixel, low[:, None])
    return Bands(first, np.maximum(covered, 0.0) / (high - low)[:, None])


def resized(n_pixels: int, size: int) -> Bands:
    """Average pixels so that `size` numbers remain."""
    return averages(np.arange(size + 1) * n_pixels / size)


def cosines(n_pixels: int, size: int) -> Bands:
    """The `size` lowest frequencies: the first rows of the orthonormal DCT-II."""
    frequency, pixel = np.arange(size)[:, None], np.arange(n_pixels)
    weights = np.sqrt(2.0 / n_pixels) * np.cos(np.pi * frequency * (pixel + 0.5) / n_pixels)
    weights[0] = np.sqrt(1.0 / n_pixels)
    return Bands(np.zeros(size, np.int64), weights)


@compiled(nogil=True)
def reduce_frames(
    frames: npt.NDArray[Any],
    colors: Floats,
    row_first: npt.NDArray[np.int64],
    row_weights: Floats,
    column_first: npt.NDArray[np.int64],
    column_weights: Floats,
    out: Floats,
) -> None:
    """Reduce each frame, (N, H, W, C): grey with the weights `colors`, then rows, then columns.

    Args:
        frames: The frames.
        colors: (C,): the weight of each color.
        row_first: `Bands.first` of the rows.
        row_weights: `Bands.weights` of the rows.
        column_first: `Bands.first` of the columns.
        column_weights: `Bands.weights` of the columns.
        out: (N * h * w,): one reduced frame after the other.
    """
    n_frames, height, width, n_colors = frames.shape
    n_rows, n_columns = len(row_first), len(column_first)
    grey, line = np.empty((height, width)), np.empty(width)
    for n in range(n_frames):
        for i in range(height):
            for j in range(width):
                value = colors[0] * frames[n, i, j, 0]
                for c in range(1, n_colors):
                    value += colors[c] * frames[n, i, j, c]
                grey[i, j] = value
        for i in range(n_rows):
            line[:] = 0.0
            for m in range(row_weights.shape[1]):
                weight, row = row_weights[i, m], row_first[i] + m
                if weight != 0.0:
                    for j in range(width):
                        line[j] += weight * grey[row, j]
            start = (n * n_rows + i) * n_columns
            for j in range(n_columns):
                value = 0.0
                for m in range(column_weights.shape[1]):
                    value += column_weights[j, m] * line[column_first[j] + m]
                out[start + j] = value

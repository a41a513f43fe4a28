"""Maps made of cells, as PNG images, without matplotlib."""

import struct
import zlib

import numpy as np
import numpy.typing as npt

from scrubjay.analysis.memories import MemoryView
from scrubjay.analysis.reading import Array

Box = tuple[float, float, float, float]  # left, right, bottom, top
MIN_CELLS, MAX_CELLS = 30, 84
# From violet to yellow, even steps of lightness: readable in grey and by the colour-blind. The
# darkest violet of viridis is left out, which would not be seen on a dark page.
SCALE = np.array(
    [
        [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98],
        [173, 220, 48], [253, 231, 37],
    ]
)  # fmt: skip


def best_values(view: MemoryView) -> tuple[Array, Box]:
    """The best value in each cell of a grid (empty cells: -inf), from the top, and its limits."""
    box = limits(view.x, view.y)
    # Few rows are drawn as larger spots, so that they are seen at all.
    cells = int(np.clip(1.5 * len(view.values) ** 0.5, MIN_CELLS, MAX_CELLS))
    columns = _cell(view.x, box[0], box[1], cells)
    rows = cells - 1 - _cell(view.y, box[2], box[3], cells)
    best = np.full((cells, cells), -np.inf)
    np.maximum.at(best, (rows, columns), view.values)
    return best, box


def coloured(best: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """The cells of a grid as an image; empty ones are transparent."""
    share = np.clip((best - low) / (high - low if high > low else 1), 0, 1) * (len(SCALE) - 1)
    image = np.zeros((*best.shape, 4), np.uint8)
    for channel in range(3):
        image[..., channel] = np.interp(share, np.arange(len(SCALE)), SCALE[:, channel])
    image[..., 3] = np.where(np.isfinite(best), 255, 0)
    return image


def contact_sheet(pictures: npt.NDArray[np.uint8], columns: int) -> npt.NDArray[np.uint8]:
    """Pictures of one size, (n, height, width) or (n, height, width, 3), in rows of that many."""
    n, height, width = pictures.shape[:3]
    gap = max(1, height // 28)
    n_rows = -(-n // columns)
    size = n_rows * (height + gap) - gap, columns * (width + gap) - gap
    sheet = np.zeros((*size, 4), np.uint8)
    colors = pictures if pictures.ndim == 4 else np.repeat(pictures[..., None], 3, axis=3)
    for i in range(n):
        top, left = i // columns * (height + gap), i % columns * (width + gap)
        sheet[top : top + height, left : left + width, :3] = colors[i]
        sheet[top : top + height, left : left + width, 3] = 255
    return sheet


def png(image: npt.NDArray[np.uint8]) -> bytes:
    """A PNG file of an (height, width, 4) image."""
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")


def limits(x: Array, y: Array) -> Box:
    """The smallest box around all points, at least 1 wide where they are all alike."""
    sides = []
    for values in (x, y):
        low, high = float(values.min()), float(values.max())
        sides += [low, high] if high > low else [low - 0.5, low + 0.5]
    return sides[0], sides[1], sides[2], sides[3]


def _cell(values: Array, low: float, high: float, cells: int) -> npt.NDArray[np.int64]:
    return np.minimum(((values - low) / (high - low) * cells).astype(np.int64), cells - 1)

"""Pictures for the report: what a memory holds, and the ways of evaluation episodes."""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scrubjay.experiments.charts import number
from scrubjay.experiments.markup import Markup, tag
from scrubjay.experiments.runs import RunData
from scrubjay.experiments.tables import Array, RunError, column, read_table
from scrubjay.memory.archive import ArchiveError, read_archive

FEWEST_CELLS, MOST_CELLS = 30, 84
SIDE = 180.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 4.0, 4.0, 16.0
# From dark violet to yellow, even steps of lightness: readable in grey and by the colour-blind.
SCALE = np.array(
    [
        [68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128],
        [94, 201, 98], [173, 220, 48], [253, 231, 37],
    ]
)  # fmt: skip


@dataclass(frozen=True)
class MemoryView:
    """Rows of a memory as points in a plane, each with its value."""

    run: RunData
    x: Array
    y: Array
    values: Array
    x_label: str
    y_label: str


def read_memory(run: RunData) -> MemoryView | None:
    """The memory in a run's last checkpoint over its first two key dimensions.

    One-dimensional keys are shown with the stored action as the second axis. None where the
    checkpoint is not of an agent with a memory; a checkpoint that cannot be read is a `RunError`.
    """
    path = run.path / "checkpoints" / "last.scrub"
    if not path.exists():
        return None
    try:
        _, arrays = read_archive(path, "agent")
    except (ArchiveError, OSError) as error:
        raise RunError(f"the memory cannot be shown: {error}") from error
    keys, values = arrays.get("memory/keys"), arrays.get("memory/values")
    if keys is None or values is None or len(keys) == 0:
        return None
    if keys.shape[1] > 1:
        return _view(run, keys[:, 0], keys[:, 1], values, "key 1", "key 2")
    actions = arrays.get("memory/columns/action", values)
    return _view(run, keys[:, 0], actions.reshape(len(keys), -1)[:, 0], values, "key", "action")


def memory_picture(view: MemoryView, low: float, high: float) -> Markup:
    """The best value in each cell of a grid; empty cells are left blank."""
    image, box = _raster(view, low, high)
    data = base64.b64encode(png(image)).decode()
    picture = tag(
        "image", href=f"data:image/png;base64,{data}", x=LEFT, y=TOP, width=SIDE, height=SIDE,
        preserveAspectRatio="none", class_="cells",
    )  # fmt: skip
    title = f"seed {view.run.seed}: {len(view.values):,} rows"
    return _picture(title, picture, *_axes(box, view.x_label, view.y_label))


def trajectory_picture(run: RunData) -> Markup | None:
    """The evaluation episodes of the last recorded step, over the walls where they are known."""
    path = run.path / "trajectories.csv"
    if not path.exists():
        return None
    table, _ = read_table(path)
    wanted = [column(table, name, path) for name in ("timestep", "episode", "x", "y")]
    if len(wanted[0]) == 0:
        return None
    timestep, episode, x, y = (values[wanted[0] == wanted[0][-1]] for values in wanted)
    walls = _walls(run)
    box = _box(
        np.concatenate([x, walls[:, ::2].ravel()]), np.concatenate([y, walls[:, 1::2].ravel()])
    )
    lines = [
        _polyline(box, x[episode == which], y[episode == which]) for which in np.unique(episode)
    ]
    drawn = [tag("path", d=_track(box, w[::2], w[1::2]), class_="wall") for w in walls]
    title = f"seed {run.seed}: step {number(timestep[-1])}"
    return _picture(title, *drawn, *lines, *_axes(box, "x", "y"))


def colour_bar(low: float, high: float) -> Markup:
    """The scale of the memory pictures."""
    stops = ", ".join("rgb({},{},{})".format(*colour) for colour in SCALE)
    bar = tag("span", class_="bar", style=f"background:linear-gradient(90deg, {stops})")
    return tag("p", f"value {number(low)} ", bar, f" {number(high)}", class_="scale")


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


def _view(
    run: RunData,
    x: npt.NDArray[np.generic],
    y: npt.NDArray[np.generic],
    values: npt.NDArray[np.generic],
    x_label: str,
    y_label: str,
) -> MemoryView:
    across, up, best = (array.astype(np.float64) for array in (x, y, values))
    return MemoryView(run, across, up, best, x_label, y_label)


def _raster(
    view: MemoryView, low: float, high: float
) -> tuple[npt.NDArray[np.uint8], tuple[float, float, float, float]]:
    box = _limits(view.x, view.y)
    # Few rows are drawn as larger spots, so that they are seen at all.
    cells = int(np.clip(1.5 * len(view.values) ** 0.5, FEWEST_CELLS, MOST_CELLS))
    columns = _cell(view.x, box[0], box[1], cells)
    rows = cells - 1 - _cell(view.y, box[2], box[3], cells)
    best = np.full((cells, cells), -np.inf)
    np.maximum.at(best, (rows, columns), view.values)
    share = np.clip((best - low) / (high - low if high > low else 1), 0, 1) * (len(SCALE) - 1)
    image = np.zeros((cells, cells, 4), np.uint8)
    for channel in range(3):
        image[..., channel] = np.interp(share, np.arange(len(SCALE)), SCALE[:, channel])
    image[..., 3] = np.where(np.isfinite(best), 255, 0)
    return image, box


def _cell(values: Array, low: float, high: float, cells: int) -> npt.NDArray[np.int64]:
    return np.minimum(((values - low) / (high - low) * cells).astype(np.int64), cells - 1)


def _limits(x: Array, y: Array) -> tuple[float, float, float, float]:
    sides = []
    for values in (x, y):
        low, high = float(values.min()), float(values.max())
        sides += [low, high] if high > low else [low - 0.5, low + 0.5]
    return sides[0], sides[1], sides[2], sides[3]


def _box(x: Array, y: Array) -> tuple[float, float, float, float]:
    """A square around all points, so that one unit is as long in x as in y."""
    left, right, bottom, top = _limits(x, y)
    half = 0.54 * max(right - left, top - bottom)
    across, up = (left + right) / 2, (bottom + top) / 2
    return across - half, across + half, up - half, up + half


def _track(box: tuple[float, float, float, float], x: Array, y: Array) -> str:
    left, right, bottom, top = box
    across = LEFT + (x - left) / (right - left) * SIDE
    down = TOP + (top - y) / (top - bottom) * SIDE
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True))


def _polyline(box: tuple[float, float, float, float], x: Array, y: Array) -> Markup:
    track = _track(box, x, y)
    start, end = track[1:].split("L")[0].split(), track[1:].split("L")[-1].split()
    return tag(
        "g",
        tag("path", d=track, class_="way"),
        tag("circle", cx=start[0], cy=start[1], r=2.5, class_="start"),
        tag("circle", cx=end[0], cy=end[1], r=3.5, class_="end"),
    )


def _walls(run: RunData) -> Array:
    """Line segments (x1, y1, x2, y2) from the manifest's `walls`, if there are any."""
    walls = run.manifest.get("walls") or []
    try:
        return np.asarray(walls, dtype=np.float64).reshape(-1, 4)
    except (TypeError, ValueError):
        return np.empty((0, 4))


def _axes(box: tuple[float, float, float, float], x_label: str, y_label: str) -> Sequence[Markup]:
    """A border with the numbers at its corners."""
    left, right, bottom, top = (f"{side:.2g}" for side in box)
    below, beside = TOP + SIDE + 12, LEFT - 4
    turned = f"translate({LEFT - 8:g} {TOP + SIDE / 2:g}) rotate(-90)"
    return [
        tag("rect", x=LEFT, y=TOP, width=SIDE, height=SIDE, class_="border"),
        tag("text", left, x=LEFT, y=below),
        tag("text", x_label, x=LEFT + SIDE / 2, y=below, class_="middle"),
        tag("text", right, x=LEFT + SIDE, y=below, class_="left"),
        tag("text", bottom, x=beside, y=TOP + SIDE, class_="left"),
        tag("text", y_label, transform=turned, class_="middle"),
        tag("text", top, x=beside, y=TOP + 8, class_="left"),
    ]


def _picture(title: str, *parts: Markup) -> Markup:
    box = f"0 0 {LEFT + SIDE + RIGHT:g} {TOP + SIDE + BOTTOM:g}"
    svg = tag("svg", *parts, viewBox=box, role="img", aria_label=title)
    return tag("figure", svg, tag("figcaption", title), class_="picture")

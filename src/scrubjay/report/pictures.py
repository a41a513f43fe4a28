"""Pictures for the report: what a memory holds, and the ways of evaluation episodes."""

import base64
from collections.abc import Sequence

import numpy as np

from scrubjay.analysis.memories import MemoryView
from scrubjay.analysis.reading import Array, RunData
from scrubjay.figures.raster import SCALE, Box, limits, memory_map, png
from scrubjay.report.charts import number
from scrubjay.report.markup import Markup, tag
from scrubjay.training.tables import column, read_columns

SIDE = 180.0
LEFT, RIGHT, TOP, BOTTOM = 34.0, 4.0, 4.0, 16.0


def memory_picture(view: MemoryView, low: float, high: float) -> Markup:
    """The best value in each cell of a grid; empty cells are left blank."""
    image, box = memory_map(view, low, high)
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
    table, _ = read_columns(path)
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


def _box(x: Array, y: Array) -> Box:
    """A square around all points, so that one unit is as long in x as in y."""
    left, right, bottom, top = limits(x, y)
    half = 0.54 * max(right - left, top - bottom)
    across, up = (left + right) / 2, (bottom + top) / 2
    return across - half, across + half, up - half, up + half


def _track(box: Box, x: Array, y: Array) -> str:
    left, right, bottom, top = box
    across = LEFT + (x - left) / (right - left) * SIDE
    down = TOP + (top - y) / (top - bottom) * SIDE
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True))


def _polyline(box: Box, x: Array, y: Array) -> Markup:
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


def _axes(box: Box, x_label: str, y_label: str) -> Sequence[Markup]:
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

"""Pictures of memories and of evaluation episodes (`templates/pictures.html` draws them)."""

import base64
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.analysis.memories import MemoryView
from scrubjay.analysis.reading import Array, RunData
from scrubjay.figures.raster import SCALE, Box, best_values, coloured, contact_sheet, limits, png
from scrubjay.report.formatting import number
from scrubjay.training.tables import column, read_columns

SIDE, LEFT, TOP = 180.0, 34.0, 4.0
# Episodes are not methods: their colours differ from those of the methods that are shown most.
EPISODE_COLOURS = (
    *("#2a78d0", "#d0532a", "#2f9e63", "#8a4fc4", "#c0901a", "#1f9aa8", "#c7428b", "#6d7d1c"),
    *("#7a5540", "#5a6475"),
)


@dataclass(frozen=True)
class Trajectory:
    """The path of one episode, with its two ends; unknown success counts as one."""

    path: str
    start: tuple[str, str]
    end: tuple[str, str]
    episode: int
    colour: str
    succeeded: bool


@dataclass(frozen=True)
class Picture:
    """A square field with the numbers at its corners; `image` is a PNG file in base64.

    `data` is for the page's script, which exports it as a CSV file.
    """

    title: str
    x_label: str
    y_label: str
    left: str
    right: str
    bottom: str
    top: str
    image: str = ""
    walls: list[str] = field(default_factory=list)
    trajectories: list[Trajectory] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ColourBar:
    """The scale of memory pictures, from its lowest value to its highest."""

    low: str
    high: str
    colours: list[str]


def memory_picture(view: MemoryView, low: float, high: float) -> Picture:
    """The images of the best rows, or the best value in each cell of a grid, else blank."""
    name = f", {view.name}" if view.name else ""
    title = f"seed {view.run.seed}{name}: {len(view.values):,} rows"
    if view.pictures is not None and view.picture_values is not None:
        return _best_rows(title, view.pictures, view.picture_values)
    best, box = best_values(view)
    return Picture(
        title,
        view.x_label,
        view.y_label,
        *_corners(box),
        image=base64.b64encode(png(coloured(best, low, high))).decode(),
        data={
            "names": [view.x_label, view.y_label, "value"],
            "box": [_digits(side) for side in box],
            "range": [low, high],
            "cells": base64.b64encode(_steps(best, low, high)).decode(),
        },
    )


def _best_rows(title: str, pictures: npt.NDArray[np.uint8], values: Array) -> Picture:
    words = f"best rows: {number(values[0])} to {number(values[-1])}"
    sheet = png(contact_sheet(pictures, 3))
    points = [[place, _digits(value)] for place, value in enumerate(values.tolist(), 1)]
    return Picture(
        title, words, "", *4 * ("",), image=base64.b64encode(sheet).decode(),
        data={"names": ["place", "value"], "points": points},
    )  # fmt: skip


def _steps(best: Array, low: float, high: float) -> bytes:
    """Values as 16-bit steps from low (0) to high (65534), 65535 for an empty cell.

    That is a quarter of the bytes of a list of numbers, and exact to 0.002% of the range.
    """
    share = (np.where(np.isfinite(best), best, low) - low) / (high - low if high > low else 1)
    steps = np.where(np.isfinite(best), np.rint(np.clip(share, 0, 1) * 65534), 65535)
    return steps.astype("<u2").tobytes()


def _digits(value: float) -> float:
    return float(f"{value:.5g}")


def trajectory_picture(run: RunData) -> Picture | None:
    """The evaluation episodes of the last recorded step, over the walls where they are known."""
    path = run.path / "trajectories.csv"
    if not path.exists():
        return None
    table, _ = read_columns(path)
    wanted = [column(table, name, path) for name in ("timestep", "episode", "x", "y")]
    if len(wanted[0]) == 0:
        return None
    timestep, episode, x, y = (values[wanted[0] == wanted[0][-1]] for values in wanted)
    walls, failed = _walls(run), _failed_episodes(run, float(timestep[-1]))
    box = _square(
        np.concatenate([x, walls[:, ::2].ravel()]), np.concatenate([y, walls[:, 1::2].ravel()])
    )
    return Picture(
        f"seed {run.seed}: step {number(timestep[-1])}",
        "x",
        "y",
        *_corners(box),
        walls=["M" + "L".join(_points(box, wall[::2], wall[1::2])) for wall in walls],
        trajectories=[
            _trajectory(box, x[episode == which], y[episode == which], place, place not in failed)
            for place, which in enumerate(np.unique(episode))
        ],
        data={
            "names": ["episode", "x", "y"],
            "points": [
                [int(which) + 1, _digits(across), _digits(up)]
                for which, across, up in zip(episode, x, y, strict=True)
            ],
        },
    )


def colour_bar(low: float, high: float) -> ColourBar:
    """The scale of the memory pictures."""
    return ColourBar(number(low), number(high), ["rgb({},{},{})".format(*c) for c in SCALE])


def _failed_episodes(run: RunData, timestep: float) -> set[int]:
    """Which episodes of an evaluation were not a success, counted from 0."""
    path = run.path / "eval.csv"
    table, _ = read_columns(path)
    if not table:
        return set()
    success = column(table, "is_success", path)[column(table, "timestep", path) == timestep]
    return set(np.flatnonzero(success == 0).tolist())


def _trajectory(box: Box, x: Array, y: Array, place: int, succeeded: bool) -> Trajectory:
    points = _points(box, x, y)
    (start_x, start_y), (end_x, end_y) = points[0].split(), points[-1].split()
    colour = EPISODE_COLOURS[place % len(EPISODE_COLOURS)]
    path = "M" + "L".join(points)
    return Trajectory(path, (start_x, start_y), (end_x, end_y), place + 1, colour, succeeded)


def _points(box: Box, x: Array, y: Array) -> list[str]:
    left, right, bottom, top = box
    across = LEFT + (x - left) / (right - left) * SIDE
    down = TOP + (top - y) / (top - bottom) * SIDE
    return [f"{a:.1f} {b:.1f}" for a, b in zip(across, down, strict=True)]


def _square(x: Array, y: Array) -> Box:
    """A square around all points, so that one unit is as long in x as in y."""
    left, right, bottom, top = limits(x, y)
    half = 0.54 * max(right - left, top - bottom)
    across, up = (left + right) / 2, (bottom + top) / 2
    return across - half, across + half, up - half, up + half


def _corners(box: Box) -> tuple[str, str, str, str]:
    left, right, bottom, top = map(_short, box)
    return left, right, bottom, top


def _short(side: float) -> str:
    """At most four characters where that is possible: there is little room beside a picture."""
    text = f"{side:.2g}"
    return text if len(text) <= 4 else f"{side:.1g}"


def _walls(run: RunData) -> Array:
    """Line segments (x1, y1, x2, y2) from the manifest's `walls`, if there are any."""
    walls = run.manifest.get("walls") or []
    try:
        return np.asarray(walls, dtype=np.float64).reshape(-1, 4)
    except (TypeError, ValueError):
        return np.empty((0, 4))

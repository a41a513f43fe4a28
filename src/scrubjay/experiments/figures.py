"""Figures on paper: learning curves in the house style, saved with the numbers behind them.

Only matplotlib's objects are used: no pyplot, no display, and a caller's own settings stay as they
are. The report is drawn without matplotlib (`charts.py`).
"""

import csv
import io
import json
import os
import secrets
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.experiments.runs import Curve, RunError, one_task
from scrubjay.experiments.statistics import FEWEST_RUNS, Array, Efficiency, sample_efficiency
from scrubjay.experiments.style import INK, colour_of, in_order, short_task
from scrubjay.optional import require
from scrubjay.training.run_folder import hardware, now, versions

BANDS = ("standard error", "bootstrap")
METRIC_LABELS = {"success": "success rate", "return": "return", "length": "episode length"}
# Bootstrap intervals in figures and reports are drawn from this seed: the same runs, the same band.
BOOTSTRAP_SEED = 0
DPI = {"png": 160, "svg": 90}  # of an SVG only what is rasterized
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d8dce2",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "scrubjay",
}


@dataclass(frozen=True)
class Drawing:
    """A figure and the tidy rows of everything it shows."""

    figure: Any
    rows: list[dict[str, Any]]
    caption: str


def learning_curves(
    panels: Mapping[str, Sequence[Curve]],
    band: str = "standard error",
    columns: int = 4,
    show_seeds: bool = True,
    notes: Sequence[str] = (),
) -> Drawing:
    """One panel for each task, one line for each method; `notes` are added to the caption.

    `band="standard error"` draws the mean and its standard error, as the paper does;
    `band="bootstrap"` the interquartile mean with its 95% stratified-bootstrap interval. Methods
    with fewer than three seeds are drawn as their single runs alone, and the caption says so.
    """
    if band not in BANDS:
        raise ValueError(f"one of {', '.join(BANDS)} was expected, {band!r} came")
    if not panels or not all(panels.values()):
        raise RunError("at least one panel, and at least one curve in each, was expected")
    for curves in panels.values():
        one_task(curves)
    figure, grid = _panels(len(panels), columns)
    order = in_order({curve.label for curves in panels.values() for curve in curves})
    for axes, (title, curves) in zip(grid, panels.items(), strict=True):
        draw_curves(axes, curves, band, order, show_seeds)
        axes.set_title(title)
    for axes in set(grid) - set(grid[:: min(len(panels), columns)]):
        axes.set_ylabel("")
    everything = [curve for curves in panels.values() for curve in curves]
    text = " ".join([caption(everything, band), *notes])
    add_legend(figure, order)
    add_caption(figure, text)
    return Drawing(figure, tidy_rows(everything), text)


def draw_curves(
    axes: Any,
    curves: Sequence[Curve],
    band: str = "standard error",
    order: Sequence[str] | None = None,
    show_seeds: bool = True,
) -> None:
    """Draw methods into axes that the caller owns; `order` fixes who gets which colour."""
    labels = order or [curve.label for curve in curves]
    for curve in curves:
        colour = colour_of(curve.label, labels)
        found = band_of(summary(curve), band)
        if show_seeds or found is None:
            _draw_seeds(axes, curve, colour, alone=found is None)
        if found is not None:
            middle, low, high = found
            axes.fill_between(curve.steps, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(curve.steps, middle, color=colour, linewidth=2, solid_capstyle="round")
    if curves[0].metric == "success":
        axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(METRIC_LABELS.get(curves[0].metric, curves[0].metric))
    axes.xaxis.set_major_formatter(_step_label)


@lru_cache(maxsize=256)
def summary(curve: Curve) -> Efficiency:
    """The statistics of a curve, with the intervals that all figures and reports share."""
    return sample_efficiency(curve.values, np.random.default_rng(BOOTSTRAP_SEED))


def band_of(found: Efficiency, band: str) -> tuple[Array, Array, Array] | None:
    """The middle line and the ends of its band; None from fewer than three seeds."""
    if found.interval is None or found.standard_error is None:
        return None
    if band == "bootstrap":
        return found.interquartile_mean, found.interval.low, found.interval.high
    return found.mean, found.mean - found.standard_error, found.mean + found.standard_error


def caption(curves: Sequence[Curve], band: str = "standard error") -> str:
    """What the lines, bands and points are, the number of seeds, and what was left out."""
    parts = []
    if any(len(curve.seeds) >= FEWEST_RUNS for curve in curves):
        parts.append(
            "Lines: mean over seeds, bands: one standard error."
            if band == "standard error"
            else "Lines: interquartile mean over seeds, bands: 95% stratified-bootstrap intervals."
        )
    parts.append(f"Thin lines: single seeds. Seeds: {_seed_counts(curves)}.")
    if any(len(curve.seeds) < FEWEST_RUNS for curve in curves):
        parts.append("Fewer than three seeds give no mean and no band: the runs alone are drawn.")
    notes = dict.fromkeys(note for curve in curves for note in curve.notes)
    return " ".join([*parts, *(f"{note}." for note in notes)])


def tidy_rows(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Everything a figure shows, one row per method, seed and step; "all" rows are summaries."""
    rows = []
    for curve in curves:
        head = {"task": curve.task, "method": curve.label, "metric": curve.metric}
        rows += [
            {**head, "seed": seed, "step": int(step), "value": float(value)}
            for seed, values in zip(curve.seeds, curve.values, strict=True)
            for step, value in zip(curve.steps, values, strict=True)
        ]
        rows += [{**head, **row} for row in _summary_rows(curve)]
    return rows


def save_figure(
    figure: Any, stem: str | Path, rows: Sequence[Mapping[str, Any]], command: str
) -> list[Path]:
    """Write stem.png, stem.svg, stem.csv (`rows`) and stem.json (how it came to be).

    Each file appears whole or not at all. A figure that is there already with other numbers is
    first moved to `previous/<stem>.<time of it>.*`, so that no result is lost; with the same
    numbers it is replaced.
    """
    pictures = {".png": _render(figure, "png"), ".svg": _render(figure, "svg")}
    return save_result(stem, pictures, rows, command)


def save_result(
    stem: str | Path, contents: Mapping[str, bytes], rows: Sequence[Mapping[str, Any]], command: str
) -> list[Path]:
    """As `save_figure`, for results of any kind: `contents` by suffix, beside .csv and .json."""
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    contents = {**contents, ".csv": _csv(rows), ".json": _origin(command)}
    paths = {suffix: stem.with_name(stem.name + suffix) for suffix in contents}
    unique = f".{secrets.token_hex(4)}.tmp"
    temporary = {suffix: path.with_name(path.name + unique) for suffix, path in paths.items()}
    for suffix, content in contents.items():
        _write(temporary[suffix], content)
    if paths[".csv"].exists() and paths[".csv"].read_bytes() != contents[".csv"]:
        _keep_previous(stem, paths)
    for suffix in contents:
        temporary[suffix].replace(paths[suffix])
    return list(paths.values())


def check_plots() -> None:
    """Refuse to draw where the packages for it are not installed, before any work is done."""
    for module in ("matplotlib", "PIL.Image"):
        require(module, "plots")


def open_figure(rows: int, columns: int, size: tuple[float, float], **layout: Any) -> Any:
    """An empty figure in the house style and its axes, an array of rows x columns."""
    matplotlib = require("matplotlib", "plots")
    figures = require("matplotlib.figure", "plots")
    require("matplotlib.backends.backend_agg", "plots")
    with matplotlib.rc_context(STYLE):
        figure = figures.Figure(figsize=size)
        return figure, figure.subplots(rows, columns, squeeze=False, **layout)


def _panels(count: int, columns: int) -> tuple[Any, list[Any]]:
    wide = min(count, columns)
    tall = -(-count // wide)
    figure, axes_grid = open_figure(tall, wide, (max(4.6, 3.3 * wide), 2.7 * tall + 0.9))
    grid = axes_grid.ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, list(grid[:count])


def _draw_seeds(axes: Any, curve: Curve, colour: str, alone: bool) -> None:
    look = {"linewidth": 1.2, "marker": "o", "markersize": 3} if alone else {"linewidth": 0.6}
    for values in curve.values:
        axes.plot(curve.steps, values, color=colour, alpha=0.9 if alone else 0.3, **look)


def _step_label(step: float, _: int) -> str:
    return f"{step / 1000:g}k" if step else "0"


def add_legend(figure: Any, labels: Sequence[str]) -> None:
    """The methods and their colours, above all panels."""
    lines = require("matplotlib.lines", "plots")
    handles = [
        lines.Line2D([], [], color=colour_of(label, labels), linewidth=2, label=label)
        for label in labels
    ]
    columns = min(len(labels), _legend_columns(figure))
    figure.legend(handles=handles, loc="upper center", ncols=columns, frameon=False)


def _legend_columns(figure: Any) -> int:
    """As many labels in a row as are sure to fit."""
    return max(2, int(figure.get_size_inches()[0] / 2.45))


def add_caption(figure: Any, text: str) -> None:
    """The caption below, and everything else laid out above it.

    Figures have room for 0.9 inches of legend and caption; what needs more makes them taller.
    """
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(text, int(width * 16.5))
    below = 0.08 + 0.16 * len(lines)
    n_labels = max((len(legend.get_texts()) for legend in figure.legends), default=1)
    above = 0.1 + 0.22 * -(-n_labels // _legend_columns(figure))
    height += max(0.0, below + above - 0.9)
    figure.set_size_inches(width, height)
    figure.text(0.012, 0.04 / height, "\n".join(lines), fontsize=8, va="bottom", color="#555b66")
    figure.tight_layout(rect=(0, below / height, 1, 1 - above / height))


def _seed_counts(curves: Sequence[Curve]) -> str:
    counts: dict[str, dict[str, int]] = {}
    for curve in curves:
        counts.setdefault(curve.label, {})[short_task(curve.task)] = len(curve.seeds)
    return "; ".join(f"{label} {_count(tasks)}" for label, tasks in counts.items())


def _count(tasks: Mapping[str, int]) -> str:
    if len(set(tasks.values())) == 1:
        return str(next(iter(tasks.values())))
    return " and ".join(f"{count} on {task}" for task, count in tasks.items())


def _summary_rows(curve: Curve) -> list[dict[str, Any]]:
    found = summary(curve)
    if found.interval is None or found.standard_error is None:
        return []
    columns = {
        "value": found.mean,
        "standard_error": found.standard_error,
        "iqm": found.interquartile_mean,
        "iqm_low": found.interval.low,
        "iqm_high": found.interval.high,
    }
    return [
        {"seed": "all", "step": int(step), **{name: float(c[i]) for name, c in columns.items()}}
        for i, step in enumerate(curve.steps)
    ]


def _render(figure: Any, kind: str) -> bytes:
    matplotlib = require("matplotlib", "plots")
    buffer = io.BytesIO()
    # No date and no version inside: the same figure is the same file.
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format=kind, dpi=DPI[kind], metadata=metadata)
    return _with_palette(buffer) if kind == "png" else buffer.getvalue()


def _with_palette(png: io.BytesIO) -> bytes:
    """The same picture in 256 colours: a third of the bytes, and no difference to the eye."""
    pictures = require("PIL.Image", "plots")
    smaller = io.BytesIO()
    pictures.open(png).convert("RGB").quantize(256).save(smaller, "png", optimize=True)
    return smaller.getvalue()


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _origin(command: str) -> bytes:
    origin = {
        "command": command,
        "written": now(),
        "versions": versions(),
        "hardware": hardware(),
    }
    return (json.dumps(origin, indent=2) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _keep_previous(stem: Path, paths: Mapping[str, Path]) -> None:
    folder = stem.parent / "previous"
    folder.mkdir(exist_ok=True)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(paths[".csv"].stat().st_mtime))
    name, number = f"{stem.name}.{moment}", 1
    while (folder / f"{name}.csv").exists():
        number += 1
        name = f"{stem.name}.{moment}-{number}"
    for suffix, path in paths.items():
        if path.exists():
            path.replace(folder / f"{name}{suffix}")

"""Line charts as inline SVG: where everything is drawn (`templates/chart.html` draws it).

Every chart is complete without its script, so that it can be printed; the script adds what only a
screen can: the numbers under the pointer, and hiding methods. Both summaries, the interquartile
mean with its interval and the mean with its standard error, are drawn, and one of them is shown.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scrubjay.analysis.curves import Curve, band_of, coincidences, summary
from scrubjay.analysis.reading import Array
from scrubjay.report.data import RunLink, Series
from scrubjay.report.formatting import number

MAX_DOTS = 60
WIDTH_OF_ONE = 14.0  # of the summary of a curve that has one step only, in units of the SVG
MODES = {"iqm": "bootstrap", "mean": "standard error"}


@dataclass(frozen=True)
class Field:
    """The size of a chart, and the sides of the field inside it, in units of the SVG."""

    width: int = 560
    height: int = 300
    left: int = 58
    right: int = 538
    top: int = 10
    bottom: int = 258


FIELD = Field()


@dataclass(frozen=True)
class Frame:
    """The numbers at the four sides of a chart's field, and where they are drawn."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: Any) -> Any:
        """The x coordinate of a step, or of an array of steps."""
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return FIELD.left + share * (FIELD.right - FIELD.left)

    def y(self, value: Any) -> Any:
        """The y coordinate of a value, or of an array of values."""
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return FIELD.bottom - share * (FIELD.bottom - FIELD.top)

    def path(self, steps: Array, values: Array) -> str:
        """A line through all points, in SVG's notation."""
        points = zip(self.x(steps), self.y(values), strict=True)
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


@dataclass(frozen=True)
class Tick:
    """A number beside an axis, and its position."""

    place: str
    text: str


@dataclass(frozen=True)
class Band:
    """A summary of seeds: its line and the area around it."""

    mode: str
    area: str
    line: str


@dataclass(frozen=True)
class DrawnRun:
    """The line of one run; without a summary of the seeds, with dots at its evaluations."""

    path: str
    link: RunLink
    kind: str
    dots: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class DrawnSeries:
    """The paths of one method; `below` is the number of lines under it that it would hide."""

    label: str
    colour: str
    below: int
    runs: list[DrawnRun]
    bands: list[Band] = field(default_factory=list)


@dataclass(frozen=True)
class Chart:
    """All that a template needs to draw a chart; `data` is for the page's script."""

    title: str
    y_label: str
    note: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    series: list[DrawnSeries]
    data: dict[str, Any]
    field: Field = FIELD


def line_chart(
    series: Sequence[Series],
    title: str,
    y_label: str,
    y_range: tuple[float, float] | None = None,
    note: str = "",
) -> Chart:
    """The chart of one task: a line for each method.

    Args:
        series: The methods.
        title: The task.
        y_label: What is drawn.
        y_range: The lowest and the highest value, if they are known.
        note: A remark beside the title.

    Returns:
        Where everything is drawn.
    """
    frame = _frame(series, y_range)
    below = _hidden_below(series)
    notes = [note, "dashed: lines that coincide" if any(below) else ""]
    return Chart(
        title=title,
        y_label=y_label,
        note="; ".join(filter(None, notes)),
        x_ticks=[
            Tick(f"{frame.x(value):.1f}", number(value))
            for value in ticks(frame.x_low, frame.x_high)
        ],
        y_ticks=[
            Tick(f"{frame.y(value):.1f}", number(value))
            for value in ticks(frame.y_low, frame.y_high)
        ],
        series=[_draw(frame, one, count) for one, count in zip(series, below, strict=True)],
        data={
            "x": [frame.x_low, frame.x_high, FIELD.left, FIELD.right],
            "series": [_numbers(one, one.curve) for one in series if one.curve is not None],
            "unfinished": [_numbers(one, curve) for one in series for curve in one.unfinished],
        },
    )


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """About `count` round numbers from low to high."""
    raw = (high - low) / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _frame(series: Sequence[Series], y_range: tuple[float, float] | None) -> Frame:
    curves = [curve for one in series for curve in one.curves]
    steps = np.concatenate([curve.steps for curve in curves])
    x_low, x_high = float(min(steps.min(), 0)), float(steps.max())
    values = np.concatenate([curve.values.ravel() for curve in curves])
    low, high = y_range or (float(values.min()), float(values.max()))
    margin = 0.04 * (high - low) or 0.5
    bottom = 0.0 if y_range is None and 0 <= low < 0.5 * high else low - margin
    return Frame(x_low, x_high if x_high > x_low else x_low + 1, bottom, high + margin)


def _hidden_below(series: Sequence[Series]) -> list[int]:
    """For each method, how many lines drawn before it coincide with its own."""
    drawn = [one.curve for one in series if one.curve is not None]
    counts = iter(coincidences(drawn, MODES["iqm"]))
    return [0 if one.curve is None else next(counts) for one in series]


def _draw(frame: Frame, one: Series, below: int) -> DrawnSeries:
    alone = one.curve is not None and summary(one.curve).interval is None
    lines = [(one.curve, row) for row in one.curve.values] if one.curve is not None else []
    others = [(curve, row) for curve in one.unfinished for row in curve.values]
    kinds = ["alone" if alone else "seed"] * len(lines) + ["unfinished"] * len(others)
    runs = [
        _run(frame, curve.steps, row, link, kind)
        for (curve, row), link, kind in zip([*lines, *others], one.links, kinds, strict=True)
    ]
    drawn = DrawnSeries(one.label, one.colour, min(below, 3), runs)
    if one.curve is not None and not alone:
        bands = [_band(frame, one.curve, mode) for mode in MODES]
        drawn.bands.extend(band for band in bands if band is not None)
    return drawn


def _band(frame: Frame, curve: Curve, mode: str) -> Band | None:
    found = band_of(summary(curve), MODES[mode])
    if found is None:
        return None
    middle, low, high = (np.clip(line, frame.y_low, frame.y_high) for line in found)
    if len(curve.steps) == 1:
        return _single(frame, mode, curve.steps, middle, low, high)
    there, back = frame.path(curve.steps, high), frame.path(curve.steps[::-1], low[::-1])
    return Band(mode, f"{there}L{back[1:]}Z", frame.path(curve.steps, middle))


def _single(frame: Frame, mode: str, step: Array, middle: Array, low: Array, high: Array) -> Band:
    """A curve of one step, which would have no length: a short line, and a bar for its interval."""
    left, width = float(frame.x(step)[0]) - WIDTH_OF_ONE / 2, WIDTH_OF_ONE
    top, bottom, line = (float(frame.y(values)[0]) for values in (high, low, middle))
    area = f"M{left:.1f} {top:.1f}h{width}V{bottom:.1f}h{-width}Z"
    return Band(mode, area, f"M{left:.1f} {line:.1f}h{width}")


def _run(frame: Frame, steps: Array, values: Array, link: RunLink, kind: str) -> DrawnRun:
    dotted = len(steps) == 1 or (kind == "alone" and len(steps) <= MAX_DOTS)
    shown = zip(steps, values, strict=True) if dotted else ()
    dots = [(f"{frame.x(x):.1f}", f"{frame.y(y):.1f}") for x, y in shown]
    return DrawnRun(frame.path(steps, values), link, kind, dots)


def _numbers(one: Series, curve: Curve) -> dict[str, Any]:
    found = summary(curve)
    numbers: dict[str, Any] = {
        "label": one.label,
        "colour": one.colour,
        "steps": curve.steps.tolist(),
        "seeds": _rounded(curve.values.T),
        "names": list(curve.seeds),
    }
    if found.interval is not None and found.standard_error is not None:
        numbers["iqm"] = _rounded(
            np.stack([found.interquartile_mean, found.interval.low, found.interval.high])
        )
        numbers["mean"] = _rounded(np.stack([found.mean, found.standard_error]))
    return numbers


def _rounded(values: Array) -> list[list[float]]:
    return [[float(f"{value:.4g}") for value in row] for row in values]

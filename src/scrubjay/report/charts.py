"""Line charts as inline SVG, without matplotlib and without a network.

Every chart is complete without its script, so that it can be printed; the script adds what only a
screen can: the numbers under the pointer, and hiding methods. Both summaries, the interquartile
mean with its interval and the mean with its standard error, are drawn, and one of them is shown.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scrubjay.analysis.curves import Curve, band_of, summary
from scrubjay.analysis.reading import Array
from scrubjay.report.markup import Markup, join, tag

WIDTH, HEIGHT = 560.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 22.0, 10.0, 42.0
MOST_DOTS = 60
MODES = {"iqm": "bootstrap", "mean": "standard error"}


@dataclass(frozen=True)
class Series:
    """A method in a chart: its finished seeds, and unfinished runs that are only shown."""

    label: str
    colour: str
    curve: Curve | None
    unfinished: tuple[Curve, ...] = ()

    @property
    def curves(self) -> list[Curve]:
        return [*([self.curve] if self.curve else []), *self.unfinished]


@dataclass(frozen=True)
class Frame:
    """The numbers at the four sides of a chart's field, and where they are drawn."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: Any) -> Any:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: Any) -> Any:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def line_chart(
    series: Sequence[Series], title: str, y_label: str, y_range: tuple[float, float] | None = None
) -> Markup:
    """A figure with title, chart and the data that the script reads."""
    frame = _frame(series, y_range)
    parts = [_grid(frame, y_label), *(_draw(frame, one) for one in series)]
    parts.append(Markup('<line class="guide" y1="10" y2="258"/>'))
    svg = tag(
        "svg", *parts, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", role="img", tabindex="0",
        aria_label=f"{title}: {y_label} over environment steps",
    )  # fmt: skip
    data = tag("script", Markup(script_json(_data(frame, series))), type="application/json")
    readout = tag("div", class_="readout", role="status")
    caption = tag("figcaption", tag("b", title), " ", y_label)
    return tag("figure", caption, svg, readout, data, class_="chart")


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """About `count` round numbers from low to high."""
    raw = (high - low) / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def number(value: float) -> str:
    """A number as a person writes it: 20k, 1.5M, 0.25."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def _frame(series: Sequence[Series], y_range: tuple[float, float] | None) -> Frame:
    curves = [curve for one in series for curve in one.curves]
    steps = np.concatenate([curve.steps for curve in curves])
    x_low, x_high = float(min(steps.min(), 0)), float(steps.max())
    values = np.concatenate([curve.values.ravel() for curve in curves])
    low, high = y_range or (float(values.min()), float(values.max()))
    margin = 0.04 * (high - low) or 0.5
    bottom = 0.0 if y_range is None and 0 <= low < 0.5 * high else low - margin
    return Frame(x_low, x_high if x_high > x_low else x_low + 1, bottom, high + margin)


def _grid(frame: Frame, y_label: str) -> Markup:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    lines = []
    for value in ticks(frame.y_low, frame.y_high):
        y = f"{frame.y(value):.1f}"
        lines.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
        lines.append(tag("text", number(value), x=LEFT - 8, y=y, dy="0.34em", class_="left"))
    for value in ticks(frame.x_low, frame.x_high):
        x = f"{frame.x(value):.1f}"
        lines.append(tag("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid"))
        lines.append(tag("text", number(value), x=x, y=bottom + 17, class_="middle"))
    lines.append(tag("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="axis"))
    middle = (LEFT + right) / 2
    lines.append(tag("text", "environment steps", x=middle, y=HEIGHT - 6, class_="middle label"))
    place = f"translate(11 {(TOP + bottom) / 2:g}) rotate(-90)"
    lines.append(tag("text", y_label, transform=place, class_="middle label"))
    return tag("g", *lines, class_="frame")


def _draw(frame: Frame, one: Series) -> Markup:
    parts = [
        tag("path", d=_path(frame, curve.steps, values), class_="unfinished")
        for curve in one.unfinished
        for values in curve.values
    ]
    if one.curve is not None:
        parts += _draw_finished(frame, one.curve)
    return tag("g", *parts, class_="series", data_series=one.label, style=f"--hue:{one.colour}")


def _draw_finished(frame: Frame, curve: Curve) -> list[Markup]:
    found = summary(curve)
    if found.interval is None:
        return [_alone(frame, curve.steps, values) for values in curve.values]
    seeds = [tag("path", d=_path(frame, curve.steps, row), class_="seed") for row in curve.values]
    return [*seeds, *(_summary(frame, curve, mode) for mode in MODES)]


def _summary(frame: Frame, curve: Curve, mode: str) -> Markup:
    band = band_of(summary(curve), MODES[mode])
    if band is None:
        return Markup("")
    middle, low, high = (np.clip(line, frame.y_low, frame.y_high) for line in band)
    there, back = _path(frame, curve.steps, high), _path(frame, curve.steps[::-1], low[::-1])
    area = tag("path", d=f"{there}L{back[1:]}Z", class_="band")
    line = tag("path", d=_path(frame, curve.steps, middle), class_="line")
    return tag("g", area, line, class_=f"mode-{mode}")


def _alone(frame: Frame, steps: Array, values: Array) -> Markup:
    shown = zip(steps, values, strict=True) if len(steps) <= MOST_DOTS else ()
    dots = [tag("circle", cx=f"{frame.x(x):.1f}", cy=f"{frame.y(y):.1f}", r=2.4) for x, y in shown]
    return join([tag("path", d=_path(frame, steps, values), class_="alone"), *dots])


def _path(frame: Frame, steps: Array, values: Array) -> str:
    points = zip(frame.x(steps), frame.y(values), strict=True)
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _data(frame: Frame, series: Sequence[Series]) -> dict[str, Any]:
    return {
        "x": [frame.x_low, frame.x_high, LEFT, WIDTH - RIGHT],
        "series": [_numbers(one) for one in series if one.curve is not None],
    }


def _numbers(one: Series) -> dict[str, Any]:
    assert one.curve is not None
    found = summary(one.curve)
    numbers: dict[str, Any] = {
        "label": one.label,
        "colour": one.colour,
        "steps": one.curve.steps.tolist(),
        "seeds": _rounded(one.curve.values.T),
    }
    if found.interval is not None and found.standard_error is not None:
        numbers["iqm"] = _rounded(
            np.stack([found.interquartile_mean, found.interval.low, found.interval.high])
        )
        numbers["mean"] = _rounded(np.stack([found.mean, found.standard_error]))
    return numbers


def _rounded(values: Array) -> list[list[float]]:
    return [[float(f"{value:.4g}") for value in row] for row in values]

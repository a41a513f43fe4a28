"""Cells of the report's tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scrubjay.analysis.curves import BOOTSTRAP_SEED, Curve, summary
from scrubjay.analysis.reading import RunData
from scrubjay.analysis.statistics import (
    Array,
    probability_of_improvement,
    probability_of_improvement_interval,
)
from scrubjay.report.charts import number
from scrubjay.report.markup import Markup, tag

ABSENT = "–"


def or_absent(value: Any) -> Any:
    return ABSENT if value is None else value


def estimates(curve: Curve | None) -> Markup:
    """IQM with its interval above mean with its error; from fewer than three seeds neither."""
    if curve is None:
        return Markup(ABSENT)
    found = summary(curve)
    if found.interval is None or found.standard_error is None:
        return Markup(ABSENT)
    low, high = found.interval.low[-1], found.interval.high[-1]
    robust = f"{_short(found.interquartile_mean[-1])} [{_short(low)}, {_short(high)}]"
    plain = f"{_short(found.mean[-1])} ± {_short(found.standard_error[-1])}"
    return tag("span", robust, tag("br"), tag("small", plain), class_="whole")


def improvement(first: Array, second: Array) -> str:
    """How likely the first's score (one per run) is better, with an interval if there is one."""
    share = f"{probability_of_improvement([first], [second])[0]:.0%}"
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    interval = probability_of_improvement_interval([first], [second], generator)
    if interval is None:
        return share
    return f"{share} [{interval.low[0]:.0%}, {interval.high[0]:.0%}]"


def seed_dots(curve: Curve | None, colour: str) -> Markup:
    """Every seed's last success rate as a dot on a line from 0 to 1; equal ones are stacked."""
    if curve is None:
        return Markup(ABSENT)
    values = curve.values[:, -1].tolist()
    dots = [
        tag("circle", cx=f"{6 + 88 * value:.1f}", cy=16 - 4 * min(values[:i].count(value), 3), r=2)
        for i, value in enumerate(values)
    ]
    text = ", ".join(f"{value:.2f}" for value in values)
    line = tag("line", x1=6, x2=94, y1=19, y2=19)
    return tag(
        "svg", tag("title", text), line, *dots, viewBox="0 0 100 21", class_="strip",
        style=f"--hue:{colour}", role="img", aria_label=text,
    )  # fmt: skip


def median_step(runs: Sequence[RunData], name: str) -> str:
    """The median over seeds of a step in the manifest; never is later than any step."""
    steps = [run.manifest.get(name) for run in runs]
    known = [float(step) for step in steps if isinstance(step, int | float)]
    if not steps:
        return ABSENT
    middle = float(np.median([*known, *[np.inf] * (len(steps) - len(known))]))
    text = number(middle) if np.isfinite(middle) else "never"
    return text if len(known) == len(steps) else f"{text} ({len(known)} of {len(steps)})"


def last_value(run: RunData, name: str) -> float | None:
    """The last value in a column of time.csv."""
    values = run.time.get(name)
    return float(values[-1]) if values is not None and len(values) else None


def mean_of(runs: Sequence[RunData], name: str) -> float | None:
    """The mean over runs of a last value, as far as runs have it."""
    known = [value for run in runs if (value := last_value(run, name)) is not None]
    return float(np.mean(known)) if known else None


def duration(seconds: float | None) -> str:
    if seconds is None:
        return ABSENT
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def time_bar(seconds: float | None, longest: float, colour: str) -> Markup:
    share = 100 * (seconds or 0) / longest if longest else 0
    return tag("span", class_="time", style=f"--hue:{colour};--share:{share:.2f}%")


def method(label: str, colour: str) -> Markup:
    """A method's name behind a dot in its colour."""
    return tag("span", tag("span", class_="dot", style=f"--hue:{colour}"), label, class_="name")


def _short(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.4g}"

"""The contents of the cells of the report's tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrubjay.analysis.curves import BOOTSTRAP_SEED, Curve, summary
from scrubjay.analysis.reading import RunData
from scrubjay.analysis.statistics import (
    Array,
    probability_of_improvement,
    probability_of_improvement_interval,
)
from scrubjay.report.formatting import ABSENT, number


@dataclass(frozen=True)
class Estimate:
    """A result in two lines: IQM with its interval, and mean with its standard error.

    From one or two seeds there is neither: the values themselves, and how many they are.
    """

    robust: str
    plain: str


@dataclass(frozen=True)
class SeedStrip:
    """Every seed as a dot (x, y) on a line; `text` has their numbers."""

    text: str
    dots: list[tuple[str, int]]


def estimate(curve: Curve | None) -> Estimate | None:
    """At the last step."""
    if curve is None:
        return None
    found = summary(curve)
    if found.interval is None or found.standard_error is None:
        values = curve.values[:, -1]
        return Estimate(", ".join(map(_short, values)), f"n = {len(values)}")
    low, high = found.interval.low[-1], found.interval.high[-1]
    return Estimate(
        f"{_short(found.interquartile_mean[-1])} [{_short(low)}, {_short(high)}]",
        f"{_short(found.mean[-1])} ± {_short(found.standard_error[-1])}",
    )


def seed_strip(curve: Curve | None) -> SeedStrip | None:
    """Every seed's last success rate on a line from 0 to 1; equal ones are stacked."""
    if curve is None:
        return None
    rates = curve.values[:, -1].tolist()
    dots = [
        (f"{6 + 88 * rate:.1f}", 16 - 4 * min(rates[:i].count(rate), 3))
        for i, rate in enumerate(rates)
    ]
    return SeedStrip(", ".join(f"{rate:.2f}" for rate in rates), dots)


def improvement(first: Array, second: Array) -> str:
    """The probability that the first's score (one per run) is better, with its interval."""
    share = f"{probability_of_improvement([first], [second])[0]:.0%}"
    generator = np.random.default_rng(BOOTSTRAP_SEED)
    interval = probability_of_improvement_interval([first], [second], generator)
    if interval is None:
        return share
    return f"{share} [{interval.low[0]:.0%}, {interval.high[0]:.0%}]"


def first_step(runs: Sequence[RunData], name: str) -> str:
    """When seeds had their first success: the median step, and how many never had one.

    Args:
        runs: The finished runs of a method.
        name: The step's name in the manifest.
    """
    if not any(run.has_success for run in runs):
        return ABSENT
    steps = [run.manifest.get(name) for run in runs]
    known = sorted(float(step) for step in steps if isinstance(step, int | float))
    never = len(steps) - len(known)
    if not known:
        return "never" if len(steps) == 1 else f"never in {len(steps)} seeds"
    if not never:
        return number(float(np.median(known)))
    # a median is only known if more than half of the seeds had one; never is later than any step
    middle = float(np.median([*known, *[np.inf] * never]))
    if np.isfinite(middle):
        return f"{number(middle)}; never in {never} of {len(steps)} seeds"
    return f"{', '.join(map(number, known))}; never in {never} of {len(steps)} seeds"


def last_value(run: RunData, name: str) -> float | None:
    """The last value in a column of time.csv."""
    values = run.time.get(name)
    return float(values[-1]) if values is not None and len(values) else None


def mean_of(runs: Sequence[RunData], name: str) -> float | None:
    """The mean of a last value over the runs that have it."""
    known = [value for run in runs if (value := last_value(run, name)) is not None]
    return float(np.mean(known)) if known else None


def _short(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.4g}"

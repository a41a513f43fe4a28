"""The aligned curves of many seeds: a matrix of seeds x steps for each method and task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from scrubjay.analysis.groups import Group
from scrubjay.analysis.reading import METRICS, Array, RunData
from scrubjay.analysis.results import Cell, Row
from scrubjay.analysis.statistics import Efficiency, sample_efficiency
from scrubjay.training.errors import RunError

BANDS = ("standard error", "bootstrap")
# Bootstrap intervals in figures and reports are drawn from this seed: the same runs, the same band.
BOOTSTRAP_SEED = 0


@dataclass(frozen=True, eq=False)
class Curve:
    """Values of one method on one task, a matrix of seeds x steps."""

    label: str
    task: str
    metric: str
    steps: Array
    values: Array
    seeds: tuple[int, ...]
    notes: tuple[str, ...] = field(default=())


def evaluation_curve(group: Group, metric: str = "success") -> Curve:
    """One of `METRICS` for the seeds of a group, at the steps where all of them were evaluated.

    Nothing is interpolated or extrapolated: runs of unequal length are cut to the shortest,
    and the curve's notes say so.
    """
    if metric not in METRICS:
        raise ValueError(f"expected a metric of {', '.join(METRICS)}, got {metric!r}")
    series = {
        run.seed: (run.evaluations.timesteps, run.evaluations.metric(metric)) for run in group.runs
    }
    curve = _aligned(group.label, group.task, metric, series)
    return replace(curve, notes=(*curve.notes, *_unfinished_notes(group)))


def progress_curve(group: Group, name: str, n_steps: int = 101) -> Curve:
    """A logged quantity for the seeds of a group, on a common grid of steps.

    Runs log at the ends of their episodes, at different steps; a value is valid until the next one.
    """
    series = [run.logged(name) for run in group.runs]
    start, end = max(where[0] for where, _ in series), min(where[-1] for where, _ in series)
    grid = np.linspace(start, end, n_steps, dtype=np.int64)
    steps = np.unique(grid).astype(np.float64)
    values = [found[np.searchsorted(where, steps, side="right") - 1] for where, found in series]
    return Curve(
        label=group.label,
        task=group.task,
        metric=name,
        steps=steps,
        values=np.stack(values),
        seeds=tuple(run.seed for run in group.runs),
        notes=(
            *_cut_notes(group.label, steps, [where for where, _ in series]),
            *_unfinished_notes(group),
        ),
    )


def one_task(items: Iterable[RunData | Curve]) -> str:
    """The one task of runs or curves; those of several tasks cannot be in one plot."""
    tasks = sorted({item.task for item in items})
    if len(tasks) != 1:
        raise RunError(
            f"expected runs of one task, got {len(tasks)} tasks ({', '.join(tasks)}); make one "
            "plot for each"
        )
    return tasks[0]


def at_steps(curve: Curve, steps: Sequence[float]) -> Curve:
    """A curve cut down to some of its steps."""
    which = np.isin(curve.steps, steps)
    return replace(curve, steps=curve.steps[which], values=curve.values[:, which])


@lru_cache(maxsize=4096)
def summary(curve: Curve) -> Efficiency:
    """The statistics of a curve, with the intervals that all figures and reports share."""
    return sample_efficiency(curve.values, np.random.default_rng(BOOTSTRAP_SEED))


def band_of(found: Efficiency, band: str) -> tuple[Array, Array, Array] | None:
    """The middle line and the ends of its band; None for fewer than three seeds."""
    if found.interval is None or found.standard_error is None:
        return None
    if band == "bootstrap":
        return found.interquartile_mean, found.interval.low, found.interval.high
    return found.mean, found.mean - found.standard_error, found.mean + found.standard_error


def tidy_rows(curves: Sequence[Curve]) -> list[Row]:
    """Everything a figure shows, one row per method, seed and step; "all" rows are summaries."""
    rows: list[Row] = []
    for curve in curves:
        head: Row = {"task": curve.task, "method": curve.label, "metric": curve.metric}
        rows += [
            {**head, "seed": seed, "step": int(step), "value": float(value)}
            for seed, values in zip(curve.seeds, curve.values, strict=True)
            for step, value in zip(curve.steps, values, strict=True)
        ]
        rows += [{**head, **row} for row in _summary_rows(curve)]
    return rows


def curves_of(rows: Iterable[Row]) -> list[Curve]:
    """The curves that `tidy_rows` made rows of.

    Args:
        rows: The rows of a stored figure; summaries and the paper's values among them are skipped.

    Returns:
        One curve for each task, method and metric, in the order of the rows; if rows were added and
        its seeds are of unequal length, cut as by `evaluation_curve`.
    """
    found: dict[tuple[Cell, Cell, Cell], dict[int, list[Row]]] = {}
    for row in rows:
        if isinstance(row["seed"], int):
            key = (row["method"], row["task"], row["metric"])
            found.setdefault(key, {}).setdefault(row["seed"], []).append(row)
    return [
        _aligned(
            str(label),
            str(task),
            str(metric),
            {seed: (_column(mine, "step"), _column(mine, "value")) for seed, mine in seeds.items()},
        )
        for (label, task, metric), seeds in found.items()
    ]


def coincidences(curves: Sequence[Curve], band: str = "standard error") -> list[int]:
    """For each curve, how many earlier curves coincide with it at most steps.

    Lines that coincide hide each other unless they are drawn with dashes.

    Args:
        curves: Curves in the order in which they are drawn.
        band: Which line is drawn, as in `band_of`.

    Returns:
        A count for each curve.
    """
    lines = [dict(zip(curve.steps, _middle(curve, band), strict=True)) for curve in curves]
    return [
        sum(_coincide(mine, other) for other in lines[:place]) for place, mine in enumerate(lines)
    ]


def _middle(curve: Curve, band: str) -> Array:
    found = band_of(summary(curve), band)
    return summary(curve).mean if found is None else found[0]


def _coincide(mine: Mapping[float, float], other: Mapping[float, float]) -> bool:
    shared = mine.keys() & other.keys()
    size = max(map(abs, (*mine.values(), *other.values())), default=0)
    same = sum(abs(mine[step] - other[step]) <= 0.01 * size for step in shared)
    return 2 * same > len(shared) >= min(len(mine), len(other)) / 2


def _column(rows: Sequence[Row], name: str) -> Array:
    return np.array([row[name] for row in rows], dtype=np.float64)


def _summary_rows(curve: Curve) -> list[Row]:
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


def _aligned(
    label: str, task: str, metric: str, series: Mapping[int, tuple[Array, Array]]
) -> Curve:
    """The (steps, values) of each seed at the steps that all of them have."""
    recorded = [where for where, _ in series.values()]
    steps = recorded[0]
    for other in recorded[1:]:
        steps = np.intersect1d(steps, other)
    if len(steps) == 0:
        raise RunError(f"{label} on {task}: {_no_common_step(recorded)}")
    values = np.stack([found[np.isin(where, steps)] for where, found in series.values()])
    notes = _cut_notes(label, steps, recorded)
    return Curve(label, task, metric, steps, values, tuple(series), notes)


def _no_common_step(recorded: Sequence[Array]) -> str:
    """Why there is no curve, and what to do."""
    if not any(len(steps) for steps in recorded):
        return "no evaluations; set --eval-freq to fewer steps than the run has"
    return (
        f"there is no step at which all {len(recorded)} runs were evaluated; train them with "
        "the same --eval-freq"
    )


def _cut_notes(label: str, steps: Array, recorded: Sequence[Array]) -> tuple[str, ...]:
    """What the alignment left out, except a few steps at the end, where episodes differ anyway."""
    longest = max(where[-1] for where in recorded)
    if longest <= 1.05 * steps[-1]:
        return ()
    return (
        f"{label}: runs of unequal length, cut to the {steps[-1]:,.0f} steps that all have "
        f"(the longest has {longest:,.0f})",
    )


def _unfinished_notes(group: Group) -> tuple[str, ...]:
    return tuple(
        f"{group.label}, seed {run.seed}: {run.manifest['status']}"
        for run in group.runs
        if not run.finished
    )

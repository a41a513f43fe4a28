"""How long it takes to learn PointUMaze: success against seconds of training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrubjay.analysis.curves import Curve, band_of, curves_of, evaluation_curve, summary
from scrubjay.analysis.groups import Group
from scrubjay.analysis.reading import Array, RunData
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.figures.curves import seed_counts
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.style import SOFT, colour_of, in_order
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import METHODS
from scrubjay.studies.shared.panels import curve_notes
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASK = "PointUMaze"
GOAL = 0.9
SHOWN = ("cec-plus", "cec", "sac", "sac-small-entropy", "sac-defaults", "emac")
PREFACE = f"""# Training time to success on {TASK}

The first evaluation at which the mean success of the seeds is {GOAL}, and the mean seconds of
training up to it (compilation and evaluation apart). A method that does not reach it has the
seconds of its whole runs as a lower bound. Runs that share a machine slow each other down: measure
with `--jobs 1`.

"""


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of those of its methods that may be run."""
    return workspace.plan(SHOWN, (TASK,))


def make(workspace: Workspace) -> list[Path]:
    """The figure and the table."""
    groups = [group for name in SHOWN if (group := workspace.group(name, TASK))]
    if not groups:
        raise workspace.no_runs_error("speed")
    run = [row for group in groups for row in success_by_seconds(group)]
    found = workspace.completed("speed", run)
    curves = curves_by_label(found.rows)
    cut = curve_notes(curve for _, curve in curves.values())
    table = ResultTable(found.rows, [*cut, *workspace.budget_notes(), *found.notes])
    labels = [METHODS[name].label for name in SHOWN if METHODS[name].label in curves]
    rows = with_ratios([measure(*curves[label]) for label in labels])
    return [
        *workspace.draw("speed", draw_speed, table),
        *workspace.write("table-speed", PREFACE, rows, table.notes),
    ]


def success_by_seconds(group: Group) -> list[Row]:
    """A row for each seed and evaluation, with the seconds that it had trained by then."""
    curve = evaluation_curve(group, "success")
    return [
        {
            "method": group.label, "seed": run.seed, "step": int(step),
            "seconds": float(f"{train_seconds(run, step):.6g}"), "success": float(success),
        }
        for run, values in zip(group.runs, curve.values, strict=True)
        for step, success in zip(curve.steps, values, strict=True)
    ]  # fmt: skip


def curves_by_label(rows: Sequence[Row]) -> dict[str, tuple[Array, Curve]]:
    """The mean seconds at each evaluation, and the success of each seed there, by method."""
    columns = ("seconds", "success")
    renamed: list[Row] = [
        {**row, "task": TASK, "metric": name, "value": row[name]}
        for row in rows
        for name in columns
    ]
    found = {(curve.label, curve.metric): curve for curve in curves_of(renamed)}
    return {
        label: (found[label, "seconds"].values.mean(axis=0), found[label, "success"])
        for label in in_order({label for label, _ in found})
    }


def measure(seconds: Array, curve: Curve) -> Row:
    """When the seeds of a method succeed together, and how long they trained until then."""
    first = _first_at_goal(curve)
    at = -1 if first is None else first
    return {
        "method": curve.label,
        "reached": "no" if first is None else "yes",
        "step": int(curve.steps[at]),
        "training seconds": float(f"{seconds[at]:.4g}"),
        "seeds": len(curve.seeds),
    }


def train_seconds(run: RunData, step: float) -> float:
    """The seconds of training up to a step, interpolated between two lines of the log."""
    steps, seconds = run.time["timestep"], run.time["time/train_seconds"]
    return float(np.interp(step, [0, *steps], [0, *seconds]))


def with_ratios(rows: Sequence[Row]) -> list[Row]:
    """Every method against the first."""
    first = _seconds(rows[0]) if rows[0]["reached"] == "yes" else 0.0
    return [{**row, "times the first": _ratio(row, first)} for row in rows]


def _ratio(row: Row, first: float) -> str:
    at_least = "" if row["reached"] == "yes" else "at least "
    return f"{at_least}{_seconds(row) / first:.1f}" if first else "-"


def _seconds(row: Row) -> float:
    return number_of(row["training seconds"])


# ---------------------------------------------------------------- the figure


def draw_speed(table: ResultTable) -> "Figure":
    """Success against seconds of training, on a logarithmic axis."""
    figure, grid = open_figure(1, 1, (PAGE_WIDTH, 4.2))
    axes = grid[0][0]
    curves = curves_by_label(table.rows)
    labels = list(curves)
    for label in reversed(labels):  # the first on top
        _draw_method(axes, *curves[label], colour_of(label, labels))
    axes.axhline(GOAL, color=SOFT, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(_seconds_label)
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("success of greedy episodes")
    axes.set_xlabel("training time")
    words = {label: f"{label}: {_time_to_goal(*curves[label])}" for label in labels}
    reached = mark(f"{GOAL:.0%} success, first reached", marker="o", markersize=7)
    add_legend(figure, labels, words, [reached])
    add_caption(figure, " ".join([_caption(curves), *table.notes]))
    return figure


def _draw_method(axes: "Axes", seconds: Array, curve: Curve, colour: str) -> None:
    shown = seconds > 0  # a logarithmic axis has no 0
    for values in curve.values:
        axes.plot(seconds[shown], values[shown], color=colour, linewidth=0.6, alpha=0.35)
    band = band_of(summary(curve), "standard error")
    if band is not None:
        low, high = (np.clip(side[shown], 0, 1) for side in band[1:])
        axes.fill_between(seconds[shown], low, high, color=colour, alpha=0.18, linewidth=0)
    means = curve.values.mean(axis=0)
    axes.plot(seconds[shown], means[shown], color=colour, linewidth=2.2, solid_capstyle="round")
    first = _first_at_goal(curve)
    if first is not None:
        axes.plot(seconds[first], means[first], "o", color=colour, markersize=7)


def _first_at_goal(curve: Curve) -> int | None:
    there = np.flatnonzero(curve.values.mean(axis=0) >= GOAL)
    return int(there[0]) if len(there) else None


def _time_to_goal(seconds: Array, curve: Curve) -> str:
    first = _first_at_goal(curve)
    if first is None:
        return f"not within {_in_words(seconds[-1])}"
    return _in_words(seconds[first])


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.2g} s"


def _seconds_label(seconds: float, _: int) -> str:
    return f"{seconds:,.10g} s"


def _caption(curves: Mapping[str, tuple[Array, Curve]]) -> str:
    counts = {label: len(curve.seeds) for label, (_, curve) in curves.items()}
    steps = max(int(curve.steps[-1]) for _, curve in curves.values())
    return (
        f"Success of greedy episodes on {TASK} against the seconds of training, of runs of "
        f"{steps:,} steps; compilation and evaluation are not counted. Thick lines: mean over "
        f"seeds; bands: one standard error; thin lines: single seeds. {seed_counts(counts)}"
    )


FIGURES = {"speed": draw_speed}

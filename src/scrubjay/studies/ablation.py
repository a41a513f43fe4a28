"""What each part of `cec-plus` is worth: all of it, each part taken away, and the paper's rule."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrubjay.analysis.curves import Curve, evaluation_curve, tidy_rows
from scrubjay.analysis.results import Cell, ResultTable, Row, number_of
from scrubjay.analysis.statistics import (
    Array,
    Statistic,
    aggregate,
    bootstrap_interval,
    interquartile_mean,
    mean,
    probability_of_improvement,
    probability_of_improvement_interval,
)
from scrubjay.figures.curves import METRIC_LABELS
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.style import INK, SOFT, colour_of
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.panels import curve_notes
from scrubjay.studies.shared.plus_cases import FULL, PAPER, Arm, Case, draw_cases
from scrubjay.studies.shared.suite_tasks import SUITE, SuiteTask
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.studies.suite import config_of, folder, folder_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SEEDS = (40, 41, 42)
# some of each family of the suite, whose runs are used too
TITLES = (
    "MountainCar", "PointUMaze", "Point4Rooms, one goal", "Point4Rooms, return", "FetchReach",
    "MountainCar + 3 sensors", "PointUMaze, noisy", "PointMaze Medium", "Reacher",
    "corridor of 30 cells", "InvertedPendulum", "four rooms, grid",
)  # fmt: skip
CASES: tuple[SuiteTask, ...] = tuple(case for case in SUITE if case.title in TITLES)
WITH_GOALS = ("SparseFetchReach", "SparseReacher", "gymnasium_robotics:PointMaze_Medium-v3")

ARMS = (
    FULL,
    Arm("actions not held", {"hold": 1}),
    Arm("one epsilon for all", {"epsilon_spread": 1.0}),
    Arm("worthless rows count", {"skip_worthless": False}),
    Arm("nearest, not best", {"detour_cost": None}),
    Arm("no stitching", {"stitching": False}),
    Arm("all dimensions count", {"measure_keys": False}),
    Arm("no goal planning", {"goal_planning": False}, tasks=WITH_GOALS),
    Arm("no lookahead", {"lookahead": False}, tasks=("InvertedPendulum-v5",)),
    Arm("no planning", {"planning": 0.0}),
    Arm("no discovery", {"discovery": False}),
    PAPER,
)


def plan(workspace: Workspace) -> list[RunConfig]:
    """Nothing unless `cec-plus` may be run; a quick version has the three fastest tasks."""
    if "cec-plus" not in workspace.agents:
        return []
    asked = workspace.budget.seeds
    seeds = SEEDS if asked == tuple(range(5)) or workspace.budget.quick else asked
    # seed by seed, so that a broken-off study has all parts
    return [
        config_of(arm, case, seed, workspace)
        for seed in seeds
        for case in (CASES[:3] if workspace.budget.quick else CASES)
        for arm in ARMS
        if arm.suits(case)
    ]


def make(workspace: Workspace) -> list[Path]:
    """Both figures and both tables."""
    found = {case: curves_found(case, workspace) for case in CASES}
    found = {case: curves for case, curves in found.items() if curves}
    if not found:
        raise workspace.no_runs_error("ablation")
    rows: list[Row] = [
        {"task": case.title, "metric": case.metric, "step": case.target_step,
         "target": case.target or None, "arm": label, **scores(curve, case)}
        for case, curves in found.items()
        for label, curve in curves.items()
    ]  # fmt: skip
    whole = overall({c.title: curves for c, curves in found.items() if c.metric == "success"})
    both = [c[label] for c in found.values() for label in (FULL.label, PAPER.label) if label in c]
    notes = [*curve_notes(both), *workspace.budget_notes()]
    bars = ResultTable(
        [*rows, *({"task": ALL_TASKS, "metric": "success", **row} for row in whole)], notes
    )
    return [
        *workspace.draw("ablation", draw_ablation, bars),
        *_write_table(workspace, rows),
        *_write_overall(workspace, whole),
        *workspace.draw("ablation-curves", draw_both, ResultTable(tidy_rows(both), notes)),
    ]


def curves_found(case: SuiteTask, workspace: Workspace) -> dict[str, Curve]:
    """The curves of all variants, of the seeds that each of them has."""
    groups = {}
    for arm in ARMS:
        if arm.suits(case):
            runs = folder(workspace) / folder_name(arm, case, workspace)
            if group := workspace.runs_in(runs, arm.label):
                groups[arm.label] = group
    seeds = [{run.seed for run in group.runs} for group in groups.values()]
    common = set.intersection(*seeds) if seeds else set()
    return {
        label: evaluation_curve(
            replace(group, runs=tuple(run for run in group.runs if run.seed in common)),
            case.metric,
        )
        for label, group in groups.items()
        if common
    }


def scores(curve: Curve, case: Case) -> Row:
    """Mean and interquartile mean over seeds, at the target's step and at the end."""
    place = min(int(np.searchsorted(curve.steps, case.target_step)), len(curve.steps) - 1)
    at = curve.values[:, place]
    low, high = _interval([at])
    return {
        "seeds": len(at),
        "mean": round(float(at.mean()), 3),
        "iqm": round(float(aggregate([at])[0]), 3),
        "low": low,
        "high": high,
        "mean_at_end": round(float(curve.values[:, -1].mean()), 3),
        "worst_seed": round(float(at.min()), 3),
    }


def overall(found: Mapping[str, Mapping[str, Curve]]) -> list[Row]:
    """Arms that ran on all these tasks: the mean of all evaluations, so early success counts."""
    areas = {
        arm.label: [curves[arm.label].values.mean(axis=1) for curves in found.values()]
        for arm in ARMS
        if all(arm.label in curves for curves in found.values())
    }
    rows = []
    for label, tasks in areas.items():
        low, high = _interval(tasks, mean)
        row: Row = {
            "arm": label,
            "tasks": len(tasks),
            "seeds": min(len(task) for task in tasks),
            "mean": round(float(aggregate(tasks, mean)[0]), 3),
            "low": low,
            "high": high,
        }
        if label != FULL.label and FULL.label in areas:
            row |= _advantage(areas[FULL.label], tasks)
        rows.append(row)
    return rows


def _advantage(full: list[Array], other: list[Array]) -> Row:
    """The probability that a run of the full variant is better than one without the part."""
    chance = float(probability_of_improvement(full, other)[0])
    found = probability_of_improvement_interval(full, other, np.random.default_rng(0))
    return {
        "full_better": round(chance, 3),
        "full_better_low": None if found is None else round(float(found.low[0]), 3),
        "full_better_high": None if found is None else round(float(found.high[0]), 3),
    }


def _interval(
    strata: list[Array], statistic: Statistic = interquartile_mean
) -> tuple[float | None, float | None]:
    found = bootstrap_interval(strata, statistic, np.random.default_rng(0))
    if found is None:
        return None, None
    return round(float(found.low[0]), 3), round(float(found.high[0]), 3)


def draw_ablation(table: ResultTable) -> "Figure":
    """A panel for each task: the arms from top to bottom, their interval, a line at the target."""
    tasks: dict[str, list[Row]] = {ALL_TASKS: []}
    for row in table.rows:
        tasks.setdefault(str(row["task"]), []).append(row)
    tasks = {task: rows for task, rows in tasks.items() if rows}
    labels = [arm.label for arm in ARMS]
    columns = min(3, len(tasks))
    tall = -(-len(tasks) // columns)
    size = (PAGE_WIDTH, (0.19 * len(labels) + 0.75) * tall + 0.9)
    figure, grid = open_figure(tall, columns, size, sharey=True)
    for axes, (task, rows) in zip(grid.ravel(), tasks.items(), strict=False):
        _draw_task(axes, task, rows, labels)
    for axes in grid.ravel()[len(tasks) :]:
        axes.set_visible(False)
    grid[0][0].set_yticks(range(len(labels)), labels)
    grid[0][0].set_ylim(len(labels) - 0.4, -0.6)
    add_legend(figure, [FULL.label, PAPER.label], marks=_marks())
    counts = sorted({int(row["seeds"] or 0) for row in table.rows})
    said = f"{' or '.join(map(str, counts))} seeds, {_EPISODES}" + _NOTE
    add_caption(figure, " ".join([said, *table.notes]))
    return figure


def _draw_task(axes: "Axes", task: str, rows: Sequence[Row], labels: Sequence[str]) -> None:
    step = f"after {rows[0]['step']:,} steps" if rows[0]["step"] else "mean of all evaluations"
    axes.set_title(f"{task}\n{step}", fontsize=9)
    for row in rows:
        place, arm = labels.index(str(row["arm"])), str(row["arm"])
        colour = colour_of(arm) if arm in (FULL.label, PAPER.label) else SOFT
        if row["low"] is not None:
            bounds = [number_of(row["low"]), number_of(row["high"])]
            axes.plot(bounds, [place, place], color=colour, alpha=0.35, linewidth=5)
        if row["iqm"] is not None:
            axes.plot(number_of(row["iqm"]), place, "o", color=colour, markersize=5)
        axes.plot(number_of(row["mean"]), place, "|", color=INK, markersize=9)
    if rows[0]["target"] is not None:
        axes.axvline(number_of(rows[0]["target"]), color=SOFT, linewidth=0.9, linestyle=":")
    best = next((case.optimum for case in CASES if case.title == task), 1.0)
    axes.set_xlim(-0.05 * best, 1.06 * best)
    axes.set_xticks([0, best / 2, best], ["0", f"{best / 2:g}", f"{best:g}"])
    axes.set_xlabel(METRIC_LABELS[str(rows[0]["metric"])])


def _marks() -> list["Line2D"]:
    return [
        mark("CECPlus with one part taken away", linewidth=2.5),
        mark("interquartile mean", marker="o", markersize=5),
        mark("95% interval", linewidth=5, alpha=0.35),
        mark("mean", marker="|", markersize=9, color=INK),
        mark("target", linewidth=0.9, linestyle=":"),
    ]


def draw_both(table: ResultTable) -> "Figure":
    """CECPlus and CEC, step by step."""
    return draw_cases(table, CASES)


FIGURES = {"ablation": draw_ablation, "ablation-curves": draw_both}
ALL_TASKS = "all tasks"
_EPISODES = "20 greedy episodes each (one where nothing is random). "
_NOTE = (
    "Between CECPlus and CEC (the paper's rule), each line is CECPlus with one part taken away; "
    "empty lines were not run, or have no such part. The first panel is the mean of all "
    "evaluations of the tasks with a success rate, to which early success adds."
)
PREFACE = """# Ablation of CECPlus

Greedy success (the return where the title says so) at the step of each target: the mean over
seeds, and in brackets the interquartile mean with its bootstrap 95% interval. Settings were chosen
on the seeds 100 to 113, and on 0 to 9 which parts stay; these are other seeds, the same for
each variant of a task.

"""


def _write_table(workspace: Workspace, rows: list[Row]) -> list[Path]:
    titles = list(dict.fromkeys(str(row["task"]) for row in rows))
    wide: list[Row] = []
    for arm in ARMS:
        line: Row = {"arm": arm.label}
        for title in titles:
            mine = [row for row in rows if (row["task"], row["arm"]) == (title, arm.label)]
            line[f"{title}, {_step(rows, title)}"] = _cell(mine[0]) if mine else "-"
        wide.append(line)
    return workspace.write("table-ablation", PREFACE, wide)


def _write_overall(workspace: Workspace, whole: list[Row]) -> list[Path]:
    """One line for each arm over all tasks."""
    lines: list[Row] = [
        {
            "arm": row["arm"],
            "success over all evaluations": _with_bounds(row["mean"], row["low"], row["high"]),
            "CECPlus is better": _with_bounds(
                row["full_better"], row["full_better_low"], row["full_better_high"]
            )
            if "full_better" in row
            else "",
        }
        for row in whole
    ]
    return workspace.write("table-ablation-overall", OVERALL, lines, numbers=whole)


OVERALL = """# Ablation of CECPlus, all tasks together

The mean success over the ten evaluations of each task and seed, with its stratified bootstrap 95%
interval: early success counts too. Then the probability that a run of CECPlus has a higher such
mean than a run without the part, averaged over tasks (ties count half, so 0.5 is no difference).

"""


def _with_bounds(value: Cell, low: Cell, high: Cell) -> str:
    return f"{value:.3f}" if low is None else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _step(rows: list[Row], title: str) -> str:
    step = next(row["step"] for row in rows if row["task"] == title)
    return f"{number_of(step) // 1000:.0f}k"


def _cell(row: Row) -> str:
    bounds = "" if row["low"] is None else f" {row['low']:.2f} to {row['high']:.2f}"
    return f"{row['mean']:.2f} ({row['iqm']:.2f}{bounds})"

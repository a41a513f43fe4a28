"""What each part of `cec-plus` is worth: all of it, each part taken away, and the paper's rule."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.analysis.curves import Curve, evaluation_curve
from scrubjay.analysis.results import save_result
from scrubjay.analysis.statistics import (
    Statistic,
    aggregate,
    bootstrap_interval,
    interquartile_mean,
    mean,
    probability_of_improvement,
    probability_of_improvement_interval,
)
from scrubjay.analysis.tables import markdown
from scrubjay.figures.curves import learning_curves
from scrubjay.figures.layout import add_caption, open_figure
from scrubjay.figures.saving import save_figure
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.plus_cases import FULL, PAPER, Arm, Case, seeds_of
from scrubjay.studies.shared.workspace import Workspace

NOISY_START = {"start_noise": True}
# twice the step of each target (the last, which is not one of the seven, once); eight evaluations
CASES = (
    Case("GrowingTree", "GrowingTree", 4_000, 500, 2_000, 1.0),
    Case("MountainCar", "SparseMountainCar", 20_000, 2_500, 10_000, 0.98),
    Case("PointUMaze", "PointUMaze", 20_000, 2_500, 10_000, 0.95),
    Case("Point4Rooms, one goal", "Point4RoomsOneGoal", 100_000, 12_500, 50_000, 0.90),
    Case("FetchReach", "SparseFetchReach", 12_000, 2_000, 6_000, 0.95),
    Case("CarGoal", "SafexpCarGoal", 60_000, 7_500, 30_000, 0.95),
    Case("PointGoal, noisy start", "SafexpPointGoal", 60_000, 15_000, 30_000, 0.95, NOISY_START),
    Case("Point4Rooms, return", "Point4Rooms", 100_000, 12_500, 100_000, 0.95, metric="return"),
)

_RUNNING = {"name": "running_normalizer"}
_GOAL_RUNNING = {"name": "chain", "stages": [{"name": "goal_difference", "keys": []}, _RUNNING]}
_NO_DIFFERENCE = {
    "name": "chain",
    "stages": [
        {"name": "select", "keys": ["observation", "desired_goal"]},
        {"name": "frozen_normalizer", "n_steps": 1000},
    ],
}
ARMS = (
    FULL,
    Arm(
        "running keys, d = 0.1",
        {"embedding": _RUNNING, "distance_threshold": 0.1},
        options_on={"SparseFetchReach": {"embedding": _GOAL_RUNNING}},
    ),
    Arm("no goal difference", {"embedding": _NO_DIFFERENCE}, tasks=("SparseFetchReach",)),
    Arm("actions not held", {"hold": 1}),
    Arm("one epsilon for all", {"epsilon_spread": 1.0}),
    Arm("worthless rows count", {"skip_worthless": False}),
    Arm("nearest, not best", {"detour_cost": None}),
    Arm("no stitching", {"stitching": False}),
    Arm("no correction", {"correction": 0.0}),
    PAPER,
)


def folder(workspace: Workspace) -> Path:
    return workspace.root / "ablation"


def plan(workspace: Workspace) -> list[RunConfig]:
    """Nothing unless `cec-plus` may be run; a quick version has the three fastest tasks."""
    if "cec-plus" not in workspace.agents:
        return []
    cases = CASES[:3] if workspace.budget.quick else CASES
    # the two that matter most come first, so that a broken-off study has them
    first = [(case, arm) for arm in (FULL, PAPER) for case in cases]
    others = [(case, arm) for case in cases for arm in ARMS if arm.suits(case)]
    return [
        arm.config(case, seed)
        for case, arm in dict.fromkeys([*first, *others])
        for seed in seeds_of(workspace)
    ]


def make(workspace: Workspace) -> list[Path]:
    root = folder(workspace)
    found = {
        case.title: {
            arm.label: evaluation_curve(group, case.metric)
            for arm in ARMS
            if arm.suits(case) and (group := arm.group(case, root, workspace))
        }
        for case in CASES
    }
    found = {title: curves for title, curves in found.items() if curves}
    if not found:
        raise workspace.nothing("ablation")
    rows = [
        {"task": case.title, "metric": case.metric, "step": case.target_step,
         "target": case.target, "arm": label, **scores(curve, case)}
        for case in CASES
        for label, curve in found.get(case.title, {}).items()
    ]  # fmt: skip
    successes = {case.title for case in CASES if case.metric == "success"}
    whole = overall({title: found[title] for title in found if title in successes})
    return [
        *_draw_bars(workspace, rows, whole),
        *_write_table(workspace, rows),
        *_write_overall(workspace, whole),
        *_draw_curves(workspace, found),
    ]


def scores(curve: Curve, case: Case) -> dict[str, Any]:
    """Mean and interquartile mean over seeds, at the target's step and at the end."""
    at = curve.values[:, int(np.flatnonzero(curve.steps == case.target_step)[0])]
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


def overall(found: Mapping[str, Mapping[str, Curve]]) -> list[dict[str, Any]]:
    """Arms that ran on all these tasks: the mean of all evaluations, so early success counts."""
    areas = {
        arm.label: [curves[arm.label].values.mean(axis=1) for curves in found.values()]
        for arm in ARMS
        if all(arm.label in curves for curves in found.values())
    }
    rows = []
    for label, tasks in areas.items():
        low, high = _interval(tasks, mean)
        row = {
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


def _advantage(full: list[Any], other: list[Any]) -> dict[str, Any]:
    """How likely a run of the full variant is better than one without the part."""
    chance = float(probability_of_improvement(full, other)[0])
    found = probability_of_improvement_interval(full, other, np.random.default_rng(0))
    return {
        "full_better": round(chance, 3),
        "full_better_low": None if found is None else round(float(found.low[0]), 3),
        "full_better_high": None if found is None else round(float(found.high[0]), 3),
    }


def _interval(
    strata: list[Any], statistic: Statistic = interquartile_mean
) -> tuple[float | None, float | None]:
    found = bootstrap_interval(strata, statistic, np.random.default_rng(0))
    if found is None:
        return None, None
    return round(float(found.low[0]), 3), round(float(found.high[0]), 3)


def _draw_bars(
    workspace: Workspace, rows: list[dict[str, Any]], whole: list[dict[str, Any]]
) -> list[Path]:
    """A panel for each task: the arms from top to bottom, their interval, a line at the target."""
    titles = list(dict.fromkeys(row["task"] for row in rows))
    labels = [arm.label for arm in ARMS]
    n_panels = len(titles) + 1
    figure, grid = open_figure(1, n_panels, (1.75 * n_panels + 2.2, 3.6), sharey=True)
    for axes, title in zip(grid[0], titles, strict=False):
        mine = [row for row in rows if row["task"] == title]
        axes.set_title(f"{title}\n{mine[0]['step']:,} steps", fontsize=9)
        axes.axvline(mine[0]["target"], color="0.6", linewidth=0.8, linestyle=":")
        for row in mine:
            _draw_row(axes, row, row["iqm"], labels)
            axes.plot(row["mean"], labels.index(row["arm"]), "|", color="0.2", markersize=9)
        axes.set_xlim(-0.05, 1.05)
        axes.set_xlabel(mine[0]["metric"])
    axes = grid[0][-1]
    axes.set_title("all seven tasks\nall evaluations", fontsize=9)
    axes.set_xlabel("success")
    for row in whole:
        if row["arm"] == FULL.label:
            axes.axvline(row["mean"], color="C0", linewidth=0.8, alpha=0.5)
        _draw_row(axes, row, row["mean"], labels)
    grid[0][0].set_yticks(range(len(labels)), labels)
    grid[0][0].set_ylim(len(labels) - 0.5, -0.5)
    counts = sorted({row["seeds"] for row in rows})
    said = f"{' or '.join(map(str, counts))} seeds, {_EPISODES}" + _NOTE
    add_caption(figure, " ".join([said, *workspace.honesty()]))
    return workspace.tell(save_figure(figure, workspace.out / "ablation", rows, workspace.command))


def _draw_row(axes: Any, row: dict[str, Any], dot: float, labels: list[str]) -> None:
    place = labels.index(row["arm"])
    colour = "C0" if place == 0 else "C3" if row["arm"] == PAPER.label else "0.35"
    if row["low"] is not None:
        axes.plot([row["low"], row["high"]], [place, place], color=colour, alpha=0.4, lw=5)
    axes.plot(dot, place, "o", color=colour, markersize=5)


_EPISODES = "20 greedy episodes each (one where nothing is random). "
_NOTE = (
    "Dot: interquartile mean; bar: its stratified bootstrap 95% interval; tick: mean; dotted line: "
    "the target. Below cec-plus each part is taken away alone. Last panel: the mean of all "
    "evaluations of the seven tasks, to which early success adds."
)
PREFACE = """# Ablation of cec-plus

Greedy success (the return where the title says so) at the step of each target: the mean over
seeds, and in brackets the interquartile mean with its bootstrap 95% interval. Settings were chosen
on the seeds 100 to 113, and on 0 to 9 which parts stay; these are the seeds 20 to 29.

"""


def _write_table(workspace: Workspace, rows: list[dict[str, Any]]) -> list[Path]:
    titles = list(dict.fromkeys(row["task"] for row in rows))
    wide: list[dict[str, Any]] = []
    for arm in ARMS:
        line: dict[str, Any] = {"arm": arm.label}
        for title in titles:
            mine = [row for row in rows if (row["task"], row["arm"]) == (title, arm.label)]
            line[f"{title}, {_step(rows, title)}"] = _cell(mine[0]) if mine else "-"
        wide.append(line)
    page = PREFACE + markdown(wide) + "\n"
    return workspace.tell(
        save_result(
            workspace.out / "table-ablation", {".md": page.encode()}, wide, workspace.command
        )
    )


def _write_overall(workspace: Workspace, whole: list[dict[str, Any]]) -> list[Path]:
    """One line for each arm over all tasks."""
    lines = [
        {
            "arm": row["arm"],
            "success over all evaluations": _with_bounds(row["mean"], row["low"], row["high"]),
            "cec-plus is better": _with_bounds(
                row["full_better"], row["full_better_low"], row["full_better_high"]
            )
            if "full_better" in row
            else "",
        }
        for row in whole
    ]
    page = OVERALL + markdown(lines) + "\n"
    return workspace.tell(
        save_result(
            workspace.out / "table-ablation-overall", {".md": page.encode()}, whole,
            workspace.command,
        )
    )  # fmt: skip


OVERALL = """# Ablation of cec-plus, the seven tasks together

The mean success over all evaluations (eight at most) of the seven tasks and all seeds, with its
stratified bootstrap 95% interval: early success counts too. Then the probability that a run of
cec-plus has a higher such mean than a run without the part, averaged over tasks (ties count half,
so 0.5 is no difference).

"""


def _with_bounds(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.3f}" if low is None else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _step(rows: list[dict[str, Any]], title: str) -> str:
    step = next(row["step"] for row in rows if row["task"] == title)
    return f"{step // 1000}k"


def _cell(row: dict[str, Any]) -> str:
    bounds = "" if row["low"] is None else f" {row['low']:.2f} to {row['high']:.2f}"
    return f"{row['mean']:.2f} ({row['iqm']:.2f}{bounds})"


def _draw_curves(workspace: Workspace, found: dict[str, dict[str, Curve]]) -> list[Path]:
    """All of it against the paper's rule, step by step."""
    panels = {
        title: [curves[label] for label in (FULL.label, PAPER.label) if label in curves]
        for title, curves in found.items()
    }
    drawing = learning_curves(
        {title: curves for title, curves in panels.items() if curves},
        "bootstrap",
        notes=workspace.honesty(),
    )
    for axes in drawing.figure.axes:
        axes.set_ylim(-0.04, 1.04)
    return workspace.save("ablation-curves", drawing)

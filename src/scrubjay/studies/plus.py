"""`cec-plus` to the end of its targets, and where nothing happens twice."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrubjay.analysis.curves import evaluation_curve, tidy_rows
from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import ResultTable, Row
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.panels import curve_notes
from scrubjay.studies.shared.plus_cases import FULL, PAPER, Case, draw_cases, seeds_of
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CASES = (
    Case("GrowingTree", "GrowingTree", 20_000, 2_000, 2_000, 1.0),
    Case("MountainCar", "SparseMountainCar", 100_000, 10_000, 10_000, 0.98),
    Case("PointUMaze", "PointUMaze", 50_000, 5_000, 10_000, 0.95),
    Case("Point4Rooms, return", "Point4Rooms", 100_000, 10_000, 100_000, 0.95, metric="return"),
    # without a target: what the noise leaves of both
    Case("noisy MountainCar", "NoisySparseMountainCar", 50_000, 5_000, 50_000, 0.0),
    Case("noisy PointUMaze", "NoisyPointUMaze", 50_000, 5_000, 50_000, 0.0),
    Case("CarGoal, noisy start", "SafexpCarGoal", 100_000, 20_000, 100_000, 0.8,
         {"start_noise": True}),
)  # fmt: skip


def folder(workspace: Workspace) -> Path:
    """Where its runs lie."""
    return workspace.root / "plus"


def plan(workspace: Workspace) -> list[RunConfig]:
    """Nothing unless `cec-plus` may be run; a quick version has the three fastest tasks."""
    if "cec-plus" not in workspace.agents:
        return []
    cases = CASES[:3] if workspace.budget.quick else CASES
    return [
        arm.config(case, seed)
        for case in cases
        for arm in (FULL, PAPER)
        for seed in seeds_of(workspace)
        if arm is FULL or case.target == 0
    ]


def make(workspace: Workspace) -> list[Path]:
    """The figure and the table."""
    groups = {
        (case, arm.label): group
        for case in CASES
        for arm in (FULL, PAPER)
        if (group := arm.group(case, folder(workspace), workspace))
    }
    if not groups:
        raise workspace.no_runs_error("plus")
    curves = [evaluation_curve(group, case.metric) for (case, _), group in groups.items()]
    table = ResultTable(tidy_rows(curves), [*curve_notes(curves), *workspace.budget_notes()])
    rows = [measure(case, group) for (case, _), group in groups.items()]
    return [
        *workspace.draw("plus", draw_plus, table),
        *workspace.write("table-plus", PREFACE, rows),
    ]


def draw_plus(table: ResultTable) -> "Figure":
    """A panel for each case."""
    return draw_cases(ResultTable(table.rows, [NOTE, *table.notes]), CASES)


NOTE = "CEC is shown where noise makes every episode different; elsewhere see the ablation."


FIGURES = {"plus": draw_plus}
PREFACE = """# cec-plus to the end of its targets

Success of greedy episodes (Point4Rooms: their return), means over seeds: at the step of the target,
at the end, the lowest mean from the target's step on, and the mean length of the successful
episodes at the end.

"""


def measure(case: Case, group: Group) -> Row:
    """A case's numbers, in words."""
    curve = evaluation_curve(group, case.metric)
    at = int(np.flatnonzero(curve.steps == case.target_step)[0])
    means = curve.values.mean(axis=0)
    return {
        "task": case.title,
        "arm": group.label,
        "seeds": len(curve.values),
        "at": f"{case.target_step:,}",
        "mean": f"{means[at]:.3f}",
        "lowest mean from there": f"{means[at:].min():.3f}",
        "mean at the end": f"{means[-1]:.3f}",
        "lowest seed at the end": f"{curve.values[:, -1].min():.2f}",
        "steps of success at the end": _length(group),
    }


def _length(group: Group) -> str:
    """Mean length of the last evaluation in the seeds whose episodes all succeeded."""
    ends = [
        float(run.evaluations.lengths[-1])
        for run in group.runs
        if run.evaluations.success[-1] == 1.0
    ]
    return f"{np.mean(ends):.1f}" if ends else "-"

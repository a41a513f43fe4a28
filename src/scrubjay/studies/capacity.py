"""PointUMaze with fewer rows than it would take: does throwing rows away bound the memory?"""

from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.curves import curves_of, evaluation_curve, progress_curve, tidy_rows
from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import ResultTable
from scrubjay.figures.curves import learning_curves
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import CAPACITIES, run_config
from scrubjay.studies.shared.panels import by_title, curve_notes
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASK = "PointUMaze"
BOUNDED = tuple(f"cec-{rows}" for rows in CAPACITIES)
TITLES = {
    (TASK, "success"): "success of greedy episodes",
    (TASK, "memory/size"): "rows in memory",
}
NOTE = "CEC on PointUMaze with a memory of limited size; all are the same until it is full."


def plan(workspace: Workspace) -> list[RunConfig]:
    """CEC with every limit, and without one."""
    if "cec" not in workspace.agents:
        return []
    seeds = workspace.budget.seeds
    names = (*BOUNDED, "cec")
    return [run_config(name, TASK, seed, workspace.budget) for name in names for seed in seeds]


def make(workspace: Workspace) -> list[Path]:
    """The figure."""
    groups = [group for name in BOUNDED if (group := workspace.group(name, TASK))]
    if unlimited := workspace.group("cec", TASK):
        # first, so that the others are drawn over it: until they are full they are the same
        groups.insert(0, Group("unlimited", unlimited.task, unlimited.runs))
    if not groups:
        raise workspace.no_runs_error("capacity")
    curves = [
        *(evaluation_curve(group, "success") for group in groups),
        *(progress_curve(group, "memory/size", 51) for group in groups),
    ]
    absent = workspace.missing_notes((*BOUNDED, "cec"), [TASK])
    notes = [*curve_notes(curves), *workspace.budget_notes(), *absent]
    return workspace.draw("capacity", draw_capacity, ResultTable(tidy_rows(curves), notes))


def draw_capacity(table: ResultTable) -> "Figure":
    """Success and size of the memory, side by side."""
    panels = by_title(curves_of(table.rows), TITLES)
    figure = learning_curves(panels, notes=[NOTE, *table.notes]).figure
    for axes, title in zip(figure.axes, panels, strict=True):
        axes.set_ylabel("")  # the titles say it
        if title == TITLES[TASK, "memory/size"]:
            axes.set_ylim(0)
    return figure


FIGURES = {"capacity": draw_capacity}

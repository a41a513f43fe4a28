"""PointUMaze with fewer rows than it would take: does throwing rows away bound the memory?"""

from pathlib import Path

from scrubjay.analysis.curves import evaluation_curve, progress_curve
from scrubjay.analysis.groups import Group
from scrubjay.figures.curves import learning_curves
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import CAPACITIES, run_config
from scrubjay.studies.shared.workspace import Workspace

TASK = "PointUMaze"
BOUNDED = tuple(f"cec-{rows}" for rows in CAPACITIES)


def plan(workspace: Workspace) -> list[RunConfig]:
    if "cec" not in workspace.agents:
        return []
    seeds = workspace.budget.seeds
    names = (*BOUNDED, "cec")
    return [run_config(name, TASK, seed, workspace.budget) for name in names for seed in seeds]


def make(workspace: Workspace) -> list[Path]:
    groups = [group for name in BOUNDED if (group := workspace.group(name, TASK))]
    if unlimited := workspace.group("cec", TASK):
        # first, so that the others are drawn over it: until they are full they are the same
        groups.insert(0, Group("unlimited", unlimited.task, unlimited.runs))
    if not groups:
        raise workspace.nothing("capacity")
    panels = {
        "success of greedy episodes": [evaluation_curve(group, "success") for group in groups],
        "rows in memory": [progress_curve(group, "memory/size", 51) for group in groups],
    }
    absent = workspace.left_out((*BOUNDED, "cec"), [TASK])
    notes = ["CEC on PointUMaze; the same until a memory is full.", *workspace.honesty(), *absent]
    drawing = learning_curves(panels, notes=notes)
    drawing.figure.axes[1].set_ylim(0)
    return workspace.save("capacity", drawing)

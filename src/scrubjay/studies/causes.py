"""Why CEC with the paper's settings differs from its figures: one suspected cause at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrubjay.analysis.curves import evaluation_curve
from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import save_result
from scrubjay.analysis.tables import markdown, summary_at
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import COMPARED_STEPS, run_config
from scrubjay.studies.shared.panels import draw_panels, task_curves
from scrubjay.studies.shared.workspace import Workspace

# Two causes that the published code names, alone and together: the index, and its settings.
PUBLISHED = ("cec", "cec-stale", "cec-published", "published-design")
# panel: (task, arms)
PANELS = {
    "Safexp-PointGoal": ("SafexpPointGoal", PUBLISHED),
    "PointGoal, no inner block": ("SafexpPointGoal", ("cec-no-block", "published-no-block")),
    "PointUMaze": ("PointUMaze", (*PUBLISHED, "cec-fast-decay", "cec-double-d")),
    "Point4Rooms": ("Point4Rooms", (*PUBLISHED, "cec-fast-decay", "cec-double-d")),
    "MountainCarContinuous": ("SparseMountainCar", (*PUBLISHED, "cec-fast-decay")),
    "FetchReach": ("SparseFetchReach", ("cec", "published-design")),
}
QUICK_TASK = "PointUMaze"  # a quick version runs no other
NOTE = (
    "Index: a living one (CEC), or that of the published code, stale within an episode. Settings: "
    "the paper's, or the published code's (uniform exploration everywhere, a random projection for "
    "PointGoal)."
)
PREFACE = """# Causes of the differences

One suspected cause at a time. *Found*: seeds of which a training episode reached the goal;
*used*: seeds of which a greedy episode did, ever; *kept*: seeds of which every greedy episode
of the last evaluation did. Then the mean return ± standard error of the seeds, and the
interquartile mean with its 95% interval.

"""


def plan(workspace: Workspace) -> list[RunConfig]:
    if "cec" not in workspace.agents:
        return []
    return [
        run_config(arm, task, seed, workspace.budget)
        for task, arms in PANELS.values()
        if task == QUICK_TASK or not workspace.budget.quick
        for arm in arms
        for seed in workspace.budget.seeds
    ]


def make(workspace: Workspace) -> list[Path]:
    panels = {title: task_curves(workspace, task, arms) for title, (task, arms) in PANELS.items()}
    tasks = list(dict.fromkeys(task for task, _ in PANELS.values()))
    notes = [NOTE, *workspace.broken(tasks)]
    figure = draw_panels(workspace, "causes", panels, notes, marked=("cec",), columns=3)
    return [*figure, *_write_table(workspace, notes[1:])]


def _write_table(workspace: Workspace, notes: Sequence[str]) -> list[Path]:
    rows = [
        row
        for title, (task, arms) in PANELS.items()
        for arm in arms
        if (group := workspace.group(arm, task))
        for row in [{"task": title, **measure(group)}]
    ]
    said = "".join(f"\n{note}\n" for note in [*notes, *workspace.honesty()])
    page = f"{PREFACE}{markdown(rows)}\n{said}"
    return workspace.tell(
        save_result(workspace.out / "table-causes", {".md": page.encode()}, rows, workspace.command)
    )


def measure(group: Group) -> dict[str, Any]:
    """What became of the goal in the runs of one arm."""
    curve, success = (evaluation_curve(group, metric) for metric in ("return", "success"))
    firsts = [run.first_success_steps for run in group.runs]
    n_seeds = len(group.runs)
    return {
        "arm": group.label,
        "found": f"{sum(first is not None for first, _ in firsts)} of {n_seeds}",
        "used": f"{sum(greedy is not None for _, greedy in firsts)} of {n_seeds}",
        "kept": f"{int((success.values[:, -1] == 1).sum())} of {n_seeds}",
        **{f"{step // 1000}k": summary_at(curve, step) for step in COMPARED_STEPS},
    }

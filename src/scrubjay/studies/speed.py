"""How long it takes to learn PointUMaze: steps and seconds to a success of 0.9."""

from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.analysis.curves import evaluation_curve
from scrubjay.analysis.groups import Group
from scrubjay.analysis.reading import RunData
from scrubjay.analysis.results import save_result
from scrubjay.analysis.tables import markdown
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import DRAWN, METHODS, PAPER_METHODS
from scrubjay.studies.shared.workspace import Workspace

TASK = "PointUMaze"
GOAL = 0.9
PREFACE = f"""# Training time to success on {TASK}

The first evaluation at which the mean success of the seeds is {GOAL}, and the mean seconds of
training up to it (compilation and evaluation apart). A method that never gets there has the
seconds of its whole runs as a lower bound. Runs that share a machine slow each other down: measure
with `--jobs 1`.

"""


def plan(workspace: Workspace) -> list[RunConfig]:
    return workspace.plan(DRAWN, (TASK,))


def make(workspace: Workspace) -> list[Path]:
    groups = [workspace.group(name, TASK) for name in DRAWN if METHODS[name].suits(TASK)]
    rows = [measure(group) for group in groups if group is not None]
    if not rows:
        raise workspace.nothing("speed")
    said = [*workspace.honesty(), *workspace.left_out(PAPER_METHODS, [TASK])]
    notes = "".join(f"\n{note}\n" for note in said)
    page = f"{PREFACE}{markdown(with_ratios(rows))}\n{notes}"
    stem = workspace.out / "table-speed"
    return workspace.tell(
        save_result(stem, {".md": page.encode()}, with_ratios(rows), workspace.command)
    )


def measure(group: Group) -> dict[str, Any]:
    """When the seeds of a method succeed together, and how long they trained until then."""
    curve = evaluation_curve(group, "success")
    there = np.flatnonzero(curve.values.mean(axis=0) >= GOAL)
    step = curve.steps[there[0]] if len(there) else curve.steps[-1]
    seconds = float(np.mean([train_seconds(run, step) for run in group.runs]))
    return {
        "method": group.label,
        "reached": "yes" if len(there) else "no",
        "step": int(step),
        "training seconds": float(f"{seconds:.4g}"),
        "seeds": len(group.runs),
    }


def train_seconds(run: RunData, step: float) -> float:
    """The seconds of training up to a step, of the first line that a log has at or after it."""
    steps, seconds = run.time["timestep"], run.time["time/train_seconds"]
    return float(seconds[min(int(np.searchsorted(steps, step)), len(steps) - 1)])


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every method against the first, which is CEC where it was run."""
    first = rows[0]["training seconds"] if rows[0]["reached"] == "yes" else 0.0
    return [{**row, "times the first": _ratio(row, first)} for row in rows]


def _ratio(row: dict[str, Any], first: float) -> str:
    at_least = "" if row["reached"] == "yes" else "at least "
    return f"{at_least}{row['training seconds'] / first:.1f}" if first else "-"

"""The paper's values and ours side by side, at 30k, 50k and 100k steps."""

from pathlib import Path

from scrubjay.analysis.curves import Curve, curves_of, tidy_rows
from scrubjay.analysis.results import Row
from scrubjay.analysis.tables import summary_at
from scrubjay.envs.catalog import short_task
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import COMPARED_STEPS, METHODS, PAPER_TASKS, paper_name
from scrubjay.studies.shared.panels import curve_notes, task_curves
from scrubjay.studies.shared.paper_values import CURVES, TOY_LENGTH
from scrubjay.studies.shared.workspace import Workspace

COMPARED = tuple(name for name, method in METHODS.items() if "capacity" not in method.options)
PREFACE = """# The paper and this library

Returns of greedy episodes (GrowingTree: steps to the goal). Ours: mean ± standard error over the
seeds, then the interquartile mean with its 95% stratified-bootstrap interval; with fewer than three
seeds the single values. The paper's values are read off its authors' figures by eye (smoothed
curves, to about 0.02 of the axis): mean of 5 runs at 100,000 steps, ± one standard error where it
could be read.

"""


def plan(workspace: Workspace) -> list[RunConfig]:
    """All methods on all of the paper's tasks."""
    return workspace.plan(COMPARED, PAPER_TASKS)


def make(workspace: Workspace) -> list[Path]:
    """The table."""
    run = [
        curve
        for task in PAPER_TASKS
        for curve in task_curves(
            workspace, task, COMPARED, "length" if task == "GrowingTree" else "return"
        )
    ]
    if not run:
        raise workspace.no_runs_error("comparison")
    found = workspace.completed("comparison", tidy_rows(run))
    curves = {(short_task(curve.task), curve.label): curve for curve in curves_of(found.rows)}
    shown = {
        (task, method): curves[task, METHODS[method].label]
        for task in PAPER_TASKS
        for method in COMPARED
        if (task, METHODS[method].label) in curves
    }
    cut = curve_notes([*run, *shown.values()])
    notes = [*cut, *workspace.budget_notes(), *workspace.unusable_notes(PAPER_TASKS), *found.notes]
    rows = [_compared(workspace, task, method, curve) for (task, method), curve in shown.items()]
    numbers = tidy_rows(list(shown.values()))
    return workspace.write("comparison", PREFACE, rows, notes, numbers)


def _compared(workspace: Workspace, task: str, method: str, curve: Curve) -> Row:
    """A row of the table."""
    cells = {f"{step // 1000}k": summary_at(curve, step) for step in COMPARED_STEPS}
    if workspace.budget.steps_on(task) < COMPARED_STEPS[-1]:
        last = int(curve.steps[-1])
        cells["at the end"] = f"{summary_at(curve, last)} at {last / 1000:g}k"
    head = {
        "task": paper_name(task),
        "method": curve.label,
        "paper at 100k": paper_words(task, method),
    }
    return {**head, **cells, "seeds": len(curve.seeds)}


def paper_words(task: str, method: str) -> str:
    """What the paper shows of a method; variants are compared with the method itself."""
    if task == "GrowingTree":
        return TOY_LENGTH if method == "cec" else "-"
    found = CURVES[task].get(method)
    if found is None:
        return "-"
    error = "" if found.error is None else f" ± {found.error:g}"
    return f"{found.value:g}{error}" + (f" ({found.words})" if found.words else "")

"""The paper's values and ours side by side, at 30k, 50k and 100k steps."""

from pathlib import Path

from scrubjay.analysis.curves import evaluation_curve, tidy_rows
from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import save_result
from scrubjay.analysis.tables import markdown, summary_at
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import COMPARED_STEPS, METHODS, PAPER_TASKS, paper_name
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
    rows, numbers = [], []
    for task in PAPER_TASKS:
        for method, group in _groups(workspace, task):
            curve = evaluation_curve(group, "length" if task == "GrowingTree" else "return")
            paper = paper_words(task, method)
            cells = {f"{step // 1000}k": summary_at(curve, step) for step in COMPARED_STEPS}
            if workspace.budget.steps_on(task) < COMPARED_STEPS[-1]:
                last = int(curve.steps[-1])
                cells["at the end"] = f"{summary_at(curve, last)} at {last / 1000:g}k"
            head = {"task": paper_name(task), "method": group.label}
            rows.append({**head, "paper at 100k": paper, **cells, "seeds": len(curve.seeds)})
            numbers += tidy_rows([curve])
    if not rows:
        raise workspace.nothing("comparison")
    said = [*workspace.honesty(), *workspace.broken(PAPER_TASKS)]
    notes = "".join(f"\n{note}\n" for note in said)
    page = f"{PREFACE}{markdown(rows)}\n{notes}"
    paths = save_result(
        workspace.out / "comparison", {".md": page.encode()}, numbers, workspace.command
    )
    return workspace.tell(paths)


def paper_words(task: str, method: str) -> str:
    """What the paper shows of a method; variants are compared with the method itself."""
    if task == "GrowingTree":
        return TOY_LENGTH if method == "cec" else "-"
    found = CURVES[task].get(method)
    if found is None:
        return "-"
    error = "" if found.error is None else f" ± {found.error:g}"
    return f"{found.value:g}{error}" + (f" ({found.words})" if found.words else "")


def _groups(workspace: Workspace, task: str) -> list[tuple[str, Group]]:
    named = [(m, workspace.group(m, task)) for m in COMPARED if METHODS[m].suits(task)]
    return [(method, group) for method, group in named if group is not None]

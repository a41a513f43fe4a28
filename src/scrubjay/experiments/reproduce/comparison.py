"""The paper's values and ours side by side, at 30k, 50k and 100k steps."""

from pathlib import Path

import numpy as np

from scrubjay.experiments.figures import save_result, summary, tidy_rows
from scrubjay.experiments.launch import RunConfig
from scrubjay.experiments.reproduce.methods import METHODS, PAPER_TASKS, paper_name
from scrubjay.experiments.reproduce.paper_values import CURVES, TOY_LENGTH
from scrubjay.experiments.reproduce.tables import markdown
from scrubjay.experiments.reproduce.workspace import Workspace
from scrubjay.experiments.runs import Curve, Group, evaluation_curve

STEPS = (30_000, 50_000, 100_000)
COMPARED = tuple(name for name, method in METHODS.items() if "capacity" not in method.options)
PREFACE = """# The paper and this library

Returns of greedy episodes (GrowingTree: steps to the goal). Ours: mean ± standard error over the
seeds, then the interquartile mean with its 95% stratified-bootstrap interval; with fewer than three
seeds the single values. The paper's values are read off its authors' figures by eye (smoothed
curves, to about 0.02 of the axis): mean of 5 runs at 100,000 steps, ± one standard error where it
could be read.

"""


def plan(workspace: Workspace) -> list[RunConfig]:
    return workspace.plan(COMPARED, PAPER_TASKS)


def make(workspace: Workspace) -> list[Path]:
    rows, numbers = [], []
    for task in PAPER_TASKS:
        for method, group in _groups(workspace, task):
            curve = evaluation_curve(group, "length" if task == "GrowingTree" else "return")
            paper = paper_words(task, method)
            cells = {f"{step // 1000}k": cell(curve, step) for step in STEPS}
            if workspace.budget.steps_on(task) < STEPS[-1]:
                last = int(curve.steps[-1])
                cells["at the end"] = f"{cell(curve, last)} at {last / 1000:g}k"
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


def cell(curve: Curve, step: int) -> str:
    """What the seeds say at one step."""
    at = np.flatnonzero(curve.steps == step)
    if not len(at):
        return "-"
    found, i = summary(curve), int(at[0])
    if found.interval is None or found.standard_error is None:
        return ", ".join(f"{value:.3g}" for value in curve.values[:, i])
    middle = f"{found.interquartile_mean[i]:.2f}"
    interval = f"[{found.interval.low[i]:.2f}, {found.interval.high[i]:.2f}]"
    return f"{found.mean[i]:.2f} ± {found.standard_error[i]:.2f}; {middle} {interval}"


def _groups(workspace: Workspace, task: str) -> list[tuple[str, Group]]:
    named = [(m, workspace.group(m, task)) for m in COMPARED if METHODS[m].suits(task)]
    return [(method, group) for method, group in named if group is not None]

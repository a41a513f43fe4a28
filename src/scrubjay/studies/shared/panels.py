"""Learning curves as in the paper, with its own values as faint marks at 100,000 steps."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scrubjay.analysis.curves import BANDS, Curve, evaluation_curve
from scrubjay.envs.catalog import short_task
from scrubjay.figures.curves import Drawing, learning_curves
from scrubjay.figures.style import colour_of
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import DRAWN, METHODS, PAPER_METHODS, paper_name
from scrubjay.studies.shared.paper_values import CURVES, STEP
from scrubjay.studies.shared.workspace import Workspace

HIGHEST = {"SparseMountainCar": 100.0}  # elsewhere 1


def plan_curves(workspace: Workspace, tasks: Sequence[str]) -> list[RunConfig]:
    return workspace.plan(DRAWN, tasks)


def draw_curves_of(
    workspace: Workspace, name: str, tasks: Sequence[str], notes: Sequence[str] = ()
) -> list[Path]:
    """The figure with mean and standard error, and beside it the one with robust statistics."""
    panels = {paper_name(task): task_curves(workspace, task) for task in tasks}
    said = [*notes, *workspace.left_out(PAPER_METHODS, tasks)]
    written = []
    for band, ending in zip(BANDS, ("", "-iqm"), strict=True):
        written += draw_panels(workspace, name, panels, said, band, ending)
    return written


def draw_panels(
    workspace: Workspace,
    name: str,
    panels: Mapping[str, Sequence[Curve]],
    notes: Sequence[str],
    band: str = BANDS[0],
    ending: str = "",
    marked: Sequence[str] = PAPER_METHODS,
    columns: int = 4,
) -> list[Path]:
    """One figure, with the paper's values of the `marked` methods."""
    panels = {title: curves for title, curves in panels.items() if curves}
    if not panels:
        raise workspace.nothing(name)
    said = [*notes, *_mark_note(panels), *workspace.honesty()]
    drawing = learning_curves(panels, band, columns, notes=said)
    rows = [*drawing.rows, *_decorate(drawing, panels, marked)]
    return workspace.save(name + ending, Drawing(drawing.figure, rows, drawing.caption))


def task_curves(
    workspace: Workspace, task: str, methods: Sequence[str] = DRAWN, metric: str = "return"
) -> list[Curve]:
    """Every one of the methods that has been run on a task."""
    groups = [workspace.group(method, task) for method in methods if METHODS[method].suits(task)]
    return [evaluation_curve(group, metric) for group in groups if group is not None]


def _decorate(
    drawing: Drawing, panels: Mapping[str, Sequence[Curve]], marked: Sequence[str]
) -> list[dict[str, Any]]:
    """Scale the panels alike, add the paper's marks, and return these as rows."""
    labels = list(dict.fromkeys(curve.label for curves in panels.values() for curve in curves))
    rows = []
    shown = [axes for axes in drawing.figure.axes if axes.get_visible()]
    for axes, curves in zip(shown, panels.values(), strict=True):
        task = short_task(curves[0].task)
        highest = HIGHEST.get(task, 1.0)
        axes.set_ylim(-0.04 * highest, 1.04 * highest)
        if _reaches_the_paper(curves):
            rows += _mark(axes, curves, labels, marked)
    return rows


def _reaches_the_paper(curves: Sequence[Curve]) -> bool:
    return any(curve.steps[-1] >= 0.9 * STEP for curve in curves)


def _mark_note(panels: Mapping[str, Sequence[Curve]]) -> list[str]:
    if not any(_reaches_the_paper(curves) for curves in panels.values()):
        return []
    return ["Faint diamonds: the authors' values at 100k, read off their figures."]


def _mark(
    axes: Any, curves: Sequence[Curve], labels: Sequence[str], marked: Sequence[str]
) -> list[dict[str, Any]]:
    known = CURVES.get(short_task(curves[0].task), {})
    rows = []
    for place, (method, value) in enumerate(known.items()):
        if method not in marked:
            continue
        label = METHODS[method].label
        axes.errorbar(
            STEP * (1.02 + 0.02 * place), value.value, value.error, fmt="D", markersize=5,
            color=colour_of(label, labels), markerfacecolor="none", alpha=0.55, capsize=2,
        )  # fmt: skip
        rows.append(
            {
                "task": curves[0].task, "method": label, "metric": "return", "seed": "paper",
                "step": STEP, "value": value.value, "standard_error": value.error,
            }
        )  # fmt: skip
    return rows

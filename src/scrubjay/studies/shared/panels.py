"""Learning curves as in the paper, with its own values as diamonds at 100,000 steps."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.curves import BANDS, Curve, curves_of, evaluation_curve, tidy_rows
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.envs.catalog import short_task
from scrubjay.figures.curves import learning_curves
from scrubjay.figures.layout import mark
from scrubjay.figures.style import colour_of
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import DRAWN, METHODS, PAPER_METHODS, paper_name
from scrubjay.studies.shared.paper_values import CURVES, STEP
from scrubjay.studies.shared.workspace import Draw, Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

HIGHEST = {"SparseMountainCar": 100.0}  # elsewhere 1
PAPER_WORDS = "paper, at 100k steps"
PAPER_SOURCE = "The paper's values (± standard error) are read off its authors' figures."


def plan_curves(workspace: Workspace, tasks: Sequence[str]) -> list[RunConfig]:
    """The runs of all methods that such a figure shows."""
    return workspace.plan(DRAWN, tasks)


def curve_figures(name: str, tasks: Sequence[str]) -> dict[str, Draw]:
    """The figure with mean and standard error, and the one with robust statistics."""
    return {
        name + ending: partial(draw_tasks, tasks=tasks, band=band)
        for band, ending in zip(BANDS, ("", "-iqm"), strict=True)
    }


def make_curves(
    workspace: Workspace, name: str, tasks: Sequence[str], notes: Sequence[str] = ()
) -> list[Path]:
    """Both figures of some tasks, with the paper's values."""
    run = [curve for task in tasks for curve in task_curves(workspace, task)]
    if not run:
        raise workspace.no_runs_error(name)
    found = workspace.completed(name, tidy_rows(run))
    curves = curves_of(found.rows)
    rows = [*tidy_rows(curves), *paper_rows(curves, PAPER_METHODS)]
    absent = workspace.missing_notes(PAPER_METHODS, tasks, found.rows)
    said = [*notes, *curve_notes([*run, *curves]), *absent, *workspace.budget_notes(), *found.notes]
    table = ResultTable(rows, said)
    return [
        path
        for each, draw in curve_figures(name, tasks).items()
        for path in workspace.draw(each, draw, table)
    ]


def task_curves(
    workspace: Workspace, task: str, methods: Sequence[str] = DRAWN, metric: str = "return"
) -> list[Curve]:
    """Every one of the methods that has been run on a task."""
    groups = [workspace.group(method, task) for method in methods if METHODS[method].suits(task)]
    return [evaluation_curve(group, metric) for group in groups if group is not None]


def curve_notes(curves: Iterable[Curve]) -> list[str]:
    """What was left out of curves, as sentences."""
    return list(dict.fromkeys(f"{note}." for curve in curves for note in curve.notes))


def paper_rows(curves: Sequence[Curve], marked: Sequence[str]) -> list[Row]:
    """The paper's values of the `marked` methods, on tasks whose runs are as long as its own."""
    tasks = dict.fromkeys(curve.task for curve in curves if curve.steps[-1] >= 0.9 * STEP)
    return [
        {
            "task": task, "method": METHODS[method].label, "metric": "return", "seed": "paper",
            "step": STEP, "value": value.value, "standard_error": value.error,
        }
        for task in tasks
        for method, value in CURVES.get(short_task(task), {}).items()
        if method in marked
    ]  # fmt: skip


def draw_tasks(table: ResultTable, tasks: Sequence[str], band: str = BANDS[0]) -> "Figure":
    """A panel for each task, two in a row."""
    curves = curves_of(table.rows)
    panels = {task: [c for c in curves if short_task(c.task) == task] for task in tasks}
    panels = {task: found for task, found in panels.items() if found}
    labels = list(dict.fromkeys(curve.label for curve in curves))
    papers = papers_of(table)
    drawing = learning_curves(
        {paper_name(task): found for task, found in panels.items()},
        band,
        columns=2,
        notes=[*([PAPER_SOURCE] if papers else []), *table.notes],
        marks=_paper_marks(papers, labels),
    )
    for axes, task in zip(drawing.figure.axes, panels, strict=False):
        scale(axes, task)
        draw_papers(axes, [row for row in papers if short_task(str(row["task"])) == task], labels)
    return drawing.figure


def papers_of(table: ResultTable) -> list[Row]:
    """The paper's values among the rows of a table, each once."""
    found = {(row["task"], row["method"]): row for row in table.rows if row["seed"] == "paper"}
    return list(found.values())


def scale(axes: "Axes", task: str) -> None:
    """The same scale in all panels of a task."""
    highest = HIGHEST.get(task, 1.0)
    axes.set_ylim(-0.04 * highest, 1.04 * highest)


def draw_papers(axes: "Axes", rows: Sequence[Row], labels: Sequence[str]) -> None:
    """The paper's values, as diamonds beside the end of the curves."""
    for place, row in enumerate(rows):
        colour = colour_of(str(row["method"]), labels)
        error = None if row["standard_error"] is None else number_of(row["standard_error"])
        axes.errorbar(
            STEP * (1.02 + 0.025 * place), number_of(row["value"]), error,
            fmt="D", color=colour, markersize=5, markeredgecolor=colour, markerfacecolor="white",
            elinewidth=1.2, capsize=2, clip_on=False, zorder=5,
        )  # fmt: skip


def _paper_marks(papers: Sequence[Row], labels: Sequence[str]) -> list["Line2D"]:
    """Diamonds of the legend: one for all methods that are drawn, one for each that is not."""
    if not papers:
        return []
    others = dict.fromkeys(str(row["method"]) for row in papers if row["method"] not in labels)
    look = {"marker": "D", "markersize": 5, "markerfacecolor": "white"}
    return [
        paper_mark(),
        *(mark(f"{name}, paper only", color=colour_of(name, labels), **look) for name in others),
    ]


def paper_mark() -> "Line2D":
    """The legend's entry for the paper's values."""
    return mark(PAPER_WORDS, marker="D", markersize=5, markerfacecolor="white")


def by_title(
    curves: Iterable[Curve], titles: Mapping[tuple[str, str], str]
) -> dict[str, list[Curve]]:
    """Curves by the title of their task and metric, in the order of the titles."""
    found = list(curves)
    panels = {
        title: [c for c in found if (short_task(c.task), c.metric) == which]
        for which, title in titles.items()
    }
    return {title: shown for title, shown in panels.items() if shown}

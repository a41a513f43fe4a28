"""One discovery is enough? The first success in training, and the first of the greedy policy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import Cell, ResultTable, Row, number_of
from scrubjay.envs.catalog import short_task
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.style import TITLE_SIZE, colour_of, in_order
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import PAPER_METHODS, PAPER_TASKS, paper_name
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLUMNS = 2
NOTE = (
    "Each line is one seed, from its first success in training to its first greedy success; greedy "
    "episodes are tried after every training episode from the first success on. The shorter the "
    "line, the faster a discovery is used. A filled circle alone: the greedy policy succeeded "
    "before any training episode did."
)


def plan(workspace: Workspace) -> list[RunConfig]:
    """The paper's methods on its tasks."""
    return workspace.plan(PAPER_METHODS, PAPER_TASKS)


def make(workspace: Workspace) -> list[Path]:
    """The figure."""
    groups = [group for task in PAPER_TASKS for group in _groups(workspace, task)]
    if not groups:
        raise workspace.no_runs_error("latch")
    rows = [row for group in groups for row in first_successes(group)]
    found = workspace.completed("latch", rows)
    absent = workspace.missing_notes(PAPER_METHODS, PAPER_TASKS, found.rows)
    notes = [*workspace.budget_notes(), *absent, *found.notes]
    return workspace.draw("latch", draw_latch, ResultTable(found.rows, notes))


def first_successes(group: Group) -> list[Row]:
    """A row for each run."""
    return [
        {
            "task": run.task, "method": group.label, "seed": run.seed,
            "first_success_step": run.first_success_steps[0],
            "first_greedy_success_step": run.first_success_steps[1],
            "steps": int(run.config["steps"]),
        }
        for run in group.runs
    ]  # fmt: skip


def draw_latch(table: ResultTable) -> "Figure":
    """A panel for each task, a line for each run."""
    tasks = [
        mine
        for task in PAPER_TASKS
        if (mine := [row for row in table.rows if short_task(str(row["task"])) == task])
    ]
    tall = -(-len(tasks) // COLUMNS)
    figure, grid = open_figure(tall, COLUMNS, (PAGE_WIDTH, 1.95 * tall + 0.9))
    for axes, rows in zip(grid.ravel(), tasks, strict=False):
        _draw_task(axes, rows)
    for axes in grid.ravel()[len(tasks) :]:
        axes.set_visible(False)
    for axes in grid.ravel()[max(0, len(tasks) - COLUMNS) : len(tasks)]:
        axes.set_xlabel("training steps")
    add_legend(figure, in_order({str(row["method"]) for row in table.rows}), marks=_marks())
    add_caption(figure, " ".join([NOTE, *table.notes]))
    return figure


def _marks() -> list["Line2D"]:
    return [
        mark("first success in training", marker="o", markersize=8, markerfacecolor="white"),
        mark("first greedy success", marker="o", markersize=4),
        mark("never within the run", marker="x", markersize=6),
    ]


def _draw_task(axes: "Axes", rows: Sequence[Row]) -> None:
    end = max(_step(row["steps"]) or 1 for row in rows)
    for place, row in enumerate(rows):
        first, greedy = (_step(row[f"first_{kind}success_step"]) for kind in ("", "greedy_"))
        _draw_run(axes, -place, first, greedy, end, colour_of(str(row["method"])))
    axes.set_title(paper_name(short_task(str(rows[0]["task"]))), fontsize=TITLE_SIZE)
    places = [-place for place in range(len(rows))]
    axes.set_yticks(
        places, [f"seed {row['seed']}" for row in rows], fontsize=8 if len(rows) < 8 else 7
    )
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_xscale("log")
    axes.set_xlim(20, 1.3 * end)
    axes.tick_params(axis="x", which="minor", labelbottom=False)


def _step(cell: Cell) -> int | None:
    return None if cell is None else int(number_of(cell))


def _groups(workspace: Workspace, task: str) -> list[Group]:
    groups = [workspace.group(name, task) for name in PAPER_METHODS]
    return [group for group in groups if group is not None]


def _draw_run(
    axes: "Axes", y: int, first: int | None, greedy: int | None, end: int, colour: str
) -> None:
    if first:
        style = "-" if greedy else ":"
        axes.plot([first, greedy or end], [y, y], color=colour, linewidth=1.5, linestyle=style)
        axes.plot(first, y, "o", color=colour, markerfacecolor="white", markersize=8)
    if greedy:
        axes.plot(greedy, y, "o", color=colour, markersize=4)
    else:
        axes.plot(end, y, "x", color=colour, markersize=6)


FIGURES = {"latch": draw_latch}

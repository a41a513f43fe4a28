"""One discovery is enough? The first success in training, and the first of the greedy policy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrubjay.analysis.groups import Group
from scrubjay.figures.curves import Drawing
from scrubjay.figures.layout import add_caption, add_legend, open_figure
from scrubjay.figures.style import colour_of, in_order
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import PAPER_METHODS, PAPER_TASKS, paper_name
from scrubjay.studies.shared.workspace import Workspace

COLUMNS = 4
NOTE = (
    "Each line is one seed: from its first success in training (open circle) to the first greedy "
    "episode that succeeds (filled), tried after every training episode from then on: the shorter "
    "the line, the faster a discovery is used. A filled circle alone: the greedy policy succeeded "
    "before any training episode did. A cross at the right: never within the run."
)


def plan(workspace: Workspace) -> list[RunConfig]:
    return workspace.plan(PAPER_METHODS, PAPER_TASKS)


def make(workspace: Workspace) -> list[Path]:
    found = {task: _groups(workspace, task) for task in PAPER_TASKS}
    found = {task: groups for task, groups in found.items() if groups}
    if not found:
        raise workspace.nothing("latch")
    tall = -(-len(found) // COLUMNS)
    figure, grid = open_figure(tall, min(len(found), COLUMNS), (13.2, 2.7 * tall + 1.1))
    rows: list[dict[str, Any]] = []
    for axes, (task, groups) in zip(grid.ravel(), found.items(), strict=False):
        rows += draw_latch(axes, groups)
        axes.set_title(paper_name(task))
    for axes in grid.ravel()[len(found) :]:
        axes.set_visible(False)
    present = {group.label for groups in found.values() for group in groups}
    add_legend(figure, in_order(present))
    caption = " ".join(
        [NOTE, *workspace.honesty(), *workspace.left_out(PAPER_METHODS, PAPER_TASKS)]
    )
    add_caption(figure, caption)
    return workspace.save("latch", Drawing(figure, rows, caption))


def draw_latch(axes: Any, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """A line for each run; returns what it shows as rows."""
    runs = [(group.label, run) for group in groups for run in group.runs]
    end = max(int(run.config["steps"]) for _, run in runs)
    rows = []
    for place, (label, run) in enumerate(runs):
        first, greedy = run.first_success_steps
        _draw_run(axes, -place, first, greedy, end, colour_of(label, [label]))
        rows.append(
            {
                "task": run.task, "method": label, "seed": run.seed, "first_success_step": first,
                "first_greedy_success_step": greedy, "steps": run.config["steps"],
            }
        )  # fmt: skip
    axes.set_yticks([-place for place in range(len(runs))], [f"seed {run.seed}" for _, run in runs])
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(-len(runs) + 0.4, 0.6)
    axes.set_xscale("log")
    axes.set_xlim(20, 1.3 * end)
    axes.tick_params(axis="x", which="minor", labelbottom=False)
    axes.set_xlabel("environment steps")
    return rows


def _groups(workspace: Workspace, task: str) -> list[Group]:
    groups = [workspace.group(name, task) for name in PAPER_METHODS]
    return [group for group in groups if group is not None]


def _draw_run(
    axes: Any, y: int, first: int | None, greedy: int | None, end: int, colour: str
) -> None:
    if first:
        style = "-" if greedy else ":"
        axes.plot([first, greedy or end], [y, y], color=colour, linewidth=1.5, linestyle=style)
        axes.plot(first, y, "o", color=colour, markerfacecolor="white", markersize=8)
    if greedy:
        axes.plot(greedy, y, "o", color=colour, markersize=4)
    else:
        axes.plot(end, y, "x", color=colour, markersize=6)

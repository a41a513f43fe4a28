"""Why CEC with the paper's settings differs from its figures: one suspected cause at a time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.curves import Curve, curves_of, evaluation_curve, tidy_rows
from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import ResultTable, Row
from scrubjay.analysis.tables import summary_at
from scrubjay.envs.catalog import short_task
from scrubjay.figures.curves import caption, draw_curves
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.style import SOFT
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import COMPARED_STEPS, METHODS, run_config
from scrubjay.studies.shared.panels import (
    PAPER_SOURCE,
    curve_notes,
    draw_papers,
    paper_mark,
    paper_rows,
    papers_of,
    scale,
    task_curves,
)
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Two differences of the published code, separately and together: the index, and its settings.
PUBLISHED = ("cec", "cec-stale", "cec-published", "published-design")
# rows of the figure: (task, CEC and what is compared with it)
PANELS = {
    "PointUMaze": ("PointUMaze", (*PUBLISHED, "cec-fast-decay", "cec-double-d")),
    "Point4Rooms": ("Point4Rooms", (*PUBLISHED, "cec-fast-decay", "cec-double-d")),
    "MountainCarContinuous": ("SparseMountainCar", (*PUBLISHED, "cec-fast-decay")),
    "Safexp-PointGoal": ("SafexpPointGoal", PUBLISHED),
    "PointGoal, no inner block": ("SafexpPointGoal", ("cec-no-block", "published-no-block")),
    "FetchReach": ("SparseFetchReach", ("cec", "published-design")),
}
# columns of the figure: the methods that have this cause
COLUMNS = {
    "stale index": ("cec-stale",),
    "published settings": ("cec-published",),
    "both: published\ndesign": ("published-design", "published-no-block"),
    "epsilon falls\nin 10k steps": ("cec-fast-decay",),
    "d = 0.2\ninstead of 0.1": ("cec-double-d",),
}
TITLES = {
    "Safexp-PointGoal": "PointGoal",
    "PointGoal, no inner block": "PointGoal,\nno inner block",
    "MountainCarContinuous": "MountainCar",
}
QUICK_TASK = "PointUMaze"  # a quick version runs no other
NOTE = (
    "Each column changes one thing in CEC. Stale index: that of the published code, which is not "
    "updated within an episode. Published settings: uniform exploration everywhere, and a random "
    "projection for PointGoal."
)
PREFACE = """# Causes of the differences

One suspected cause at a time. *Found*: seeds of which a training episode reached the goal;
*used*: seeds of which a greedy episode did, ever; *kept*: seeds of which every greedy episode
of the last evaluation did. Then the mean return ± standard error of the seeds, and the
interquartile mean with its 95% interval.

"""


def plan(workspace: Workspace) -> list[RunConfig]:
    """All runs of the figure, if CEC may be run."""
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
    """The figure and the table."""
    curves = [
        curve for task, arms in PANELS.values() for curve in task_curves(workspace, task, arms)
    ]
    if not _shown(curves):
        raise workspace.no_runs_error("causes")
    tasks = list(dict.fromkeys(task for task, _ in PANELS.values()))
    said = [*workspace.unusable_notes(tasks), *workspace.budget_notes()]
    rows = [*tidy_rows(curves), *paper_rows(curves, ["cec"])]
    return [
        *workspace.draw("causes", draw_causes, ResultTable(rows, [*curve_notes(curves), *said])),
        *_write_table(workspace, said),
    ]


def draw_causes(table: ResultTable) -> "Figure":
    """A row for each task, a column for each cause: CEC, and CEC with that cause."""
    curves = curves_of(table.rows)
    papers = papers_of(table)
    shown = _shown(curves)
    size = (PAGE_WIDTH, 1.25 * len(shown) + 1.3)
    figure, grid = open_figure(len(shown), len(COLUMNS), size, sharex=True)
    for line, (title, found) in zip(grid, shown.items(), strict=True):
        task = PANELS[title][0]
        mine = [row for row in papers if short_task(str(row["task"])) == task]
        for axes, column in zip(line, COLUMNS, strict=True):
            _draw_cell(axes, found.get(column, ()), task, mine)
        line[0].annotate(
            TITLES.get(title, title), (0, 0.5), (-32, 0), "axes fraction", "offset points",
            rotation=90, ha="right", va="center",
        )  # fmt: skip
    _label(grid, shown)
    changed = mark("CEC with the column's change (each in its colour)", linewidth=2.5, color=SOFT)
    add_legend(figure, ["CEC"], marks=[changed, *([paper_mark()] if papers else [])])
    source = [PAPER_SOURCE] if papers else []
    add_caption(figure, " ".join([caption(curves), NOTE, *source, *table.notes]))
    return figure


def _shown(curves: Sequence[Curve]) -> dict[str, dict[str, tuple[Curve, ...]]]:
    """The rows that have something to compare, with the curves of each column."""
    rows = {title: _compared(curves, *panel) for title, panel in PANELS.items()}
    return {title: found for title, found in rows.items() if found}


def _compared(
    curves: Sequence[Curve], task: str, arms: Sequence[str]
) -> dict[str, tuple[Curve, ...]]:
    """The curves of each column: the first arm of a panel, and the one that has the cause."""
    found = {c.label: c for c in curves if short_task(c.task) == task}
    plain = found.get(METHODS[arms[0]].label)
    pairs = {
        column: found.get(METHODS[arm].label)
        for column, with_cause in COLUMNS.items()
        for arm in with_cause
        if arm in arms
    }
    return {
        column: (plain, changed) if plain else (changed,)
        for column, changed in pairs.items()
        if changed is not None
    }


def _draw_cell(axes: "Axes", curves: Sequence[Curve], task: str, papers: Sequence[Row]) -> None:
    if not curves:
        axes.set_axis_off()
        return
    draw_curves(axes, curves, show_seeds=False)
    scale(axes, task)
    draw_papers(axes, papers, [curve.label for curve in curves])
    axes.set_xlabel("")
    axes.set_ylabel("")


def _label(grid: Sequence[Sequence["Axes"]], shown: Mapping[str, Mapping[str, object]]) -> None:
    """Titles above, and numbers of steps below the last panel of each column."""
    for place, title in enumerate(COLUMNS):
        grid[0][place].set_title(title, fontsize=9)
        drawn = [row for row, found in enumerate(shown.values()) if title in found]
        if drawn:
            last = grid[drawn[-1]][place]
            last.tick_params(labelbottom=True)
            last.set_xticks([0, 50_000, 100_000])


FIGURES = {"causes": draw_causes}


def _write_table(workspace: Workspace, notes: Sequence[str]) -> list[Path]:
    rows: list[Row] = [
        {"task": title, **measure(group)}
        for title, (task, arms) in PANELS.items()
        for arm in arms
        if (group := workspace.group(arm, task))
    ]
    return workspace.write("table-causes", PREFACE, rows, notes)


def measure(group: Group) -> Row:
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

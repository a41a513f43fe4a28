"""Atari after 100,000 decisions: MFEC against published scores, in their protocol and in others."""

from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.curves import curves_of, tidy_rows
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.envs.catalog import short_task
from scrubjay.figures.curves import learning_curves
from scrubjay.figures.layout import mark
from scrubjay.figures.style import SOFT
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.games import Game, Study, curves_by_game
from scrubjay.studies.shared.methods import Method
from scrubjay.studies.shared.panels import by_title, curve_notes
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_START = {"max_noops": 0}
STUDY = Study(
    "atari",
    (Game("Ms. Pac-Man", "MsPacman"), Game("Q*bert", "Qbert"), Game("Frostbite", "Frostbite")),
    (
        Method("MFEC, paper, one start", "mfec", "paper", task_options=ONE_START),
        Method("MFEC", "mfec", "default"),
    ),
    {
        "one start": ONE_START,
        "random starts": {"max_noops": 30},
        "sticky 0.25": {"max_noops": 0, "sticky_actions": 0.25},
    },
)
# MFEC with a random projection of grey frames to 64 numbers, 5 seeds: mean, standard error.
PUBLISHED = {"MsPacman": (2662, 610), "Qbert": (1995, 663), "Frostbite": (255, 70)}
PUBLISHED_WORDS = "published MFEC, one start"
SOURCE = (
    "Published: J. O. Hansen, Pretrained Visual Representations for Episodic Control (2026), "
    "tab_results.tex in its repository: MFEC with a random projection, 5 seeds."
)
PREFACE = f"""# Atari after 100,000 decisions

100,000 decisions are 400,000 frames. Whole games, scores not clipped. Training: mean score of the
games in the last tenth of the training, exploration included. One start: the last agent plays
greedily from the one state in which the emulator begins; nothing is random, so one game is all
there is. Random starts: 10 greedy games, each after 1 to 30 frames without an action. Sticky 0.25:
10 greedy games in which each frame repeats the previous action with probability 0.25. "MFEC, paper,
one start" has the preset paper, which are the published settings and keys, and was trained from the
one start; "MFEC" has the preset default and was trained from random starts. Mean ± standard error
over seeds; fewer than three seeds are listed one by one. Decisions per second: of training alone,
on one core that other programs used too.

{SOURCE} It scores the last evaluation of each run, by the agent after 100,000 decisions. Its greedy
games are all alike (their standard deviation is 0): such a score says how well the best game so far
is replayed, not how well the agent plays. Compare it with the column "one start" of "MFEC, paper,
one start", and judge the method by the other columns.

"""


def folder(workspace: Workspace) -> Path:
    """Where its runs lie."""
    return STUDY.folder(workspace)


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of MFEC, if it may be run."""
    return STUDY.plan(workspace)


def make(workspace: Workspace) -> list[Path]:
    """The figure and the table."""
    groups = STUDY.groups(workspace)
    if not groups:
        raise workspace.no_runs_error("atari")
    curves = curves_by_game(groups)
    rows: list[Row] = [
        {
            **STUDY.measure(game, method, group, workspace),
            "published, one start": "{} ± {}".format(*PUBLISHED[game.task]),
        }
        for game, method, group in groups
    ]
    notes = [*curve_notes(curves), *workspace.budget_notes()]
    table = ResultTable([*tidy_rows(curves), *_published_rows()], notes)
    return [
        *workspace.draw("atari", draw_atari, table),
        *workspace.write("table-atari", PREFACE, rows),
    ]


def _published_rows() -> list[Row]:
    return [
        {
            "task": f"scrubjay/{task}-v0", "method": "published", "metric": "return",
            "seed": "published", "step": 100_000, "value": value, "standard_error": error,
        }
        for task, (value, error) in PUBLISHED.items()
    ]  # fmt: skip


def draw_atari(table: ResultTable) -> "Figure":
    """A panel for each game, with the published score at its end."""
    titles = {(game.task, game.metric): game.title for game in STUDY.games}
    panels = by_title(curves_of(table.rows), titles)
    published = {
        titles[short_task(str(row["task"])), "return"]: row
        for row in table.rows
        if row["seed"] == "published"
    }
    look = {"marker": "D", "markersize": 5, "markerfacecolor": "white"}
    notes = [NOTE, SOURCE, *table.notes]
    figure = learning_curves(panels, notes=notes, marks=[mark(PUBLISHED_WORDS, **look)]).figure
    for axes, title in zip(figure.axes, panels, strict=False):
        row = published[title]
        axes.errorbar(
            1.03 * number_of(row["step"]), number_of(row["value"]),
            number_of(row["standard_error"]), fmt="D", color=SOFT, markersize=5,
            markerfacecolor="white", elinewidth=1.2, capsize=2, clip_on=False, zorder=5,
        )  # fmt: skip
        axes.set_ylim(bottom=0)
    return figure


NOTE = (
    "MFEC, paper, one start: the published settings, trained and evaluated from the one state in "
    "which the emulator begins, where a greedy game mostly replays the best one. MFEC: the preset "
    "default, random starts in both."
)
FIGURES = {"atari": draw_atari}

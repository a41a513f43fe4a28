"""MinAtar and a grid of four rooms: MFEC, CECPlus and DQN after few steps."""

from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.curves import curves_of, tidy_rows
from scrubjay.analysis.results import ResultTable, Row
from scrubjay.figures.curves import learning_curves
from scrubjay.figures.layout import mark
from scrubjay.figures.style import SOFT
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.games import Game, Study, curves_by_game
from scrubjay.studies.shared.methods import METHODS, Method
from scrubjay.studies.shared.panels import by_title, curve_notes
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# keys for CECPlus, whose own default would be all cells of the grid
_PIXELS = {
    "embedding": {
        "name": "chain",
        "stages": [
            {"name": "projection", "dim": 8},
            {"name": "frozen_normalizer", "n_steps": 1000},
        ],
    }
}
GRID = "FourRoomsGrid"
MINATAR = tuple(
    f"MinAtar{name}" for name in ("Breakout", "SpaceInvaders", "Asterix", "Freeway", "Seaquest")
)
STUDY = Study(
    "minatar",
    (
        Game("Breakout", MINATAR[0], target=10),
        Game("Space Invaders", MINATAR[1], target=25),
        Game("Four rooms", GRID, 10_000, 1_000, "success", 0.9, protocols=False),
        Game("Asterix", MINATAR[2]),
        Game("Freeway", MINATAR[3]),
        Game("Seaquest", MINATAR[4]),
    ),
    (
        METHODS["mfec"],
        Method("CECPlus", "cec-plus", "default", _PIXELS, tasks=MINATAR),
        Method("CECPlus", "cec-plus", "default", tasks=(GRID,)),
        Method("DQN", "dqn", "default", tasks=(GRID, *MINATAR[:2])),
    ),
    {"sticky 0.1": {"sticky_actions": 0.1}},
)
PREFACE = """# MinAtar after 100,000 steps

Trained without sticky actions (four rooms: 10,000 steps, and success in place of greedy returns).
Training: mean return of the episodes in the last tenth of the training, exploration included.
Greedy: 10 greedy episodes of the last agent. Sticky 0.1: 10 greedy episodes of the same agent where
the previous action is repeated with probability 0.1, MinAtar's own default. Mean ± standard error
over seeds; fewer than three seeds are listed one by one. DQN is Stable-Baselines3's with the
network and the settings of MinAtar's authors, which are meant for 5,000,000 steps. Decisions per
second: of training alone, on one core that other programs used too.

"""


def folder(workspace: Workspace) -> Path:
    """Where its runs lie."""
    return STUDY.folder(workspace)


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of those of its methods that may be run."""
    return STUDY.plan(workspace)


def make(workspace: Workspace) -> list[Path]:
    """The figure and the table."""
    groups = STUDY.groups(workspace)
    if not groups:
        raise workspace.no_runs_error("minatar")
    curves = curves_by_game(groups)
    notes = [*curve_notes(curves), *workspace.budget_notes()]
    rows: list[Row] = [
        {**STUDY.measure(game, method, group, workspace), "target of MFEC": game.target or "-"}
        for game, method, group in groups
    ]
    return [
        *workspace.draw("minatar", draw_minatar, ResultTable(tidy_rows(curves), notes)),
        *workspace.write("table-minatar", PREFACE, rows),
    ]


def draw_minatar(table: ResultTable) -> "Figure":
    """A panel for each game, with the target of MFEC."""
    titles = {(game.task, game.metric): game.title for game in STUDY.games}
    panels = by_title(curves_of(table.rows), titles)
    target = mark("target of MFEC", linewidth=0.8, linestyle=":")
    figure = learning_curves(panels, notes=table.notes, marks=[target]).figure
    for axes, title in zip(figure.axes, panels, strict=False):
        game = next(game for game in STUDY.games if game.title == title)
        if game.target is not None:
            axes.axhline(game.target, color=SOFT, linewidth=0.8, linestyle=":")
        axes.set_ylim(bottom=0)
    return figure


FIGURES = {"minatar": draw_minatar}

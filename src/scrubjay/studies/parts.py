"""Planning and discovery of `cec-plus`: what they do with real memories."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from scrubjay.agents import CECPlus, discovery, planning
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, open_figure
from scrubjay.figures.states import GOAL, draw_maze
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plan(workspace: Workspace) -> list[RunConfig]:  # noqa: ARG001
    """No runs: its agents are trained in seconds."""
    return []


def make(workspace: Workspace) -> list[Path]:
    """The picture."""
    steps = 3_000 if workspace.budget.quick else 15_000
    points = [*planning_rows(steps), *discovery_rows(steps)]
    return workspace.draw("parts", draw_parts, ResultTable(points, workspace.budget_notes()))


# ---------------------------------------------------------------- what happens in a real memory

PANELS = ("values before a sweep", "values after it", "lures of a target")


def planning_rows(steps: int) -> list[Row]:
    """The rows of an agent that has not planned yet, before and after a sweep."""
    env = gymnasium.make("scrubjay/Point4RoomsOneGoal-v0")
    agent = CECPlus(env, seed=3, planning=0.0).learn(steps)
    swept = planning.swept_values(agent.memory, agent.planning_rule())
    return [
        *_points(PANELS[0], agent, agent.memory.values),
        *_points(PANELS[1], agent, swept),
    ]


def discovery_rows(steps: int) -> list[Row]:
    """The rows of an agent that has found nothing yet, and their lures."""
    env = gymnasium.make("scrubjay/PointTMaze-v0", depth=20)
    agent = CECPlus(env, seed=0).learn(steps)
    rng, start = (
        np.random.default_rng(0),
        agent.embedding.embed_batch(env.reset(seed=0)[0][None])[0],
    )
    lures = discovery.lures(agent.memory, start, agent.planning_rule(), rng)
    return _points(PANELS[2], agent, lures)


def _points(panel: str, agent: CECPlus, values: Any) -> list[Row]:
    """Positions in the maze, the highest values last, so that they are drawn on top."""
    state = agent.embedding.state()
    places = agent.memory.keys * np.sqrt(state["variance"]) + state["mean"]
    return [
        {
            "panel": panel, "x": round(float(places[i, 0]), 2), "y": round(float(places[i, 1]), 2),
            "value": float(f"{values[i]:.3g}"),
        }
        for i in np.argsort(values, kind="stable")
    ]  # fmt: skip


def draw_parts(table: ResultTable) -> "Figure":
    """A panel for each picture of a memory."""
    mazes = [gymnasium.make("scrubjay/Point4RoomsOneGoal-v0")] * 2
    mazes.append(gymnasium.make("scrubjay/PointTMaze-v0", depth=20))
    figure, grid = open_figure(1, 4, (PAGE_WIDTH, 3.2), width_ratios=(1, 1, 1.3, 0.05))
    for axes, panel, env in zip(grid[0], PANELS, mazes, strict=False):
        rows = [row for row in table.rows if row["panel"] == panel]
        names = ("x", "y", "value")
        x, y, value = (np.array([number_of(row[name]) for row in rows]) for name in names)
        task: Any = env.unwrapped
        draw_maze(axes, task.maze)
        shown = axes.scatter(x, y, c=value, s=2, cmap="viridis", vmin=0, vmax=1, rasterized=True)
        for goal in task.goals:
            axes.plot(goal.x, goal.y, marker="*", color=GOAL, markersize=11)
        axes.set_title(f"{panel}\n{(value > 1e-6).mean():.0%} of rows know a way", fontsize=9)
    figure.colorbar(shown, cax=grid[0][3], label="value or lure")
    add_caption(figure, " ".join([CAPTION, *table.notes]))
    return figure


FIGURES = {"parts": draw_parts}
CAPTION = (
    "Rows of real memories, each at its position in the maze. Left and middle: Point4Rooms with "
    "one goal (star), an agent without planning, before and after one sweep over its stored "
    "transitions: rows from which no episode reached the goal learn their value from others. "
    "Right: a T maze whose goal was not found yet; the lure falls with the steps to a far row."
)

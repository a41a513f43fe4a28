"""What the parts of `cec-plus` do with real memories: planning, discovery, goals, dimensions."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.agents import CECPlus, discovery, planning
from scrubjay.agents.goals import GoalMap
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.embedding import FrozenNormalizer
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, open_figure
from scrubjay.figures.states import GOAL, draw_maze
from scrubjay.figures.style import SOFT
from scrubjay.optional import require
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

BEFORE, AFTER, LURES = "values before a sweep", "values after it", "values for a rare state"
GOALS = ("values for a goal", "values for another goal")
DIMENSIONS = "dimensions of keys"
GOAL_PLACES = ((-2.5, 2.5), (2.5, -1.5))
NAMES = ("position", "velocity", "sensor 1", "sensor 2", "sensor 3")
GOAL_MAZE, EDGES, WALLS = "PointMaze_Medium-v3", (-3.3, 3.3), "#c9cdd3"


def plan(workspace: Workspace) -> list[RunConfig]:  # noqa: ARG001
    """No runs: its agents are trained in seconds."""
    return []


def make(workspace: Workspace) -> list[Path]:
    """The picture."""
    steps = 3_000 if workspace.budget.quick else 12_000
    rows = [*planning_rows(), *discovery_rows(steps), *goal_rows(steps), *dimension_rows()]
    return workspace.draw("parts", draw_parts, ResultTable(rows, workspace.budget_notes()))


# ---------------------------------------------------------------- what happens in a real memory


def planning_rows() -> list[Row]:
    """The rows of an agent that has just found the goal, before and after a sweep."""
    env = gymnasium.make("scrubjay/Point4RoomsOneGoal-v0")
    agent = CECPlus(env, seed=0, planning=0.0, stitching=False)
    while not (agent.memory.values > 0).any():
        agent.learn(1_000)
    swept = planning.swept_values(agent.memory, agent.planning_rule())
    places = _places(agent)
    return [*_points(BEFORE, places, agent.memory.values), *_points(AFTER, places, swept)]


def discovery_rows(steps: int) -> list[Row]:
    """The rows of an agent before its first success, and their temporary values, at most 1."""
    env = gymnasium.make("scrubjay/PointTMaze-v0", depth=20)
    agent = CECPlus(env, seed=0).learn(steps)
    start = agent.embedding.embed_batch(env.reset(seed=0)[0][None])[0]
    rng = np.random.default_rng(0)
    lures = discovery.lures(agent.memory, start, agent.planning_rule(), rng)
    return _points(LURES, _places(agent), lures / discovery.TARGET)


def goal_rows(steps: int) -> list[Row]:
    """The rows of one agent, and their values for each of two goals."""
    env = gymnasium.make(f"gymnasium_robotics:{GOAL_MAZE}", continuing_task=False)
    agent = CECPlus(env, seed=0).learn(steps)
    known = GoalMap.from_state(agent.counters()["goals"], agent.embedding.key_dim)
    known.set_scale(agent.embedding.state())
    known.set_env(env)
    places, fading = known.achieved(agent.memory.keys), agent.planning_rule().fading
    rows: list[Row] = []
    for panel, goal in zip(GOALS, GOAL_PLACES, strict=True):
        found = known.plan(agent.memory, np.array(goal), agent.gamma, fading)
        rows += _points(panel, places, found.values)
    return rows


def dimension_rows() -> list[Row]:
    """The correlation of each dimension of an observation with itself one step later."""
    env = gymnasium.make("scrubjay/SensorMountainCar-v0", n_sensors=3)
    agent = CECPlus(env, seed=0).learn(2_000)
    assert isinstance(agent.embedding, FrozenNormalizer)
    observations = [env.reset(seed=0)[0]]
    env.action_space.seed(0)
    for _ in range(900):
        observations.append(env.step(env.action_space.sample())[0])
    series = np.array(observations, np.float64)
    correlations = [np.corrcoef(each[:-1], each[1:])[0, 1] for each in series.T]
    return [
        {"panel": DIMENSIONS, "x": i, "y": int(ignored), "value": float(f"{abs(value):.3g}")}
        for i, (value, ignored) in enumerate(
            zip(correlations, agent.embedding.ignored, strict=True)
        )
    ]


def _places(agent: CECPlus) -> Array:
    """(n, 2): the positions of an agent's rows in a maze."""
    state = agent.embedding.state()
    places: Array = agent.memory.keys * np.sqrt(state["variance"]) + state["mean"]
    return places[:, :2]


def _points(panel: str, places: Array, values: Array) -> list[Row]:
    """Positions in the maze, the highest values last, so that they are drawn on top."""
    return [
        {
            "panel": panel, "x": round(float(places[i, 0]), 2), "y": round(float(places[i, 1]), 2),
            "value": float(f"{values[i]:.3g}"),
        }
        for i in np.argsort(values, kind="stable")
    ]  # fmt: skip


# ---------------------------------------------------------------- the picture


def draw_parts(table: ResultTable) -> "Figure":
    """A panel for each picture of a memory."""
    figure, grid = open_figure(2, 4, (PAGE_WIDTH, 5.3), width_ratios=(1, 1, 1.2, 0.06))
    rooms, tee = "scrubjay/Point4RoomsOneGoal-v0", "scrubjay/PointTMaze-v0"
    mazes: list[tuple[str, str, dict[str, Any]]] = [
        (BEFORE, rooms, {}), (AFTER, rooms, {}), (LURES, tee, {"depth": 20})
    ]  # fmt: skip
    for axes, (panel, task, options) in zip(grid[0], mazes, strict=False):
        env: Any = gymnasium.make(task, **options).unwrapped
        draw_maze(axes, env.maze)
        _scatter(axes, table, panel, [(goal.x, goal.y) for goal in env.goals])
    for axes, panel, goal in zip(grid[1], GOALS, GOAL_PLACES, strict=False):
        axes.set(facecolor=WALLS, aspect="equal", xticks=[], yticks=[], xlim=EDGES, ylim=EDGES)
        axes.spines[:].set_visible(False)
        shown = _scatter(axes, table, panel, [goal])
    _draw_dimensions(grid[1][2], table)
    figure.colorbar(shown, cax=grid[0][3], label="value")
    grid[1][3].set_axis_off()
    add_caption(figure, " ".join([CAPTION, *table.notes]))
    return figure


def _columns(table: ResultTable, panel: str) -> tuple[Array, Array, Array]:
    """Positions and values of the rows of a panel."""
    rows = [row for row in table.rows if row["panel"] == panel]
    x, y, value = (np.array([number_of(row[name]) for row in rows]) for name in ("x", "y", "value"))
    return x, y, value


def _scatter(axes: "Axes", table: ResultTable, panel: str, goals: list[tuple[float, float]]) -> Any:
    x, y, value = _columns(table, panel)
    # values fall exponentially with the steps to a goal
    norm = require("matplotlib.colors", "plots").PowerNorm(0.4, 0, 1)
    shown = axes.scatter(x, y, c=value, s=2, cmap="viridis", norm=norm, rasterized=True)
    for goal in goals:
        axes.plot(*goal, marker="*", color=GOAL, markersize=11, markeredgecolor="white")
    axes.set_title(f"{panel}\n{(value > 1e-6).mean():.0%} of rows have one", fontsize=9)
    return shown


def _draw_dimensions(axes: "Axes", table: ResultTable) -> None:
    _, ignored, value = _columns(table, DIMENSIONS)
    colours = [SOFT if each else "#009e73" for each in ignored]
    axes.barh(NAMES, value, color=colours)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("correlation with one step before")
    axes.set_title(f"{DIMENSIONS}\n{int(ignored.sum())} of {len(value)} ignored (grey)", fontsize=9)


FIGURES = {"parts": draw_parts}
CAPTION = (
    "Rows of real memories, each at its position in the maze. Top left: Point4Rooms with one goal "
    "(star), when the goal has just been found, before and after one sweep over the stored "
    "transitions: rows of other episodes get values too. Top right: a T maze whose goal was not "
    "found yet; temporary values lead to a rarely visited state, from which episodes explore. "
    "Bottom left: PointMaze Medium, the same rows with their values for two goals. Bottom right: "
    "the mountain car with three sensors of noise, which are ignored."
)

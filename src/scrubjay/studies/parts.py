"""The parts of `cec-plus` that came after 0.2: with and without each, and a picture of some."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from scrubjay.agents import CECPlus, discovery, planning
from scrubjay.analysis.curves import evaluation_curve
from scrubjay.analysis.results import Row, Table, number_of, save_result
from scrubjay.analysis.tables import markdown
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, open_figure
from scrubjay.figures.states import GOAL, draw_maze
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.plus_cases import FULL, Arm, Case
from scrubjay.studies.shared.suite_tasks import SUITE
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.studies.suite import folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = tuple(range(30, 35))
MEASURED = Arm("all dimensions count", {"measure_keys": False})
GOAL_PLANNING = Arm("no goal planning", {"goal_planning": False})
PLANNING = Arm("no planning", {"planning": 0.0})
DISCOVERY = Arm("no discovery", {"discovery": False})
# the tasks of the suite that a part was made for, and one that it might harm
PAIRS: Mapping[str, tuple[Arm, ...]] = {
    "MountainCar + 3 sensors": (MEASURED,),
    "PointUMaze": (PLANNING,),
    "Point4Rooms, one goal": (PLANNING, DISCOVERY),
    "corridor of 30 cells": (DISCOVERY,),
    "PointMaze Medium": (GOAL_PLANNING,),
    "Reacher": (GOAL_PLANNING,),
    "FetchReach": (GOAL_PLANNING,),
}
PREFACE = """# Parts of CECPlus that came after 0.2

Greedy success at the step of the target, mean over seeds, with all parts and without one of them.

"""


def cases() -> dict[str, Case]:
    """The tasks by their titles."""
    return {case.title: case for case in SUITE if case.title in PAIRS}


def plan(workspace: Workspace) -> list[RunConfig]:
    """Nothing unless `cec-plus` may be run; a quick version has one task."""
    if "cec-plus" not in workspace.agents:
        return []
    asked = workspace.budget.seeds
    seeds = SEEDS if asked == tuple(range(5)) else asked
    titles = list(PAIRS)[:1] if workspace.budget.quick else list(PAIRS)
    shorter = 10 if workspace.budget.quick else 1
    return [
        _shortened(arm.config(cases()[title], seed), shorter)
        for title in titles
        for arm in (FULL, *PAIRS[title])
        for seed in seeds
    ]


def _shortened(config: RunConfig, factor: int) -> RunConfig:
    return replace(config, steps=config.steps // factor, eval_freq=config.eval_freq // factor)


def make(workspace: Workspace) -> list[Path]:
    """The table and the picture."""
    rows: list[Row] = []
    for title, arms in PAIRS.items():
        case = cases()[title]
        for arm in (FULL, *arms):
            group = arm.group(case, folder(workspace), workspace)
            if group is not None:
                curve = evaluation_curve(group, case.metric)
                after = int(np.searchsorted(curve.steps, case.target_step))
                at = min(after, len(curve.steps) - 1)
                values = curve.values[:, at]
                rows.append(
                    {
                        "task": title, "step": f"{curve.steps[at]:,.0f}", "variant": arm.label,
                        "success": f"{values.mean():.2f}", "seeds": len(values),
                        "each": " ".join(f"{value:.2f}" for value in values),
                    }
                )  # fmt: skip
    if not rows:
        raise workspace.nothing("parts")
    page = PREFACE + markdown(rows) + "\n"
    stem = workspace.out / "table-parts"
    steps = 3_000 if workspace.budget.quick else 15_000
    points = [*planning_rows(steps), *discovery_rows(steps)]
    return [
        *workspace.tell(save_result(stem, {".md": page.encode()}, rows, workspace.command)),
        *workspace.draw("parts", draw_parts, Table(points, workspace.honesty())),
    ]


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
    agent = CECPlus(gymnasium.make("scrubjay/PointTMaze-v0", depth=20), seed=0).learn(steps)
    memory = agent.memory
    target = discovery.rare_row(memory.keys, np.random.default_rng(0))
    return _points(PANELS[2], agent, discovery.lures(memory, target, agent.planning_rule()))


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


def draw_parts(table: Table) -> "Figure":
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
    "Right: a T maze whose goal was not found yet; the lure falls with the steps to a rare row."
)

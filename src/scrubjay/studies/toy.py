"""GrowingTree: a greedy episode, and the action chosen at each height, ten times in a training."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.states import BEST, GOAL, draw_toy_panels, greedy_actions
from scrubjay.figures.style import TITLE_SIZE
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASK = "GrowingTree"
CAPTION = "CEC on GrowingTree after ten shares of its training, from top to bottom."


def plan(workspace: Workspace) -> list[RunConfig]:
    """CEC's runs."""
    return workspace.plan(("cec",), (TASK,))


def make(workspace: Workspace) -> list[Path]:
    """The figure of the first seed."""
    group = workspace.group("cec", TASK)
    if group is None:
        raise workspace.no_runs_error("toy")
    run = group.runs[0]
    rows = [row for step in run.config["checkpoint_steps"] for row in _rows(run.path, int(step))]
    notes = [_about(run.seed, group), *workspace.budget_notes(), *workspace.unusable_notes([TASK])]
    return workspace.draw("toy", draw_toy, ResultTable(rows, notes))


def draw_toy(table: ResultTable) -> "Figure":
    """A row for each checkpoint: a greedy episode, and the action chosen at each height."""
    steps = list(dict.fromkeys(int(number_of(row["checkpoint"])) for row in table.rows))
    size = (PAGE_WIDTH, 0.85 * len(steps) + 1.3)
    figure, grid = open_figure(len(steps), 2, size, sharex="col")
    for (left, right), step in zip(grid, steps, strict=True):
        _, heights = _panel(table.rows, step, "episode")
        states, actions = _panel(table.rows, step, "policy")
        draw_toy_panels(left, right, heights, states, actions)
        left.set_ylabel(f"{step / 1000:g}k\nsteps", rotation=0, ha="right", va="center")
    grid[0][0].set_title("height in a greedy episode", fontsize=TITLE_SIZE)
    grid[0][1].set_title("action chosen at each height", fontsize=TITLE_SIZE)
    grid[-1][0].set_xlabel("step of the episode")
    grid[-1][0].locator_params(axis="x", integer=True)
    grid[-1][1].set_xlabel("height of the tree")
    lines = {"linewidth": 1.2, "linestyle": "--"}
    goal, best = mark("the goal", color=GOAL, **lines), mark("the best action", color=BEST, **lines)
    add_legend(figure, ["CEC"], marks=[goal, best])
    add_caption(figure, " ".join([CAPTION, *table.notes]))
    return figure


FIGURES = {"toy": draw_toy}


def greedy_heights(agent: Any) -> list[float]:
    """The heights of the tree in one greedy episode."""
    env = gymnasium.make(f"scrubjay/{TASK}-v0")
    observation, _ = env.reset(seed=0)
    heights, over = [float(observation[0])], False
    while not over:
        action, _ = agent.predict(observation, deterministic=True)
        observation, _, terminated, truncated, _ = env.step(action)
        heights.append(float(observation[0]))
        over = terminated or truncated
    return heights


def _rows(path: Path, step: int) -> list[Row]:
    """What the agent of a checkpoint does, as rows."""
    agent, _ = load_agent(path, f"step-{step}")
    with warnings.catch_warnings():
        # before the first finished episode there is nothing to draw, which is seen
        warnings.filterwarnings("ignore", message="the memory is empty")
        heights = greedy_heights(agent)
        states, actions = greedy_actions(agent)
    episode: Row = {"checkpoint": step, "panel": "episode", "x": "step", "y": "height"}
    policy: Row = {"checkpoint": step, "panel": "policy", "x": "height", "y": "action"}
    return [
        *({**episode, "at": float(i), "value": height} for i, height in enumerate(heights)),
        *(
            {**policy, "at": float(s), "value": float(a)}
            for s, a in zip(states, actions, strict=True)
        ),
    ]


def _panel(rows: Sequence[Row], step: int, panel: str) -> tuple[list[float], list[float]]:
    mine = [row for row in rows if row["checkpoint"] == step and row["panel"] == panel]
    return [number_of(row["at"]) for row in mine], [number_of(row["value"]) for row in mine]


def _about(seed: int, group: Group) -> str:
    lengths = [f"{run.evaluations.lengths[-1]:.0f}" for run in group.runs]
    return (
        f"Seed {seed}; greedy episodes of the last evaluation take {', '.join(lengths)} steps in "
        f"the seeds {', '.join(str(run.seed) for run in group.runs)} (9 or 10 is the best)."
    )

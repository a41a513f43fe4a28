"""GrowingTree: a greedy episode, and the action chosen at each height, ten times in a training."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium

from scrubjay.analysis.groups import Group
from scrubjay.figures.curves import Drawing
from scrubjay.figures.layout import add_caption, open_figure
from scrubjay.figures.states import toy_panels
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent
from scrubjay.studies.shared.workspace import Workspace

TASK = "GrowingTree"


def plan(workspace: Workspace) -> list[RunConfig]:
    return workspace.plan(("cec",), (TASK,))


def make(workspace: Workspace) -> list[Path]:
    group = workspace.group("cec", TASK)
    if group is None:
        raise workspace.nothing("toy")
    run = group.runs[0]
    steps = [int(step) for step in run.config["checkpoint_steps"]]
    figure, grid = open_figure(len(steps), 2, (8.2, 1.15 * len(steps) + 1.6), sharex="col")
    rows = []
    for (left, right), step in zip(grid, steps, strict=True):
        agent, _ = load_agent(run.path, f"step-{step}")
        with warnings.catch_warnings():
            # before the first finished episode there is nothing to draw, which is seen
            warnings.filterwarnings("ignore", message="the memory is empty")
            toy_panels(left, right, greedy_heights(agent), agent)
        right.set_ylim(-0.12, 0.12)
        left.set_ylabel(f"{step / 1000:g}k steps", fontsize=9)
        rows += _rows(step, left.lines[0], "episode", "step", "height")
        rows += _rows(step, right.lines[0], "policy", "height", "action")
    _label(grid)
    caption = " ".join([_caption(run.seed, group), *workspace.honesty(), *workspace.broken([TASK])])
    add_caption(figure, caption)
    return workspace.save("toy", Drawing(figure, rows, caption))


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


def _rows(checkpoint: int, line: Any, panel: str, x: str, y: str) -> list[dict[str, Any]]:
    head = {"checkpoint": checkpoint, "panel": panel, "x": x, "y": y}
    return [{**head, "at": float(a), "value": float(b)} for a, b in line.get_xydata()]


def _label(grid: Any) -> None:
    grid[0][0].set_title("height in a greedy episode", fontsize=10)
    grid[0][1].set_title("action chosen at each height", fontsize=10)
    grid[-1][0].set_xlabel("step of the episode")
    grid[-1][1].set_xlabel("height of the tree")


def _caption(seed: int, group: Group) -> str:
    lengths = [f"{run.evaluations.lengths[-1]:.0f}" for run in group.runs]
    return (
        f"CEC on GrowingTree, seed {seed}; training goes on from top to bottom. Red: the goal; "
        f"green: the best action. Greedy episodes of the last evaluation take {', '.join(lengths)} "
        f"steps (seeds {', '.join(str(run.seed) for run in group.runs)}; 9 or 10 is the best)."
    )

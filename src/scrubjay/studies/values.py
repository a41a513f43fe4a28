"""State values on PointUMaze: CEC above SAC, early, in the middle and at the end of a training."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from scrubjay.analysis.reading import RunData
from scrubjay.figures.curves import Drawing
from scrubjay.figures.layout import add_caption, open_figure
from scrubjay.figures.states import Array, draw_goals, draw_value_arrows, maze_states, state_values
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent
from scrubjay.studies.shared.methods import METHODS
from scrubjay.studies.shared.workspace import Workspace

TASK = "PointUMaze"
SHOWN = ("cec", "sac")
HOW = {
    "cec": "CEC: the value of the nearest row within n*d, blank where there is none.",
    "sac": "SAC: the smaller critic at its own action.",
}


def plan(workspace: Workspace) -> list[RunConfig]:
    return workspace.plan(SHOWN, (TASK,))


def make(workspace: Workspace) -> list[Path]:
    groups = {name: group for name in SHOWN if (group := workspace.group(name, TASK))}
    if not groups:
        raise workspace.nothing("values")
    env: Any = gymnasium.make(f"scrubjay/{TASK}-v0")
    maze = env.unwrapped.maze
    states = maze_states(*(np.array(corner) for corner in maze.corners()))
    size = (9.0, 3.4 * len(groups) + 0.8)
    figure, grid = open_figure(len(groups), 4, size, width_ratios=(1, 1, 1, 0.06))
    rows: list[dict[str, Any]] = []
    for line, (name, group) in zip(grid, groups.items(), strict=True):
        run = group.runs[0]
        for axes, step in zip(line, run.config["checkpoint_steps"], strict=False):
            values = values_of(run, int(step), states)
            arrows = draw_value_arrows(axes, maze, states, values, longest=1.0)
            draw_goals(axes, env)
            axes.set_title(f"{METHODS[name].label}, {int(step) / 1000:g}k steps\n{_range(values)}")
            rows += _rows(METHODS[name].label, run.seed, int(step), states, values)
    seeds = ", ".join(f"{group.label} {group.runs[0].seed}" for group in groups.values())
    caption = " ".join(
        [
            f"An arrow is a position and heading, as long as its value (at most 1, the return of "
            f"the goal; larger values are drawn as 1, negative ones not at all). Seeds: {seeds}.",
            *(HOW[name] for name in groups),
            *workspace.honesty(),
            *workspace.left_out(SHOWN, [TASK]),
        ]
    )
    for line in grid:
        figure.colorbar(arrows, cax=line[-1], label="value")
    add_caption(figure, caption)
    return workspace.save("values", Drawing(figure, rows, caption))


def values_of(run: RunData, step: int, states: Array) -> Array:
    """What the agent of a checkpoint expects of each state."""
    agent, config = load_agent(run.path, f"step-{step}")
    if config.agent == "cec":
        return state_values(agent, states) if len(agent.memory) else np.full(len(states), np.nan)
    from scrubjay.deep import values as critics

    observations = states.astype(agent.observation_space.dtype)
    return np.asarray(critics.state_values(agent.model, observations), dtype=np.float64)


def _range(values: Array) -> str:
    known = values[np.isfinite(values)]
    if not len(known):
        return "nothing known"
    return f"values {known.min():.3g} to {known.max():.3g}"


def _rows(label: str, seed: int, step: int, states: Array, values: Array) -> list[dict[str, Any]]:
    return [
        {
            "method": label, "seed": seed, "checkpoint": step, "x": round(float(x), 4),
            "y": round(float(y), 4), "heading": round(float(heading), 4),
            "value": float(f"{value:.4g}"),
        }
        for (x, y, heading), value in zip(states, values, strict=True)
        if np.isfinite(value)
    ]  # fmt: skip

"""State values on PointUMaze: CEC above SAC, early, in the middle and at the end of a training."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from scrubjay.analysis.reading import RunData
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.states import (
    GOAL,
    Array,
    draw_goals,
    draw_value_arrows,
    maze_states,
    state_values,
)
from scrubjay.figures.style import INK
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent
from scrubjay.studies.shared.methods import METHODS
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASK = "PointUMaze"
SHOWN = ("cec", "sac")
NOTE = (
    "State values on PointUMaze in the course of training. The return of the goal is 1: larger "
    "values are drawn as 1, negative ones not at all."
)
HOW = {
    "CEC": "CEC: the value of the nearest row within n*d, blank where there is none.",
    "SAC": "SAC: the smaller critic at its own action.",
}


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of both methods."""
    return workspace.plan(SHOWN, (TASK,))


def make(workspace: Workspace) -> list[Path]:
    """The figure of the first seed of each method."""
    groups = {name: group for name in SHOWN if (group := workspace.group(name, TASK))}
    if not groups:
        raise workspace.no_runs_error("values")
    maze = _env().unwrapped.maze
    states = maze_states(*(np.array(corner) for corner in maze.corners()))
    rows = [
        row
        for name, group in groups.items()
        for step in group.runs[0].config["checkpoint_steps"]
        for row in _rows(METHODS[name].label, group.runs[0], int(step), states)
    ]
    notes = [*workspace.budget_notes(), *workspace.missing_notes(SHOWN, [TASK])]
    return workspace.draw("values", draw_values, ResultTable(rows, notes))


def draw_values(table: ResultTable) -> "Figure":
    """A row for each method, a column for each checkpoint."""
    env = _env()
    methods = list(dict.fromkeys(str(row["method"]) for row in table.rows))
    steps = sorted({int(number_of(row["checkpoint"])) for row in table.rows})
    size, widths = (PAGE_WIDTH, 2.75 * len(methods) + 0.9), (*[1] * len(steps), 0.05)
    figure, grid = open_figure(len(methods), len(steps) + 1, size, width_ratios=widths)
    for line, method in zip(grid, methods, strict=True):
        for axes, step in zip(line, steps, strict=False):
            which = {"method": method, "checkpoint": step}
            states, values = _cell([r for r in table.rows if which.items() <= r.items()])
            arrows = draw_value_arrows(axes, env.unwrapped.maze, states, values, longest=1.0)
            draw_goals(axes, env)
            axes.set_title(f"{method}, {step / 1000:g}k steps\n{_range(values)}", fontsize=9)
        figure.colorbar(arrows, cax=line[-1], label="value")
    marks = [
        mark("a state: position and heading, as long as its value", marker=r"$\rightarrow$",
             markersize=11),
        mark("start", marker="s", markersize=7, color=INK),
        mark("goal", marker="*", markersize=12, color=GOAL),
    ]  # fmt: skip
    add_legend(figure, [], marks=marks)
    seeds = ", ".join(sorted({f"seed {row['seed']}" for row in table.rows}))
    how = [HOW[method] for method in methods if method in HOW]
    add_caption(figure, " ".join([NOTE, *how, f"One run each ({seeds}).", *table.notes]))
    return figure


FIGURES = {"values": draw_values}


def _env() -> Any:
    return gymnasium.make(f"scrubjay/{TASK}-v0")


def _cell(rows: Sequence[Row]) -> tuple[Array, Array]:
    """The states and values of one panel."""
    columns = [
        np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("x", "y", "heading", "value")
    ]
    return np.stack(columns[:3], axis=1), columns[3]


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


def _rows(label: str, run: RunData, step: int, states: Array) -> list[Row]:
    return [
        {
            "method": label, "seed": run.seed, "checkpoint": step, "x": round(float(x), 4),
            "y": round(float(y), 4), "heading": round(float(heading), 4),
            "value": float(f"{value:.4g}"),
        }
        for (x, y, heading), value in zip(states, values_of(run, step, states), strict=True)
        if np.isfinite(value)
    ]  # fmt: skip

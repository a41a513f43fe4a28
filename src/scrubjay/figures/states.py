"""What a memory knows, drawn over the states: the paper's toy figure and its value arrows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents import CEC

Array = npt.NDArray[np.float64]

GRID = 12  # cells of the paper's grid along each side
DIRECTIONS = 20


def state_values(agent: CEC, observations: Array) -> Array:
    """The value of the nearest row within n*d of each observation; NaN where nobody is near."""
    keys = agent.embedding.embed_batch(observations)
    rows, _ = agent.memory.neighbors(keys, 1, agent.radius)
    found = rows[:, 0]
    return np.where(found >= 0, agent.memory.values[np.maximum(found, 0)], np.nan)


def maze_states(low: Array, high: Array) -> Array:
    """(x, y, heading) of the paper's 12 x 12 cells and 20 directions."""
    xs = low[0] + (np.arange(GRID) + 0.5) * (high[0] - low[0]) / GRID
    ys = low[1] + (np.arange(GRID) + 0.5) * (high[1] - low[1]) / GRID
    headings = -np.pi + (np.arange(DIRECTIONS) + 0.5) * 2 * np.pi / DIRECTIONS
    return np.stack(np.meshgrid(xs, ys, headings, indexing="ij"), axis=-1).reshape(-1, 3)


def draw_maze(axes: Any, maze: Any) -> None:
    """The blocks of a maze in world coordinates."""
    for cell in maze.cells("#"):
        x, y = maze.center(cell)
        axes.fill([x - 2, x + 2, x + 2, x - 2], [y - 2, y - 2, y + 2, y + 2], color="#c9cdd3")
    axes.set_aspect("equal")
    (left, low), (right, high) = maze.corners()
    axes.set_xlim(left - 0.6, right + 0.6)
    axes.set_ylim(low - 0.6, high + 0.6)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_value_arrows(axes: Any, maze: Any, states: Array, values: Array, longest: float) -> Any:
    """An arrow for each state with a value: its heading, as long as its value.

    Rasterized: thousands of arrows as paths made an SVG of 2.6 MB.
    """
    draw_maze(axes, maze)
    free = np.array([maze.is_free(maze.cell_at(x, y)) for x, y, _ in states])
    known = np.isfinite(values) & (values > 0) & free
    x, y, heading = states[known].T
    shown = values[known]
    cell = states[:, 0].max() - states[:, 0].min()
    length = 1.1 * cell / (GRID - 1) * np.minimum(shown / longest, 1.0)
    return axes.quiver(
        x, y, length * np.cos(heading), length * np.sin(heading), shown, cmap="viridis",
        angles="xy", scale_units="xy", scale=1, width=0.004, clim=(0, longest), rasterized=True,
    )  # fmt: skip


def draw_goals(axes: Any, env: Any) -> None:
    task = env.unwrapped
    axes.plot(0, 0, marker="s", color="#22262e", markersize=7)
    axes.annotate("start", (0, 0), xytext=(6, -12), textcoords="offset points", fontsize=8)
    for goal in task.goals:
        axes.plot(goal.x, goal.y, marker="*", color="#d62728", markersize=14)


def toy_panels(left: Any, right: Any, heights: Sequence[float], agent: CEC) -> None:
    """One row of the paper's toy figure: a greedy episode, and the action chosen in each state."""
    left.plot(range(len(heights)), heights, color="#0072b2", marker="o", markersize=3)
    left.axhline(1.0, color="#d62728", linewidth=1)
    left.set_ylim(-0.25, 1.25)
    states = np.linspace(0, 1, 101)
    actions = np.array([agent.predict(np.array([s]), deterministic=True)[0][0] for s in states])
    right.plot(states, actions, color="#0072b2", linewidth=1.2)
    right.axhline(0.1, color="#009e73", linewidth=1)
    right.set_ylim(-0.11, 0.11)

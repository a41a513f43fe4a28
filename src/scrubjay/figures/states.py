"""Values and actions drawn over the states: the paper's toy figure and its value arrows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents import CEC
from scrubjay.figures.style import INK, METHOD_COLOURS, SOFT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.quiver import Quiver

Array = npt.NDArray[np.float64]

GRID = 12  # cells of the paper's grid along each side
DIRECTIONS = 20
GOAL, BEST = "#b3124f", "#009e73"


def state_values(agent: CEC, observations: Array) -> Array:
    """The value of the nearest row within n*d of each observation; NaN where there is none."""
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


def draw_maze(axes: "Axes", maze: Any) -> None:
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
    for spine in axes.spines.values():
        spine.set_visible(False)


def draw_value_arrows(
    axes: "Axes", maze: Any, states: Array, values: Array, longest: float
) -> "Quiver":
    """An arrow for each state with a value: its heading, as long as its value.

    Rasterized: thousands of arrows as paths made an SVG of 2.6 MB.

    Args:
        axes: Where to draw.
        maze: The task's maze.
        states: (x, y, heading) of each state.
        values: Their values; NaN where there is none.
        longest: The value of the longest arrow; larger ones are drawn as long.

    Returns:
        The arrows, for a colour bar.
    """
    draw_maze(axes, maze)
    free = np.array([maze.is_free(maze.cell_at(x, y)) for x, y, _ in states], dtype=bool)
    known = np.isfinite(values) & (values > 0) & free
    x, y, heading = states[known].T
    shown = values[known]
    (left, _), (right, _) = maze.corners()
    length = 1.1 * (right - left) / GRID * np.minimum(shown / longest, 1.0)
    return axes.quiver(
        x, y, length * np.cos(heading), length * np.sin(heading), shown, cmap="viridis",
        angles="xy", scale_units="xy", scale=1, width=0.004, clim=(0, longest), rasterized=True,
    )  # fmt: skip


def draw_goals(axes: "Axes", env: Any) -> None:
    """The start as a square, and the goals as stars."""
    axes.plot(0, 0, marker="s", color=INK, markersize=7, markeredgecolor="white")
    for goal in env.unwrapped.goals:
        axes.plot(goal.x, goal.y, marker="*", color=GOAL, markersize=15, markeredgecolor="white")


def greedy_actions(agent: CEC) -> tuple[Array, Array]:
    """Heights of the growing tree, and the action that an agent chooses at each."""
    heights = np.linspace(0, 1, 101)
    chosen = [agent.predict(np.array([h]), deterministic=True)[0][0] for h in heights]
    return heights, np.array(chosen, dtype=np.float64)


def draw_toy_panels(
    left: "Axes", right: "Axes", heights: Sequence[float], states: Sequence[float],
    actions: Sequence[float],
) -> None:  # fmt: skip
    """One row of the paper's toy figure: a greedy episode, and the action chosen in each state."""
    colour = METHOD_COLOURS["cec"]
    left.axhline(1.0, color=GOAL, linewidth=1.2, linestyle="--")
    left.plot(range(len(heights)), heights, color=colour, marker="o", markersize=3)
    left.set_ylim(-0.25, 1.25)
    right.axhline(0.1, color=BEST, linewidth=1.2, linestyle="--")
    right.plot(states, actions, color=colour, linewidth=1.2)
    right.set_ylim(-0.12, 0.12)
    for axes in (left, right):
        axes.tick_params(labelsize=8, color=SOFT)

"""The pictures of docs/concepts.md and docs/plus.md, drawn from real runs.

    python docs/figures.py [docs/images]

Everything that is drawn comes from agents that this script trains, within half a minute: the rows
of a memory, the neighbours of one decision, the outcomes of one write, the values of one sweep.
Needs `pip install "scrubjay[mujoco,plots]"`.
"""

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from PIL import Image

from scrubjay import CEC, BoundsScaler, CECPlus, EpisodicMemory, Outcome
from scrubjay.agents import Experience, Learned, planning
from scrubjay.figures.states import draw_maze, state_values
from scrubjay.figures.style import INK, METHOD_COLOURS, SOFT, STYLE

Array = npt.NDArray[np.float64]

CAR, MAZE = "scrubjay/SparseMountainCar-v0", "scrubjay/PointUMaze-v0"
SEED, STEPS = 0, 20_000
VALUES = "viridis"
RED, GREEN, ORANGE, GREY = "#b3124f", "#009e73", "#e69f00", "#aab1bb"
AXES = ("position (scaled to -1 ... 1)", "velocity (scaled to -1 ... 1)")


class Recording(CEC):
    """CEC that keeps each episode, with the memory before it was written, for the pictures."""

    name = "recording-cec"

    def learn_from(self, experience: Experience) -> Learned:
        """Learn as CEC does, and remember how."""
        before = self.memory.copy()
        learned = super().learn_from(experience)
        self.last = (before, experience, learned)
        return learned


def trained_car() -> Recording:
    """CEC on the mountain car, whose keys have two dimensions: all distances can be drawn."""
    agent = Recording(
        CAR, embedding=BoundsScaler(), n_neighbors=5, radius_factor=2, distance_threshold=0.04,
        temperature=10, noise_std=0.5, seed=SEED,
    )  # fmt: skip
    return agent.learn(STEPS)


def greedy_path(agent: Any, task: str) -> Array:
    """The observations of one greedy episode."""
    env = gymnasium.make(task)
    observation, _ = env.reset(seed=SEED)
    path, done = [observation], False
    while not done:
        action, _ = agent.predict(observation, deterministic=True)
        observation, _, terminated, truncated, _ = env.step(action)
        path.append(observation)
        done = terminated or truncated
    return np.array(path, np.float64)


# ---------------------------------------------------------------- the table


def draw_table(agent: Recording, path: Path) -> None:
    """All rows: keys, values and actions; and the greedy episode that they produce."""
    memory = agent.memory
    figure = new_figure(8.0, 3.6)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    drawn = left.scatter(*memory.keys.T, c=memory.values, s=9, cmap=VALUES, linewidths=0)
    figure.colorbar(drawn, ax=left, label="value: the best return so far")
    left.set_title(f"{len(memory):,} rows after {agent.num_timesteps:,} steps")
    actions = memory.columns["action"][:, 0]
    drawn = right.scatter(*memory.keys.T, c=actions, s=9, cmap="coolwarm", linewidths=0)
    figure.colorbar(drawn, ax=right, label="action: force to the left or right")
    keys = agent.embedding.embed_batch(greedy_path(agent, CAR))
    for axes in (left, right):
        axes.plot(*keys.T, color=INK, linewidth=1.3, label=f"greedy episode, {len(keys) - 1} steps")
        axes.plot(*keys[0], "s", color=INK, markersize=7, markeredgecolor="white")
        axes.plot(*keys[-1], "*", color=RED, markersize=15, markeredgecolor="white")
        axes.set_xlabel(AXES[0])
    left.set_ylabel(AXES[1])
    left.legend(loc="lower left", fontsize=8, frameon=True, framealpha=0.9, edgecolor="none")
    right.set_title("the action of each row")
    save(figure, path / "concept_table.png")


# ---------------------------------------------------------------- one decision


def interesting_state(agent: Recording) -> Array:
    """A state of the last episode that has k neighbours with clearly different values."""
    _, experience, _ = agent.last
    rows, _ = agent.memory.neighbors(experience.keys, agent.n_neighbors, agent.radius)
    spreads = [np.ptp(agent.memory.values[found]) if (found >= 0).all() else -1.0 for found in rows]
    return np.asarray(experience.keys[int(np.argmax(spreads))], np.float64)


def draw_decision(agent: Recording, path: Path) -> None:
    """The neighbours of one state, and the probabilities of their actions (Eq. 5)."""
    memory, key = agent.memory, interesting_state(agent)
    rows, distances = memory.neighbors(key, agent.n_neighbors, agent.radius)
    values, actions = memory.values[rows], memory.columns["action"][rows, 0]
    weights = np.exp((values - values.max()) / agent.temperature)
    chances = weights / weights.sum()
    figure = new_figure(8.0, 3.3)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    draw_neighbours(left, agent, key, rows)
    places = np.arange(len(rows))
    right.barh(places, chances, color=METHOD_COLOURS["cec"], height=0.62)
    for place, value, action, distance, chance in zip(
        places, values, actions, distances, chances, strict=True
    ):
        right.text(
            chance + 0.015, place, f"{chance:.2f}: value {value:.1f}, action {action:+.2f}",
            va="center", fontsize=8, color=INK,
        )  # fmt: skip
        right.text(
            -0.015, place, f"{'ABCDEFGH'[place]}  {distance:.3f}", va="center", ha="right",
            fontsize=8, color=SOFT,
        )  # fmt: skip
    right.set(yticks=[], xlim=(0, max(1.0, 2 * chances.max())), xlabel="probability")
    right.invert_yaxis()
    right.grid(axis="y", visible=False)
    right.set_title("softmax over the values, tau = 10")
    save(figure, path / "concept_decision.png")


def draw_neighbours(axes: Any, agent: Recording, key: Array, rows: Array) -> None:
    memory, radius = agent.memory, agent.radius
    near = np.abs(memory.keys - key).max(axis=1) < 1.8 * radius
    axes.scatter(*memory.keys[near].T, c=memory.values[near], s=26, cmap=VALUES, linewidths=0)
    axes.add_patch(Circle(tuple(key), radius, fill=False, color=INK, linestyle="--"))
    axes.plot(*key, "P", color=RED, markersize=11, markeredgecolor="white")
    for letter, row in zip("ABCDEFGH", rows, strict=False):
        x, y = memory.keys[row]
        axes.plot([key[0], x], [key[1], y], color=SOFT, linewidth=0.8, zorder=0)
        axes.annotate(letter, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=9)
    limits = 1.8 * radius
    axes.set(xlim=(key[0] - limits, key[0] + limits), ylim=(key[1] - limits, key[1] + limits))
    axes.set(xlabel="position", ylabel="velocity", aspect="equal")
    axes.set_title(f"the {len(rows)} nearest rows within n d = {radius:.2f}")


# ---------------------------------------------------------------- one write


def draw_write(agent: Recording, path: Path) -> None:
    """What the last episode changed: rows added, replaced, and kept."""
    before, experience, learned = agent.last
    keys = experience.keys[::-1]
    figure = new_figure(8.0, 3.7)
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    for axes in (left, right):
        axes.scatter(*before.keys.T, s=7, color="#d5dae1", linewidths=0)
    # the rows that the episode met, as they were before it
    nearest, _ = before.nearest(keys)
    kinds = {
        Outcome.KEPT: (GREY, "kept: the known return is higher"),
        Outcome.REPLACED: (ORANGE, "replaced: this return is higher"),
        Outcome.ADDED: (GREEN, "added: nothing known within d"),
    }
    for outcome, (colour, text) in kinds.items():
        chosen = learned.outcomes == outcome
        label = f"{text} ({int(chosen.sum())})"
        for axes, size in ((left, 14), (right, 60)):
            axes.scatter(*keys[chosen].T, s=size, color=colour, linewidths=0, label=label)
    left.legend(loc="lower left", fontsize=8, framealpha=0.9, frameon=True, edgecolor="none")
    left.set(xlabel=AXES[0], ylabel=AXES[1])
    left.set_title(f"an episode of {len(keys)} steps is written, last step first")
    draw_write_detail(right, before, keys, np.asarray(learned.outcomes), nearest)
    save(figure, path / "concept_write.png")


def draw_write_detail(
    axes: Any, before: EpisodicMemory, keys: Array, outcomes: Array, nearest: Array
) -> None:
    """A small part of it, with the threshold of each new row and where replaced keys were."""
    d = before.distance_threshold
    place = most_varied(keys, outcomes, 4 * d)
    for key, outcome, row in zip(keys, outcomes, nearest, strict=True):
        if outcome == Outcome.ADDED:
            axes.add_patch(Circle(tuple(key), d, fill=False, color=GREEN, linewidth=0.8))
        if outcome == Outcome.REPLACED and np.linalg.norm(key - before.keys[row]) <= d:
            axes.annotate(
                "", key, before.keys[row],
                arrowprops={"arrowstyle": "->", "color": "#a86f00", "linewidth": 1.0},
            )  # fmt: skip
    limits = 4 * d
    axes.set(xlim=(place[0] - limits, place[0] + limits), xlabel="position", aspect="equal")
    axes.set(ylim=(place[1] - limits, place[1] + limits))
    axes.set_title("a part of it; circles have radius d")


def most_varied(keys: Array, outcomes: Array, size: float) -> Array:
    """The step around which all outcomes occur most evenly."""
    scores = []
    for key in keys:
        near = np.abs(keys - key).max(axis=1) < size
        counts = np.bincount(outcomes[near].astype(int), minlength=4)
        scores.append(int(min(counts[Outcome.ADDED], counts[Outcome.REPLACED])))
    return np.asarray(keys[int(np.argmax(scores))])


# ---------------------------------------------------------------- planning


def draw_planning(path: Path) -> None:
    """One sweep over the rows, after the first success: values before, the links, and after."""
    agent = CECPlus(CAR, planning=0, discovery=True, stitching=False, seed=SEED)
    while len(agent.memory) == 0 or agent.memory.value_range[1] <= 0:
        agent.learn(1_000)
    memory, rule = agent.memory, agent.planning_rule()
    swept = planning.swept_values(memory, rule)
    figure = new_figure(8.0, 3.0)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    limits = {"cmap": VALUES, "vmin": 0, "vmax": memory.value_range[1], "s": 5, "linewidths": 0}
    panels[0].scatter(*memory.keys.T, c=memory.values, **limits)
    draw_links(panels[1], memory, planning.linked_rows(memory, rule)[0])
    drawn = panels[2].scatter(*memory.keys.T, c=swept, **limits)
    known = [int((values > 0).sum()) for values in (memory.values, swept)]
    panels[0].set_title(f"before: {known[0]:,} of {len(memory):,} rows\nhave a value", fontsize=9)
    panels[1].set_title("where each row led to", fontsize=9)
    panels[2].set_title(f"after one sweep:\n{known[1]:,} rows", fontsize=9)
    for axes in panels:
        axes.set_xlabel("position (key)")
    panels[0].set_ylabel("velocity (key)")
    figure.colorbar(drawn, ax=panels, label="value", fraction=0.03)
    save(figure, path / "concept_planning.png")


def draw_links(axes: Any, memory: EpisodicMemory, linked: npt.NDArray[np.int64]) -> None:
    """An arrow from each row to the nearest row of where its action led."""
    starts = np.flatnonzero(linked[:, 0] >= 0)
    ends = linked[starts, 0]
    x, y = memory.keys[starts].T
    dx, dy = (memory.keys[ends] - memory.keys[starts]).T
    axes.quiver(
        x, y, dx, dy, angles="xy", scale_units="xy", scale=1, width=0.003, color=SOFT, headwidth=5
    )


# ---------------------------------------------------------------- learning and exploring


def draw_learning(path: Path) -> None:
    """What CECPlus knows about PointUMaze after more and more steps."""
    figure = new_figure(8.0, 2.1)
    panels = figure.subplots(1, 4)
    env = gymnasium.make(MAZE)
    maze = env.unwrapped.maze  # type: ignore[attr-defined]
    agent = CECPlus(MAZE, seed=1)
    for axes, steps in zip(panels, (1_000, 2_000, 4_000, 10_000), strict=True):
        agent.learn(steps - agent.num_timesteps)
        draw_maze(axes, maze)
        drawn = axes.imshow(
            value_map(agent, maze), extent=extent(maze), origin="lower", cmap=VALUES, vmin=0.5,
            vmax=1, interpolation="bilinear",
        )  # fmt: skip
        walk = greedy_path(agent, MAZE)
        solved = len(walk) < 1000
        axes.plot(*walk[:, :2].T, color=METHOD_COLOURS["cec-plus"], linewidth=1.4)
        mark_goal(axes, env)
        axes.set_title(f"{agent.num_timesteps:,} steps\n" + (
            f"greedy: {len(walk) - 1} steps" if solved else "greedy: no success"
        ), fontsize=9)  # fmt: skip
        axes.grid(False)
    figure.colorbar(drawn, ax=panels, label="best value", fraction=0.02, shrink=0.7)
    save(figure, path / "plus_learning.png")


def value_map(agent: Any, maze: Any, cells: int = 60, headings: int = 16) -> Array:
    """The best remembered value over all headings at each position; masked where none is known."""
    if len(agent.memory) == 0:
        return np.ma.masked_all((cells, cells))
    (left, low), (right, high) = maze.corners()
    centres = (np.arange(cells) + 0.5) / cells
    xs, ys = left + centres * (right - left), low + centres * (high - low)
    angles = np.linspace(-np.pi, np.pi, headings, endpoint=False)
    states = np.stack(np.meshgrid(ys, xs, angles, indexing="ij"), axis=-1).reshape(-1, 3)
    values = state_values(agent, states[:, [1, 0, 2]]).reshape(cells, cells, headings)
    best = np.where(np.isnan(values), -np.inf, values).max(axis=2)
    return np.ma.masked_where(best <= 0, best)


def draw_exploring(path: Path) -> None:
    """Where an agent that knows nothing goes within 1,000 steps: single steps, and held ones."""
    figure = new_figure(6.6, 3.2)
    env = gymnasium.make(MAZE)
    titles = {1: "hold=1: a new action in every step", 100: "hold=100: the default of CECPlus"}
    for axes, (hold, text) in zip(figure.subplots(1, 2), titles.items(), strict=True):
        draw_maze(axes, env.unwrapped.maze)  # type: ignore[attr-defined]
        for seed, colour in zip(range(3), ("#0072b2", "#009e73", "#e69f00"), strict=True):
            walk = random_walk(CECPlus(MAZE, hold=hold, seed=seed), env)
            axes.plot(*walk[:, :2].T, color=colour, linewidth=0.9)
        mark_goal(axes, env)
        axes.set_title(text)
        axes.grid(False)
    save(figure, path / "plus_exploring.png")


def random_walk(agent: CECPlus, env: Any) -> Array:
    """The first episode of an agent, which has no memory yet."""
    observation, _ = env.reset(seed=int(agent.seed))
    walk, episode, done = [observation], agent.begin_episode(), False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(episode.act(observation))
        episode.record(reward)
        walk.append(observation)
        done = terminated or truncated
    return np.array(walk)


# ---------------------------------------------------------------- shared


def extent(maze: Any) -> tuple[float, float, float, float]:
    (left, low), (right, high) = maze.corners()
    return left, right, low, high


def mark_goal(axes: Any, env: Any) -> None:
    axes.plot(0, 0, "s", color=INK, markersize=6, markeredgecolor="white", zorder=5)
    for goal in env.unwrapped.goals:
        axes.plot(goal.x, goal.y, "*", color=RED, markersize=14, markeredgecolor="white", zorder=5)


def new_figure(width: float, height: float) -> Figure:
    figure = Figure((width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure with few colours, which is a third of the size."""
    figure.savefig(path, dpi=150, metadata={"Software": None})
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)
    print(path)


def main() -> None:
    """Draw all figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs/images"))
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams.update(STYLE)
    agent = trained_car()
    draw_table(agent, folder)
    draw_decision(agent, folder)
    draw_write(agent, folder)
    draw_planning(folder)
    draw_learning(folder)
    draw_exploring(folder)


if __name__ == "__main__":
    main()

"""Solve a maze in seconds and draw what was learned: `make demo`.

    python examples/demo.py demo

PointUMaze gives a reward of 1 at its goal and 0 everywhere else. CECPlus, which needs no settings,
and CEC with the settings of its paper train on it for 10,000 steps each. Written into the folder:

    curves.png   success of both during training; what CECPlus remembers, and its greedy path
    greedy.gif   one greedy episode of CECPlus
    runs/        both run folders, for `scrubjay report`, `inspect` and `watch`

Needs `pip install "scrubjay[mujoco,plots]"`, and no display or OpenGL.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from scrubjay import CECPlus, Identity
from scrubjay.analysis.curves import Curve, evaluation_curve
from scrubjay.analysis.groups import group_runs
from scrubjay.analysis.reading import load_run
from scrubjay.figures.states import draw_maze, state_values
from scrubjay.figures.style import STYLE
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start

Array = npt.NDArray[np.float64]

TASK = "scrubjay/PointUMaze-v0"
SEED = 1
LABELS = {"cec-plus": "CECPlus", "cec": "CEC (paper)"}
COLOURS = {"cec-plus": "#b3124f", "cec": "#0072b2"}  # as in all figures of scrubjay
INK, RED, BLUE, ORANGE = "#22262e", "#d62728", "#2b5fb3", "#f58216"
PATH = COLOURS["cec-plus"]
CELLS, HEADINGS = 80, 24  # of the map of values
FRAME_MS, LAST_FRAME_MS, MAX_FRAMES = 90, 1800, 100


# ---------------------------------------------------------------- training


def train(method: str, steps: int, folder: Path, progress_bar: bool) -> Any:
    """Train one method; evaluate 10 greedy episodes after every tenth of the steps."""
    config = RunConfig(method, TASK, seed=SEED, steps=steps, eval_freq=max(steps // 10, 1))
    command = f"python examples/demo.py {folder.parent.parent}"
    return start(config, folder, command, progress_bar=progress_bar)


def train_paper(steps: int, folder: Path) -> None:
    """Train the paper's CEC, in a second process while the first trains CECPlus.

    Where nothing is compiled yet (20 to 25 seconds on one core), this process first compiles the
    decisions of CECPlus, meanwhile the other one its memory. They share the results through Numba's
    cache on disk.
    """
    agent = CECPlus(TASK, embedding=Identity(), distance_threshold=0.1, seed=0)
    agent.begin_episode().act(np.zeros(3))
    train("cec", steps, folder, progress_bar=False)


def greedy_episode(agent: Any) -> tuple[Array, bool]:
    """The observations (x, y, heading) of one greedy episode, and whether it reached the goal."""
    env = gymnasium.make(TASK)
    observation, info = env.reset(seed=SEED)
    observations, done = [observation], False
    while not done:
        action, _ = agent.predict(observation, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        observations.append(observation)
        done = terminated or truncated
    return np.array(observations, np.float64), bool(info["is_success"])


# ---------------------------------------------------------------- pictures


def success_curve(run: Path) -> Curve:
    """The success rate of a run's evaluations."""
    return evaluation_curve(group_runs([load_run(run)])[0], "success")


def value_map(agent: Any, maze: Any) -> Array:
    """The best remembered value over all headings at each position, masked where there is none."""
    if len(agent.memory) == 0:
        return np.ma.masked_all((CELLS, CELLS))
    (left, low), (right, high) = maze.corners()
    centres = (np.arange(CELLS) + 0.5) / CELLS
    xs, ys = left + centres * (right - left), low + centres * (high - low)
    headings = np.linspace(-np.pi, np.pi, HEADINGS, endpoint=False)
    states = np.stack(np.meshgrid(ys, xs, headings, indexing="ij"), axis=-1).reshape(-1, 3)
    values = state_values(agent, states[:, [1, 0, 2]]).reshape(CELLS, CELLS, HEADINGS)
    best = np.where(np.isnan(values), -np.inf, values).max(axis=2)
    return np.ma.masked_where(best <= 0, best)


def draw_values(axes: Any, agent: Any, env: Any) -> Any:
    """The maze, its start and goal, and the values that the agent remembers."""
    task = env.unwrapped
    draw_maze(axes, task.maze)
    values = value_map(agent, task.maze)
    (left, low), (right, high) = task.maze.corners()
    lowest = np.floor(10 * np.quantile(values.compressed(), 0.02)) / 10 if values.count() else 0
    drawn = axes.imshow(
        values, extent=(left, right, low, high), origin="lower", interpolation="bilinear",
        cmap="viridis", vmin=lowest, vmax=1,
    )  # fmt: skip
    axes.set(xlim=(left - 0.6, right + 0.6), ylim=(low - 0.6, high + 0.6))
    for goal in task.goals:
        axes.plot(goal.x, goal.y, "*", color=RED, markersize=17, markeredgecolor="white", zorder=5)
        label(axes, "goal", (goal.x, goal.y))
    axes.plot(0, 0, "s", color=INK, markersize=8, markeredgecolor="white", zorder=5)
    label(axes, "start", (0, 0))
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return drawn


def label(axes: Any, text: str, position: tuple[float, float]) -> None:
    axes.annotate(
        text, position, xytext=(0, 12), textcoords="offset points", ha="center", fontsize=9,
        bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.85}, zorder=5,
    )  # fmt: skip


def draw_curves_of(axes: Any, curves: dict[str, Curve], steps: int) -> None:
    """Both learning curves, each labelled at its end."""
    for method, curve in curves.items():
        colour, success = COLOURS[method], curve.values[0]
        axes.plot(
            curve.steps, success, "o-", color=colour, linewidth=2, markersize=4, clip_on=False
        )
        axes.annotate(
            LABELS[method], (curve.steps[-1], success[-1]), xytext=(8, 0), ha="left", va="center",
            textcoords="offset points", color=colour, fontweight="bold",
        )  # fmt: skip
    axes.set(xlim=(0, steps), ylim=(0, 1.03), xlabel="training steps", ylabel="success rate")
    axes.set_title("Success in 10 greedy episodes", loc="left")
    axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")


def draw_summary(agent: Any, curves: dict[str, Curve], path: Array, steps: int, out: Path) -> None:
    """Learning curves on the left; values and greedy path on the right."""
    env = gymnasium.make(TASK)
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    draw_curves_of(left, curves, steps)
    drawn = draw_values(right, agent, env)
    right.plot(path[:, 0], path[:, 1], "-", color="white", linewidth=4.5)
    right.plot(path[:, 0], path[:, 1], "o-", color=PATH, linewidth=2, markersize=3)
    right.set_title(f"What CECPlus remembers, and its path of {len(path) - 1} steps", loc="left")
    figure.colorbar(drawn, ax=right, shrink=0.85, label="best remembered value")
    figure.savefig(out, dpi=140)


def draw_film(agent: Any, path: Array, success: bool, out: Path) -> None:
    """An animated GIF of a greedy episode, drawn from above."""
    figure = Figure(figsize=(4.4, 4.7))
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.88))
    draw_values(axes, agent, gymnasium.make(TASK))
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    edge = axes.plot([], [], "-", color="white", linewidth=4.5, zorder=6)[0]
    trail = axes.plot([], [], "o-", color=PATH, linewidth=2, markersize=3, zorder=6)[0]
    body = axes.plot([], [], "o", color=BLUE, markersize=15, markeredgecolor="white",
                     zorder=8)[0]  # fmt: skip
    nose = axes.plot([], [], "-", color=ORANGE, linewidth=4, solid_capstyle="round", zorder=7)[0]
    title = figure.text(0.03, 0.945, "", fontsize=11, va="center")
    frames = []
    stride = -(-len(path) // MAX_FRAMES)
    for step in [*range(0, len(path) - 1, stride), len(path) - 1]:
        x, y, heading = path[step]
        canvas.restore_region(background)
        for line in (edge, trail):
            line.set_data(path[: step + 1, 0], path[: step + 1, 1])
        body.set_data([x], [y])
        nose.set_data([x, x + 0.95 * np.cos(heading)], [y, y + 0.95 * np.sin(heading)])
        title.set_text(caption(step, len(path) - 1, success))
        for artist in (edge, trail, nose, body, title):
            figure.draw_artist(artist)
        frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy()))
    save_gif(frames, out)


def caption(step: int, n_steps: int, success: bool) -> str:
    if step < n_steps:
        return f"greedy episode: step {step}"
    return f"greedy episode: {'goal reached' if success else 'time is up'} at step {step}"


def save_gif(frames: list[Any], out: Path) -> None:
    """One palette for all frames, so that colours do not flicker; the last frame is held."""
    width, height = frames[0].size
    both = Image.new("RGB", (2 * width, height))
    both.paste(frames[0])
    both.paste(frames[-1], (width, 0))
    palette = both.quantize(256, method=Image.Quantize.MAXCOVERAGE)
    pictures = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [FRAME_MS] * (len(frames) - 1) + [LAST_FRAME_MS]
    pictures[0].save(out, save_all=True, append_images=pictures[1:], duration=durations, loop=0)


# ---------------------------------------------------------------- all together


def run_demo(folder: Path, steps: int) -> None:
    """Train, evaluate, draw, and say what was learned."""
    began = time.perf_counter()
    runs = folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)  # of an earlier demo
    runs.mkdir(parents=True)
    print(f"PointUMaze: reward 1 at the goal, 0 everywhere else. {steps:,} steps, seed {SEED}.")
    print("The first run compiles for about 25 seconds; later runs start at once.\n", flush=True)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as second_process:
        paper: Future[None] = second_process.submit(train_paper, steps, runs / "cec")
        agent = train("cec-plus", steps, runs / "cec-plus", progress_bar=True)
        path, success = greedy_episode(agent)
        draw_film(agent, path, success, folder / "greedy.gif")
        paper.result()
    curves = {method: success_curve(runs / method) for method in LABELS}
    draw_summary(agent, curves, path, steps, folder / "curves.png")
    report(folder, curves, len(path) - 1, time.perf_counter() - began)


def report(folder: Path, curves: dict[str, Curve], n_steps: int, seconds: float) -> None:
    print()
    for method, curve in curves.items():
        print(f"  {LABELS[method]:12s} success {curve.values[0, -1]:.2f}")
    print(f"  greedy path  {n_steps} steps")
    print(f"  pictures     {folder / 'curves.png'}, {folder / 'greedy.gif'}")
    print(f"  time         {seconds:.0f} seconds\n")
    print(f"Next, your own task: {scrubjay_command()} train cec-plus my_module:MyEnv --steps 20000")


def scrubjay_command() -> str:
    """How to call `scrubjay` from here; `make demo` does not put it on the PATH."""
    if shutil.which("scrubjay"):
        return "scrubjay"
    return os.path.relpath(Path(sys.executable).with_name("scrubjay"))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train CECPlus and CEC on PointUMaze, and draw.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"))
    parser.add_argument("--steps", type=int, default=10_000, help="for each method")
    arguments = parser.parse_args()
    matplotlib.rcParams.update(STYLE)
    run_demo(arguments.folder, arguments.steps)


if __name__ == "__main__":
    main()

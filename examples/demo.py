"""Train CEC on two tasks and draw what it learned: `make demo`.

    python examples/demo.py demo

GrowingTree is the paper's toy example; PointUMaze its first maze. Writes both runs and two figures
into the folder. Needs `pip install "scrubjay[mujoco,plots]"`.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from matplotlib.figure import Figure

from scrubjay.analysis.curves import evaluation_curve
from scrubjay.analysis.groups import group_runs
from scrubjay.analysis.reading import load_run
from scrubjay.figures.curves import draw_curves
from scrubjay.figures.states import (
    draw_goals,
    draw_value_arrows,
    maze_states,
    state_values,
    toy_panels,
)
from scrubjay.figures.style import STYLE
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.studies.toy import greedy_heights


def train(task: str, steps: int, eval_freq: int, folder: Path) -> Any:
    config = RunConfig(
        "cec", task, steps=steps, eval_freq=eval_freq, n_eval_episodes=10, checkpoint_freq=50_000
    )
    return start(config, folder, f"python examples/demo.py {folder.parent}", progress_bar=True)


def draw_tree(agent: Any, run: Path, out: Path) -> None:
    figure = Figure(figsize=(11, 3.4))
    curve, left, right = figure.subplots(1, 3)
    lengths = evaluation_curve(group_runs([load_run(run)])[0], "length")
    draw_curves(curve, [lengths])
    curve.set_title("steps to the goal, greedy")
    toy_panels(left, right, greedy_heights(agent), agent)
    left.set(title="one greedy episode", xlabel="step", ylabel="height of the tree")
    right.set(title="action chosen at each height", xlabel="height", ylabel="action")
    save(figure, out)


def draw_maze_values(agent: Any, run: Path, out: Path) -> None:
    env = gymnasium.make("scrubjay/PointUMaze-v0")
    maze = env.unwrapped.maze  # type: ignore[attr-defined]
    states = maze_states(*(np.array(corner) for corner in maze.corners()))
    values = state_values(agent, states)
    figure = Figure(figsize=(10.5, 4.6))
    curve, arrows = figure.subplots(1, 2, width_ratios=[1, 1.15])
    draw_curves(curve, [evaluation_curve(group_runs([load_run(run)])[0], "success")])
    curve.set_title("success of greedy episodes")
    drawn = draw_value_arrows(arrows, maze, states, values, longest=1.0)
    draw_goals(arrows, env)
    arrows.set_title("remembered value of position and heading")
    figure.colorbar(drawn, ax=arrows, shrink=0.8, label="value")
    save(figure, out)


def save(figure: Figure, out: Path) -> None:
    figure.tight_layout()
    figure.savefig(out, dpi=130)
    print(f"figure: {out}")


def main() -> None:
    import matplotlib

    matplotlib.rcParams.update(STYLE)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"))
    parser.add_argument("--steps", type=int, default=80_000, help="on PointUMaze")
    arguments = parser.parse_args()
    folder = arguments.folder / time.strftime("%Y%m%d-%H%M%S")
    begin = time.perf_counter()
    tree = train("GrowingTree", 20_000, 2_000, folder / "GrowingTree")
    maze = train("PointUMaze", arguments.steps, 10_000, folder / "PointUMaze")
    draw_tree(tree, folder / "GrowingTree", arguments.folder / "growing_tree.png")
    draw_maze_values(maze, folder / "PointUMaze", arguments.folder / "point_u_maze.png")
    seconds = time.perf_counter() - begin
    n_steps = len(greedy_heights(tree)) - 1
    print(f"GrowingTree: the goal in {n_steps} steps, out of {len(tree.memory)} memories")
    print(f"PointUMaze: {len(maze.memory):,} memories after {maze.num_timesteps:,} steps")
    print(f"both trained, evaluated and drawn in {seconds:.0f} seconds; runs in {folder}")


if __name__ == "__main__":
    main()

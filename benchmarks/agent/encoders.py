"""Learned keys against random projections: MFEC with each of them, on tasks with pictures.

    python -m benchmarks.agent.encoders [--seeds 20 21 22] [--tasks Breakout ...]

Everything but the embedding is equal. Encoders are trained on the first fifth of the steps. The
tasks: MinAtar's Breakout and Space Invaders; the grid of four rooms, seen as a picture with one
pixel for each cell; PointUMaze, seen as a picture, with six actions in place of two numbers; and
MsPacman. Measured on each seed: the mean return of the training in its last fifth, of 10 greedy
episodes of the last agent, and the CPU seconds of the whole.

Results are added to those that `results/agent_encoders.json` has already, so that the tasks may be
run one by one. An encoder is better than a projection where the mean over seeds is more than two
standard errors of the difference above the better of the projections.

The stored results have a variational autoencoder too, "vae", which the library had when they were
measured; it was better nowhere and was removed.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

import scrubjay.envs  # noqa: F401  registers the tasks
from benchmarks.common import RESULTS, write_results
from scrubjay import MFEC, Chain, Embedding, LearnedEncoder, RandomProjection, Resize
from scrubjay.agents.mfec import preset

N_GREEDY = 10
NAME = "agent_encoders"
# forwards and backwards, each straight on or with a turn to one side
MOVES = np.array([(speed, turn) for speed in (1, -1) for turn in (0, -0.25, 0.25)], np.float32)


class GridPicture(gymnasium.ObservationWrapper[Any, Any, Any]):
    """The grid of four rooms as a picture of 13 by 13 pixels."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(0, 255, (13, 13, 3), np.uint8)
        self._pictures: dict[bytes, npt.NDArray[np.uint8]] = {}

    def observation(self, observation: Any) -> npt.NDArray[np.uint8]:
        cell = observation.tobytes()
        if cell not in self._pictures:
            picture: Any = self.env.render()
            self._pictures[cell] = picture[12::24, 12::24].copy()
        return self._pictures[cell]


class Moves(gymnasium.ActionWrapper[Any, Any, Any]):
    """A point in a maze that chooses one of six moves."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.action_space = spaces.Discrete(len(MOVES))

    def action(self, action: Any) -> Any:
        return MOVES[action]


def grid() -> Any:
    return GridPicture(gymnasium.make("scrubjay/FourRoomsGrid-v0", render_mode="rgb_array"))


def maze() -> Any:
    return Moves(gymnasium.make("scrubjay/PointUMaze-v0", pixels=24))


class Task(NamedTuple):
    """A task, the number of steps, and the lengths of projected and of learned keys."""

    make: Callable[[], Any]
    settings: dict[str, Any]
    steps: int
    projections: tuple[int, ...]
    learned: int


def game(name: str, *numbers: Any) -> Task:
    return Task(lambda: gymnasium.make(f"scrubjay/{name}-v0"), preset(name), *numbers)


TASKS = {
    "Breakout": game("MinAtarBreakout", 50_000, (8, 16), 16),
    "SpaceInvaders": game("MinAtarSpaceInvaders", 50_000, (8, 16), 16),
    "FourRoomsGrid": Task(grid, preset("FourRoomsGrid"), 10_000, (8, 16), 16),
    "PointUMaze": Task(maze, preset("FourRoomsGrid"), 20_000, (8, 16), 16),
    "MsPacman": game("MsPacman", 15_000, (32, 64), 32),
}


def embeddings(task: Task) -> dict[str, Embedding]:
    """The keys that are compared."""
    found: dict[str, Embedding] = {
        f"projection {dim}": Chain([Resize(28), RandomProjection(dim)]) if dim > 16
        else RandomProjection(dim)
        for dim in task.projections
    }  # fmt: skip
    found[f"dynamics {task.learned}"] = LearnedEncoder(task.learned, n_steps=task.steps // 5)
    return found


def greedy_return(agent: MFEC, env: Any, seed: int) -> float:
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action = agent.predict(observation, deterministic=True)[0]
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    return total


def last_returns(env: Any, steps: int) -> float:
    """The mean return of the episodes that ended in the last fifth of the training."""
    returns, ends = np.array(env.return_queue), np.cumsum(env.length_queue)
    return float(returns[ends >= 0.8 * steps].mean())


def run(task: Task, embedding: Embedding, seed: int) -> dict[str, float]:
    """Train an agent and measure it."""
    start = time.process_time()
    env = gymnasium.wrappers.RecordEpisodeStatistics(task.make(), buffer_length=task.steps)
    agent = MFEC(env, **{**task.settings, "embedding": embedding}, seed=seed).learn(task.steps)
    greedy = [greedy_return(agent, task.make(), 1000 + i) for i in range(N_GREEDY)]
    return {
        "seed": seed,
        "training": round(last_returns(env, task.steps), 3),
        "greedy": round(float(np.mean(greedy)), 3),
        "seconds": round(time.process_time() - start, 1),
    }


def verdict(runs: dict[str, list[dict[str, float]]], metric: str) -> dict[str, Any]:
    """Mean and standard error of each kind of keys, and which encoders beat the projections."""
    returns = {name: np.array([one[metric] for one in each]) for name, each in runs.items()}
    means = {name: float(each.mean()) for name, each in returns.items()}
    errors = {name: float(each.std(ddof=1) / np.sqrt(len(each))) for name, each in returns.items()}
    best = max((name for name in means if "projection" in name), key=means.__getitem__)
    better = [
        name for name in means
        if means[name] - means[best] > 2 * np.hypot(errors[name], errors[best])
    ]  # fmt: skip
    table = {name: f"{means[name]:.2f} +- {errors[name]:.2f}" for name in means}
    return {**table, "better than both projections": better}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[20, 21, 22])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    options = parser.parse_args()
    file = RESULTS / f"{NAME}.json"
    results = json.loads(file.read_text())["results"] if file.exists() else {}
    for name in options.tasks:
        task, runs = TASKS[name], {}
        for keys, embedding in embeddings(task).items():
            runs[keys] = [run(task, embedding, seed) for seed in options.seeds]
            print(name, keys, runs[keys], flush=True)
        summary = {metric: verdict(runs, metric) for metric in ("training", "greedy")}
        print(name, json.dumps(summary, indent=2), flush=True)
        results[name] = {"steps": task.steps, **summary, "runs": runs}
        write_results(NAME, results)


if __name__ == "__main__":
    main()

"""CECPlus with eight environments that are stepped together, against one: success by seed.

    python -m benchmarks.agent.eight_lanes [--seeds 40 49]

10,000 steps in all, 20 greedy episodes at the end. The difference is that of the seeds, pair by
pair, with a 95% bootstrap interval of its mean. Writes results/agent_eight_lanes.json.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import write_results
from scrubjay.analysis.reading import load_run
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start

TASKS = ("PointUMaze", "SparseMountainCar")
STEPS, LANES = 10_000, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(40, 49), help="the first, the last")
    first, last = parser.parse_args().seeds
    rows = []
    for task in TASKS:
        one, eight = (
            np.array([success(task, seed, lanes) for seed in range(first, last + 1)])
            for lanes in (1, LANES)
        )
        draws = np.random.default_rng(0).choice(eight - one, (10_000, len(one))).mean(axis=1)
        rows.append(
            {
                "task": task, "one": one.tolist(), "eight": eight.tolist(),
                "mean_one": one.mean(), "mean_eight": eight.mean(),
                "interval": [float(v) for v in np.quantile(draws, (0.025, 0.975))],
            }
        )  # fmt: skip
        print(rows[-1], flush=True)
    write_results("agent_eight_lanes", {"steps": STEPS, "lanes": LANES, "tasks": rows})


def success(task: str, seed: int, lanes: int) -> float:
    """The greedy success of a run at its end."""
    config = RunConfig(
        "cec-plus", task, seed=seed, steps=STEPS, eval_freq=STEPS, n_eval_episodes=20,
        n_envs=lanes, checkpoint_freq=0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        start(config, Path(folder) / "run", "benchmarks.agent.eight_lanes")
        return float(load_run(Path(folder) / "run").evaluations.metric("success")[-1])


if __name__ == "__main__":
    main()

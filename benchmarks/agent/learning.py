"""The paper preset on a task: greedy success at given steps, and seconds of training, by seed.

    python -m benchmarks.agent.learning PointUMaze 100000
    python -m benchmarks.agent.learning SafexpCarGoal 30000

One seed after the other on one core, 20 evaluation episodes at the last step exactly. Seconds are
those of training alone: compilation, evaluation and saving apart. Writes
results/learning_<task>.json.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import write_results
from scrubjay.analysis.reading import load_run
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("steps", type=int)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--preset", default="paper")
    arguments = parser.parse_args()
    rows = []
    for seed in range(arguments.seeds):
        config = RunConfig(
            "cec", arguments.task, preset=arguments.preset, seed=seed, steps=arguments.steps,
            eval_freq=arguments.steps, n_eval_episodes=20, checkpoint_freq=0,
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            start(config, Path(folder) / "run", "benchmarks.agent.learning")
            run = load_run(Path(folder) / "run")
            manifest = json.loads((Path(folder) / "run" / "manifest.json").read_text())
        rows.append(
            {
                "seed": seed,
                "success": float(run.evaluations.metric("success")[-1]),
                "length": float(run.evaluations.metric("length")[-1]),
                "first_success_step": manifest["first_success_step"],
                "first_greedy_success_step": manifest["first_greedy_success_step"],
                "train_seconds": manifest["seconds"]["train_seconds"],
            }
        )
        print(rows[-1], flush=True)
    result = {
        "task": config.task,
        "preset": config.preset,
        "steps": config.steps,
        "mean_success": float(np.mean([row["success"] for row in rows])),
        "longest_train_seconds": max(row["train_seconds"] for row in rows),
        "seeds": rows,
    }
    print(result["mean_success"], result["longest_train_seconds"])
    name = config.task.removeprefix("scrubjay/").removesuffix("-v0")
    write_results(f"learning_{name}", result)


if __name__ == "__main__":
    main()

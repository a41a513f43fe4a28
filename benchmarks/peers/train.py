"""Train the published design on PointUMaze, for its curve in the reproduction's figures.

    python -m benchmarks.peers.train [--runs runs/paper] [--seeds 5] [--steps 100000]

The runs lie beside those of `scrubjay reproduce`, which draws them. Finished ones are not repeated.
"""

import argparse
import shutil
from pathlib import Path

import gymnasium

from benchmarks.peers.published_design import PublishedCEC
from scrubjay.experiments.presets import preset
from scrubjay.experiments.reproduce.methods import PEER_FOLDER, Budget, run_config
from scrubjay.experiments.runs import RunError, load_run
from scrubjay.training import RunFolder, train
from scrubjay.training.run_folder import command_line

TASK = "PointUMaze"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/paper"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    for seed in range(arguments.seeds):
        folder = arguments.runs / TASK / PEER_FOLDER / f"seed-{seed}"
        if not finished(folder):
            run(folder, seed, Budget(steps=arguments.steps))


def finished(folder: Path) -> bool:
    try:
        load_run(folder)
    except RunError:
        return False
    return True


def run(folder: Path, seed: int, budget: Budget) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    config = run_config("cec-published", TASK, seed, budget)
    env = gymnasium.make(config.task)
    content = {
        "agent": PublishedCEC.name, "task": config.task, "seed": seed, "steps": config.steps,
        "eval_freq": config.eval_freq, "preset": "paper",
    }  # fmt: skip
    train(
        PublishedCEC(env, **preset(TASK), seed=seed),
        env,
        total_timesteps=config.steps,
        run_folder=RunFolder.create(folder, content, command_line()),
        eval_env=config.make_env(),
        eval_freq=config.eval_freq,
        n_eval_episodes=config.n_eval_episodes,
        checkpoint_freq=0,
        progress_bar=True,
    )


if __name__ == "__main__":
    main()

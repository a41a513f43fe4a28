"""Does EMAC work? Its authors' two quick tasks, at their step 20,000 (10 evaluation episodes).

InvertedPendulum must stand at 1000 in every seed, InvertedDoublePendulum above 9,000 on average
(the authors' own curves: 1000 and 9,235). Writes benchmarks/results/emac_proof.json after each run,
and goes on where it was stopped.

Two things are as the authors had them. The tasks are Gymnasium's v4, which pay as their v2: the
last step before a fall is worth as much as any other. v5 gives nothing for it, so its return is 0,
its priority too, and EMAC never replays a fall again. And the critic sees forces in the task's
units, up to 3 here; with Stable-Baselines3's [-1, 1] the actor of 2 seeds in 16 saturates for good
within the first 700 gradient steps, before the critic has seen what forces do (0 in 16 with 3).

    python benchmarks/deep/emac_proof.py --seeds 5 --steps 20000
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.td3.policies import TD3Policy

from scrubjay.deep import EMAC, NumberedEpisodes, deep_options, train_deep
from scrubjay.training import Evaluator, Plan, RunFolder
from scrubjay.training.run_folder import hardware, versions

RESULTS = Path(__file__).resolve().parent.parent / "results" / "emac_proof.json"
TASKS = ("InvertedPendulum-v4", "InvertedDoublePendulum-v4")


class UnitsCritic(ContinuousCritic):
    """A critic that sees actions in the units of the task."""

    def forward(self, obs: Any, actions: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return super().forward(obs, actions * torch.as_tensor(self.action_space.high))

    def q1_forward(self, obs: Any, actions: torch.Tensor) -> torch.Tensor:
        return super().q1_forward(obs, actions * torch.as_tensor(self.action_space.high))


class UnitsPolicy(TD3Policy):
    """Stable-Baselines3's policy with such a critic."""

    def make_critic(self, features_extractor: Any = None) -> UnitsCritic:
        kwargs = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return UnitsCritic(**kwargs).to(self.device)


def one_run(task: str, seed: int, steps: int, folder: Path) -> dict[str, object]:
    env = NumberedEpisodes(gymnasium.make(task), seed)
    model = EMAC(UnitsPolicy, env, seed=seed, device="cpu", **deep_options("emac", task))
    run = RunFolder.create(folder, {"agent": "emac", "task": task, "seed": seed})
    evaluator = Evaluator(gymnasium.make(task), 10, seed)
    start = time.perf_counter()
    plan = Plan(eval_freq=5000, checkpoint_freq=0)
    train_deep(model, run, total_timesteps=steps, plan=plan, evaluator=evaluator)
    curve: dict[int, list[float]] = {}
    for row in RunFolder.open(folder).tables["eval"].rows():
        curve.setdefault(int(row["timestep"]), []).append(float(row["return"]))
    return {
        "task": task,
        "seed": seed,
        "curve": {step: round(float(np.mean(returns)), 2) for step, returns in curve.items()},
        "returns_at_end": curve[steps],
        "seconds": round(time.perf_counter() - start, 1),
        "steps_per_second": round(steps / run.manifest["seconds"]["train_seconds"], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--runs", type=Path, default=Path("runs") / "emac_proof")
    arguments = parser.parse_args()
    gymnasium.logger.min_level = gymnasium.logger.ERROR  # v4 is old on purpose
    done = json.loads(RESULTS.read_text())["runs"] if RESULTS.exists() else []
    for task in arguments.tasks:
        for seed in range(arguments.seeds):
            if any((run["task"], run["seed"]) == (task, seed) for run in done):
                continue
            folder = arguments.runs / f"{task}-{seed}-{time.strftime('%Y%m%dT%H%M%S')}"
            done.append(one_run(task, seed, arguments.steps, folder))
            print(done[-1], flush=True)
            content = {"runs": done, "versions": versions(), "hardware": hardware()}
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()

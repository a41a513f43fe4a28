"""CECPlus of this version against that of another one: the paper's tasks, the same seeds.

    git worktree add ../scrubjay-0.2.0 1210a60        # or any other commit
    scrubjay reproduce suite --agents cec-plus --seeds 40 41 42 43 44 45 46 47 48 49
    python -m benchmarks.agent.paired ../scrubjay-0.2.0/src --seeds 40 49

The other version is trained with its own defaults up to the step of each target, as the suite
trains this one; its runs are kept beside those of the suite and never repeated. The difference is
that of the seeds, pair by pair, with a 95% bootstrap interval of its mean. Writes
results/agent_paired.json.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.common import write_results
from scrubjay.analysis.curves import evaluation_curve
from scrubjay.studies.shared.methods import StudyBudget
from scrubjay.studies.shared.suite_tasks import PAPER, SUITE, SuiteTask
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.studies.suite import ARMS, config_of, folder, folder_name

# runs in the other version: only names that it has too
TRAIN = """
import json, sys
from pathlib import Path
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
for folder, config in json.load(sys.stdin):
    start(RunConfig(**config), Path(folder), "benchmarks.agent.paired")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="its folder src")
    parser.add_argument("--seeds", type=int, nargs=2, default=(40, 49), help="the first, the last")
    parser.add_argument("--runs", type=Path, default=Path("runs/paper"))
    arguments = parser.parse_args()
    seeds = tuple(range(arguments.seeds[0], arguments.seeds[1] + 1))
    workspace = Workspace(arguments.runs, Path(), StudyBudget(seeds), (), "benchmarks.agent.paired")
    rows = []
    for case in (case for case in SUITE if case.family == PAPER):
        known = {seed: arguments.runs / "paired" / case.task / f"seed-{seed}" for seed in seeds}
        train(case, known, arguments.other, workspace)
        ours = values_of(case, folder(workspace) / folder_name(ARMS["cec-plus"], case, workspace))
        theirs = values_of(case, known[seeds[0]].parent)
        rows.append(compare(case, ours, theirs))
        print(rows[-1], flush=True)
    write_results("agent_paired", {"seeds": len(seeds), "tasks": rows})


def train(case: SuiteTask, folders: dict[int, Path], other: Path, workspace: Workspace) -> None:
    """Run what is missing of the other version, in one process of its own."""
    plan = []
    for seed, path in folders.items():
        config = config_of(ARMS["cec-plus"], case, seed, workspace)
        if not path.exists():
            about = {
                "agent": "cec-plus", "task": config.task, "task_options": config.task_options,
                "seed": seed, "steps": case.target_step, "eval_freq": config.eval_freq,
                "n_eval_episodes": config.n_eval_episodes, "checkpoint_freq": 0,
            }  # fmt: skip
            plan.append((str(path), about))
    if plan:
        environment = {**os.environ, "PYTHONPATH": str(other)}
        subprocess.run(
            [sys.executable, "-c", TRAIN], input=json.dumps(plan), text=True, check=True,
            env=environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip


def values_of(case: SuiteTask, path: Path) -> dict[int, float]:
    """What each seed has at the step of the target."""
    workspace = Workspace(path, Path(), StudyBudget(), (), "")
    group = workspace.runs_in(path, "CECPlus")
    if group is None:
        raise SystemExit(f"expected finished runs in {path}, got none; see the help")
    curve = evaluation_curve(group, case.metric)
    at = min(int(np.searchsorted(curve.steps, case.target_step)), len(curve.steps) - 1)
    return {run.seed: float(v) for run, v in zip(group.runs, curve.values[:, at], strict=True)}


def compare(case: SuiteTask, ours: dict[int, float], theirs: dict[int, float]) -> dict[str, object]:
    """The mean difference over the seeds that both have, and its interval."""
    seeds = sorted(ours.keys() & theirs.keys())
    differences = np.array([ours[seed] - theirs[seed] for seed in seeds])
    draws = np.random.default_rng(0).choice(differences, (10_000, len(seeds))).mean(axis=1)
    return {
        "task": case.title,
        "step": case.target_step,
        "metric": case.metric,
        "seeds": len(seeds),
        "this": float(np.mean([ours[seed] for seed in seeds])),
        "other": float(np.mean([theirs[seed] for seed in seeds])),
        "difference": float(differences.mean()),
        "interval": [float(v) for v in np.quantile(draws, (0.025, 0.975))],
    }


if __name__ == "__main__":
    main()

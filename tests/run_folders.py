"""Run folders as training writes them, made of known numbers."""

import csv
import json
from pathlib import Path

import numpy as np

STEPS = (0, 1000, 2000, 3000, 4000)


def write_csv(path: Path, header: list[str], rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_run(
    folder: Path,
    *,
    agent: str = "cec",
    task: str = "scrubjay/PointUMaze-v0",
    seed: int = 0,
    status: str = "finished",
    steps=STEPS,
    success=None,
    n_episodes: int = 4,
    seconds: float = 10.0,
    trajectories: bool = False,
    **options,
) -> Path:
    """One run folder; `success` gives the number of solved episodes at each evaluation."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng([seed, len(agent), len(task)])
    solved = [min(n_episodes, i) for i in range(len(steps))] if success is None else success
    ends = np.cumsum(draw.integers(60, 140, size=max(1, steps[-1] // 100)))
    manifest = {
        "schema": 1,
        "status": status,
        "agent": agent,
        "task": task,
        "seed": seed,
        "versions": {"scrubjay": "0.1.0", "numpy": np.__version__},
        "hardware": {"processor": "a processor", "cores": 2},
        "started": "2030-01-02T03:04:05+00:00",
        "finished": "2030-01-02T03:05:05+00:00",
        "command": f"scrubjay train {agent} {task} --seed {seed}",
        "episodes": len(ends),
        "timesteps": int(ends[-1]),
        "first_success_step": 400 + 10 * seed,
        "first_greedy_success_step": 1000,
    }
    config = {
        "agent": agent,
        "task": task,
        "seed": seed,
        "steps": steps[-1],
        "eval_freq": 0 if len(steps) < 2 else steps[1] - steps[0],
        "preset": "paper",
        "options": {"n_neighbors": 5, "capacity": 1_000_000, **options},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2))
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    (folder / "command.txt").write_text(manifest["command"] + "\n")
    write_csv(
        folder / "eval.csv",
        ["timestep", "episode", "return", "length", "is_success"],
        [
            [
                step,
                i,
                float(i < solved[n]),
                900 if i >= solved[n] else 300 + seed,
                int(i < solved[n]),
            ]
            for n, step in enumerate(steps)
            for i in range(n_episodes)
        ],
    )
    write_csv(
        folder / "episodes.csv",
        [
            *["episode", "environment", "timestep", "length", "return"],
            *["terminated", "truncated", "is_success"],
        ],
        [[i, 0, end, 100, 0.0, 0, 1, 0] for i, end in enumerate(ends)],
    )
    write_csv(
        folder / "progress.csv",
        ["timestep", "rollout/ep_rew_mean", "memory/size", "memory/hit_rate"],
        [[end, "", int(30 * end**0.6), 0.5] for end in ends],
    )
    write_csv(
        folder / "time.csv",
        [
            *["timestep", "time/time_elapsed", "time/fps", "time/train_seconds"],
            *["time/evaluation_seconds", "time/compile_seconds"],
        ],
        [[s, seconds * s / steps[-1], 400, 0.7 * seconds * s / steps[-1], 2, 1] for s in steps],
    )
    if trajectories:
        turn = np.linspace(0, np.pi, 60)
        write_csv(
            folder / "trajectories.csv",
            ["timestep", "episode", "step", "x", "y"],
            [
                [steps[-1], e, i, 8 * np.sin(t) + 0.2 * e, 4 - 4 * np.cos(t)]
                for e in range(3)
                for i, t in enumerate(turn)
            ],
        )
    return folder

"""Steps a second with collectors: one process, rounds and free-running, in turns.

`python -m benchmarks.scale.collectors [TASK ...]` measures on an idle machine; `--learning`
compares what is learned by one process and by two collectors, over ten seeds.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, write_results
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.training.run_folder import read_json
from scrubjay.training.tables import column, read_columns

# task: agent, steps, repeats
TASKS = {
    "SafexpCarGoal": ("cec-plus", 30_000, 3),
    "PointUMaze": ("cec-plus", 50_000, 3),
    "MsPacman": ("mfec", 8_000, 1),
}
SHORT = 2_000  # steps of a run that is taken off, to leave out what starting takes
WAYS: dict[str, dict[str, Any]] = {
    "one process": {},
    "rounds of 2": {"collectors": 2},
    "2 free-running": {"collectors": 2, "collector_mode": "free"},
}
# task: steps, steps between evaluations, episodes of each
LEARNING = {"PointUMaze": (10_000, 1_000, 5), "SafexpCarGoal": (15_000, 3_000, 4)}
SEEDS = 10


def run(task: str, steps: int, folder: Path, **settings: Any) -> tuple[Any, dict[str, Any]]:
    frequencies = {"eval_freq": 0, "checkpoint_freq": 0}
    config = RunConfig(TASKS[task][0], task, steps=steps, **{**frequencies, **settings})
    agent = start(config, folder)
    return agent, read_json(folder / "manifest.json")


def processor_seconds() -> tuple[float, float]:
    """Of this process and of those that have ended."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, others = (each.ru_utime + each.ru_stime for each in found)
    return own, others


def rate(task: str, steps: int, way: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as root:
        begin, before = time.perf_counter(), processor_seconds()
        agent, manifest = run(task, steps, Path(root) / "run", **WAYS[way])
        own, others = np.subtract(processor_seconds(), before)
        seconds = manifest["seconds"]
        columns, _ = read_columns(Path(root) / "run" / "progress.csv")
        stale = columns.get("collectors/staleness", np.zeros(1))
        return {
            "steps": agent.num_timesteps,
            "steps_per_second": agent.num_timesteps / seconds["train_seconds"],
            "start_seconds": time.perf_counter() - begin - seconds["train_seconds"],
            "staleness": float(np.nanmean(stale)),
            "rows": sum(len(memory) for memory in agent.memories.values()),
            "own": float(own),
            "others": float(others),
        }


def measure(task: str) -> list[dict[str, Any]]:
    agent, steps, repeats = TASKS[task]
    rate(task, SHORT, "one process")  # compiles
    short = rate(task, SHORT, "2 free-running")
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way, results in found.items():
            results.append(rate(task, steps, way))
    best = {
        way: float(np.median([r["steps_per_second"] for r in each])) for way, each in found.items()
    }
    ceiling = separate(task, steps) / best["one process"]
    return [
        {
            "task": task, "agent": agent, "way": way, "steps_per_second": best[way],
            "ratio": best[way] / best["one process"], "ceiling": ceiling,
            "all": [round(r["steps_per_second"]) for r in results],
            "start_seconds": min(r["start_seconds"] for r in results),
            "staleness": float(np.mean([r["staleness"] for r in results])),
            "rows": int(results[0]["rows"]),
            **(costs(results[0], short) if way == "2 free-running" else {}),
        }
        for way, results in found.items()
    ]  # fmt: skip


def separate(task: str, steps: int) -> float:
    """Steps a second of two processes with a run each: what these two cores can give at most."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.scale.collectors", "--one"]
    started = [
        subprocess.Popen([*command, task, str(steps)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    return sum(float(process.communicate()[0].split()[-1]) for process in started)


def costs(long: dict[str, float], short: dict[str, float]) -> dict[str, float]:
    """CPU time of a step in a collector and in the writer, and how many one writer can serve."""
    steps = long["steps"] - short["steps"]
    writer, collector = (1e6 * (long[n] - short[n]) / steps for n in ("own", "others"))
    return {"writer_us": writer, "collector_us": collector, "feeds": collector / writer}


def learning(task: str, way: str, seed: int) -> tuple[float, float]:
    """The mean success of all evaluations, and the staleness."""
    steps, eval_freq, n_episodes = LEARNING[task]
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "run"
        settings = {"eval_freq": eval_freq, "n_eval_episodes": n_episodes, **WAYS[way]}
        run(task, steps, folder, seed=seed, **settings)
        columns, _ = read_columns(folder / "eval.csv")
        progress, _ = read_columns(folder / "progress.csv")
        stale = progress.get("collectors/staleness", np.zeros(1))
        success = column(columns, "is_success", folder / "eval.csv")
        return float(success.mean()), float(np.nanmean(stale))


def compare_learning(task: str) -> dict[str, Any]:
    """Each way of training over the same seeds, with the difference to one process."""
    ways: dict[str, dict[str, Any]] = {}
    for way in WAYS:
        found = [learning(task, way, seed) for seed in range(100, 100 + SEEDS)]
        success, staleness = (np.array(each) for each in zip(*found, strict=True))
        spread = success.std(ddof=1) / np.sqrt(SEEDS)
        ways[way] = {
            "success": [round(float(s), 3) for s in success],
            "mean": float(success.mean()),
            "standard_error": float(spread),
            "staleness": float(staleness.mean()),
        }
        first = ways["one process"]
        ways[way]["difference"] = ways[way]["mean"] - first["mean"]
        # seeds are not paired: other episodes run against other memories
        ways[way]["difference_error"] = float(np.hypot(spread, first["standard_error"]))
        print(task, way, ways[way], flush=True)
    return {"task": task, "agent": TASKS[task][0], "steps": LEARNING[task][0], "ways": ways}


def main() -> None:
    if "--learning" in sys.argv:
        write_results("scale_learning", [compare_learning(task) for task in LEARNING])
        return
    if "--one" in sys.argv:
        print(rate(sys.argv[2], int(sys.argv[3]), "one process")["steps_per_second"])
        return
    name = RESULTS / "scale_collectors.json"
    kept = read_json(name)["results"] if name.exists() else []
    for task in sys.argv[1:] or TASKS:
        rows = measure(task)
        for row in rows:
            print(row, flush=True)
        kept = [row for row in kept if row["task"] != task] + rows
    write_results("scale_collectors", kept)


if __name__ == "__main__":
    main()

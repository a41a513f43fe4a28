"""What the benchmarks of tasks share."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym

REPEATS = 15


def env_run(env: gym.Env[Any, Any], actions: list[Any]) -> Callable[[], None]:
    """These actions from the start of seed 0, a new episode after each end."""

    def run() -> None:
        env.reset(seed=0)
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return run


def least_seconds(runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """The least time of each, measured in turns: what others take belongs to none of them."""
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(REPEATS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def memory_mb(task_id: str, actions: list[Any]) -> dict[str, float]:
    """Resident memory of 64 environments, each of which has taken some steps."""
    env_run(gym.make(task_id), actions)()
    before = resident_mb()
    envs = [gym.make(task_id) for _ in range(64)]
    for env in envs:
        env_run(env, actions)()
    return {"rss_of_64_mb": resident_mb() - before}

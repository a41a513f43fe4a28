"""Ten million writes into a full memory: does it stay correct, small and fast?

    python -m benchmarks.memory.soak [--writes 10000000] [--capacity 100000]

Episodes wander from a start that itself drifts and jumps, so old regions empty and new ones fill.
Every tenth of the way all invariants are checked and answers compared with a scan.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import write_results
from benchmarks.memory.workload import EPISODE
from scrubjay.memory import EpisodicMemory

DIM = 3


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def drifting_episode(rng: np.random.Generator, t: float) -> np.ndarray:
    centre = np.array([np.sin(5 * t), np.cos(7 * t), 3 * t]) + rng.normal(size=DIM) * 0.3
    return centre + rng.normal(scale=0.05, size=(EPISODE, DIM)).cumsum(axis=0)


def check_answers(memory: EpisodicMemory, rng: np.random.Generator) -> None:
    keys = memory.keys.astype(np.float64)
    for query in keys[rng.integers(0, len(keys), 20)] + 0.01:
        rounded = query.astype(np.float32).astype(np.float64)
        squared = np.zeros(len(keys))
        for i in range(DIM):
            squared += (keys[:, i] - rounded[i]) ** 2
        expected = np.argsort(squared, kind="stable")[:5]
        if memory.neighbors(query, 5)[0].tolist() != expected.tolist():
            raise AssertionError(f"wrong neighbours of {query}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=10_000_000)
    parser.add_argument("--capacity", type=int, default=100_000)
    options = parser.parse_args()
    memory = EpisodicMemory(DIM, capacity=options.capacity, distance_threshold=0.002)
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    written = 0
    action = np.zeros((EPISODE, 2))
    while written < options.writes:
        spent, slowest, outcomes = 0.0, 0.0, np.zeros(4, np.int64)
        goal = written + options.writes // 10
        while written < goal:
            keys = drifting_episode(rng, written / options.writes)
            rewards = rng.normal(size=EPISODE)
            start = time.process_time()
            _, codes = memory.write_episode(keys, rewards, 0.99, action=action)
            took = time.process_time() - start
            spent, slowest = spent + took, max(slowest, took)
            outcomes += np.bincount(codes, minlength=4)
            written += EPISODE
        memory.check_invariants()
        check_answers(memory, rng)
        rows.append(
            {
                "writes": written,
                "us_per_write": spent / (options.writes // 10) * 1e6,
                "slowest_episode_ms": slowest * 1e3,
                "added_replaced_kept_evicted": outcomes.tolist(),
                "depth": memory.tree.depth,
                "nbytes": memory.nbytes,
                "resident_bytes": resident_bytes(),
            }
        )
        print(rows[-1], flush=True)
    write_results("memory_soak", rows)


if __name__ == "__main__":
    main()

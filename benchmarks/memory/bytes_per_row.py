"""Bytes per row at full arrays, and the worst of them while growing.

    python -m benchmarks.memory.bytes_per_row [--capacity 100000]

Target: at most 2.5 times key, value, stamp and payload when full, never more than double that while
growing (beyond the first rows). `held` is what tracemalloc counts: `nbytes` must tell the truth.
"""

import argparse
import tracemalloc
from typing import Any

import numpy as np

from benchmarks.common import random_walk, write_results
from scrubjay.memory import EpisodicMemory


def measure(dim: int, actions: int, capacity: int) -> dict[str, Any]:
    columns = {"action": actions} if actions else {}
    needed = 4 * dim + 4 + 8 + 4 * actions
    keys = random_walk(capacity, dim, 1)
    worst = 0.0
    tracemalloc.start()
    memory = EpisodicMemory(dim, capacity=capacity, columns=columns, rule="append")
    for start in range(0, capacity, 100):
        payload = {"action": np.zeros((100, actions))} if actions else {}
        memory.write_many(keys[start : start + 100], np.zeros(100), **payload)
        if start >= 900:
            worst = max(worst, memory.nbytes / len(memory) / needed)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "dim": dim,
        "actions": actions,
        "rows": len(memory),
        "needed_per_row": needed,
        "bytes_per_row": memory.nbytes / len(memory),
        "held_per_row": held / len(memory),
        "factor": memory.nbytes / len(memory) / needed,
        "worst_factor_while_growing": worst,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capacity", type=int, default=100_000)
    options = parser.parse_args()
    measure(3, 2, 1000)  # compiles
    rows = [
        measure(dim, a, options.capacity) for dim, a in [(3, 2), (3, 0), (8, 2), (24, 2), (24, 0)]
    ]
    for row in rows:
        print(row)
    write_results("memory_bytes", rows)


if __name__ == "__main__":
    main()

"""What one call costs: `neighbors` and `write` from Python, and the compiled batch forms.

    python -m benchmarks.memory.calls [--rows 10000 100000 1000000] [--dims 3 8 24]

Targets: at 10^5 rows of dimension 3 at most 10 us per call and 4 us per query of a batch; at 10^6
at most three times that. The memory is full, so each write that adds also evicts. Times are those
of the processor, in microseconds: all is done by one thread, and other load does not count.
"""

import argparse
import time

import numpy as np

from benchmarks.common import write_results
from benchmarks.memory.workload import RADIUS, filled_memory, least_microseconds, stream


def measure(n: int, dim: int) -> dict[str, float]:
    start = time.process_time()
    memory = filled_memory(n, dim)
    fill = (time.process_time() - start) / n * 1e6
    queries = stream(memory, 20_000, seed=1001)
    fresh, more = stream(memory, 20_000, seed=1002), stream(memory, 20_000, seed=1003)
    zeros, action = np.zeros(2000), np.zeros(2)
    actions = np.zeros((2000, 2))

    def block(keys: np.ndarray, i: int) -> np.ndarray:
        return keys[i % 10 * 2000 : i % 10 * 2000 + 2000]

    return {
        "rows": n,
        "dim": dim,
        "neighbors": least_microseconds(
            lambda i: memory.neighbors(queries[i % 20_000], 5, RADIUS), 2000
        ),
        "nearest": least_microseconds(lambda i: memory.nearest(queries[i % 200]), 200),
        "neighbors_batch": least_microseconds(
            lambda i: memory.neighbors(block(queries, i), 5, RADIUS), 1, 10
        )
        / 2000,
        "write": least_microseconds(
            lambda i: memory.write(fresh[i % 20_000], 0.0, action=action), 2000
        ),
        "write_batch": least_microseconds(
            lambda i: memory.write_many(block(more, i), zeros, action=actions), 1, 10
        )
        / 2000,
        "fill": fill,
        "depth": memory.tree.depth,
        "bytes_per_row": memory.nbytes / n,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dims", type=int, nargs="+", default=[3, 8, 24])
    options = parser.parse_args()
    measure(1000, 3)  # compiles
    rows = []
    for dim in options.dims:
        for n in options.rows:
            rows.append(measure(n, dim))
            print({name: round(number, 2) for name, number in rows[-1].items()}, flush=True)
    write_results("memory_calls", rows)


if __name__ == "__main__":
    main()

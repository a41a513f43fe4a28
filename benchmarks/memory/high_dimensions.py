"""The k nearest keys of images: kd-tree, flat scan and faiss's flat index, side by side.

    python -m benchmarks.memory.high_dimensions [--dims 8 16 64] [--rows 10000 100000] [--keys FILE]

The keys are random projections of a stream of pictures with moving sprites, or the rows of an .npy
file (for example projections of frames of an Atari game) to whose first numbers `--dims` refers.
`python -m benchmarks.memory.atari_keys FILE` writes such a file. Queries are later keys of the same
stream. All use one thread. Scan and faiss take turns, query by query, so that other load on the
machine affects both, and each finds the cache full of the other's data, as in an agent whose
emulator and embedding run between two searches; `--turn 20` leaves each its own data in the cache.
Scan and tree must agree exactly.
"""

import argparse
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt

from benchmarks.common import write_results
from scrubjay.memory import FlatScan, KDTree
from scrubjay.memory.index_kernels import find_in_tables

Keys = npt.NDArray[np.float32]
K = 11
N_QUERIES = 100
N_TABLES, TABLE_ROWS = 9, 5000


def picture_keys(n: int, dim: int, seed: int) -> Keys:
    """Random projections of n successive pictures: six sprites that move, and dots that vanish."""
    rng = np.random.default_rng(seed)
    side, n_dots = 40, 150
    sprites = rng.normal(size=(6, side, side, dim)) * 100
    dots = rng.normal(size=(n_dots, dim)) * 10
    places = rng.integers(0, side, (6, 2))
    left = np.ones(n_dots, bool)
    keys = np.empty((n, dim), np.float32)
    for i in range(n):
        places = np.clip(places + rng.integers(-1, 2, (6, 2)), 0, side - 1)
        left[rng.integers(n_dots)] = rng.random() < 0.3
        keys[i] = sprites[np.arange(6), places[:, 0], places[:, 1]].sum(0) + dots[left].sum(0)
    return keys


def unique_keys(keys: Keys) -> Keys:
    """The different keys, in the order in which they first appear."""
    first = np.unique(keys, axis=0, return_index=True)[1]
    return keys[np.sort(first)]


def timed(
    calls: dict[str, Callable[[Keys], Any]], queries: Keys, repeats: int, turn: int = 20
) -> dict[str, Any]:
    """Median and least microseconds of each call, which take turns of so many queries."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for first in range(0, len(queries), turn):
            for name, call in calls.items():
                for query in queries[first : first + turn]:
                    start = time.perf_counter()
                    call(query)
                    times[name].append((time.perf_counter() - start) * 1e6)
    return {
        name: {"median_us": round(float(np.median(t)), 1), "least_us": round(min(t), 1)}
        for name, t in times.items()
    }


def compare(keys: Keys, queries: Keys, repeats: int, turn: int) -> dict[str, Any]:
    """Time one query of each index on the same keys."""
    tree, scan = KDTree.build(keys), FlatScan.build(keys)
    flat = faiss.IndexFlatL2(keys.shape[1])
    flat.add(keys)
    for query in queries[:20]:
        for expected, found in zip(tree.query(query, K), scan.query(query, K), strict=True):
            np.testing.assert_array_equal(found, expected)
    calls: dict[str, Callable[[Keys], Any]] = {
        "scan": lambda query: scan.query(query, K),
        "faiss": lambda query: flat.search(query[None], K),
    }
    result = timed(calls, queries, repeats, turn)
    result |= timed({"kdtree": lambda query: tree.query(query, K)}, queries[:30], 1)
    result |= timed({"identical": lambda query: scan.query(query, 1)}, keys[:N_QUERIES], repeats)
    ratio = result["scan"]["median_us"] / result["faiss"]["median_us"]
    return {"dim": keys.shape[1], "rows": len(keys), "scan / faiss": round(ratio, 2), **result}


def one_decision(keys: Keys, queries: Keys, repeats: int) -> dict[str, Any]:
    """Time the search of the tables of all actions for one key, in one compiled call."""
    parts = np.array_split(keys[: N_TABLES * TABLE_ROWS], N_TABLES)
    tables = tuple(FlatScan.build(part).arrays for part in parts)
    rows, distances = np.empty((N_TABLES, K), np.int64), np.empty((N_TABLES, K))
    counts = np.empty(N_TABLES, np.int64)

    def decide(query: Keys) -> None:
        find_in_tables(tables, query, K, np.inf, rows, distances, counts)

    decide(queries[0])  # compiles
    return {"tables": N_TABLES, "rows": len(parts[0]), **timed({"scan": decide}, queries, repeats)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[8, 16, 64])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--keys", help="an .npy file with one key in each row")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--turn", type=int, default=1, help="queries before the other's turn")
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    if options.keys:
        stream = unique_keys(np.load(options.keys).astype(np.float32))
    else:
        stream = unique_keys(picture_keys(int(1.2 * max(options.rows)), max(options.dims), 1))
    late, stream = stream[-2000:], stream[:-2000]
    queries = late[np.random.default_rng(1).permutation(len(late))[:N_QUERIES]]
    rows = []
    for dim in options.dims:
        own = np.ascontiguousarray(queries[:, :dim])
        for n in options.rows:
            keys = np.ascontiguousarray(stream[:n, :dim])
            rows.append(compare(keys, own, options.repeats, options.turn))
            print(rows[-1], flush=True)
    decision = one_decision(stream, queries, options.repeats)
    print(decision)
    results = {
        "turn": options.turn,
        "keys": Path(options.keys).name if options.keys else "pictures",
        "faiss-cpu": version("faiss-cpu"),
    }
    write_results("memory_high_dimensions", {**results, "rows": rows, "decision": decision})


if __name__ == "__main__":
    main()

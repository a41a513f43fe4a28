"""The k nearest keys on a GPU: `index="torch"` against plain torch, checked against the processor.

    python -m benchmarks.memory.gpu --out results.json [--rows 1000000 10000000] [--game 1000000]

It needs numpy, numba and torch with a CUDA device, and Triton for the fast kernels. Everything that
is timed is what a user calls, `index.query` with NumPy arrays in and out, transfers included; plain
torch is `cdist`-like: a float32 product and `topk`, results brought to the host too. Some answers
of every size are compared with those of the flat scan on the processor, bit for bit.
`--game` plays MinAtar's Space Invaders at random on all cores (needs minatar) for real keys: random
projections of its different states to 64 numbers.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import torch

from scrubjay.memory import FlatScan
from scrubjay.memory.torch_index import TorchScan

Keys = npt.NDArray[np.float32]
DIM, K = 64, 50
BATCHES = (1, 32, 4096)
GAME, FRAMES_PER_KEY = "space_invaders", 4
TARGETS_MS = {(10**6, 1): 0.15, (10**6, 32): 0.4, (10**6, 4096): 20.0, (10**7, 4096): 200.0}


def random_keys(n: int, seed: int) -> Keys:
    return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)


def play(task: tuple[int, int]) -> Keys:
    """Keys of n successive states of a MinAtar game, played at random."""
    from minatar import Environment

    n, seed = task
    game = Environment(GAME)
    game.seed(seed)
    game.reset()
    rng, keys = np.random.default_rng(seed), np.empty((n, DIM), np.float32)
    projection = np.random.default_rng(0).normal(size=(game.state().size, DIM))
    for i in range(n):
        keys[i] = game.state().ravel() @ projection
        if game.act(int(rng.integers(game.num_actions())))[1]:
            game.reset()
    return keys


def game_keys(n: int) -> Keys:
    """The first n different keys; every process plays its own games, one after the other."""
    cores = os.cpu_count() or 1
    tasks = [(-(-FRAMES_PER_KEY * n // cores), seed) for seed in range(cores)]
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        keys = np.concatenate(pool.map(play, tasks))
    # a product with random numbers tells keys apart much faster than a comparison of all numbers
    _, first = np.unique(keys @ np.random.default_rng(3).normal(size=DIM), return_index=True)
    return keys[np.sort(first)[:n]]


def milliseconds(call: Callable[[], Any], at_least: int = 5, seconds: float = 2.0) -> Any:
    """Median and least milliseconds of a call, after a warm-up."""
    call(), call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < at_least or (time.perf_counter() < end and len(times) < 300):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return {"median_ms": round(float(np.median(times)), 4), "least_ms": round(min(times), 4)}


def plain_torch(keys: Keys) -> Callable[[Keys], Any]:
    """The k nearest rows in float32, as one would write it; ties and rounding as they come."""
    rows = torch.from_numpy(keys).cuda()
    squares = (rows**2).sum(1)

    def search(queries: Keys) -> Any:
        found = []
        for first in range(0, len(queries), 1024):
            part = torch.from_numpy(queries[first : first + 1024]).cuda()
            values, ids = torch.topk(squares - 2.0 * (part @ rows.T), K, dim=1, largest=False)
            found.append((ids.cpu(), values.cpu()))
        return found

    return search


def same(scan: FlatScan, index: TorchScan, queries: Keys) -> int:
    """Compare answers with those of the processor; return the number of queries."""
    for expected, found in zip(scan.query(queries, K), index.query(queries, K), strict=True):
        np.testing.assert_array_equal(found, expected)
    return len(queries)


def adding(keys: Keys, n: int = 200_000) -> Any:
    """Microseconds of a written row, sending it to the device included."""
    from scrubjay.memory import EpisodicMemory

    memory = EpisodicMemory(DIM, capacity=len(keys), columns={}, index="torch", device="cuda")
    memory.write_many(keys[:-n], np.zeros(len(keys) - n))
    memory.neighbors(keys[:1], K)
    start = time.perf_counter()
    for first in range(len(keys) - n, len(keys), 500):  # episodes of 500 steps, then a search
        memory.write_many(keys[first : first + 500], np.zeros(500))
        memory.neighbors(keys[:1], K)
    both = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(n // 500):
        memory.neighbors(keys[:1], K)
    torch.cuda.synchronize()
    searches = time.perf_counter() - start
    one = milliseconds(lambda: memory.write(random_keys(1, time.perf_counter_ns())[0], 0.0))
    return {
        "episodes_of_500_us": round(1e6 * (both - searches) / n, 2),
        "alternating_evict_ms": one,
    }


def measure(name: str, keys: Keys, queries: Keys, check: int, plain: bool) -> list[Any]:
    start = time.perf_counter()
    scan = FlatScan.build(keys) if check else None
    built = time.perf_counter()
    index = TorchScan(DIM, len(keys), "cuda")
    index.rebuild(keys) if scan is None else index.__dict__.update(arrays=scan.arrays)
    index.query(queries[:1], K)
    sent = time.perf_counter() - built
    print(f"{name} {len(keys):,}: scan {built - start:.1f} s, sent {sent:.1f} s")
    results = []
    other = plain_torch(keys) if plain else None
    for m in BATCHES:
        batch = queries[:m]
        row: dict[str, Any] = {"keys": name, "rows": len(keys), "queries": m}
        row |= milliseconds(lambda batch=batch: index.query(batch, K))
        row["target_ms"] = TARGETS_MS.get((len(keys), m))
        if other is not None:
            row["plain_torch_ms"] = milliseconds(lambda batch=batch: other(batch))["median_ms"]
        if scan is not None:
            row["checked"] = same(scan, index, batch[: min(m, check)])
        results.append(row)
        print(row, flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6])
    parser.add_argument("--game", type=int, default=0, help="number of real keys")
    parser.add_argument("--check", type=int, default=64, help="queries checked per batch")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("expected a CUDA device, torch finds none", file=sys.stderr)
        return 1
    results: list[Any] = []
    content: dict[str, Any] = {
        "device": torch.cuda.get_device_name(), "torch": torch.__version__, "k": K, "dim": DIM,
        "results": results,
    }  # fmt: skip
    # the entries of `write_results`, which needs packages that a machine with a GPU may not have
    whole = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "hardware": {"processor": torch.cuda.get_device_name()},
        "versions": {"python": platform.python_version(), "numba": numba.__version__},
        "results": content,
    }

    def save() -> None:
        options.out.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")

    for n in options.rows:
        keys, queries = random_keys(n, 1), random_keys(max(BATCHES), 2)
        check = options.check if n <= 10**6 else 4
        results += measure("random normal", keys, queries, check, True)
        save()
        if n == 10**6:
            content["adding"] = adding(keys)
            print(content["adding"], flush=True)
            save()
    if options.game:
        keys = game_keys(options.game + max(BATCHES))
        asked = np.random.default_rng(1).permutation(len(keys))[: max(BATCHES)]
        stored = np.delete(keys, asked, axis=0)[: options.game]
        results += measure(f"MinAtar {GAME}", stored, keys[asked], options.check, True)
    save()
    return 0


if __name__ == "__main__":
    sys.exit(main())

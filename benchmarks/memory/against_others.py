"""The workload of CEC on scrubjay, scipy's cKDTree, hnswlib and faiss's flat index, side by side.

    python -m benchmarks.memory.against_others [--rows 10000 100000] [--dims 3 8 24] [--episodes 6]

Each index starts with the same rows. Each step asks for 5 neighbours from Python; after each
episode of 200 steps its keys are looked up and those that are not there yet are added. scrubjay
does that exactly, key by key; the others look all keys up at once and never move or evict a key,
which is less work. cKDTree cannot be changed and is rebuilt. All use one thread. Recall is measured
at the end against a scan of what each index holds.
"""

import argparse
import time
from importlib.metadata import version
from typing import Any, Protocol

import faiss
import hnswlib
import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from benchmarks.common import write_results
from benchmarks.memory.workload import EPISODE, RADIUS, filled_memory, stream
from scrubjay.memory import EpisodicMemory

Keys = npt.NDArray[np.float32]
THRESHOLD = 0.02


class Index(Protocol):
    def query(self, key: Keys) -> npt.NDArray[Any]:
        """Rows of the 5 nearest."""

    def write_episode(self, keys: Keys) -> None: ...

    def keys(self) -> Keys: ...


class Scrubjay:
    def __init__(self, memory: EpisodicMemory, room: int) -> None:
        config, arrays = memory.state()
        config["capacity"] += room
        config["distance_threshold"] = THRESHOLD
        self.memory = EpisodicMemory.from_state(config, arrays)

    def query(self, key: Keys) -> npt.NDArray[Any]:
        return self.memory.neighbors(key, 5, RADIUS)[0]

    def write_episode(self, keys: Keys) -> None:
        self.memory.write_episode(keys, np.zeros(len(keys)), 0.99, action=np.zeros((len(keys), 2)))

    def keys(self) -> Keys:
        return self.memory.keys


class Scipy:
    def __init__(self, memory: EpisodicMemory, room: int) -> None:  # noqa: ARG002
        self._keys = memory.keys.copy()
        self.tree = cKDTree(self._keys)

    def query(self, key: Keys) -> npt.NDArray[Any]:
        distances, rows = self.tree.query(key, 5, distance_upper_bound=RADIUS)
        return rows[np.isfinite(distances)]

    def write_episode(self, keys: Keys) -> None:
        new = np.isinf(self.tree.query(keys, distance_upper_bound=THRESHOLD)[0])
        self._keys = np.concatenate([self._keys, keys[new]])
        self.tree = cKDTree(self._keys)

    def keys(self) -> Keys:
        return self._keys


class Hnswlib:
    def __init__(self, memory: EpisodicMemory, room: int) -> None:
        self._keys = memory.keys.copy()
        self.index = hnswlib.Index("l2", memory.key_dim)
        self.index.init_index(len(self._keys) + room, ef_construction=100, M=16)
        self.index.add_items(self._keys)
        self.index.set_num_threads(1)
        self.index.set_ef(30)

    def query(self, key: Keys) -> npt.NDArray[Any]:
        rows, distances = self.index.knn_query(key, 5)
        return rows[0][distances[0] <= RADIUS**2]

    def write_episode(self, keys: Keys) -> None:
        new = self.index.knn_query(keys, 1)[1][:, 0] > THRESHOLD**2
        if new.any():
            self._keys = np.concatenate([self._keys, keys[new]])
            self.index.add_items(keys[new])

    def keys(self) -> Keys:
        return self._keys


class Faiss:
    def __init__(self, memory: EpisodicMemory, room: int) -> None:  # noqa: ARG002
        faiss.omp_set_num_threads(1)
        self.index = faiss.IndexFlatL2(memory.key_dim)
        self.index.add(memory.keys)

    def query(self, key: Keys) -> npt.NDArray[Any]:
        distances, rows = self.index.search(key[None], 5)
        return rows[0][distances[0] <= RADIUS**2]

    def write_episode(self, keys: Keys) -> None:
        new = self.index.search(keys, 1)[0][:, 0] > THRESHOLD**2
        self.index.add(keys[new])

    def keys(self) -> Keys:
        return self.index.reconstruct_n(0, self.index.ntotal)


PEERS = {"scrubjay": Scrubjay, "scipy": Scipy, "hnswlib": Hnswlib, "faiss": Faiss}


def recall(index: Index, queries: Keys) -> float:
    keys, found, wanted = index.keys().astype(np.float64), 0, 0
    for query in queries:
        squared = ((keys - query.astype(np.float64)) ** 2).sum(axis=1)
        nearest = np.argsort(squared, kind="stable")[:5]
        exact = set(nearest[squared[nearest] <= RADIUS**2].tolist())
        found += len(exact & set(index.query(query).tolist()))
        wanted += len(exact)
    return found / max(wanted, 1)


def measure(name: str, memory: EpisodicMemory, episodes: int, repeats: int) -> dict[str, Any]:
    states = stream(memory, episodes * EPISODE, 2001).astype(np.float32)
    query_time = write_time = np.inf
    for _ in range(repeats):
        index = PEERS[name](memory, len(states))
        totals = [0.0, 0.0]
        for episode in states.reshape(episodes, EPISODE, -1):
            start = time.process_time()
            for key in episode:
                index.query(key)
            middle = time.process_time()
            index.write_episode(episode)
            totals[0] += middle - start
            totals[1] += time.process_time() - middle
        query_time, write_time = min(query_time, totals[0]), min(write_time, totals[1])
    return {
        "index": name,
        "rows": len(memory),
        "dim": memory.key_dim,
        "query_us": query_time / len(states) * 1e6,
        "write_us": write_time / len(states) * 1e6,
        "step_us": (query_time + write_time) / len(states) * 1e6,
        "recall": recall(index, states[:: max(len(states) // 50, 1)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--dims", type=int, nargs="+", default=[3, 8, 24])
    parser.add_argument("--episodes", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    measure("scrubjay", filled_memory(1000, 3), 1, 1)  # compiles
    rows = []
    for dim in options.dims:
        for n in options.rows:
            memory = filled_memory(n, dim)
            for name in PEERS:
                rows.append(measure(name, memory, options.episodes, options.repeats))
                print(rows[-1], flush=True)
    peers = {package: version(package) for package in ("scipy", "hnswlib", "faiss-cpu")}
    write_results("memory_against_others", {"peers": peers, "rows": rows})


if __name__ == "__main__":
    main()

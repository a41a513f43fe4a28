"""Shared by the memory benchmarks: full memories, what is asked of them, a timer without noise."""

import time
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.common import random_walk
from scrubjay.memory import EpisodicMemory

EPISODE = 200
RADIUS = 0.1


def filled_memory(n: int, dim: int) -> EpisodicMemory:
    """A memory at capacity n, filled by writing."""
    # a kd-tree, as CEC has it; version 0.1.0 had no other index and no such argument
    index = {"index": "kdtree"} if "index" in signature(EpisodicMemory).parameters else {}
    memory = EpisodicMemory(dim, capacity=n, **index)
    memory.write_many(random_walk(n, dim, 1), np.zeros(n), action=np.zeros((n, 2)))
    return memory


def stream(memory: EpisodicMemory, n: int, seed: int) -> npt.NDArray[np.float64]:
    """States of n steps: by turns an episode that follows an old one closely and a fresh one."""
    rng = np.random.default_rng(seed)
    states = random_walk(n, memory.key_dim, seed).reshape(-1, EPISODE, memory.key_dim)
    for episode in states[::2]:
        start = rng.integers(0, len(memory) - EPISODE)
        noise = rng.normal(scale=0.01, size=episode.shape)
        episode[:] = memory.keys[start : start + EPISODE] + noise
    return states.reshape(n, memory.key_dim)


def least_microseconds(call: Callable[[int], Any], n_calls: int, repeats: int = 5) -> float:
    """Least mean processor time of `call(i)` over blocks of calls: other load only ever adds."""
    best = np.inf
    for repeat in range(repeats):
        start = time.process_time()
        for i in range(repeat * n_calls, (repeat + 1) * n_calls):
            call(i)
        best = min(best, (time.process_time() - start) / n_calls)
    return float(best * 1e6)

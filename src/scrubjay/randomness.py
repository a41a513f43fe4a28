"""Every random number is a function of (seed, stream, environment, episode).

There is no global generator, and no generator state in any file: each use creates the generator of
its stream, environment and episode. A resumed run, a run in another process and a run that
evaluates more often therefore draw the same numbers.
"""

from enum import IntEnum
from typing import Any

import numpy as np


class Stream(IntEnum):
    """What random numbers are used for. The values are part of the file format: do not renumber."""

    POLICY = 0
    ENVIRONMENT = 1
    EVALUATION = 2
    EMBEDDING = 3
    PREDICTION = 4
    TARGET = 5


def seed_sequence(
    seed: int, stream: Stream, environment: int = 0, episode: int = 0
) -> np.random.SeedSequence:
    """Return the seed sequence of one episode of one environment."""
    return np.random.SeedSequence(seed, spawn_key=(int(stream), environment, episode))


def generator(
    seed: int, stream: Stream, environment: int = 0, episode: int = 0
) -> np.random.Generator:
    """Return the generator of one episode of one environment."""
    return np.random.Generator(np.random.PCG64(seed_sequence(seed, stream, environment, episode)))


def reset_seed(seed: int, stream: Stream, environment: int = 0, episode: int = 0) -> int:
    """Return the seed for `env.reset` at the start of an episode (31 bits, to fit into int32)."""
    return int(seed_sequence(seed, stream, environment, episode).generate_state(1)[0] >> 1)


class LazyGenerator:
    """A generator that is created when it is first used: most methods never use it.

    Args:
        where: Seed, stream, environment and episode.
    """

    def __init__(self, *where: Any) -> None:
        self._where = where
        self.used: np.random.Generator | None = None

    def __getattr__(self, name: str) -> Any:
        if self.used is None:
            self.used = generator(*self._where)
        return getattr(self.used, name)

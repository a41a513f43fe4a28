"""The one protocol of all embeddings.

An embedding is a stage: a vector of float64 goes in, a vector of float64 comes out. A `Flattener`
makes the first vector out of what the environment gives (an array, or the entries of a Dict);
`Chain` puts stages one behind the other. A stage that learns (a normaliser) learns only in
`observe`, which training calls once for every observation; evaluation calls `embed`, which changes
nothing.

What a stage needs to be made again is JSON (`config`), what it knows is arrays (`state`). Both are
saved with the agent, and nothing in a file is ever executed: classes are found by name in a table.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.flatten import Flattener

Vector = npt.NDArray[np.float64]
Bounds = tuple[Vector, Vector]

_CLASSES: dict[str, type["Embedding"]] = {}


class Embedding(ABC):
    """Observation -> key. Subclasses say how one vector becomes the next."""

    name: ClassVar[str]
    input_dim: int
    key_dim: int

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            _CLASSES[cls.name] = cls

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        """How an observation of this space becomes the first vector: by default all of it."""
        return Flattener(space)

    @abstractmethod
    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        """Fit the stage to vectors within these bounds; return the bounds of what comes out.

        Sets `input_dim` and `key_dim`. `seed` is for what a stage draws at random.
        """

    @abstractmethod
    def embed(self, vector: Vector, out: Vector) -> None:
        """Write the key of `vector` into `out`. Changes nothing else."""

    def observe(self, vector: Vector, out: Vector) -> None:
        """Learn from one training observation, then write its key (if `ready`) into `out`."""
        self.embed(vector, out)

    @property
    def ready(self) -> bool:
        """False while the stage still gathers what it needs: until then there are no keys."""
        return True

    def end_episode(self) -> None:
        """Told at every episode's end, the only moment at which a stage may become ready."""

    def embed_batch(self, vectors: Vector) -> Vector:
        """The keys of many vectors, one a row."""
        keys = np.empty((len(vectors), self.key_dim))
        for vector, key in zip(vectors, keys, strict=True):
            self.embed(vector, key)
        return keys

    def config(self) -> dict[str, Any]:
        """What makes the stage again, as JSON: its name and its arguments."""
        return {"name": self.name}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What the stage knows, as arrays of its own."""
        return {}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over a `state`; a stage that knows nothing has nothing to take."""


def load_embedding(config: Mapping[str, Any]) -> Embedding:
    """Make an embedding from its `config`. It must be bound, then restored."""
    if not isinstance(config, Mapping):
        raise TypeError(f"an embedding or the config of one was expected, {config!r} came")
    arguments = dict(config)
    name = arguments.pop("name", None)
    if name not in _CLASSES:
        known = ", ".join(sorted(_CLASSES))
        raise ValueError(f"an embedding named {name!r} is not known; known are: {known}")
    return _CLASSES[name](**arguments)


def unbounded(size: int) -> Bounds:
    return np.full(size, -np.inf), np.full(size, np.inf)


def whole_number(name: str, value: Any, *, at_least: int) -> int:
    """An argument that counts something, or an error that says so."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}; {value!r} came")
    return int(value)

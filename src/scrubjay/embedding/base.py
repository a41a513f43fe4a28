"""The one protocol of all embeddings.

An embedding is a stage: a vector of float64 goes in, a vector of float64 comes out. A `Flattener`
makes the first vector out of what the environment gives (an array, or the entries of a Dict);
`Chain` puts stages one behind the other. A stage that learns (a normaliser) learns only in
`observe`, which training calls once for every observation; evaluation calls `embed`, which changes
nothing.

What a stage needs to be made again is JSON (`config`), what it knows is arrays (`state`). Both are
saved with the agent, and nothing in a file is ever executed: classes are found by name in a table.

An agent uses a copy of the embedding that it is given; a fitted one keeps what it knows.
"""

import copy
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


class _NoName:
    """Stands for the name of a class that was given none; reading it is an error.

    Without it such a class would be saved under its parent's name, and loaded as its parent.
    """

    def __get__(self, embedding: Any, cls: type) -> str:
        raise AttributeError(
            f"{cls.__name__} has no name to be saved under: give the class a name of its own, such "
            f'as name = "{cls.__name__.lower()}"'
        )


class Embedding(ABC):
    """Observation -> key. Subclasses say how one vector becomes the next.

    A subclass that is to be saved needs a `name` of its own.
    """

    name: ClassVar[str]
    input_dim: int
    key_dim: int

    def __init_subclass__(cls) -> None:
        # a class that overrides what happens to one vector does not inherit a faster batch form
        own = cls.__dict__
        if ("embed" in own or "observe" in own) and "observe_batch" not in own:
            cls.observe_batch = Embedding.observe_batch  # type: ignore[method-assign]
        if "embed" in own and "embed_batch" not in own:
            cls.embed_batch = Embedding.embed_batch  # type: ignore[method-assign]
        if "name" not in cls.__dict__:
            cls.name = _NoName()  # type: ignore[assignment]
            return
        known = _CLASSES.get(cls.name, cls)
        # a cell of a notebook that is run again defines the same class again
        if _full_name(known) != _full_name(cls):
            raise TypeError(
                f"there is an embedding named {cls.name!r} already, {_full_name(known)}: give "
                f"{_full_name(cls)} another name"
            )
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

    def observe_batch(self, vectors: Vector, out: Vector) -> None:
        """`observe` for many vectors, one after the other; keys into the rows of `out`."""
        for vector, key in zip(vectors, out, strict=True):
            self.observe(vector, key)

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
        """Take over a `state`, after `check_state`; one that does not fit is a ValueError."""
        check_state(state, self.state())

    def warm_up(self) -> None:
        """Compile what `embed` and `observe` call; what the stage knows does not change."""
        stage = copy.deepcopy(self)
        vector, key = np.zeros(self.input_dim), np.zeros(self.key_dim)
        stage.embed(vector, key)
        stage.observe(vector, key)


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


def check_state(
    state: Mapping[str, npt.NDArray[Any]], expected: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Refuse a state whose names, types or shapes are not the expected ones, or not finite."""
    if state.keys() != expected.keys():
        raise ValueError(f"expected the embedding's arrays {sorted(expected)}, got {sorted(state)}")
    for name, array in expected.items():
        found = state[name]
        if (found.dtype, found.shape) != (array.dtype, array.shape):
            raise ValueError(
                f"expected {array.dtype} of shape {array.shape} as the embedding's {name}, "
                f"got {found.dtype} of shape {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ValueError(f"the embedding's {name} has numbers that are not finite")


def bind_keeping_state(embedding: Embedding, bounds: Bounds, seed: int) -> None:
    """Bind an embedding; one that was bound before keeps what it knows.

    Raises:
        ValueError: What it knows is about vectors of another dimension.
    """
    # an annotation alone until `bind` sets it
    known = embedding.state() if "input_dim" in vars(embedding) else {}
    before = getattr(embedding, "input_dim", None)
    embedding.bind(bounds, seed)
    if not known:
        return
    try:
        if embedding.input_dim != before:
            raise ValueError(f"it takes {before} numbers, an observation has {len(bounds[0])}")
        embedding.restore(known)
    except ValueError as error:
        raise ValueError(
            f"{type(embedding).__name__} was fitted to other observations: {error}; give a new one"
        ) from error


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def unbounded(size: int) -> Bounds:
    return np.full(size, -np.inf), np.full(size, np.inf)


def whole_number(name: str, value: Any, *, at_least: int) -> int:
    """An argument that counts something, or an error that says so."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}; {value!r} came")
    return int(value)

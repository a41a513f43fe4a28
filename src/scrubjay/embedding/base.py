"""The base class of all embeddings.

An embedding is a stage that maps a float64 vector to another float64 vector. A `Flattener` creates
the first vector from the observation (an array, or the entries of a Dict); `Chain` applies several
stages in sequence. A stage with statistics (a normaliser) updates them only in `observe`, which
training calls once for every observation; evaluation calls `embed`, which changes nothing.

`config` returns the arguments of a stage as JSON, `state` its statistics as arrays. Both are saved
with the agent. Nothing in a file is ever executed: classes are looked up by name.

An agent uses a copy of the embedding it is given; one that was fitted before keeps its statistics.
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
    """The `name` of a class that does not define one; reading it raises an error.

    Otherwise such a class would be saved under the name of its parent, and loaded as its parent.
    """

    def __get__(self, embedding: object, cls: type) -> str:
        raise AttributeError(
            f"{cls.__name__} has no name, which saving requires; define one in the class, such as "
            f'name = "{cls.__name__.lower()}"'
        )


class Embedding(ABC):
    """Maps observations to keys.

    Subclasses implement `bind` and `embed`. A subclass that is to be saved needs its own `name`.

    Attributes:
        name: The name under which the class is saved.
        input_dim: Length of the vectors that go in; set by `bind`.
        key_dim: Length of the keys that come out; set by `bind`.
    """

    name: ClassVar[str]
    studies: ClassVar[bool] = False
    """Whether it learns from whole episodes and may then change the keys of stored rows."""
    input_dim: int
    key_dim: int

    def __init_subclass__(cls) -> None:
        # a class that overrides `embed` or `observe` must not inherit the batch form of its parent
        own = cls.__dict__
        if ("embed" in own or "observe" in own) and "observe_batch" not in own:
            cls.observe_batch = Embedding.observe_batch  # type: ignore[method-assign]
        if "embed" in own and "embed_batch" not in own:
            cls.embed_batch = Embedding.embed_batch  # type: ignore[method-assign]
        if "name" not in cls.__dict__:
            cls.name = _NoName()  # type: ignore[assignment]
            return
        known = _CLASSES.get(cls.name, cls)
        # running a notebook cell again defines the same class again
        if _full_name(known) != _full_name(cls):
            raise TypeError(
                f"expected a new name, got {cls.name!r}, which {_full_name(known)} uses already; "
                f"give {_full_name(cls)} another name"
            )
        _CLASSES[cls.name] = cls

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        """Return the function that turns observations of a space into vectors.

        Args:
            space: The observation space.

        Returns:
            A flattener, by default one that uses the whole observation.
        """
        return Flattener(space)

    @abstractmethod
    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        """Prepare the stage for vectors within these bounds; sets `input_dim` and `key_dim`.

        Args:
            bounds: Lowest and highest values of the vectors that go in.
            seed: Seed of everything that the stage draws at random.

        Returns:
            Lowest and highest values of the vectors that come out.
        """

    @abstractmethod
    def embed(self, vector: Vector, out: Vector) -> None:
        """Compute the key of a vector, without changing the statistics.

        Args:
            vector: The vector, of length `input_dim`.
            out: Array of length `key_dim` that receives the key.
        """

    def observe(self, vector: Vector, out: Vector) -> None:
        """Update the statistics with one training observation, then compute its key.

        Args:
            vector: The vector, of length `input_dim`.
            out: Array of length `key_dim` that receives the key, if the stage is `ready`.
        """
        self.embed(vector, out)

    def observe_batch(self, vectors: Vector, out: Vector) -> None:
        """Call `observe` for many vectors in order.

        Args:
            vectors: One vector in each row.
            out: Matrix whose rows receive the keys.
        """
        for vector, key in zip(vectors, out, strict=True):
            self.observe(vector, key)

    @property
    def ready(self) -> bool:
        """Whether the stage can compute keys; False while it still collects statistics."""
        return True

    @property
    def learns(self) -> bool:
        """Whether `observe` may still change the statistics; not if it is `embed`."""
        return type(self).observe is not Embedding.observe

    def end_episode(self) -> None:
        """Signal the end of an episode, the only moment at which a stage may become ready."""

    def require_extras(self) -> None:
        """Called before training: raise ImportError if a package is missing that it will need."""

    def study(
        self,
        vectors: npt.NDArray[Any],  # noqa: ARG002
        keys: npt.NDArray[Any],  # noqa: ARG002
        actions: npt.NDArray[np.float32],  # noqa: ARG002
    ) -> bool:
        """Learn from a finished episode, if `studies`.

        Args:
            vectors: Its observations, one in each row, as `Flattener.picture_type`.
            keys: Their keys.
            actions: The executed actions.

        Returns:
            Whether keys have another meaning from now on: then `translate` is called for all rows
            of the memories, and `forget` after it.
        """
        return False

    def translate(self, keys: npt.NDArray[np.float32]) -> Vector:
        """Return the current keys of observations, given their former keys.

        Args:
            keys: One key in each row.

        Returns:
            One key in each row.
        """
        return keys.astype(np.float64)

    def forget(self) -> None:
        """Drop what only `translate` needs."""

    def embed_batch(self, vectors: Vector) -> Vector:
        """Compute the keys of many vectors, without changing the statistics.

        Args:
            vectors: One vector in each row.

        Returns:
            One key in each row.
        """
        keys = np.empty((len(vectors), self.key_dim))
        for vector, key in zip(vectors, keys, strict=True):
            self.embed(vector, key)
        return keys

    def config(self) -> dict[str, Any]:
        """Return the configuration from which `load_embedding` recreates the stage.

        Returns:
            The name and the constructor's arguments, as JSON.
        """
        return {"name": self.name}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the statistics of the stage.

        Returns:
            Copies of its arrays, by name.
        """
        return {}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Set the statistics to those of a `state`.

        Args:
            state: The arrays, by name.

        Raises:
            ValueError: If names, types or shapes do not fit, or numbers are not finite.
        """
        check_state(state, self.state())

    def warm_up(self) -> None:
        """Compile what `embed` and `observe` call, without changing the statistics."""
        stage = copy.deepcopy(self)
        vector, key = np.zeros(self.input_dim), np.zeros(self.key_dim)
        stage.embed(vector, key)
        stage.observe(vector, key)


def load_embedding(config: Mapping[str, Any]) -> Embedding:
    """Create an embedding from its configuration.

    Args:
        config: What `Embedding.config` returned.

    Returns:
        The embedding; call `bind`, then `restore`.

    Raises:
        TypeError: If it is not a configuration.
        ValueError: If no embedding has that name.
    """
    if not isinstance(config, Mapping):
        raise TypeError(f"expected an embedding or its config, got {config!r}")
    arguments = dict(config)
    name = arguments.pop("name", None)
    if name not in _CLASSES:
        known = ", ".join(sorted(_CLASSES))
        raise ValueError(f"expected the name of an embedding, got {name!r}; use one of: {known}")
    return _CLASSES[name](**arguments)


def check_state(
    state: Mapping[str, npt.NDArray[Any]], expected: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Raise ValueError if names, types or shapes of a state are not as expected, or not finite."""
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
            raise ValueError(f"expected finite numbers in the embedding's {name}, got {found}")


def bind_keeping_state(embedding: Embedding, bounds: Bounds, seed: int) -> None:
    """Bind an embedding; one that was bound before keeps its statistics.

    Raises:
        ValueError: If its statistics are of vectors of another dimension.
    """
    # the class only annotates input_dim; `bind` sets it
    known = embedding.state() if "input_dim" in vars(embedding) else {}
    before = getattr(embedding, "input_dim", None)
    embedding.bind(bounds, seed)
    if not known:
        return
    try:
        if embedding.input_dim != before:
            raise ValueError(f"expected {before} numbers, got an observation of {len(bounds[0])}")
        embedding.restore(known)
    except ValueError as error:
        raise ValueError(
            f"{type(embedding).__name__} was fitted to other observations: {error}; pass a new one"
        ) from error


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def unbounded(size: int) -> Bounds:
    """Return infinite bounds."""
    return np.full(size, -np.inf), np.full(size, np.inf)


def whole_number(name: str, value: int, *, at_least: int) -> int:
    """Return an argument as int, or raise ValueError if it is not a whole number or too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(
            f"expected {name} to be a whole number of at least {at_least}, got {value!r}"
        )
    return int(value)

"""Embeddings that use the observation as it is, or a part of it."""

from collections.abc import Sequence
from typing import Any

import gymnasium

from scrubjay.embedding.base import Bounds, Embedding, Vector
from scrubjay.embedding.flatten import Flattener


class Identity(Embedding):
    """The observation itself, flattened; all entries of a Dict in their order."""

    name = "identity"

    def bind(self, bounds: Bounds, seed: int) -> Bounds:  # noqa: ARG002
        self.input_dim = self.key_dim = len(bounds[0])
        return bounds

    def embed(self, vector: Vector, out: Vector) -> None:
        if out is not vector:
            out[:] = vector

    def embed_batch(self, vectors: Vector) -> Vector:
        return vectors


class SelectKeys(Identity):
    """Some entries of a Dict observation, concatenated in the given order.

    Args:
        keys: Names of the entries.

    Raises:
        TypeError: If `keys` is not a list of names.
    """

    name = "select"

    def __init__(self, keys: Sequence[str]) -> None:
        if isinstance(keys, str) or not keys or not all(isinstance(key, str) for key in keys):
            raise TypeError(f"expected a list of names of Dict entries, got {keys!r}")
        self.keys = tuple(keys)

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        return Flattener(space, self.keys)

    def config(self) -> dict[str, Any]:
        return {"name": self.name, "keys": list(self.keys)}

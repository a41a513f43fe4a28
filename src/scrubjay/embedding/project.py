"""The random projection of the paper."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.embedding.base import (
    Bounds,
    Embedding,
    Vector,
    check_state,
    unbounded,
    whole_number,
)
from scrubjay.randomness import Stream, generator


class RandomProjection(Embedding):
    """Random projection s_new = A s_ori, with entries of A from N(0, 1), unscaled (Section IV).

    The matrix is drawn from the seed and saved with the agent, because the keys in a memory are
    meaningless without it.

    Args:
        dim: Length of the keys.

    Raises:
        ValueError: If `dim` is not a whole number of at least 1.
    """

    name = "projection"

    def __init__(self, dim: int) -> None:
        self.dim = whole_number("dim", dim, at_least=1)

    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        self.input_dim, self.key_dim = len(bounds[0]), self.dim
        shape = (self.input_dim, self.dim)
        self.matrix = generator(seed, Stream.EMBEDDING).standard_normal(shape)
        return unbounded(self.dim)

    def embed(self, vector: Vector, out: Vector) -> None:
        np.dot(vector, self.matrix, out=out)

    def config(self) -> dict[str, Any]:
        return {"name": self.name, "dim": self.dim}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {"matrix": self.matrix.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        check_state(state, self.state())
        self.matrix = np.ascontiguousarray(state["matrix"], dtype=np.float64)

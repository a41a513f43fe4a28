"""Angles, for which -pi and pi are the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scrubjay.embedding.base import Bounds, Embedding, Vector, whole_number


class Periodic(Embedding):
    """Replaces angles, in radians, by their cosine and sine.

    The cosine takes the place of the angle; the sines are appended.

    Args:
        dimensions: Which dimensions are angles.

    Raises:
        ValueError: If `dimensions` is empty, or has duplicates or negative numbers.
    """

    name = "periodic"

    def __init__(self, dimensions: Sequence[int]) -> None:
        self.dimensions = tuple(
            whole_number("each of the dimensions", i, at_least=0) for i in dimensions
        )
        if not self.dimensions or len(set(self.dimensions)) < len(self.dimensions):
            raise ValueError(
                f"expected different dimensions, got {dimensions!r}; list each angle once"
            )

    def bind(self, bounds: Bounds, seed: int) -> Bounds:  # noqa: ARG002
        low, high = bounds
        wrong = [i for i in self.dimensions if not 0 <= i < len(low)]
        if wrong:
            raise ValueError(f"expected dimensions from 0 to {len(low) - 1}, got {wrong}")
        self.input_dim, self.key_dim = len(low), len(low) + len(self.dimensions)
        angles = np.array(self.dimensions)
        below, above = np.append(low, -np.ones(len(angles))), np.append(high, np.ones(len(angles)))
        below[angles], above[angles] = -1.0, 1.0
        self._angles = angles
        return below, above

    def embed(self, vector: Vector, out: Vector) -> None:
        n = self.input_dim
        out[n:] = np.sin(vector[self._angles])
        out[:n] = vector
        out[self._angles] = np.cos(out[self._angles])

    def config(self) -> dict[str, Any]:
        return {"name": self.name, "dimensions": list(self.dimensions)}

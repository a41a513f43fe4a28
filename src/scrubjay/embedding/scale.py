"""Fixed scaling by the bounds of the observation space."""

from typing import Any

import numpy as np

from scrubjay.embedding.base import Bounds, Embedding, Vector


class BoundsScaler(Embedding):
    """Scales the observation space to [-1, 1] in every dimension; its bounds must be finite."""

    name = "bounds"

    def bind(self, bounds: Bounds, seed: int) -> Bounds:  # noqa: ARG002
        low, high = bounds
        infinite = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
        if infinite.size:
            raise ValueError(
                "expected finite bounds of the observation space, got infinite ones in dimensions "
                f"{infinite.tolist()}; use FrozenNormalizer or RunningNormalizer instead"
            )
        self.input_dim = self.key_dim = len(low)
        self._centre = (low + high) / 2
        # a constant dimension is 0 after centring, whatever it is divided by
        self._half_width = np.where(high > low, (high - low) / 2, 1.0)
        return -np.ones_like(low), np.ones_like(low)

    def embed(self, vector: Vector, out: Vector) -> None:
        np.subtract(vector, self._centre, out=out)
        np.divide(out, self._half_width, out=out)

    def config(self) -> dict[str, Any]:
        return {"name": self.name}

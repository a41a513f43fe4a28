"""Normalisers: (x - mean) / standard deviation, with statistics of the training observations.

`RunningNormalizer` does what the published code did: the statistics are updated forever, and stored
keys are not, so that old keys were computed with old statistics. `FrozenNormalizer` uses the
statistics of the first steps only, so that keys never change their meaning.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.embedding.base import (
    Bounds,
    Embedding,
    Vector,
    check_state,
    unbounded,
    whole_number,
)

# Constants of the published code: the weight of the prior (mean 0, variance 1), and a floor that
# keeps the denominator above zero.
PRIOR_COUNT = 1e-4
VARIANCE_FLOOR = 1e-8
CONSTANT = 1.0  # the variance of a constant dimension, whose scale is unknown: it stays as it is
ENDLESS = 1e300  # the variance of a dimension that is ignored: its keys are 0 in float32


@compiled()
def _update(vector: Vector, count: Vector, mean: Vector, variance: Vector) -> None:
    """Merge one observation into the statistics (parallel variance with a batch of one)."""
    total = count[0] + 1.0
    for i in range(vector.shape[0]):
        delta = vector[i] - mean[i]
        squares = variance[i] * count[0] + delta * delta * count[0] / total
        mean[i] += delta / total
        variance[i] = squares / total
    count[0] = total


@compiled(**UNCOUNTED)
def _normalize(vector: Vector, mean: Vector, variance: Vector, floor: float, out: Vector) -> None:
    for i in range(vector.shape[0]):
        out[i] = (vector[i] - mean[i]) / np.sqrt(variance[i] + floor)


@compiled(**UNCOUNTED)
def _update_and_normalize(
    vector: Vector, count: Vector, mean: Vector, variance: Vector, floor: float, out: Vector
) -> None:
    _update(vector, count, mean, variance)
    _normalize(vector, mean, variance, floor, out)


@compiled(**UNCOUNTED)
def _normalize_rows(
    vectors: Vector, mean: Vector, variance: Vector, floor: float, out: Vector
) -> None:
    for i in range(len(vectors)):
        _normalize(vectors[i], mean, variance, floor, out[i])


@compiled(**UNCOUNTED)
def _update_and_normalize_rows(
    vectors: Vector, count: Vector, mean: Vector, variance: Vector, floor: float, out: Vector
) -> None:
    for i in range(len(vectors)):
        _update_and_normalize(vectors[i], count, mean, variance, floor, out[i])


class RunningNormalizer(Embedding):
    """Normalises with the statistics of all observations so far, including the current one."""

    name = "running_normalizer"
    floor = VARIANCE_FLOOR

    def bind(self, bounds: Bounds, seed: int) -> Bounds:  # noqa: ARG002
        self.input_dim = self.key_dim = len(bounds[0])
        self._count = np.array([PRIOR_COUNT])
        self._mean = np.zeros(self.key_dim)
        self._variance = np.ones(self.key_dim)
        return unbounded(self.key_dim)

    def embed(self, vector: Vector, out: Vector) -> None:
        _normalize(vector, self._mean, self._variance, self.floor, out)

    def embed_batch(self, vectors: Vector) -> Vector:
        keys = np.empty((len(vectors), self.key_dim))
        _normalize_rows(np.ascontiguousarray(vectors), self._mean, self._variance, self.floor, keys)
        return keys

    def observe(self, vector: Vector, out: Vector) -> None:
        _update_and_normalize(vector, self._count, self._mean, self._variance, VARIANCE_FLOOR, out)

    def observe_batch(self, vectors: Vector, out: Vector) -> None:
        _update_and_normalize_rows(
            vectors, self._count, self._mean, self._variance, VARIANCE_FLOOR, out
        )

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {
            "count": self._count.copy(),
            "mean": self._mean.copy(),
            "variance": self._variance.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        self._check(state)
        self._count[:] = state["count"]
        self._mean[:] = state["mean"]
        self._variance[:] = state["variance"]

    def _check(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        check_state(state, self.state())
        for name in ("count", "variance"):
            if (state[name] < 0).any():
                raise ValueError(f"expected a {name} of at least 0, got {state[name]}")

    def warm_up(self) -> None:
        # not with the current statistics, whose variance may still be 0
        vector, count, mean, variance, out = np.zeros((5, 1))
        _update_and_normalize(vector, count, mean, variance, VARIANCE_FLOOR, out)
        _update(vector, count, mean, variance)
        _normalize(vector, mean, variance, VARIANCE_FLOOR, out)
        rows, keys = vector[None], out[None]
        _update_and_normalize_rows(rows, count, mean, variance, VARIANCE_FLOOR, keys)
        _normalize_rows(rows, mean, variance, VARIANCE_FLOOR, keys)


class FrozenNormalizer(RunningNormalizer):
    """Normalises with the statistics of the first observations.

    The statistics are frozen at the end of the episode in which `n_steps` observations are reached.
    Until then there are no keys: the agent holds its episodes back and writes them afterwards.

    Args:
        n_steps: Number of observations.
        common: Whether all dimensions have one scale, as pixels should: otherwise a
            pixel that rarely changes would have too much weight.

    Raises:
        ValueError: If `n_steps` is not a whole number of at least 2.
    """

    name = "frozen_normalizer"
    floor = 0.0  # `_freeze` keeps the variance above 0

    def __init__(self, n_steps: int = 1000, common: bool = False) -> None:
        self.n_steps = whole_number("n_steps", n_steps, at_least=2)
        self.common = bool(common)

    def bind(self, bounds: Bounds, seed: int) -> Bounds:
        bounds = super().bind(bounds, seed)
        self._count[0] = 0.0
        self._frozen = False
        return bounds

    @property
    def ready(self) -> bool:
        return self._frozen

    @property
    def learns(self) -> bool:
        return not self._frozen

    def end_episode(self) -> None:
        if not self._frozen and self._count[0] >= self.n_steps:
            self._freeze()

    def _freeze(self) -> None:
        if self.common:
            self._variance[:] = self._variance.mean()
        self._variance[self._variance < 1e-12] = CONSTANT
        self._frozen = True

    def ignore(self, dimensions: npt.NDArray[np.bool_]) -> None:
        """Ignore dimensions from now on: their entries of keys are 0.

        Args:
            dimensions: Which of them, a mask.

        Raises:
            RuntimeError: If the statistics are not frozen yet.
        """
        if not self._frozen:
            raise RuntimeError("expected frozen statistics, got ones that still change")
        self._variance[dimensions] = ENDLESS

    @property
    def ignored(self) -> npt.NDArray[np.bool_]:
        """The dimensions that count for nothing, a mask."""
        return self._variance >= ENDLESS

    @property
    def varies(self) -> npt.NDArray[np.bool_]:
        """The dimensions that are neither ignored nor equal in all of the first observations."""
        found: npt.NDArray[np.bool_] = (self._variance < ENDLESS) & (self._variance != CONSTANT)
        return found

    def observe_batch(self, vectors: Vector, out: Vector) -> None:
        if self._frozen:
            _normalize_rows(vectors, self._mean, self._variance, self.floor, out)
        else:
            Embedding.observe_batch(self, vectors, out)

    def observe(self, vector: Vector, out: Vector) -> None:
        if self._frozen:
            self.embed(vector, out)
        else:
            _update(vector, self._count, self._mean, self._variance)

    def config(self) -> dict[str, Any]:
        config = {"name": self.name, "n_steps": self.n_steps}
        # left out where it is not asked for, as in files that are older than this entry
        return {**config, "common": True} if self.common else config

    def state(self) -> dict[str, npt.NDArray[Any]]:
        return {**super().state(), "frozen": np.array([self._frozen])}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        super().restore(state)
        self._frozen = bool(state["frozen"][0])

    def _check(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        super()._check(state)
        if state["frozen"][0] and not (state["variance"] > 0).all():
            raise ValueError(f"expected a variance above 0, got {state['variance']}")

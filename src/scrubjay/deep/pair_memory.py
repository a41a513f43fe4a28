"""EMAC's memory: what came of state-action pairs, found again by nearness after a projection."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from scrubjay.memory import EpisodicMemory
from scrubjay.randomness import Stream, generator

Matrix = npt.NDArray[np.float64]


class PairMemory:
    """A ring of (projected pair, Monte-Carlo return), read by a softmin over k neighbours.

    The key of a pair is [s; a] P with the entries of P drawn from N(0, 1). Every write adds a row;
    when all `capacity` rows are in use the oldest gives its place. `state_dict` and
    `load_state_dict` are named as torch names them, so that Stable-Baselines3 saves the memory
    as it saves a network.
    """

    def __init__(
        self, pair_dim: int, *, capacity: int, key_dim: int = 4, n_neighbors: int = 2, seed: int = 0
    ) -> None:
        if n_neighbors < 1:
            raise ValueError(f"at least 1 neighbour was expected, {n_neighbors} came")
        self.n_neighbors = n_neighbors
        self.projection = generator(seed, Stream.EMBEDDING).standard_normal((pair_dim, key_dim))
        self.rows = EpisodicMemory(
            key_dim, capacity=capacity, columns={}, rule="append", recency="never"
        )

    def __len__(self) -> int:
        return len(self.rows)

    def write(self, pairs: Matrix, returns: Matrix) -> None:
        """Remember what came of each pair (one a row)."""
        self.rows.write_many(pairs @ self.projection, returns)

    def read(self, pairs: Matrix) -> Matrix:
        """Q_M of each pair: the returns of its k nearest rows, weighted by a softmin."""
        rows, distances = self.rows.neighbors(pairs @ self.projection, self.n_neighbors)
        # a missing neighbour (row -1) is infinitely far and weighs nothing
        weighted = softmin(distances) * self.rows.values[rows]
        return np.asarray(weighted.sum(axis=1), dtype=np.float64)

    def warm_up(self) -> None:
        """Compile what training calls, on a memory that nobody keeps."""
        pair_dim, key_dim = self.projection.shape
        copy = PairMemory(pair_dim, capacity=2, key_dim=key_dim)
        copy.write(np.zeros((1, pair_dim)), np.zeros(1))
        copy.read(np.zeros((1, pair_dim)))

    def state_dict(self) -> dict[str, Any]:
        config, arrays = self.rows.state()
        return {
            "projection": torch.from_numpy(self.projection.copy()),
            "config": config,
            "arrays": {name: torch.from_numpy(array.copy()) for name, array in arrays.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:  # noqa: ARG002
        arrays = {name: array.cpu().numpy() for name, array in state["arrays"].items()}
        self.rows = EpisodicMemory.from_state(state["config"], arrays)
        self.projection = state["projection"].cpu().numpy()


def softmin(distances: Matrix) -> Matrix:
    """exp(-d_i) / sum_j exp(-d_j) in each row, whose first entry is the smallest."""
    weights = np.exp(distances[:, :1] - distances)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)

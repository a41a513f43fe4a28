"""EMAC's memory: the returns of state-action pairs, found by their distance after a projection."""

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
    when all `capacity` rows are in use it replaces the oldest. `state_dict` and `load_state_dict`
    are named as in torch, so that Stable-Baselines3 saves the memory as it saves a network.

    Args:
        pair_dim: The dimension of a pair of state and action.
        capacity: The number of rows.
        key_dim: The dimension of the projected pairs.
        n_neighbors: The neighbours that are read, k.
        seed: Decides the projection.
    """

    def __init__(
        self, pair_dim: int, *, capacity: int, key_dim: int = 4, n_neighbors: int = 2, seed: int = 0
    ) -> None:
        if n_neighbors < 1:
            raise ValueError(f"expected n_neighbors of at least 1, got {n_neighbors}")
        self.n_neighbors = n_neighbors
        self.projection = generator(seed, Stream.EMBEDDING).standard_normal((pair_dim, key_dim))
        self.rows = EpisodicMemory(
            key_dim, capacity=capacity, columns={}, rule="append", recency="never"
        )

    def __len__(self) -> int:
        return len(self.rows)

    def write(self, pairs: Matrix, returns: Matrix) -> None:
        """Remember the return of each pair.

        Args:
            pairs: The pairs, one in each row.
            returns: Their returns.
        """
        self.rows.write_many(pairs @ self.projection, returns)

    def read(self, pairs: Matrix) -> Matrix:
        """Q_M of each pair: the returns of its k nearest rows, weighted by a softmin.

        Args:
            pairs: The pairs, one in each row.

        Returns:
            The values.
        """
        rows, distances = self.rows.neighbors(pairs @ self.projection, self.n_neighbors)
        # a missing neighbour (row -1) is infinitely far and weighs nothing
        weighted = softmin(distances) * self.rows.values[rows]
        return np.asarray(weighted.sum(axis=1), dtype=np.float64)

    def warm_up(self) -> None:
        """Compile what training calls, on a memory of its own."""
        pair_dim, key_dim = self.projection.shape
        copy = PairMemory(pair_dim, capacity=2, key_dim=key_dim)
        copy.write(np.zeros((1, pair_dim)), np.zeros(1))
        copy.read(np.zeros((1, pair_dim)))

    def state_dict(self) -> dict[str, Any]:
        """Everything that is saved.

        Returns:
            Tensors and settings by name.
        """
        config, arrays = self.rows.state()
        return {
            "projection": torch.from_numpy(self.projection.copy()),
            "config": config,
            "arrays": {name: torch.from_numpy(array.copy()) for name, array in arrays.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:  # noqa: ARG002
        """Restore the state that `state_dict` returned.

        Args:
            state: Tensors and settings by name.
            strict: Ignored; torch's modules have it.
        """
        arrays = {name: array.cpu().numpy() for name, array in state["arrays"].items()}
        self.rows = EpisodicMemory.from_state(state["config"], arrays)
        self.projection = state["projection"].cpu().numpy()


def softmin(distances: Matrix) -> Matrix:
    """exp(-d_i) / sum_j exp(-d_j) in each row, whose first entry is the smallest."""
    weights = np.exp(distances[:, :1] - distances)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)

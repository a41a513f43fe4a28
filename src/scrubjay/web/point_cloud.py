"""The rows of a memory as points on the map, and the numbers that colour them."""

import threading
import time
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.memory import EpisodicMemory

Singles = npt.NDArray[np.float32]

MAX_POINTS = 100_000  # drawn; of larger memories a random sample
N_NEAREST = 5  # the distance to this neighbour measures the density
SLICE_SECONDS = 0.02  # of the density at a time, so that other requests need not wait
MAX_COMPONENTS = 3


class Principal(NamedTuple):
    """The directions in which keys vary most.

    Attributes:
        mean: (D,): the mean key.
        directions: (D, m): the directions, the first one first.
        shares: (m,): the share of the variance along each.
    """

    mean: npt.NDArray[np.float64]
    directions: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]


class PointCloud:
    """The rows of one memory as points.

    Args:
        memory: The memory.
    """

    def __init__(self, memory: EpisodicMemory) -> None:
        self.memory = memory
        n = len(memory)
        chosen = np.arange(n)
        if n > MAX_POINTS:
            chosen = np.sort(np.random.default_rng(0).choice(n, MAX_POINTS, replace=False))
        self.rows = chosen
        self.density = Density(memory, self.rows)

    def prepare(self) -> None:
        """Compute in advance what the first request needs."""
        self.default_axes()
        if self.memory.key_dim > 2 and len(self.memory):
            self.along(self.memory.key_dim)

    @cached_property
    def _moments(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """(D,): the mean of the drawn keys, and (D, D): their covariance."""
        keys = self.memory.keys[self.rows].astype(np.float64)
        mean = keys.mean(axis=0)
        keys -= mean
        return mean, keys.T @ keys / max(len(keys), 1)

    @cached_property
    def principal(self) -> Principal:
        """The directions in which the drawn keys vary most."""
        mean, covariance = self._moments
        variances, directions = np.linalg.eigh(covariance)
        largest = np.argsort(variances)[::-1][:MAX_COMPONENTS]
        shares = variances[largest] / max(float(variances.sum()), 1e-300)
        return Principal(mean, directions[:, largest], shares)

    @cached_property
    def _projected(self) -> Singles:
        """(m, n): the drawn rows along the principal components."""
        mean, directions, _ = self.principal
        centred = self.memory.keys[self.rows] - mean.astype(np.float32)
        return np.ascontiguousarray((centred @ directions.astype(np.float32)).T)

    @property
    def _spread(self) -> npt.NDArray[np.float64]:
        """(D,): the variance of each dimension of the drawn keys."""
        return self._moments[1].diagonal()

    @property
    def n_bytes(self) -> int:
        """Bytes used in addition to the memory."""
        return self.rows.nbytes + 4 * (1 + MAX_COMPONENTS) * len(self.rows)

    @property
    def _n_actions(self) -> int:
        actions = self.memory.columns.get("action")
        return 0 if actions is None else int(np.prod(actions.shape[1:]))

    def axes(self) -> list[str]:
        """The names of all axes.

        Returns:
            The dimensions of the key, the principal components, the action and the value.
        """
        names = [f"key {i + 1}" for i in range(self.memory.key_dim)]
        if self.memory.key_dim > 2 and len(self.memory):
            shares = self.principal.shares
            names += [f"component {i + 1} ({share:.0%})" for i, share in enumerate(shares)]
        n_actions = self._n_actions
        names += ["action" if n_actions == 1 else f"action {i + 1}" for i in range(n_actions)]
        return [*names, "value"]

    def default_axes(self) -> tuple[int, int]:
        """The two dimensions of the key that vary most; a single one with the action or value.

        Returns:
            Their indices in `axes`.
        """
        if self.memory.key_dim == 1:
            return 0, 1
        if not len(self.memory):
            return 0, 1
        x, y = sorted(np.argsort(-self._spread, kind="stable")[:2])
        return int(x), int(y)

    def along(self, axis: int) -> Singles:
        """The coordinates of the drawn rows along an axis.

        Args:
            axis: The index of the axis.

        Returns:
            (n,): a coordinate for each drawn row.
        """
        component = axis - self.memory.key_dim
        if component < 0:
            return np.ascontiguousarray(self.memory.keys[:, axis][self.rows], np.float32)
        if component < len(self.axes()) - 1 - self._n_actions - self.memory.key_dim:
            along: Singles = self._projected[component]
            return along
        return self.coordinates(axis, self.rows)

    def coordinates(self, axis: int, rows: npt.NDArray[np.int64]) -> Singles:
        """The coordinates of rows along an axis.

        Args:
            axis: The index of the axis.
            rows: The rows.

        Returns:
            Their coordinates.
        """
        later = axis - (len(self.axes()) - 1)
        if later == 0:
            return self.memory.values[rows]
        if later < -self._n_actions:
            return self._along_keys(axis, self.memory.keys[rows])
        actions = self.memory.columns["action"].reshape(len(self.memory), -1)
        found: Singles = actions[rows, later].astype(np.float32)
        return found

    def locate(self, axis: int, keys: npt.NDArray[Any]) -> Singles | None:
        """The coordinates of states along an axis.

        Args:
            axis: The index of the axis.
            keys: (n, D): the states' keys.

        Returns:
            Their coordinates; None for an axis that only rows have.
        """
        if axis >= len(self.axes()) - 1 - self._n_actions:
            return None
        return self._along_keys(axis, keys)

    def _along_keys(self, axis: int, keys: npt.NDArray[Any]) -> Singles:
        dim = self.memory.key_dim
        if axis < dim:
            return np.ascontiguousarray(keys[:, axis], np.float32)
        mean, directions, _ = self.principal
        along: Singles = ((keys - mean) @ directions[:, axis - dim]).astype(np.float32)
        return along

    def colors(self, by: str) -> tuple[Singles, float]:
        """The numbers that colour the drawn rows.

        Args:
            by: "value", "age" or "density".

        Returns:
            A number for each drawn row, NaN if it is not known yet, and the share that is known.
        """
        if by == "value":
            return self.memory.values[self.rows], 1.0
        if by == "age":
            age = self.memory.clock - self.memory.stamps[self.rows]
            return age.astype(np.float32), 1.0
        return self.density.known()


class Density:
    """The distance from each drawn row to the fifth nearest other one, measured in the background.

    Args:
        memory: The memory.
        rows: The drawn rows.
    """

    def __init__(self, memory: EpisodicMemory, rows: npt.NDArray[np.int64]) -> None:
        self._memory, self._rows = memory, rows
        self._distances = np.full(len(rows), np.nan, np.float32)
        self._done = 0
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def known(self) -> tuple[Singles, float]:
        """The distances measured so far; the first call starts the measurement.

        Returns:
            A distance for each row, NaN if it is not known yet, and the share that is known.
        """
        with self._lock:
            if self._thread is None and len(self._rows):
                self._thread = threading.Thread(target=self._measure, daemon=True)
                self._thread.start()
        return self._distances, self._done / max(len(self._rows), 1)

    def _measure(self) -> None:
        size = 16
        # at random, so that what is known early lies everywhere
        order = np.random.default_rng(0).permutation(len(self._rows))
        k = min(N_NEAREST + 1, len(self._memory))  # the row itself is its own nearest
        while self._done < len(order):
            part = order[self._done : self._done + size]
            begun = time.perf_counter()
            _, distances = self._memory.neighbors(self._memory.keys[self._rows[part]], k)
            self._distances[part] = distances[:, -1]
            self._done += len(part)
            seconds = time.perf_counter() - begun
            size = 2 * size if seconds < SLICE_SECONDS / 2 else max(size // 2, 1)
            time.sleep(seconds / 4)

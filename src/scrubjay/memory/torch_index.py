"""An exact index whose rows are also on a device of torch: for many queries of image keys on a GPU.

The rows on the host are those of the tree or of the scan, which serve writes, compiled code and
small searches. Rows that have changed are sent to the device before the next search there, many at
a time. `torch_rows.py` explains the search; on CUDA it is done by the kernels of `torch_kernels.py`
if Triton is installed. Imported only where `index="torch"` is used, because torch is an extra.
"""

import importlib.util
import math
import threading
import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch

from scrubjay.memory.checks import (
    check,
    key_matrix,
    not_finite,
    not_negative,
    one_key,
    positive_int,
)
from scrubjay.memory.flat_scan import FlatScan
from scrubjay.memory.index import FIRST_ROWS, Index, Neighbors
from scrubjay.memory.index_arrays import IndexArrays
from scrubjay.memory.kdtree import KDTree
from scrubjay.memory.torch_rows import HALF, SINGLE, DeviceRows, Ints, Precision, Singles

MIN_GPU_WORK = 20_000
"""Up to this number of rows times queries a search on the host is faster than one on a GPU."""

MANY_PENDING = 1 << 16
"""Number of changed rows from which they are sent to the device without waiting for a search."""


def open_device(name: str) -> torch.device:
    """Return a device, after checking that it can be used.

    Raises:
        ValueError: If there is no such device.
    """
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = (str(error) or "torch cannot use it").splitlines()[0].rstrip(".")
        raise ValueError(
            f"expected a device that torch can use, got device={name!r}: {reason}; "
            'use device="cpu", or index="auto", which needs no torch'
        ) from error
    return device


def has_triton(device: torch.device) -> bool:
    """Whether the search can be done by Triton kernels."""
    return device.type == "cuda" and importlib.util.find_spec("triton") is not None


def precision_of(device: torch.device) -> Precision:
    """Return the precision of the codes on a device: only the kernels gain from float16."""
    return HALF if has_triton(device) else SINGLE


class OnDevice(Index):
    """What the indexes on a device have in common; see `Index`.

    Args:
        key_dim: Number of dimensions of a key.
        n_rows: Number of rows to make room for; more are added when needed.
        device: Device of torch, such as "cuda", "cuda:1" or "cpu".

    Raises:
        TypeError: If an argument is not a whole number.
        ValueError: If an argument is less than 1, or the device cannot be used.
    """

    name = "torch"
    few = MIN_GPU_WORK

    def __init__(self, key_dim: int, n_rows: int = FIRST_ROWS, device: str = "cuda") -> None:
        self._start(open_device(device))
        super().__init__(key_dim, n_rows)

    def _start(self, device: torch.device, absent: Iterable[int] = ()) -> None:
        self.device = device
        self._lock = threading.Lock()
        self._absent: set[int] = set(absent)
        self._pending: list[Ints] = []
        self._n_pending = 0
        self._mirror: DeviceRows | None = None
        self._kernels: Any = None
        self._out_of_memory = False

    # ------------------------------------------------------------ changes

    def rebuild(self, keys: npt.NDArray[np.float32]) -> None:
        """Replace all rows.

        Args:
            keys: The finite keys of rows 0, 1, 2, ...
        """
        super().rebuild(keys)  # type: ignore[safe-super]
        self._start(self.device)

    def insert(self, row: int, key: npt.ArrayLike) -> None:
        """Add a row; see `Index.insert`."""
        end = self._end
        super().insert(row, key)
        self._absent.update(range(end, row))
        self._absent.discard(row)
        self.rows_changed(np.array([row]))

    def move(self, row: int, key: npt.ArrayLike) -> None:
        """Change the key of a row; see `Index.move`."""
        super().move(row, key)
        self.rows_changed(np.array([row]))

    def remove(self, row: int) -> None:
        """Remove a row; see `Index.remove`."""
        super().remove(row)
        self._absent.add(row)
        self.rows_changed(np.array([row]))

    def rows_changed(self, rows: npt.NDArray[np.int64]) -> None:
        """Note that rows were added or their keys changed in the arrays.

        Args:
            rows: Their ids; rows that have not changed do no harm.
        """
        if self._mirror is None:
            return  # the first search sends all rows
        self._pending.append(rows.copy())
        self._n_pending += len(rows)
        if self._n_pending >= MANY_PENDING:
            with self._lock:
                self._send_or_warn()

    @property
    def _end(self) -> int:
        """One more than the largest row id."""
        return len(self) + len(self._absent)

    def _send_or_warn(self) -> bool:
        """Bring the device up to date; False, with a warning, if its memory is full."""
        try:
            self._send()
        except torch.OutOfMemoryError:
            self._give_up()
        return not self._out_of_memory

    def _give_up(self) -> None:
        self._mirror = self._kernels = None
        self._pending, self._n_pending, self._out_of_memory = [], 0, True
        warnings.warn(
            f"{self.device} has no memory left for {len(self):,} rows of {self.key_dim} numbers; "
            "nothing is lost, and searches continue on the CPU with the same results, which is "
            'slower; free memory on the device, lower the capacity or use index="auto"',
            RuntimeWarning,
            stacklevel=5,
        )

    def _send(self) -> None:
        pending, self._pending, self._n_pending = self._pending, [], 0
        end, keys = self._end, self.arrays.keys
        if self._mirror is not None and end <= self._mirror.room:
            if not pending:
                return
            rows = np.unique(np.concatenate(pending))
            changed = keys[rows]
            if self._mirror.reaches(changed):
                absent = np.fromiter(
                    (row in self._absent for row in rows.tolist()), bool, len(rows)
                )
                self._mirror.update(rows, changed, absent)
                return
        self._mirror = self._kernels = None  # frees the memory first
        absent = np.fromiter(sorted(self._absent), np.int64, len(self._absent))
        precision = precision_of(self.device)
        self._mirror = DeviceRows(self.device, precision, keys[:end], absent, len(keys))
        if has_triton(self.device):
            from scrubjay.memory.torch_kernels import Kernels

            self._kernels = Kernels(self._mirror)

    # ------------------------------------------------------------ search

    def query(self, key: npt.ArrayLike, k: int, radius: float = math.inf) -> Neighbors:
        """Find the k nearest rows within a radius; see `Index.query`."""
        array = np.asarray(key)
        n_queries = 1 if array.ndim < 2 else len(array)
        if n_queries * len(self) <= self.few or radius == 0 or self._out_of_memory:
            return super().query(array, k, radius)
        k, radius = positive_int("k", k), not_negative("radius", radius)
        queries = self._rounded_queries(array)
        rows, distances = self._search(queries, k, radius)
        if array.ndim == 2:
            return rows, distances
        count = int(np.searchsorted(rows[0] < 0, True))
        return rows[0, :count], distances[0, :count]

    def _rounded_queries(self, array: npt.NDArray[Any]) -> Singles:
        one = array.ndim == 1
        exact = one_key(array, self.key_dim)[None] if one else key_matrix(array, self.key_dim)
        with np.errstate(over="ignore"):
            queries = exact.astype(np.float32)
        finite = np.isfinite(queries)
        if not finite.all():
            bad = int(np.flatnonzero(~finite.all(axis=1))[0])
            raise not_finite(exact[bad], "a key" if one else f"key {bad}")
        return queries

    def _search(self, queries: Singles, k: int, radius: float) -> Neighbors:
        """Rows and distances, padded with -1 and infinity."""
        with self._lock:
            if not self._send_or_warn():
                return super().query(queries, k, radius)
            try:
                rows, distances, answered = self._on_device(queries, k, radius)
            except torch.OutOfMemoryError:
                self._give_up()
                return super().query(queries, k, radius)
        np.sqrt(distances, out=distances)
        if not answered.all():
            rows[~answered], distances[~answered] = super().query(queries[~answered], k, radius)
        return rows, distances

    def _on_device(
        self, queries: Singles, k: int, radius: float
    ) -> tuple[Ints, npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Rows, squared distances, and which queries are answered."""
        assert self._mirror is not None
        if self._kernels is None or not self._kernels.can(k):
            found = self._mirror.search(torch.from_numpy(queries).to(self.device), k, radius)
            return tuple(tensor.cpu().numpy() for tensor in found)  # type: ignore[return-value]
        rows, distances, answered = self._kernels.search(queries, k, radius)
        if not answered.all():  # too many candidates for the kernels
            rest = torch.from_numpy(queries[~answered]).to(self.device)
            wide = [tensor.cpu().numpy() for tensor in self._mirror.search(rest, k, radius)]
            where = np.flatnonzero(~answered)
            rows[where], distances[where], answered[where] = wide
        return rows, distances, answered

    # ------------------------------------------------------------ copies and checks

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes, those on the device included."""
        return super().nbytes + (self._mirror.nbytes if self._mirror is not None else 0)

    def copy(self) -> Self:
        """Return an independent copy, which sends its rows to the device when it is searched.

        Returns:
            An index with the same rows.
        """
        other = super().copy()
        other._start(self.device, self._absent)  # noqa: SLF001  its own class
        return other

    def check_invariants(self) -> None:
        """Check the arrays, and that the rows on the device are the same.

        Raises:
            AssertionError: If they are not.
        """
        super().check_invariants()  # type: ignore[safe-super]
        if self._out_of_memory or not self._end:
            return
        with self._lock:
            self._send()
            assert self._mirror is not None
            keys, squares = self._mirror.keys[: self._end], self._mirror.squares[: self._end]
        present = np.isfinite(squares.cpu().numpy())
        check(sorted(self._absent) == np.flatnonzero(~present).tolist(), "wrong rows on the device")
        same = keys.cpu().numpy() == self.arrays.keys[: self._end]
        check(same[present].all(), "a key on the device is not that on the host")


class TorchScan(OnDevice, FlatScan):
    """Rows on a device and in a flat scan on the host."""


class TorchTree(OnDevice, KDTree):
    """Rows on a device and in a kd-tree on the host, for memories with a distance threshold."""


__all__ = ["IndexArrays", "TorchScan", "TorchTree"]

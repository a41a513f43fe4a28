"""What all indexes have in common: rows are added, moved, removed and searched in the same way."""

import math
import operator
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from scrubjay.memory.checks import (
    key_matrix,
    not_finite,
    not_negative,
    one_key,
    positive_int,
    row_count,
)
from scrubjay.memory.index_arrays import NO_ROW, SIZE, IndexArrays, copied
from scrubjay.memory.index_kernels import (
    index_add,
    index_contains,
    index_remove,
    query_key,
    query_keys,
)

Neighbors = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
# (int, float) for one key, two arrays for a matrix of keys; the type of `key` does not tell which
Nearest = tuple[Any, Any]

FIRST_ROWS = 64
"""Number of rows for which a new index has room."""


class Index(ABC):
    """An exact, dynamic nearest-neighbour index of row ids and their keys.

    Row ids are small numbers chosen by the caller; the arrays grow with the largest of them. Keys
    are rounded to float32. Distances are Euclidean; ties go to the smaller row id. All indexes give
    the same answers, to the last bit.

    Args:
        key_dim: Number of dimensions of a key.
        n_rows: Number of rows to make room for; more are added when needed.

    Raises:
        TypeError: If an argument is not a whole number.
        ValueError: If an argument is less than 1.
    """

    name: ClassVar[str]
    arrays: IndexArrays

    def __init__(self, key_dim: int, n_rows: int = FIRST_ROWS) -> None:
        self.key_dim = positive_int("key_dim", key_dim)
        self.arrays = self._empty(row_count(n_rows))

    @abstractmethod
    def _empty(self, n_rows: int) -> IndexArrays:
        """Return the arrays of an index without rows, with room for `n_rows`."""

    @abstractmethod
    def _grown(self, n_rows: int) -> IndexArrays:
        """Return arrays with the same rows and room for `n_rows`."""

    @abstractmethod
    def rebuild(self, keys: npt.NDArray[np.float32]) -> None:
        """Replace all rows.

        Args:
            keys: The finite keys of rows 0, 1, 2, ...
        """

    @abstractmethod
    def check_invariants(self) -> None:
        """Check that the arrays are consistent.

        Raises:
            AssertionError: If they are not.
        """

    @classmethod
    def build(cls, keys: npt.ArrayLike) -> Self:
        """Create an index of many keys, which is faster than inserting them one by one.

        Args:
            keys: The keys of rows 0, 1, 2, ..., one in each row of a matrix.

        Returns:
            The index.

        Raises:
            TypeError: If the keys are not numbers.
            ValueError: If the keys are not a matrix, or not finite.
        """
        matrix = key_matrix(keys, None)
        index = cls(matrix.shape[1], max(len(matrix), 1))
        with np.errstate(over="ignore"):
            rounded = matrix.astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(rounded).all(axis=1))
        if len(bad):
            raise not_finite(matrix[bad[0]], f"key {bad[0]}")
        index.rebuild(rounded)
        return index

    def __len__(self) -> int:
        return int(self.arrays.nodes[0, SIZE])

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, int | np.integer) or not 0 <= row < len(self.arrays.keys):
            return False
        return bool(index_contains(self.arrays, int(row)))

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self.arrays)

    def reserve(self, n_rows: int) -> None:
        """Make room for row ids below `n_rows`; replaces `arrays` if they have to grow.

        Args:
            n_rows: Number of rows.

        Raises:
            ValueError: If there are too many rows.
        """
        if n_rows > len(self.arrays.keys):
            self.arrays = self._grown(row_count(n_rows))

    def insert(self, row: int, key: npt.ArrayLike) -> None:
        """Add a row.

        Args:
            row: Id of a row that is not in the index.
            key: Its key.

        Raises:
            ValueError: If the row is already in the index, or the key has a wrong shape or is not
                finite.
        """
        row, rounded = self._new_row(row), self._rounded(key)
        if row in self:
            raise ValueError(f"row {row} is already in the index; use move to change its key")
        if row >= len(self.arrays.keys):
            self.reserve(max(row + 1, min(2 * len(self.arrays.keys), NO_ROW - 1)))
        self.arrays.keys[row] = rounded
        index_add(self.arrays, row)

    def move(self, row: int, key: npt.ArrayLike) -> None:
        """Change the key of a row.

        Args:
            row: Id of a row in the index.
            key: The new key.

        Raises:
            ValueError: If the row is not in the index, or the key has a wrong shape or is not
                finite.
        """
        row, rounded = self._row_here(row), self._rounded(key)
        index_remove(self.arrays, row)
        self.arrays.keys[row] = rounded
        index_add(self.arrays, row)

    def remove(self, row: int) -> None:
        """Remove a row.

        Args:
            row: Id of a row in the index.

        Raises:
            ValueError: If the row is not in the index.
        """
        index_remove(self.arrays, self._row_here(row))

    def key(self, row: int) -> npt.NDArray[np.float32]:
        """Return the key of a row.

        Args:
            row: Id of a row in the index.

        Returns:
            A copy of its key.

        Raises:
            ValueError: If the row is not in the index.
        """
        key: npt.NDArray[np.float32] = self.arrays.keys[self._row_here(row)].copy()
        return key

    def nearest(self, key: npt.ArrayLike) -> Nearest:
        """Find the nearest row.

        Args:
            key: One key, or a matrix with a key in each row.

        Returns:
            Row id and distance; two arrays if `key` is a matrix.

        Raises:
            ValueError: If the index is empty, or the key has a wrong shape or is not finite.
        """
        if not len(self):
            raise ValueError("expected at least one row, but nothing is stored yet; write first")
        rows, distances = self.query(key, 1)
        if np.ndim(rows) == 1:
            return int(rows[0]), float(distances[0])
        return rows[:, 0], distances[:, 0]

    def query(self, key: npt.ArrayLike, k: int, radius: float = math.inf) -> Neighbors:
        """Find the k nearest rows within a radius.

        Args:
            key: One key, or a matrix with a key in each row.
            k: Maximum number of rows.
            radius: Maximum distance.

        Returns:
            Row ids and distances, nearest first. For one key, arrays as long as there are such
            rows; for a matrix of m keys, (m, k) arrays padded with row -1 and distance infinity.

        Raises:
            TypeError: If `k` is not a whole number, or the key does not contain numbers.
            ValueError: If `k` or `radius` is out of range, or a key is not finite.
        """
        k, radius = positive_int("k", k), not_negative("radius", radius)
        array = np.asarray(key)
        if array.ndim == 1:
            return self._query_one(one_key(array, self.key_dim), k, radius)
        queries = key_matrix(array, self.key_dim)
        rows, distances = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
        bad = query_keys(*self.arrays, queries, k, radius, rows, distances)
        if bad >= 0:
            raise not_finite(queries[bad], f"key {bad}")
        return rows, distances

    def _query_one(self, key: npt.NDArray[np.float64], k: int, radius: float) -> Neighbors:
        if k > FIRST_ROWS:
            k = max(min(k, len(self)), 1)
        rows, distances = np.empty(k, np.int64), np.empty(k)
        count = query_key(*self.arrays, key, k, radius, rows, distances)
        if count < 0:
            raise not_finite(key)
        return rows[:count], distances[:count]

    def rows_changed(self, rows: npt.NDArray[np.int64]) -> None:
        """Note that compiled code has added rows or changed their keys in `arrays`.

        Args:
            rows: Their ids; rows that have not changed do no harm.
        """

    def copy(self) -> Self:
        """Return an independent copy.

        Returns:
            An index with the same rows.
        """
        other = type(self).__new__(type(self))
        other.key_dim = self.key_dim
        other.arrays = copied(self.arrays)
        return other

    def _rounded(self, key: npt.ArrayLike) -> npt.NDArray[np.float32]:
        exact = one_key(np.asarray(key), self.key_dim)
        with np.errstate(over="ignore"):
            rounded = exact.astype(np.float32)
        if not np.isfinite(rounded).all():
            raise not_finite(exact)
        return rounded

    def _new_row(self, row: int) -> int:
        number = operator.index(row)
        if not 0 <= number < NO_ROW - 1:
            raise ValueError(f"a row id must be between 0 and 2^31 - 2, got {number}")
        return number

    def _row_here(self, row: int) -> int:
        if row not in self:
            raise ValueError(f"row {row} is not in the index; use insert to add it")
        return int(row)

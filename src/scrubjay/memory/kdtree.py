"""An exact, dynamic nearest-neighbour index: a balanced bucket kd-tree.

The tree stores row ids and keys, points of D float32 numbers. Rows are added, moved and removed one
at a time, and every answer equals that of a loop over all rows.

Inner nodes split the space in two; leaves hold up to 31 row ids. A node splits at a pair (value,
row id): a row goes left if its pair (coordinate in the split dimension, row id) is smaller. No two
rows have the same pair, so any set of rows can be halved, even a thousand equal keys, and following
the pairs from the root leads to the only leaf that can contain a row. Rows do not store their leaf,
and nodes do not store their parent.

A node also stores, for each of its two sides, the number of rows, the smallest row id, and the
bounding box of the keys. A search keeps the k best pairs (squared distance, row id) so far, visits
the nearer box first, and skips a side whose own pair (squared distance to the box, smallest row id)
is above the worst of the k. The distance to a box is summed in the same order and precision as that
to a key; rounding is monotonic, so it is never above the distance to a key in the box, and no exact
tie is lost. Comparing row ids too makes ties cheap: among ten thousand equal keys, a search for
five visits one leaf.

In many dimensions, most rows and boxes are first measured approximately, in float32 and in the
order of summation that is fastest; only those within the error of the approximation are summed
exactly. The answers are the same, to the last bit.

Balance is maintained as in a scapegoat tree: when a change leaves one side with more than 7/10 of
the rows of its node, the highest such node is rebuilt, with each split at the median of the
dimension in which the keys are most spread. A rebuild of n rows costs O(n log n), and its halves
need on the order of n changes to become unbalanced, so a change costs O(log^2 n) on average for any
order of arrival. A node with at most 24 rows becomes one leaf, so repeated replacement leaves no
sparse nodes. When a removed row was on the boundary of a box, the boxes above it are tightened, so
queries do not become slower over time. In many dimensions the whole tree is also rebuilt whenever
it has grown by half, because the splits of its first rows may not suit the later ones.

The keys are stored once, by row; leaves contain only row ids. Node i and leaf i have the same index
but are otherwise independent: each has its own list of free records. Node 0, the head, holds the
root on its left side and the two free lists on its right side. The arrays are long enough for the
worst case of their number of rows, so no change can run out of records.

Invariants (`check_invariants` tests each):

1. Each row of the tree is in exactly one leaf, the one that its pair leads to.
2. A side's size, smallest row id and box are exactly those of the rows below it.
3. A node has more than 24 rows, and neither side more than 7/10 of them.
4. A leaf has at most 31 rows; so at least 8, unless it is the whole tree.
5. Each node and leaf but number 0 is either in the tree or in its free list, once.
"""

import math
import operator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from scrubjay.memory.checks import (
    check,
    key_matrix,
    not_finite,
    not_negative,
    one_key,
    positive_int,
    row_count,
)
from scrubjay.memory.tree_arrays import (
    BUCKET,
    CHILD,
    FIRST_ROW,
    FREE_LEAF,
    FREE_NODE,
    HEAVY,
    LEAF_FILL,
    NO_ROW,
    SIZE,
    SPLIT_DIM,
    SPLIT_ROW,
    WHOLE,
    TreeArrays,
    copied_tree,
    empty_tree,
    grown_tree,
)
from scrubjay.memory.tree_kernels import (
    add_row,
    build,
    contains,
    find_neighbors,
    query_key,
    query_keys,
    rebuild,
    remove_row,
    take_apart,
    tree_size,
)

__all__ = ["KDTree", "TreeArrays", "find_neighbors", "tree_size"]

Neighbors = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
# (int, float) for one key, two arrays for a matrix of keys; the type of `key` does not tell which
Nearest = tuple[Any, Any]

FIRST_ROWS = 64
"""Number of rows for which a new tree has room."""


class KDTree:
    """An exact, dynamic nearest-neighbour index of row ids and their keys.

    Row ids are small numbers chosen by the caller; the arrays grow with the largest of them. Keys
    are rounded to float32. Distances are Euclidean; ties go to the smaller row id.

    Args:
        key_dim: Number of dimensions of a key.
        n_rows: Number of rows to make room for; more are added when needed.

    Raises:
        TypeError: If an argument is not a whole number.
        ValueError: If an argument is less than 1.
    """

    def __init__(self, key_dim: int, n_rows: int = FIRST_ROWS) -> None:
        self.key_dim = positive_int("key_dim", key_dim)
        self.arrays = empty_tree(self.key_dim, row_count(n_rows))

    @classmethod
    def build(cls, keys: npt.ArrayLike) -> Self:
        """Create a tree of many keys, which is faster than inserting them one by one.

        Args:
            keys: The keys of rows 0, 1, 2, ..., one in each row of a matrix.

        Returns:
            The tree.

        Raises:
            TypeError: If the keys are not numbers.
            ValueError: If the keys are not a matrix, or not finite.
        """
        matrix = key_matrix(keys, None)
        tree = cls(matrix.shape[1], max(len(matrix), 1))
        with np.errstate(over="ignore"):
            rounded = matrix.astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(rounded).all(axis=1))
        if len(bad):
            raise not_finite(matrix[bad[0]], f"key {bad[0]}")
        tree.rebuild(rounded)
        return tree

    def rebuild(self, keys: npt.NDArray[np.float32]) -> None:
        """Replace all rows.

        Args:
            keys: The finite keys of rows 0, 1, 2, ...
        """
        self.reserve(len(keys))
        self.arrays.keys[: len(keys)] = keys
        take_apart(self.arrays, 0, np.empty(len(self), np.int32))
        build(self.arrays, 0, np.arange(len(keys), dtype=np.int32))

    def __len__(self) -> int:
        return int(self.arrays.nodes[0, SIZE])

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, int | np.integer) or not 0 <= row < len(self.arrays.keys):
            return False
        return bool(contains(self.arrays, int(row)))

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def depth(self) -> int:
        """Number of nodes on the longest path from the root to a leaf."""
        nodes, level, depth = self.arrays.nodes, [int(self.arrays.nodes[0, CHILD])], 0
        while level := [int(c) for n in level if n > 0 for c in nodes[n, CHILD : CHILD + 2]]:
            depth += 1
        return depth

    def reserve(self, n_rows: int) -> None:
        """Make room for row ids below `n_rows`; replaces `arrays` if they have to grow.

        Args:
            n_rows: Number of rows.

        Raises:
            ValueError: If there are too many rows.
        """
        if n_rows > len(self.arrays.keys):
            self.arrays = grown_tree(self.arrays, row_count(n_rows))

    def insert(self, row: int, key: npt.ArrayLike) -> None:
        """Add a row.

        Args:
            row: Id of a row that is not in the tree.
            key: Its key.

        Raises:
            ValueError: If the row is already in the tree, or the key has a wrong shape or is not
                finite.
        """
        row, rounded = self._new_row(row), self._rounded(key)
        if row in self:
            raise ValueError(f"row {row} is already in the tree; use move to change its key")
        if row >= len(self.arrays.keys):
            self.reserve(max(row + 1, min(2 * len(self.arrays.keys), NO_ROW - 1)))
        self.arrays.keys[row] = rounded
        rebuild(self.arrays, add_row(self.arrays, row))

    def move(self, row: int, key: npt.ArrayLike) -> None:
        """Change the key of a row.

        Args:
            row: Id of a row in the tree.
            key: The new key.

        Raises:
            ValueError: If the row is not in the tree, or the key has a wrong shape or is not
                finite.
        """
        row, rounded = self._row_here(row), self._rounded(key)
        rebuild(self.arrays, remove_row(self.arrays, row))
        self.arrays.keys[row] = rounded
        rebuild(self.arrays, add_row(self.arrays, row))

    def remove(self, row: int) -> None:
        """Remove a row.

        Args:
            row: Id of a row in the tree.

        Raises:
            ValueError: If the row is not in the tree.
        """
        rebuild(self.arrays, remove_row(self.arrays, self._row_here(row)))

    def key(self, row: int) -> npt.NDArray[np.float32]:
        """Return the key of a row.

        Args:
            row: Id of a row in the tree.

        Returns:
            A copy of its key.

        Raises:
            ValueError: If the row is not in the tree.
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
            ValueError: If the tree is empty, or the key has a wrong shape or is not finite.
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

    def copy(self) -> Self:
        """Return an independent copy.

        Returns:
            A tree with the same rows.
        """
        other = type(self).__new__(type(self))
        other.key_dim = self.key_dim
        other.arrays = copied_tree(self.arrays)
        return other

    def check_invariants(self) -> None:
        """Check the invariants listed at the top of this file.

        Raises:
            AssertionError: If one of them does not hold.
        """
        leaves: list[int] = []
        inner = [0]
        for place, rows in self._walk(0):
            node, side = place >> 1, place & 1
            child = int(self.arrays.nodes[node, CHILD + side])
            (inner if child > 0 else leaves).append(child if child > 0 else ~child)
            self._check_side(node, side, rows)
            if child > 0:
                self._check_split(child, rows)
            else:
                check(len(rows) < BUCKET, f"leaf {~child} has {len(rows)} rows")
        self._check_records(self.arrays.nodes[:, CHILD], FREE_NODE, inner)
        self._check_records(self.arrays.buckets[:, 0], FREE_LEAF, [0, *leaves])

    def _walk(self, place: int) -> list[tuple[int, npt.NDArray[np.int32]]]:
        """Return every place of a subtree with all rows below it."""
        nodes = self.arrays.nodes
        child, size = (int(nodes[place >> 1, column + (place & 1)]) for column in (CHILD, SIZE))
        if child < 0:
            return [(place, self.arrays.buckets[~child, :size])]
        left, right = self._walk(2 * child), self._walk(2 * child + 1)
        return [(place, np.concatenate([left[0][1], right[0][1]])), *left, *right]

    def _check_side(self, node: int, side: int, rows: npt.NDArray[np.int32]) -> None:
        keys, nodes, boxes = self.arrays.keys, self.arrays.nodes, self.arrays.boxes
        where = f"side {side} of node {node}"
        check(len(np.unique(rows)) == len(rows), f"{where} has a row twice")
        check(nodes[node, SIZE + side] == len(rows), f"{where} has a wrong size")
        if len(rows):
            low, high = boxes[node, 1:].reshape(2, 2, self.key_dim)[side]
            check(nodes[node, FIRST_ROW + side] == rows.min(), f"{where}: wrong smallest row")
            check(np.array_equal(low, keys[rows].min(axis=0)), f"{where}: wrong lowest corner")
            check(np.array_equal(high, keys[rows].max(axis=0)), f"{where}: wrong highest corner")

    def _check_split(self, node: int, rows: npt.NDArray[np.int32]) -> None:
        fields = self.arrays.nodes[node]
        left, right = int(fields[SIZE]), int(fields[SIZE + 1])
        values, split = self.arrays.keys[rows, fields[SPLIT_DIM]], self.arrays.boxes[node, 0]
        below = (values < split) | ((values == split) & (rows < fields[SPLIT_ROW]))
        check(below[:left].all() and not below[left:].any(), f"node {node}: row on wrong side")
        check(left + right > LEAF_FILL, f"node {node} has only {left + right} rows")
        check(WHOLE * max(left, right) <= HEAVY * (left + right), f"node {node}: {left}, {right}")

    def _check_records(self, links: npt.NDArray[np.int32], head: int, used: list[int]) -> None:
        free: list[int] = []
        record = int(self.arrays.nodes[0, head])
        while record and len(free) <= len(links):
            free.append(record)
            record = int(links[record])
        check(sorted(used + free) == list(range(len(links))), "a record is lost or used twice")

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
            raise ValueError(f"row {row} is not in the tree; use insert to add it")
        return int(row)

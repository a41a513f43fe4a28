"""An exact nearest-neighbour index that changes in place: a balanced bucket kd-tree.

The tree knows row ids and keys, points of D float32 numbers. Rows are added, moved and removed one
at a time, and every answer equals that of a loop over all rows, at every moment.

Inner nodes cut the space in two; leaves hold up to 31 row ids. A node cuts at a pair (value, row
id): a row goes left if its pair (coordinate in the split dimension, row id) is smaller. No two rows
have the same pair, so any set of rows can be halved, a thousand equal keys included, and following
the pairs down finds the one leaf a row can be in. No row needs to know its leaf, no node its
parent.

A node also holds, for each of its two sides, the number of rows there, the smallest of their row
ids, and the box that just encloses their keys. A search keeps the k best pairs (squared distance,
row id) so far, walks to the nearer box first, and drops a side whose own pair (squared distance to
the box, smallest row id) is above the worst of the k. The distance to a box is summed in the same
order and precision as that to a key; rounding keeps order, so it is never above the distance to a
key in the box and no exact tie is lost. Comparing row ids too makes ties cheap: of ten thousand
equal keys, a search for five visits one leaf.

In many dimensions most rows and boxes are first measured roughly, in float32 and in the order the
processor likes best; only what is within the error of that is summed exactly. The answers are the
same, to the last bit.

Balance is kept as in a scapegoat tree: when a change leaves a side with more than 7/10 of its
node's rows, the highest such node is taken apart and built anew, each cut at the median of the
dimension in which keys are most spread. A rebuild of n rows costs O(n log n), and its halves need
order n changes to lose their balance, so a change costs O(log^2 n) on average whatever the order of
arrival. A node with no more than 24 rows becomes one leaf, so endless replacement leaves no thin
nodes behind. When a removed row lay on the side of a box, the boxes above it are made tight again:
queries do not slow down with age. In many dimensions the whole tree is also built anew whenever it
has grown by half: cuts that suited its first rows need not suit the rest, and there it matters.

The keys are stored once, by row; leaves hold only row ids. Node i and leaf i share an index but not
a fate: two lists of free records feed both, and node 0, the head, holds the root on its left side
and those two lists on its right. The arrays are as long as the worst case for their rows, so no
change can run out of records halfway.

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

FIRST_ROWS = 64
"""Room that a new tree starts with."""


class KDTree:
    """Row ids and their keys, with exact nearest neighbours after every change.

    Row ids are small numbers that the caller chooses; memory grows with the largest of them.
    Everything is rounded to float32 first. Distances are Euclidean; ties go to the smaller row id.
    """

    def __init__(self, key_dim: int, n_rows: int = FIRST_ROWS) -> None:
        self.key_dim = positive_int("key_dim", key_dim)
        self.arrays = empty_tree(self.key_dim, row_count(n_rows))

    @classmethod
    def build(cls, keys: npt.ArrayLike) -> Self:
        """A tree of rows 0, 1, ... with these keys: faster and better filled than row by row."""
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
        """Forget all rows and take rows 0, 1, ... with these finite keys instead."""
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
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def depth(self) -> int:
        """Nodes on the longest way from the root to a leaf."""
        nodes, level, depth = self.arrays.nodes, [int(self.arrays.nodes[0, CHILD])], 0
        while level := [int(c) for n in level if n > 0 for c in nodes[n, CHILD : CHILD + 2]]:
            depth += 1
        return depth

    def reserve(self, n_rows: int) -> None:
        """Make room for row ids below `n_rows`; `arrays` is a new tuple if that took new arrays."""
        if n_rows > len(self.arrays.keys):
            self.arrays = grown_tree(self.arrays, row_count(n_rows))

    def insert(self, row: int, key: npt.ArrayLike) -> None:
        """Add a row that is not in the tree."""
        row, rounded = self._new_row(row), self._rounded(key)
        if row in self:
            raise ValueError(f"row {row} is already in the tree: use move to change its key")
        if row >= len(self.arrays.keys):
            self.reserve(max(row + 1, min(2 * len(self.arrays.keys), NO_ROW - 1)))
        self.arrays.keys[row] = rounded
        rebuild(self.arrays, add_row(self.arrays, row))

    def move(self, row: int, key: npt.ArrayLike) -> None:
        """Give a row of the tree another key."""
        row, rounded = self._row_here(row), self._rounded(key)
        rebuild(self.arrays, remove_row(self.arrays, row))
        self.arrays.keys[row] = rounded
        rebuild(self.arrays, add_row(self.arrays, row))

    def remove(self, row: int) -> None:
        """Take a row out of the tree."""
        rebuild(self.arrays, remove_row(self.arrays, self._row_here(row)))

    def key(self, row: int) -> npt.NDArray[np.float32]:
        """The key of a row."""
        key: npt.NDArray[np.float32] = self.arrays.keys[self._row_here(row)].copy()
        return key

    def nearest(self, key: npt.ArrayLike) -> tuple[Any, Any]:
        """(row, distance) of the nearest row; arrays of both for a matrix of keys."""
        if not len(self):
            raise ValueError("nearest needs at least one row, but nothing is stored yet")
        rows, distances = self.query(key, 1)
        if np.ndim(rows) == 1:
            return int(rows[0]), float(distances[0])
        return rows[:, 0], distances[:, 0]

    def query(self, key: npt.ArrayLike, k: int, radius: float = math.inf) -> Neighbors:
        """Rows and distances of the k nearest, of those the ones within radius, nearest first.

        One key gives arrays as long as there are such rows. A matrix of m keys gives (m, k) arrays,
        padded with row -1 and distance infinity.
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
        """An independent tree with the same rows."""
        other = type(self).__new__(type(self))
        other.key_dim = self.key_dim
        other.arrays = copied_tree(self.arrays)
        return other

    def check_invariants(self) -> None:
        """Raise AssertionError if any of the invariants of this file's first page is broken."""
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
        """Every place of a subtree with all the rows below it."""
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
            raise ValueError(f"a row id must be between 0 and 2^31 - 2, not {number}")
        return number

    def _row_here(self, row: int) -> int:
        if row not in self:
            raise ValueError(f"row {row} is not in the tree")
        return int(row)

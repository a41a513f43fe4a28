"""An exact, dynamic nearest-neighbour index: a balanced bucket kd-tree.

The tree stores row ids and keys, points of D float32 numbers. Rows are added, moved and removed one
at a time, and every answer equals that of a loop over all rows.

Inner nodes split the space in two; leaves hold up to 31 row ids (63 in many dimensions). A node
splits at a pair (value, row id): a row goes left if its pair (coordinate in the split dimension,
row id) is smaller. No two rows have the same pair, so any set of rows can be halved, even a
thousand equal keys, and following the pairs from the root leads to the only leaf that can contain a
row. Rows do not store their leaf, and nodes do not store their parent.

A node also stores, for each of its two sides, the number of rows, the smallest row id, and the
bounding box of the keys. A search keeps the k best pairs (squared distance, row id) so far, visits
the nearer box first, and skips a side whose own pair (squared distance to the box, smallest row id)
is above the worst of the k. The distance to a box is summed in the same order and precision as that
to a key; rounding is monotonic, so it is never above the distance to a key in the box, and no exact
tie is lost. Comparing row ids too makes ties cheap: among ten thousand equal keys, a search for
five visits one leaf.

In many dimensions, most boxes are first measured approximately, in float32 and in the order of
summation that is fastest, and most rows by codes of one byte (`leaf_codes.py`), many rows at a
time; only those within the error of the approximation are summed exactly. The answers are the same,
to the last bit.

Balance is maintained as in a scapegoat tree: when a change leaves one side with more than 7/10 of
the rows of its node, the highest such node is rebuilt, with each split at the median of the
dimension in which the keys are most spread. A rebuild of n rows costs O(n log n), and its halves
need on the order of n changes to become unbalanced, so a change costs O(log^2 n) on average for any
order of arrival. A node with at most 24 rows (56 in many dimensions) becomes one leaf, so repeated
replacement leaves no sparse nodes. When a removed row was on the boundary of a box, the boxes above
it are tightened, so queries do not become slower over time. In many dimensions the whole tree is
also rebuilt whenever it has grown by half, because the splits of its first rows may not suit the
later ones.

The keys are stored once, by row; leaves contain only row ids. Node i and leaf i have the same index
but are otherwise independent: each has its own list of free records. Node 0, the head, holds the
root on its left side and the two free lists on its right side. The arrays are long enough for the
worst case of their number of rows, so no change can run out of records.

Invariants (`check_invariants` tests each):

1. Each row of the tree is in exactly one leaf, the one that its pair leads to.
2. A side's size, smallest row id and box are exactly those of the rows below it.
3. A node has more than 24 rows (56), and neither side more than 7/10 of them.
4. A leaf has at most 31 rows (63); so at least 8 (18), unless it is the whole tree.
5. Each node and leaf but number 0 is either in the tree or in its free list, once.
6. In many dimensions, a leaf has the codes of its rows.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.memory.checks import check
from scrubjay.memory.index import Index
from scrubjay.memory.index_arrays import SIZE
from scrubjay.memory.tree_arrays import (
    CHILD,
    FIRST_ROW,
    FREE_LEAF,
    FREE_NODE,
    HEAVY,
    LANES,
    LARGEST_CODE,
    MANY,
    SPLIT_DIM,
    SPLIT_ROW,
    WHOLE,
    TreeArrays,
    empty_tree,
    grown_tree,
    leaf_fill,
    leaf_slots,
    n_codes,
)
from scrubjay.memory.tree_kernels import build, find_neighbors, search, take_apart, tree_size

__all__ = ["KDTree", "TreeArrays", "find_neighbors", "search", "tree_size"]


class KDTree(Index):
    """The kd-tree as an index: fast in few dimensions, or if most rows are beyond the radius.

    Args:
        key_dim: Number of dimensions of a key.
        n_rows: Number of rows to make room for; more are added when needed.

    Raises:
        TypeError: If an argument is not a whole number.
        ValueError: If an argument is less than 1.
    """

    name = "kdtree"

    def _empty(self, n_rows: int) -> TreeArrays:
        return empty_tree(self.key_dim, n_rows)

    def _grown(self, n_rows: int) -> TreeArrays:
        return grown_tree(self.arrays, n_rows)

    def rebuild(self, keys: npt.NDArray[np.float32]) -> None:
        """Replace all rows.

        Args:
            keys: The finite keys of rows 0, 1, 2, ...
        """
        self.reserve(len(keys))
        self.arrays.keys[: len(keys)] = keys
        take_apart(self.arrays, 0, np.empty(len(self), np.int32))
        build(self.arrays, 0, np.arange(len(keys), dtype=np.int32))

    @property
    def depth(self) -> int:
        """Number of nodes on the longest path from the root to a leaf."""
        nodes, level, depth = self.arrays.nodes, [int(self.arrays.nodes[0, CHILD])], 0
        while level := [int(c) for n in level if n > 0 for c in nodes[n, CHILD : CHILD + 2]]:
            depth += 1
        return depth

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
                check(len(rows) < leaf_slots(self.key_dim), f"leaf {~child} has {len(rows)} rows")
                self._check_codes(~child, rows)
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
        check(left + right > leaf_fill(self.key_dim), f"node {node} has only {left + right} rows")
        check(WHOLE * max(left, right) <= HEAVY * (left + right), f"node {node}: {left}, {right}")

    def _check_codes(self, leaf: int, rows: npt.NDArray[np.int32]) -> None:
        if self.key_dim < MANY:
            return
        head, first = self.arrays.boxes[0].astype(np.float64), 1 + 2 * self.key_dim
        centre, steps = head[first : first + self.key_dim], head[first + self.key_dim]
        exact = (self.arrays.keys[rows].astype(np.float64) - centre) * steps
        expected = np.rint(np.clip(exact, -LARGEST_CODE, LARGEST_CODE))
        codes = self.arrays.buckets[leaf, leaf_slots(self.key_dim) :].view(np.int8)
        by_row = codes.reshape(-1, n_codes(self.key_dim), LANES).swapaxes(1, 2)
        stored = by_row.reshape(-1, n_codes(self.key_dim))[: len(rows), : self.key_dim]
        check(np.array_equal(stored, expected), f"leaf {leaf} has wrong codes")

    def _check_records(self, links: npt.NDArray[np.int32], head: int, used: list[int]) -> None:
        free: list[int] = []
        record = int(self.arrays.nodes[0, head])
        while record and len(free) <= len(links):
            free.append(record)
            record = int(links[record])
        check(sorted(used + free) == list(range(len(links))), "a record is lost or used twice")

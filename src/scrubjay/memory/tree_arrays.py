"""The arrays of the kd-tree: their meaning, creation and growth.

`kdtree.py` explains the tree; this file defines its layout for the compiled functions.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.memory.index_arrays import NO_ROW, NODE_WIDTH, SIZE, IndexArrays, fill_front

BUCKET = 32
"""Slots of a leaf; the row that takes the last slot splits the leaf."""

LEAF_FILL = 24
"""A subtree of at most this many rows is built as one leaf."""

HEAVY, WHOLE = 7, 10
"""No child has more than HEAVY / WHOLE of the rows of its parent."""

ROWS_PER_LEAF = 8
"""A leaf with a sibling has at least 3/10 of LEAF_FILL + 1 rows, so at least this many."""

STACK = 128
"""More than twice the depth of a tree of 2^31 rows, log(2^31 / LEAF_FILL) / log(10 / 7) < 52."""

# Columns of `nodes`. CHILD, SIZE and FIRST_ROW have one number for each side: left, right. Node 0
# has no split; the kind of index is there instead.
CHILD, FIRST_ROW = 0, 4
SPLIT_DIM, SPLIT_ROW = 6, 7

# Columns of node 0, whose right side is not a subtree: the heads of the lists of free records, and
# the number of rows when the whole tree was last built.
FREE_NODE, FREE_LEAF, BUILT = CHILD + 1, SIZE + 1, FIRST_ROW + 1


TreeArrays = IndexArrays
"""The arrays of a tree:

- `keys`, (rows, D): the key of each row.
- `nodes`, (records, 8): children, sizes and smallest row ids of both sides, split dimension, split
  row. A child is a node if positive, else ~leaf. Node 0 is the head: its left child is the tree.
  Leaf 0 is never used.
- `boxes`, (records, 1 + 4 D): split value; lowest and highest corner of the left, then right child.
- `buckets`, (records, BUCKET): the row ids of each leaf, as many as its parent says.
"""


def n_records(n_rows: int) -> int:
    """Return the maximum number of leaves (and of nodes, including the head) for `n_rows` rows."""
    return n_rows // ROWS_PER_LEAF + 2


def empty_tree(key_dim: int, n_rows: int) -> TreeArrays:
    """Return an empty tree with room for row ids below `n_rows`."""
    records = n_records(n_rows)
    tree = TreeArrays(
        np.zeros((n_rows, key_dim), np.float32),
        np.zeros((records, NODE_WIDTH), np.int32),
        np.zeros((records, 1 + 4 * key_dim), np.float32),
        np.zeros((records, BUCKET), np.int32),
    )
    tree.nodes[0, CHILD] = ~1
    tree.nodes[0, FIRST_ROW] = NO_ROW - 1
    _free(tree.nodes, CHILD, tree.nodes[0], FREE_NODE, 1)
    _free(tree.buckets, 0, tree.nodes[0], FREE_LEAF, 2)
    return tree


def grown_tree(tree: TreeArrays, n_rows: int) -> TreeArrays:
    """Return the same tree with room for `n_rows` rows."""
    old = len(tree.nodes)
    grown = empty_tree(tree.keys.shape[1], n_rows)
    fill_front(tree, grown)
    _free(grown.nodes, CHILD, grown.nodes[0], FREE_NODE, old)
    _free(grown.buckets, 0, grown.nodes[0], FREE_LEAF, old)
    return grown


def _free(
    records: npt.NDArray[np.int32],
    link: int,
    heads: npt.NDArray[np.int32],
    head: int,
    first: int,
) -> None:
    """Add all records from `first` on to the free list; 0, which is never free, ends the list."""
    if first < len(records):
        records[first:, link] = np.arange(first + 1, len(records) + 1)
        records[-1, link] = heads[head]
        heads[head] = first

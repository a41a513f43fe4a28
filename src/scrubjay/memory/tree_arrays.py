"""The arrays of the kd-tree: their meaning, creation and growth.

`kdtree.py` explains the tree; this file defines its layout for the compiled functions.
"""

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from scrubjay.memory.index_arrays import NO_ROW, NODE_WIDTH, SIZE, IndexArrays, fill_front

MANY = 16
"""From this number of dimensions on, computing an approximate distance first is faster."""

HEAVY, WHOLE = 7, 10
"""No child has more than HEAVY / WHOLE of the rows of its parent."""

LEAF, STACK = 64, 128
"""Length of a stack: up to LEAF more than the depth of a tree of 2^31 rows, log(2^31 / 24) /
log(10 / 7) < 52, which is what a search needs; behind it the rows of one leaf."""

LANES, LARGEST_CODE = 32, 63
"""Codes of this many rows are measured together, and the largest code: see `leaf_codes.py`."""

SUMS, LOCAL = 2 * STACK, 2 * STACK + LANES // 2
"""Where the distances of LANES codes, in int32, and the codes of the key, in int16, begin in the
scratch space of a search. Before them are the places and the bounds of its stack."""

# Columns of `nodes`. CHILD, SIZE and FIRST_ROW have one number for each side: left, right. Node 0
# has no split.
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
- `buckets`, (records, slots): the row ids of each leaf, as many as its parent says. In many
  dimensions followed by the codes of these rows, one byte each: for each LANES rows the codes of
  all of them in the first dimension, then in the second, and so on, up to a multiple of four. The
  head's right box then has their centre and the steps of a unit.
"""


@register_jitable
def leaf_slots(key_dim: int) -> int:
    """Return the number of slots of a leaf; the row that takes the last slot splits the leaf."""
    return 64 if key_dim >= MANY else 32


@register_jitable
def leaf_fill(key_dim: int) -> int:
    """Return the number of rows up to which a subtree is built as one leaf."""
    return 56 if key_dim >= MANY else 24


def n_records(key_dim: int, n_rows: int) -> int:
    """Return the maximum number of leaves (and of nodes, including the head) for `n_rows` rows.

    A leaf with a sibling has at least 3/10 of the rows of the smallest node.
    """
    rows_per_leaf: int = -(-(WHOLE - HEAVY) * (leaf_fill(key_dim) + 1) // WHOLE)
    return n_rows // rows_per_leaf + 2


@register_jitable
def n_codes(key_dim: int) -> int:
    """Return the number of codes of a row."""
    return -(-key_dim // 4) * 4 if key_dim >= MANY else 0


@register_jitable
def scratch_size(key_dim: int) -> int:
    """Return the number of float64 of the scratch space of a search."""
    codes: int = n_codes(key_dim)  # a multiple of four
    return LOCAL + codes // 4


def empty_tree(key_dim: int, n_rows: int) -> TreeArrays:
    """Return an empty tree with room for row ids below `n_rows`."""
    records = n_records(key_dim, n_rows)
    words = leaf_slots(key_dim) * (4 + n_codes(key_dim)) // 4
    tree = TreeArrays(
        np.zeros((n_rows, key_dim), np.float32),
        np.zeros((records, NODE_WIDTH), np.int32),
        np.zeros((records, 1 + 4 * key_dim), np.float32),
        np.zeros((records, words), np.int32),
    )
    tree.nodes[0, CHILD] = ~1
    tree.nodes[0, FIRST_ROW] = NO_ROW - 1
    tree.boxes[0, 1 + 3 * key_dim] = 1.0
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

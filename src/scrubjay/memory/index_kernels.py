"""The compiled functions that accept every kind of index: search, add and remove."""

import numpy as np

from scrubjay.compiled import compiled
from scrubjay.memory.index_arrays import KIND, SCAN, IndexArrays
from scrubjay.memory.scan_arrays import NEXT
from scrubjay.memory.scan_kernels import find_key, scan_add, scan_remove, scan_search
from scrubjay.memory.tree_arrays import STACK
from scrubjay.memory.tree_kernels import (
    Floats,
    Ints,
    Rows,
    Singles,
    add_row,
    contains,
    rebuild,
    remove_row,
    round_key,
    search,
)


@compiled(nogil=True)
def index_search(
    index: IndexArrays,
    key: Singles,
    k: int,
    radius: float,
    rows: Ints,
    distances: Floats,
    places: Ints,
    bounds: Floats,
) -> int:
    """Fill `rows` and squared `distances` with the k nearest within `radius`; return their number.

    `places` and `bounds` are a stack of length STACK, so that a batch allocates it once.
    """
    if index.nodes[0, KIND] == SCAN:
        return scan_search(index, key, k, radius, rows, distances)  # type: ignore[no-any-return]
    return search(index, key, k, radius, rows, distances, places, bounds)  # type: ignore[no-any-return]


@compiled(nogil=True)
def index_find(index: IndexArrays, key: Singles) -> int:
    """Return the smallest row with exactly this key, or -1."""
    if index.nodes[0, KIND] == SCAN:
        return find_key(index, key)  # type: ignore[no-any-return]
    row, distance = np.empty(1, np.int64), np.empty(1, np.float64)
    places, bounds = np.empty(STACK, np.int64), np.empty(STACK, np.float64)
    found = search(index, key, len(row), 0.0, row, distance, places, bounds)
    return int(row[0]) if found else -1


@compiled(nogil=True)
def index_contains(index: IndexArrays, row: int) -> bool:
    """Whether a row id, below the length of `keys`, is in the index."""
    if index.nodes[0, KIND] == SCAN:
        return bool(index.buckets[row, NEXT] >= 0)
    return contains(index, row)  # type: ignore[no-any-return]


@compiled(nogil=True)
def index_add(index: IndexArrays, row: int) -> None:
    """Add a row, whose key is already in `keys`."""
    if index.nodes[0, KIND] == SCAN:
        scan_add(index, row)
    else:
        rebuild(index, add_row(index, row))


@compiled(nogil=True)
def index_remove(index: IndexArrays, row: int) -> None:
    """Remove a row, whose key must be the one it was added with."""
    if index.nodes[0, KIND] == SCAN:
        scan_remove(index, row)
    else:
        rebuild(index, remove_row(index, row))


# ---------------------------------------------------------------- called from Python


@compiled(nogil=True)
def query_key(
    keys: Singles,
    nodes: Rows,
    boxes: Singles,
    buckets: Rows,
    key: Floats,
    k: int,
    radius: float,
    rows: Ints,
    distances: Floats,
) -> int:
    """Find rows and Euclidean distances for one key; return their number, -1 if not finite.

    It is called from Python and therefore takes the arrays of the index one by one: a NamedTuple as
    an argument costs 1 us.
    """
    rounded = np.empty(len(key), np.float32)
    if not round_key(key, rounded):
        return -1
    index = IndexArrays(keys, nodes, boxes, buckets)
    places, bounds = np.empty(STACK, np.int64), np.empty(STACK, np.float64)
    count: int = index_search(index, rounded, k, radius, rows, distances, places, bounds)
    for j in range(count):
        distances[j] = np.sqrt(distances[j])
    return count


@compiled(nogil=True)
def query_keys(
    keys: Singles,
    nodes: Rows,
    boxes: Singles,
    buckets: Rows,
    queries: Floats,
    k: int,
    radius: float,
    rows: Ints,
    distances: Floats,
) -> int:
    """Do `query_key` for many keys, padded with -1 and infinity.

    Returns the index of a key that is not finite, or -1.
    """
    index = IndexArrays(keys, nodes, boxes, buckets)
    key = np.empty(queries.shape[1], np.float32)
    places = np.empty(STACK, np.int64)
    bounds = np.empty(STACK, np.float64)
    for i in range(len(queries)):
        if not round_key(queries[i], key):
            return i
        count = index_search(index, key, k, radius, rows[i], distances[i], places, bounds)
        for j in range(count):
            distances[i, j] = np.sqrt(distances[i, j])
        for j in range(count, k):
            rows[i, j], distances[i, j] = -1, np.inf
    return -1


# ---------------------------------------------------------------- several memories at once


@compiled(nogil=True)
def find_in_tables(
    tables: tuple[IndexArrays, ...],
    key: Singles,
    k: int,
    radius: float,
    rows: Ints,
    distances: Floats,
    counts: Ints,
) -> None:
    """Search several indexes for one key, and fill row t of the results from index t.

    If an index has exactly this key, that row is its only answer, with distance 0. `distances` are
    squared; entries beyond `counts` are not changed. It may be called from compiled code; a tuple
    of another length is compiled once more.
    """
    places, bounds = np.empty(STACK, np.int64), np.empty(STACK, np.float64)
    for t in range(len(tables)):
        rows[t, 0] = index_find(tables[t], key)
        if rows[t, 0] >= 0:
            distances[t, 0], counts[t] = 0.0, 1
        else:
            counts[t] = index_search(
                tables[t], key, k, radius, rows[t], distances[t], places, bounds
            )

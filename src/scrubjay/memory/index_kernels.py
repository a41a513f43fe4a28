"""The compiled functions that accept every kind of index: search, add and remove."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from scrubjay.compiled import compiled
from scrubjay.memory.distances import Floats, Ints, Rows, Singles, round_key
from scrubjay.memory.index_arrays import IndexArrays
from scrubjay.memory.scan_arrays import NEXT
from scrubjay.memory.scan_kernels import find_key, scan_add, scan_remove, scan_search
from scrubjay.memory.tree_arrays import scratch_size
from scrubjay.memory.tree_kernels import add_row, contains, rebuild, remove_row, search

Kernel = Callable[..., Any]


# ---------------------------------------------------------------- tree or scan


def for_kind(tree_function: Kernel, scan_function: Kernel) -> Kernel:
    """Return a function that calls one of two compiled functions, by the kind of the index.

    It can be called from Python and from compiled functions. Numba chooses while it compiles, so
    users of the tree do not wait for the compilation of the scan.
    """

    def call(index: IndexArrays, *arguments: Any) -> Any:
        function = scan_function if index.nodes.dtype == np.uint32 else tree_function
        return function(index, *arguments)

    @overload(call, jit_options={"nogil": True})
    def compile_call(index: Any, *arguments: Any) -> Kernel:  # noqa: ARG001  Numba's types of them
        nodes = index.types[index.fields.index("nodes")]
        function = scan_function if nodes.dtype == types.uint32 else tree_function

        def compiled_call(index: Any, *arguments: Any) -> Any:
            return function(index, *arguments)

        return compiled_call

    return call


@compiled(nogil=True)
def scan_search_without_scratch(
    scan: IndexArrays,
    key: Singles,
    k: int,
    radius: float,
    rows: Ints,
    distances: Floats,
    _scratch: Floats,
) -> int:
    """Do `scan_search`, which needs no scratch space of the caller's."""
    return scan_search(scan, key, k, radius, rows, distances)  # type: ignore[no-any-return]


@compiled(nogil=True)
def tree_find(tree: IndexArrays, key: Singles) -> int:
    """Return the smallest row with exactly this key, or -1."""
    row, distance = np.empty(1, np.int64), np.empty(1, np.float64)
    scratch = np.empty(scratch_size(len(key)))
    found = search(tree, key, len(row), 0.0, row, distance, scratch)
    return int(row[0]) if found else -1


@compiled(nogil=True)
def tree_add(tree: IndexArrays, row: int) -> None:
    """Add a row, whose key is already in `keys`."""
    rebuild(tree, add_row(tree, row))


@compiled(nogil=True)
def tree_remove(tree: IndexArrays, row: int) -> None:
    """Remove a row, whose key must be the one it was added with."""
    rebuild(tree, remove_row(tree, row))


@compiled(nogil=True)
def scan_contains(scan: IndexArrays, row: int) -> bool:
    """Whether a row id, below the length of `keys`, is in the index."""
    return bool(scan.buckets[row, NEXT] >= 0)


index_search = for_kind(search, scan_search_without_scratch)
"""Find the k nearest rows; arguments and answers are those of the tree's `search`."""

index_find = for_kind(tree_find, find_key)
"""Return the smallest row with exactly this key, or -1."""

index_contains = for_kind(contains, scan_contains)
"""Whether a row id, below the length of `keys`, is in the index."""

index_add = for_kind(tree_add, scan_add)
"""Add a row, whose key is already in `keys`."""

index_remove = for_kind(tree_remove, scan_remove)
"""Remove a row, whose key must be the one it was added with."""


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
    scratch = np.empty(scratch_size(len(key)))
    count: int = index_search(index, rounded, k, radius, rows, distances, scratch)
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
    scratch = np.empty(scratch_size(len(key)))
    for i in range(len(queries)):
        if not round_key(queries[i], key):
            return i
        count = index_search(index, key, k, radius, rows[i], distances[i], scratch)
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
    """Search several indexes of one kind, and fill row t of the results from index t.

    If an index has exactly this key, that row is its only answer, with distance 0. `distances` are
    squared; entries beyond `counts` are not changed. It may be called from compiled code; a tuple
    of another length is compiled once more.
    """
    scratch = np.empty(scratch_size(len(key)))
    for t in range(len(tables)):
        rows[t, 0] = index_find(tables[t], key)
        if rows[t, 0] >= 0:
            distances[t, 0], counts[t] = 0.0, 1
        else:
            counts[t] = index_search(tables[t], key, k, radius, rows[t], distances[t], scratch)

"""The arrays of an index, in one layout for all kinds of indexes.

All indexes have arrays of the same types, and their first record says which kind they are. So the
compiled functions that write or search a memory are compiled once, and accept every index.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NO_ROW = 2**31
"""Larger than every row id."""

NODE_WIDTH = 8

# Columns of record 0 of `nodes` that all indexes have: the number of rows, and the kind.
SIZE, KIND = 2, 6

TREE, SCAN = 0, 1
"""The kinds of indexes."""


class IndexArrays(NamedTuple):
    """All arrays of an index. Compiled functions that search only read them.

    `tree_arrays.py` and `scan_arrays.py` define what `nodes`, `boxes` and `buckets` contain.
    """

    keys: npt.NDArray[np.float32]
    """(rows, D): the key of each row."""
    nodes: npt.NDArray[np.int32]
    """(records, 8): in record 0 the number of rows and the kind of index."""
    boxes: npt.NDArray[np.float32]
    """(records, numbers): what is compared with a key first, to exclude many rows at a time."""
    buckets: npt.NDArray[np.int32]
    """(records, numbers): row ids."""


def copied(arrays: IndexArrays) -> IndexArrays:
    """Return a copy of all arrays."""
    return IndexArrays(*(array.copy() for array in arrays))  # type: ignore[arg-type]


def fill_front(sources: Iterable[npt.NDArray[Any]], targets: Iterable[npt.NDArray[Any]]) -> None:
    """Copy each array into the first rows of a longer one."""
    for source, target in zip(sources, targets, strict=True):
        target[: len(source)] = source

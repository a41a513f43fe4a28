"""The arrays of an index, in one layout for all kinds of indexes.

All indexes have the same arrays, and the dtype of `nodes` says which kind they are: int32 for a
tree, uint32 for a scan. So the compiled functions that write or search a memory accept every index,
and are compiled only for the kind in use.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

NO_ROW = 2**31
"""Larger than every row id."""

NODE_WIDTH = 8

SIZE = 2
"""Column of record 0 of `nodes`: the number of rows."""


class IndexArrays(NamedTuple):
    """All arrays of an index. Compiled functions that search only read them.

    `tree_arrays.py` and `scan_arrays.py` define what `nodes`, `boxes` and `buckets` contain.
    """

    keys: npt.NDArray[np.float32]
    """(rows, D): the key of each row."""
    nodes: npt.NDArray[Any]
    """(records, numbers): in record 0 the number of rows."""
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

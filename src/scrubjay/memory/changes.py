"""What changed in a memory since a stamp: how copies of it in other processes are kept up to date.

A copy that has applied all changes up to a clock gives the same answers as the memory at that
clock, bit for bit. It has no order of recency, which is needed for writing only.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled
from scrubjay.memory.index_arrays import IndexArrays
from scrubjay.memory.table import CLOCK, N_ROWS, TableArrays
from scrubjay.memory.writing import put_key, update_extremes


class Changes(NamedTuple):
    """The rows of a memory that changed since a clock, as they are now.

    Attributes:
        clock: The clock now.
        n_rows: The number of rows now.
        distance_threshold: The threshold now, which a method may have measured.
        rows: The ids of the changed rows, in ascending order.
        keys: Their keys.
        values: Their values.
        stamps: The clock at their last change.
        written: The clock when they were last added or replaced.
        records: Their payload, as bytes.
    """

    clock: int
    n_rows: int
    distance_threshold: float
    rows: npt.NDArray[np.int64]
    keys: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]
    stamps: npt.NDArray[np.int64]
    written: npt.NDArray[np.int64]
    records: npt.NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))


def changed_rows(
    index: IndexArrays, table: TableArrays, since: int, distance_threshold: float
) -> Changes:
    """Return all rows with a stamp above `since`."""
    n = table.counters.item(N_ROWS)
    rows: npt.NDArray[np.int64] = np.flatnonzero(table.stamps[:n] > since)
    arrays: tuple[npt.NDArray[Any], ...] = (
        index.keys, table.values, table.stamps, table.written, table.records,
    )  # fmt: skip
    parts = [array[rows] for array in arrays]
    return Changes(table.counters.item(CLOCK), n, distance_threshold, rows, *parts)


def put_changes(index: IndexArrays, table: TableArrays, changes: Changes) -> None:
    """Give the changed rows their new content; there must be room for all rows."""
    put_rows(index, table, *changes[3:])
    table.counters[CLOCK] = changes.clock


@compiled(nogil=True)
def put_rows(
    index: IndexArrays,
    table: TableArrays,
    rows: npt.NDArray[np.int64],
    keys: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
    stamps: npt.NDArray[np.int64],
    written: npt.NDArray[np.int64],
    records: npt.NDArray[np.uint8],
) -> None:
    """Set rows; those that are new come in ascending order, without gaps."""
    for i in range(len(rows)):
        row = rows[i]
        is_new = row >= table.counters[N_ROWS]
        if is_new:
            table.counters[N_ROWS] = row + 1
        put_key(index, row, keys[i], is_new)
        old = table.values[row]
        table.values[row] = values[i]
        table.stamps[row], table.written[row] = stamps[i], written[i]
        for j in range(records.shape[1]):
            table.records[row, j] = records[i, j]
        update_extremes(table, row, old, is_new)

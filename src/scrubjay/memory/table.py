"""The table of a memory: values, stamps, recency and the payload of each row.

The payload of a row is one record of bytes with the layout of a NumPy structured type; a column is
a view into the records. This allows compiled code to move a whole row without knowing its columns.
"""

import math
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.memory.distances import round_key, round_keys
from scrubjay.memory.index_arrays import fill_front

ColumnSpec = int | tuple[int, ...] | tuple[int | tuple[int, ...], npt.DTypeLike]
"""A length, a shape, or (shape, dtype); the default dtype is float32."""

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)

RESERVED = ("key", "keys", "value", "values", "rewards", "gamma", "last_value", "row", "rows")

# Entries of `counters`.
N_ROWS, CLOCK, OLDEST, NEWEST = 0, 1, 2, 3

# Number of rows that share one pair of extremes.
BLOCK = 64

# Columns of `extremes`.
LOWEST, HIGHEST = 0, 1

# Columns of `links`.
OLDER, NEWER = 0, 1


class TableArrays(NamedTuple):
    """All arrays of a memory except those of its index."""

    values: npt.NDArray[np.float32]
    """(rows,): the stored return of each row."""
    stamps: npt.NDArray[np.int64]
    """(rows,): the clock when the row last changed."""
    written: npt.NDArray[np.int64]
    """(rows,): the clock when the row was last added or replaced; not changed by `set_values`."""
    links: npt.NDArray[np.int32]
    """(rows, 2): the next older and the next newer row of the recency list, or -1."""
    records: npt.NDArray[np.uint8]
    """(rows, bytes): the payload."""
    counters: npt.NDArray[np.int64]
    """Number of rows, clock, oldest row and newest row (-1 if none)."""
    extremes: npt.NDArray[np.float32]
    """(2 * blocks, 2): the lowest and highest value of each block of rows, and above them a binary
    tree whose node 1 has those of all rows, so that no scan is needed."""


def empty_table(record: np.dtype[Any], n_rows: int) -> TableArrays:
    """Return a table with room for `n_rows` rows."""
    blocks = 1 << (-(-n_rows // BLOCK) - 1).bit_length()
    return TableArrays(
        np.zeros(n_rows, np.float32),
        np.zeros(n_rows, np.int64),
        np.zeros(n_rows, np.int64),
        np.full((n_rows, 2), -1, np.int32),
        np.zeros((n_rows, record.itemsize), np.uint8),
        np.array([0, 0, -1, -1], np.int64),
        np.tile(np.array([np.inf, -np.inf], np.float32), (2 * blocks, 1)),
    )


def grown_table(table: TableArrays, record: np.dtype[Any], n_rows: int) -> TableArrays:
    """Return a longer table with the same rows; its extremes must be computed again."""
    grown = empty_table(record, n_rows)
    fill_front(table[:-1], grown[:-1])
    return grown


def copied_table(table: TableArrays) -> TableArrays:
    """Return a copy of all arrays."""
    return TableArrays(*(array.copy() for array in table))  # type: ignore[arg-type]


def record_type(columns: Mapping[str, ColumnSpec]) -> np.dtype[Any]:
    """Return the structured type of the payload of a row."""
    if not isinstance(columns, Mapping):
        raise TypeError(f'columns must be a mapping such as {{"action": 2}}, got {columns!r}')
    fields = [(check_name(name), *column_type(name, spec)) for name, spec in columns.items()]
    return np.dtype([(name, dtype, shape) for name, shape, dtype in fields], align=True)


def check_name(name: str) -> str:
    """Return the name of a column, after checking that it can be used as an argument."""
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(f"a column's name must be a Python identifier, got {name!r}")
    if name in RESERVED or name == "distance_threshold":
        raise ValueError(f"a column cannot be called {name!r}, the name of an argument; rename it")
    return name


def column_type(name: str, spec: ColumnSpec) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of a column."""
    shape: Any = spec
    dtype: Any = np.float32
    if isinstance(spec, tuple) and len(spec) == 2 and not isinstance(spec[1], int | np.integer):
        shape, dtype = spec
    try:
        shape = tuple(map(operator.index, shape if isinstance(shape, tuple) else (shape,)))
        dtype = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        shape = (0,)
    if min(shape, default=1) < 1 or dtype.kind not in "fiub" or dtype.itemsize > 8:
        raise ValueError(
            f"column {name!r} must be a length, a shape or (shape, dtype) with sizes of at least 1 "
            f"and a real dtype of at most 8 bytes, got {spec!r}"
        )
    return shape, dtype


def columns_of(
    record: np.dtype[Any], records: npt.NDArray[np.uint8]
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns as views into the records."""
    if record.itemsize == 0:
        return {}
    rows = records.view(record)[:, 0]
    return {name: rows[name] for name in record.names or ()}


def exponent_masks(record: np.dtype[Any]) -> npt.NDArray[np.int64]:
    """Return the position of the two highest bytes of each float in a record, and a bit mask.

    A float is NaN or infinite exactly if all bits of its exponent are set, which compiled code can
    test on the bytes of any combination of columns.
    """
    masks = {2: 0x7C00, 4: 0x7F80, 8: 0x7FF0}
    found = []
    for name in record.names or ():
        dtype, offset = record.fields[name][:2]  # type: ignore[index]
        if dtype.base.kind == "f":
            size = dtype.base.itemsize
            for i in range(math.prod(dtype.shape)):
                found.append((offset + (i + 1) * size - 2, masks[size]))
    return np.array(found, np.int64).reshape(-1, 2)


def fill_column(target: npt.NDArray[Any], name: str, given: npt.ArrayLike) -> None:
    """Copy numbers into a column, after checking shape and type.

    Floats that are not finite are found later, by the compiled check of the whole record.
    """
    array = np.asarray(given)
    if array.shape != target.shape:
        raise ValueError(f"column {name!r} expects shape {target.shape}, got {array.shape}")
    if array.dtype == target.dtype:
        target[...] = array
    elif array.dtype == FLOAT64 and target.dtype == FLOAT32 and target.ndim == 1:
        round_key(np.ascontiguousarray(array), target)  # half the time of np.errstate
    elif array.dtype == FLOAT64 and target.dtype == FLOAT32 and target.ndim == 2:
        round_keys(np.ascontiguousarray(array), target)
    else:
        convert_column(target, name, array)


def convert_column(target: npt.NDArray[Any], name: str, array: npt.NDArray[Any]) -> None:
    """Copy numbers into a column of another dtype, if it can represent them."""
    kind = target.dtype.kind
    if array.dtype.kind not in {"f": "fiub", "i": "iub", "u": "iub", "b": "b"}[kind]:
        raise TypeError(f"column {name!r} holds {target.dtype}, got dtype {array.dtype}")
    with np.errstate(over="ignore"):
        target[...] = array
    if kind in "iu" and not np.array_equal(target, array):
        raise ValueError(f"column {name!r} holds {target.dtype}, too small for {array}")


def set_rows(
    arrays: Mapping[str, npt.NDArray[Any]],
    rows: npt.NDArray[np.int64],
    columns: Mapping[str, npt.ArrayLike],
) -> None:
    """Change columns of rows, after checking all of them."""
    unknown = sorted(columns.keys() - arrays.keys())
    if unknown:
        raise ValueError(f"expected columns of {sorted(arrays)}, got {unknown}")
    found = {}
    for name, given in columns.items():
        target = arrays[name]
        found[name] = np.empty((len(rows), *target.shape[1:]), target.dtype)
        fill_column(found[name], name, given)
        if target.dtype.kind == "f" and not np.isfinite(found[name]).all():
            raise ValueError(f"column {name!r} must be finite; check it for NaN and infinity")
    for name, array in found.items():
        arrays[name][rows] = array

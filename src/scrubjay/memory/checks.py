"""Checks of the arguments and of the internal consistency of a memory."""

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.memory.index_arrays import NO_ROW


def one_key(array: npt.NDArray[Any], key_dim: int) -> npt.NDArray[np.float64]:
    """Return one key in float64, not yet rounded, after checking its shape and type."""
    if array.dtype.kind not in "fiub":
        raise not_numbers("a key", array)
    if array.shape != (key_dim,):
        raise ValueError(f"expected a key of {key_dim} numbers, got shape {array.shape}")
    return np.ascontiguousarray(array, np.float64)


def key_matrix(keys: npt.ArrayLike, key_dim: int | None) -> npt.NDArray[np.float64]:
    """Return many keys as a float64 matrix, not yet rounded, after checking shape and type."""
    array = np.asarray(keys)
    if array.ndim != 2 or array.shape[1] < 1 or key_dim not in (None, array.shape[1]):
        width = key_dim or "D"
        raise ValueError(
            f"expected keys of shape (n, {width}), or one of shape ({width},), got {array.shape}"
        )
    if array.dtype.kind not in "fiub":
        raise not_numbers("keys", array)
    return np.ascontiguousarray(array, np.float64)


def not_numbers(what: str, array: npt.NDArray[Any]) -> TypeError:
    """Return the error for an array that does not contain real numbers."""
    return TypeError(f"{what} must be real numbers, got dtype {array.dtype}")


def not_finite(key: npt.NDArray[np.float64], which: str = "a key") -> ValueError:
    """Return the error for a key with NaN or infinite numbers."""
    return ValueError(
        f"{which} must be finite in float32, got {key}; "
        "check the observation or its embedding for NaN, infinity or a wrong scale"
    )


def positive_int(name: str, value: int) -> int:
    """Return a whole number of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def row_count(n_rows: int) -> int:
    """Return a number of rows that row ids of 31 bits can address."""
    number = positive_int("the number of rows", n_rows)
    if number >= NO_ROW:
        raise ValueError(f"expected at most 2^31 - 1 rows, got {number}")
    return number


def not_negative(name: str, value: float) -> float:
    """Return a number of at least 0."""
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except TypeError:
        number = math.nan
    if not number >= 0.0:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return number


def fraction(name: str, value: float) -> float:
    """Return a number above 0 and at most 1."""
    number = not_negative(name, value)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{name} must be above 0 and at most 1, got {value!r}")
    return number


def check(holds: bool | np.bool_, message: str) -> None:
    """Raise AssertionError if an invariant does not hold."""
    if not holds:
        raise AssertionError(f"broken invariant: {message}")


def check_shapes(
    key_dim: int, columns: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Compare the arrays of a file with its configuration, before anything is allocated."""
    n = len(arrays["keys"])
    shapes: dict[str, tuple[int, ...]] = {"keys": (n, key_dim)}
    shapes |= dict.fromkeys(("values", "stamps", "recency_order"), (n,))
    shapes |= {f"columns/{name}": (n, *shape) for name, (shape, _) in columns.items()}
    check(arrays.keys() == shapes.keys(), f"expected {sorted(shapes)}, got {sorted(arrays)}")
    for name, shape in shapes.items():
        found = arrays[name].shape
        check(found == shape, f"expected {name} of shape {shape}, got {found}")


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return one of the known values of an argument."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value


def real_number(name: str, value: float) -> float:
    """Return a real number as float; the caller checks whether it is finite."""
    if type(value) is float:
        return value
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be a real number, got {value!r}")
    return float(array)


def vector(name: str, values: npt.ArrayLike, length: int) -> npt.NDArray[np.float64]:
    """Return a float64 vector of a given length."""
    array = np.asarray(values)
    if array.shape != (length,):
        raise ValueError(f"expected {length} {name}, got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise not_numbers(name, array)
    return np.ascontiguousarray(array, np.float64)


def float32_vector(name: str, values: npt.ArrayLike, n: int) -> npt.NDArray[np.float32]:
    """Return n finite numbers, rounded to float32."""
    if isinstance(values, np.ndarray) and values.dtype == np.float32 and values.shape == (n,):
        rounded = values
    else:
        with np.errstate(over="ignore"):
            rounded = vector(name, values, n).astype(np.float32)
    if not np.isfinite(rounded).all():
        raise ValueError(f"{name} must be finite in float32; check them for NaN and infinity")
    return rounded


def existing_rows(rows: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """Return row ids as a vector, after checking that they are below n."""
    array = np.atleast_1d(np.asarray(rows))
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"rows must be row ids, got {array.dtype} of shape {array.shape}")
    if array.min() < 0 or array.max() >= n:
        raise ValueError(f"rows must be between 0 and {n - 1}, got {array}")
    return array.astype(np.int64)


def check_same_layout(memory: Any, other: Any) -> None:
    """Refuse to merge memories whose rows differ in keys or columns."""
    if not isinstance(other, type(memory)):
        raise TypeError(f"expected an EpisodicMemory to merge, got {type(other).__name__}")
    if other.key_dim != memory.key_dim:
        raise ValueError(
            f"expected a memory with keys of {memory.key_dim} numbers, got {other.key_dim}"
        )
    ours, theirs = (
        {name: (column.shape[1:], column.dtype) for name, column in each.column_arrays.items()}
        for each in (memory, other)
    )
    if ours != theirs:
        raise ValueError(f"expected a memory with the columns {ours}, got {theirs}")


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view

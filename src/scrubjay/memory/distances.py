"""The compiled distances: exact ones, which answers consist of, and fast approximate ones."""

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import UNCOUNTED, compiled

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]

ANY_ORDER = {"reassoc", "contract", "nsz"}
"""Allows the compiler to sum in any order and several numbers at a time."""

ROUGH, DOUBT = 2.0**-23, 8
"""The relative error of an approximate squared distance of D terms is below (D + DOUBT) * ROUGH."""

SMALLEST, LARGEST = 1e-30, float(np.finfo(np.float32).max)
"""Between these bounds, underflow or overflow of float32 terms does not affect a sum."""

U = np.uint64
"""The compiler only vectorises loops over unsigned indices: it need not count from the end of an
array where one is negative."""


@compiled(nogil=True, forceinline=True)
def key_distance(keys: Singles, row: int, key: Singles) -> float:
    """Return the squared distance between two keys, a float64 sum in index order."""
    total, where = 0.0, U(row)
    for i in range(U(len(key))):
        gap = np.float64(keys[where, i]) - np.float64(key[i])
        total += gap * gap
    return total


@compiled(nogil=True, forceinline=True)
def box_distance(boxes: Singles, place: int, key: Singles) -> float:
    """Return the squared distance from a key to a box, at most that to any key in the box.

    In each coordinate the distance to the box is at most that to a key inside, and rounding is
    monotonic; the squares are summed in the same order as in `key_distance`.
    """
    key_dim = U(len(key))
    node, low = U(place >> 1), U(1 + 2 * len(key) * (place & 1))
    total = 0.0
    for i in range(key_dim):
        x = np.float64(key[i])
        below = np.float64(boxes[node, low + i]) - x
        above = x - np.float64(boxes[node, low + key_dim + i])
        gap = max(max(below, above), 0.0)
        total += gap * gap
    return total


@compiled(nogil=True, fastmath=ANY_ORDER, forceinline=True)
def rough_distance(keys: Singles, row: int, key: Singles) -> np.float32:
    """Approximate `key_distance` in float32 and the fastest order, six times as fast."""
    total, where = np.float32(0.0), U(row)
    for i in range(U(len(key))):
        gap = keys[where, i] - key[i]
        total += gap * gap
    return total


@compiled(nogil=True, fastmath=ANY_ORDER, forceinline=True)
def rough_box_distance(boxes: Singles, place: int, key: Singles) -> np.float32:
    """Approximate `box_distance` in float32 and the fastest order."""
    key_dim = U(len(key))
    node, low = U(place >> 1), U(1 + 2 * len(key) * (place & 1))
    total = np.float32(0.0)
    for i in range(key_dim):
        below = boxes[node, low + i] - key[i]
        above = key[i] - boxes[node, low + key_dim + i]
        gap = max(max(below, above), np.float32(0.0))
        total += gap * gap
    return total


@compiled(nogil=True, forceinline=True)
def box_bound(boxes: Singles, place: int, key: Singles, doubt: float) -> float:
    """Return a lower bound of the squared distance to any key in the box of a place.

    `doubt` is the relative error of an approximate distance; 0 means to use exact ones only.
    """
    if doubt > 0.0:
        rough: float = rough_box_distance(boxes, place, key) * (1.0 - doubt)
        if SMALLEST < rough <= LARGEST:
            return rough
    exact: float = box_distance(boxes, place, key)
    return exact


@compiled(**UNCOUNTED)
def round_key(key: Floats, rounded: Singles) -> bool:
    """Round a key to float32; return False if any number is then NaN or infinite."""
    finite = True
    for i in range(len(key)):
        rounded[i] = np.float32(key[i])
        finite = finite and np.isfinite(rounded[i])
    return finite


@compiled(**UNCOUNTED)
def round_keys(keys: Floats, rounded: Singles) -> None:
    """Round all numbers of a matrix to float32."""
    for row in range(len(keys)):
        for i in range(keys.shape[1]):
            rounded[row, i] = np.float32(keys[row, i])

"""Codes of the rows in a leaf: one byte for each number, by which a search rejects most rows.

In many dimensions a leaf contains, besides its row ids, what their keys are in coarse steps: a
number x has the code round(clamp(steps * (x - centre))), where clamp(y) is the number closest to y
between -LARGEST_CODE and LARGEST_CODE. One instruction measures the codes of many rows, and they
are a quarter as large as the keys.

Clamping brings no two numbers farther apart, and rounding moves a key of D numbers by sqrt(D) / 2
steps at most. So if a key q is e steps from its own codes, a row x satisfies

    steps * |q - x| >= |code(q) - code(x)| - e - sqrt(D) / 2

for any centre and steps, which may thus stay the same until the whole tree is built again.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory.distances import Floats, Rows, Singles, U
from scrubjay.memory.tree_arrays import LANES, LARGEST_CODE, TreeArrays, leaf_slots, n_codes

Shorts = npt.NDArray[np.int16]

REACH = 5.0
"""Codes reach this many times the mean distance from the mean, in the dimension of largest spread;
farther numbers are clamped."""

CAUTION = 1.0 + 1e-6
"""Much more than the rounding errors of the limit, which is at least (sqrt(D) / 2)^2."""

LARGEST_LIMIT = 2.0**31 - 1.0


@compiled(**UNCOUNTED)
def choose_codes(boxes: Singles, means: Floats, spreads: Floats) -> None:
    """Set centre and steps, from the mean of each dimension and the mean distance from it."""
    key_dim = len(means)
    centre = 1 + 2 * key_dim
    largest = 0.0
    for i in range(key_dim):
        boxes[0, centre + i] = means[i]
        largest = max(largest, spreads[i])
    steps = LARGEST_CODE / (REACH * largest) if largest > 0.0 else 1.0
    boxes[0, centre + key_dim] = min(max(steps, 1e-30), 1e30)


@compiled(**UNCOUNTED)
def encode_row(tree: TreeArrays, leaf: int, slot: int, row: int) -> None:
    """Write the codes of a row, which is in this slot of a leaf."""
    keys, boxes = tree.keys, tree.boxes
    key_dim = keys.shape[1]
    centre = 1 + 2 * key_dim
    steps = np.float64(boxes[0, centre + key_dim])
    codes = tree.buckets[leaf].view(np.int8)
    first = 4 * leaf_slots(key_dim) + slot // LANES * LANES * n_codes(key_dim) + slot % LANES
    for i in range(key_dim):
        exact = (np.float64(keys[row, i]) - np.float64(boxes[0, centre + i])) * steps
        codes[first + i * LANES] = np.int8(np.rint(min(max(exact, -LARGEST_CODE), LARGEST_CODE)))


@compiled(**UNCOUNTED)
def encode_key(boxes: Singles, key: Singles, local: Shorts) -> float:
    """Write the codes of a key that is searched; return e + sqrt(D) / 2 (see the top)."""
    key_dim = len(key)
    centre = 1 + 2 * key_dim
    steps = np.float64(boxes[0, centre + key_dim])
    total = 0.0
    for i in range(key_dim):
        exact = (np.float64(key[i]) - np.float64(boxes[0, centre + i])) * steps
        near = min(max(exact, -LARGEST_CODE), LARGEST_CODE)
        code = np.rint(near)
        local[i] = np.int16(code)
        total += (near - code) * (near - code)
    for i in range(key_dim, len(local)):  # up to a multiple of four
        local[i] = 0
    error: float = np.sqrt(total) + 0.5 * np.sqrt(key_dim)
    return error


@compiled(nogil=True, forceinline=True)
def code_limit(boxes: Singles, key_dim: int, error: float, worst: float) -> np.int32:
    """Return the squared distance of codes above which a row is certainly farther than `worst`."""
    farthest = np.sqrt(worst) * np.float64(boxes[0, 1 + 3 * key_dim]) + error
    return np.int32(min(farthest * farthest * CAUTION, LARGEST_LIMIT))


@compiled(nogil=True, forceinline=True)
def measure_codes(
    buckets: npt.NDArray[np.int8], leaf: int, slot: int, local: Shorts, sums: Rows, limit: np.int32
) -> bool:
    """Fill `sums` with the squared distances between the codes of LANES rows and those of a key.

    The rows are those of a leaf from a slot on, a multiple of LANES; slots that are not in use have
    any codes. `buckets` are those of the tree as bytes. Returns whether any is within the limit.
    """
    # the row ids take four bytes each
    first = U(4 * leaf_slots(len(local)) + slot * len(local))
    for lane in range(U(LANES)):
        sums[lane] = 0
    near = False
    for chunk in range(U(len(local) // 4)):
        near = False  # the last one counts; in a loop of its own, each sum would be tested alone
        for lane in range(U(LANES)):
            part = np.uint16(0)  # holds the sum of four squares
            for i in range(U(4)):
                number = U(4) * chunk + i
                code = np.int16(buckets[leaf, first + number * U(LANES) + lane])
                gap = np.int16(code - local[number])
                part = np.uint16(part + np.uint16(gap * gap))
            sums[lane] = np.int32(sums[lane] + np.int32(part))
            near = near | (sums[lane] <= limit)
    return near

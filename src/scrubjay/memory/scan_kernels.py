"""The compiled functions of the flat scan: search, codes, hash, add and remove."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory.distances import (
    ANY_ORDER,
    DOUBT,
    LARGEST,
    ROUGH,
    SMALLEST,
    Floats,
    Ints,
    Rows,
    Singles,
    rough_distance,
)
from scrubjay.memory.index_arrays import NO_ROW, SIZE, IndexArrays
from scrubjay.memory.scan_arrays import (
    CENTRE,
    CHAIN,
    CHUNK,
    END,
    ERROR,
    LANES,
    LAST_SHARED,
    NEXT,
    NORM_CODES,
    PREVIOUS,
    SCALE,
    SHARED,
    SLOT,
)

Codes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
Shorts = npt.NDArray[np.int16]
U = np.uint64

FAST = {*ANY_ORDER, "nnan"}
"""Numbers here may be infinite, but never NaN."""

STRIDE = 16
"""A search visits each 16th block first, to find near rows early, then the others in order."""

LARGEST_CODE, ZERO = 127, 128
"""Codes are between -127 and 127, and stored with 128 added. LLVM then multiplies and adds them in
one instruction, which it does not with signed bytes."""

FINEST_STEPS = 64
"""A key that is searched has codes in units of up to 1/64 of the scale."""

ROOM = 2.0
"""How much farther than its rows the codes of a block reach, as a factor."""

COARSE = 2.0
"""A block does not share the codes of the one before it if its own scale would be less than that of
the other one divided by this."""

FINEST, FINEST_OF_ALL = 1e-6, 1e-12
"""The smallest scale of a block, relative to its centre and absolute."""

CAUTION = 1.0 + 1e-6
"""More than all rounding errors of a limit, as a factor."""

LARGEST_SUM = 2.0**31 - 1
"""No sum is larger; a limit may be."""

MAX_CANDIDATES = 1024
"""Number of candidates that a search collects at most before it measures them."""

# ---------------------------------------------------------------- search


class CodedKey(NamedTuple):
    """What is known of the codes of a key that is searched, in units of the scale."""

    steps: float
    """Its codes are in units of the scale divided by this."""
    offset: float
    """What `measure_codes` leaves out of squared distances."""
    error: float
    """At most so far is the key from its codes, without what was cut off."""
    farthest: float
    """At most so far is the key from its codes."""


@compiled(nogil=True)
def scan_search(
    scan: IndexArrays, key: Singles, k: int, radius: float, rows: Ints, distances: Floats
) -> int:
    """Find the k nearest rows; arguments and answers are those of `find_neighbors`.

    The codes give a lower and an upper bound of each distance. Rows whose lower bound is above the
    k-th smallest upper bound are excluded; the others are candidates. Those of the sample are
    measured together, so that few are measured that turn out to be too far.
    """
    worst = radius * radius
    if k == 1:
        rows[0] = find_key(scan, key)
        distances[0] = 0.0
        if rows[0] >= 0 or worst == 0.0:
            return 1 if rows[0] >= 0 else 0
    codes = scan.nodes.view(np.uint8)
    n_blocks = -(-np.int64(scan.nodes[0, END]) // LANES)
    n_codes = codes.shape[1] // LANES - NORM_CODES
    local, sums = np.zeros(n_codes, np.int16), np.empty(LANES, np.int32)
    near, highest = np.empty(LANES, np.int64), np.full(k, np.inf)
    candidates, lowest = np.empty(MAX_CANDIDATES, np.int64), np.empty(MAX_CANDIDATES)
    count, waiting, sample = 0, 0, -(-n_blocks // STRIDE)
    marks, steps = scan.boxes.view(np.int32)[:, SHARED], np.int32(code_range(len(key))[1])
    shared, view = np.int32(-1), CodedKey(1.0, 0.0, 0.0, 0.0)
    for turn in range(sample + n_blocks):
        block = STRIDE * turn if turn < sample else turn - sample
        if turn >= sample and block % STRIDE == 0:
            continue
        box = scan.boxes[block]
        if marks[block] != shared:
            shared, view = marks[block], encode_key(box, key, local)
        limit = code_limit(box, view, worst)
        if measure_codes(codes[1 + block], scan.nodes[1 + block], local, steps, sums) <= limit:
            waiting = collect(
                scan, block, view, limit, sums, near, waiting, candidates, lowest, highest
            )
            worst = min(worst, highest[k - 1] * highest[k - 1])
        if waiting > MAX_CANDIDATES - LANES:
            count = measure(
                scan, key, k, worst, candidates[:waiting], lowest, count, rows, distances
            )
            waiting = 0
            if count == k:
                worst = min(worst, distances[k - 1])
    return int(measure(scan, key, k, worst, candidates[:waiting], lowest, count, rows, distances))


@compiled(nogil=True, fastmath=FAST)
def encode_key(box: Singles, key: Singles, local: Shorts) -> CodedKey:
    """Write the codes of a key that is searched, for one block; return what is known of them.

    Codes of a key that is far away are cut off, at twice the largest code of a row. The error
    leaves out what was cut off: no row then seems farther than it is. `farthest` includes it: no
    row seems nearer than it is. Both include rounding errors.
    """
    inverse = 1.0 / np.float64(box[SCALE])  # otherwise LLVM divides in the loop
    largest, steps = code_range(len(key))
    most, step = 2.0 * largest, 1.0 / steps  # exact, a power of two
    inside, outside, total, norm = 0.0, 0.0, 0.0, 0.0
    for i in range(len(key)):
        exact = (np.float64(key[i]) - np.float64(box[CENTRE + i])) * inverse
        near = min(max(exact, -most), most)
        code = np.rint(near * steps)
        local[i] = np.int16(code)
        total += code
        norm += code * code
        inside += (near - code * step) * (near - code * step)
        outside += (exact - code * step) * (exact - code * step)
    return CodedKey(
        float(steps),
        (norm * step + 2 * ZERO * total) * step,
        CAUTION * np.sqrt(inside) + (CAUTION - 1.0),
        CAUTION * np.sqrt(outside) + (CAUTION - 1.0),
    )


@compiled(nogil=True, forceinline=True)
def code_range(key_dim: int) -> tuple[int, int]:
    """Return the largest code of a row and the steps of a key, for sums that fit into 32 bits.

    With L the largest code, no term of the sums in `measure_codes` is more than
    steps * L^2 + 2 * (L + ZERO) * (2 * L * steps). Up to 230 dimensions this allows FINEST_STEPS,
    up to 14,742 LARGEST_CODE.
    """
    most = LARGEST_SUM / key_dim
    largest = int(min(float(LARGEST_CODE), (np.sqrt(4.0 * ZERO**2 + 5.0 * most) - 2.0 * ZERO) / 5))
    steps = FINEST_STEPS
    while steps > 1 and steps * largest * (5 * largest + 4 * ZERO) > most:
        steps //= 2
    return largest, steps


@compiled(nogil=True, forceinline=True)
def code_limit(box: Singles, view: CodedKey, worst: float) -> float:
    """Return the limit of `measure_codes` above which a row is certainly farther than `worst`.

    Let x be a row, y what its codes stand for, q the key and z what its codes stand for. Then
    |q - x| >= |z - y| - |q - z| - |x - y|, and the codes measure |z - y| in units of the scale.
    """
    far = (np.sqrt(worst) + np.float64(box[ERROR])) / np.float64(box[SCALE]) + view.error
    limit: float = (far * far * CAUTION - view.offset) * view.steps
    return limit


@compiled(nogil=True, forceinline=True)
def measure_codes(codes: Codes, words: Words, local: Shorts, steps: int, sums: Rows) -> int:
    """Compare the codes of a key with those of a block; return the smallest of `sums`.

    Let y be the codes of row i, z those of the key, in units of 1 / steps. Then entry i of `sums`
    becomes steps * |y|^2 - 2 y' z, with y' = y + ZERO as it is stored. Divided by `steps` and with
    `CodedKey.offset` added, this is the squared distance between y and z / steps.

    Indexes have no sign, because LLVM otherwise compares them with 0 in the loop.
    """
    for lane in range(U(LANES)):
        sums[lane] = 0
    for chunk in range(U(len(local) // CHUNK)):
        first = chunk * U(CHUNK)
        for lane in range(U(LANES)):
            part = np.int32(0)
            for i in range(first, first + U(CHUNK)):
                part += np.int32(codes[i * U(LANES) + lane]) * np.int32(local[i])
            sums[lane] += part
    norms, least = words[len(words) - LANES :], np.int32(LARGEST_SUM)
    for lane in range(len(sums)):  # of unknown length, otherwise LLVM takes them one by one
        sums[lane] = np.int32(norms[lane]) * steps - np.int32(2) * sums[lane]
        least = min(least, sums[lane])
    return int(least)


@compiled(nogil=True)
def collect(
    scan: IndexArrays,
    block: int,
    view: CodedKey,
    limit: float,
    sums: Rows,
    near: Ints,
    waiting: int,
    candidates: Ints,
    lowest: Floats,
    highest: Floats,
) -> int:
    """Append the rows of a block that its codes do not exclude to the candidates.

    `lowest` receives their lower bounds; `highest` keeps the k smallest upper bounds. Returns the
    number of candidates.
    """
    box, k = scan.boxes[block], len(highest)
    scale, own = np.float64(box[SCALE]), np.float64(box[ERROR])
    found, step = np.int64(0), 1.0 / view.steps
    most = np.int64(min(limit, LARGEST_SUM))
    for lane in range(LANES):  # without a branch, which the processor could not predict
        near[found] = lane
        found += np.int64(sums[lane] <= most)
    for lane in near[:found]:
        row = block * LANES + lane
        if row >= len(scan.keys) or scan.buckets[row, NEXT] < 0:
            continue
        root = np.sqrt(max(np.float64(sums[lane]) * step + view.offset, 0.0))
        candidates[waiting] = row
        lowest[waiting] = max(scale * (root - view.error) - own, 0.0)
        waiting += 1
        high = CAUTION * (scale * (root + view.farthest) + own)
        if high < highest[k - 1]:
            place = k - 1
            while place > 0 and highest[place - 1] > high:
                highest[place] = highest[place - 1]
                place -= 1
            highest[place] = high
    return waiting


@compiled(nogil=True)
def measure(
    scan: IndexArrays,
    key: Singles,
    k: int,
    worst: float,
    candidates: Ints,
    lowest: Floats,
    count: int,
    rows: Ints,
    distances: Floats,
) -> int:
    """Measure candidates exactly, and keep the k nearest; return the number found so far."""
    keys, left = scan.keys, 0
    worst_row = rows[k - 1] if count == k else NO_ROW
    surely_worse = rough_limit(len(key), worst)
    for i in range(len(candidates)):
        row = candidates[i]
        near = lowest[i] * lowest[i] <= worst * CAUTION
        if near and rough_distance(keys, row, key) <= surely_worse:
            candidates[left] = row
            left += 1
    measure_keys(keys, candidates[:left], key, lowest)
    for i in range(left):
        row, distance = candidates[i], lowest[i]
        if distance > worst or (distance == worst and row > worst_row):
            continue
        place = min(count, k - 1)
        while place > 0 and (
            distances[place - 1] > distance
            or (distances[place - 1] == distance and rows[place - 1] > row)
        ):
            distances[place], rows[place] = distances[place - 1], rows[place - 1]
            place -= 1
        distances[place], rows[place] = distance, row
        count = min(count + 1, k)
        if count == k and distances[k - 1] <= worst:
            worst, worst_row = distances[k - 1], rows[k - 1]
    return count


@compiled(nogil=True)
def measure_keys(keys: Singles, rows: Ints, key: Singles, distances: Floats) -> None:
    """Do `key_distance` for many rows, four at a time: each waits for its own sum only."""
    last = len(rows) - 1
    for first in range(0, len(rows), 4):
        a, b = keys[rows[first]], keys[rows[min(first + 1, last)]]
        c, d = keys[rows[min(first + 2, last)]], keys[rows[min(first + 3, last)]]
        totals = 0.0, 0.0, 0.0, 0.0
        for i in range(len(key)):
            x = np.float64(key[i])
            p, q = np.float64(a[i]) - x, np.float64(b[i]) - x
            r, s = np.float64(c[i]) - x, np.float64(d[i]) - x
            totals = totals[0] + p * p, totals[1] + q * q, totals[2] + r * r, totals[3] + s * s
        for place in range(min(4, len(rows) - first)):
            distances[first + place] = totals[place]


@compiled(nogil=True, forceinline=True)
def rough_limit(key_dim: int, worst: float) -> float:
    """Return the limit above which an approximate distance is certainly above `worst`."""
    limit = max(worst * (1.0 + (key_dim + DOUBT) * ROUGH), SMALLEST)
    return limit if limit < 0.25 * LARGEST else np.inf


# ---------------------------------------------------------------- codes


@compiled(nogil=True)
def encode_row(scan: IndexArrays, row: int) -> bool:
    """Write the codes of a row; return False if the codes of its block do not reach so far."""
    box, key, block, lane = scan.boxes[row // LANES], scan.keys[row], row // LANES, row % LANES
    codes, words = scan.nodes.view(np.uint8)[1 + block], scan.nodes[1 + block]
    scale, total, norm = np.float64(box[SCALE]), 0.0, 0.0
    most = code_range(len(key))[0]
    if scale == 0.0:
        return False
    for i in range(len(key)):
        offset = np.float64(key[i]) - np.float64(box[CENTRE + i])
        code = np.rint(offset / scale)
        if abs(code) > most:
            return False
        codes[i * LANES + lane] = np.uint8(code + ZERO)
        norm += code * code
        gap = offset - code * scale
        total += gap * gap
    words[len(words) - LANES + lane] = np.uint32(norm)
    # the second term covers tiny errors, which float32 rounds badly
    error = CAUTION * np.sqrt(total) + (CAUTION - 1.0) * scale
    box[ERROR] = max(box[ERROR], np.float32(error))
    return True


@compiled(nogil=True)
def encode_block(scan: IndexArrays, block: int) -> None:
    """Choose centre and scale of a block for its present rows, and write all their codes.

    They are those of the block before it, if these suit it: a search then codes its key once for
    both.
    """
    keys, buckets, box = scan.keys, scan.buckets, scan.boxes[block]
    lowest, highest = np.full(keys.shape[1], np.inf), np.full(keys.shape[1], -np.inf)
    rows = range(block * LANES, min(block * LANES + LANES, len(keys)))
    for row in rows:
        if buckets[row, NEXT] >= 0:
            for i in range(len(lowest)):
                lowest[i] = min(lowest[i], keys[row, i])
                highest[i] = max(highest[i], keys[row, i])
    if block == 0 or not suits(scan.boxes[block - 1], lowest, highest):
        center_box(box, lowest, highest)
        scan.nodes[0, LAST_SHARED] += 1
        scan.boxes.view(np.int32)[block, SHARED] = scan.nodes[0, LAST_SHARED]
    else:
        box[:] = scan.boxes[block - 1]
    box[ERROR] = 0.0
    for row in rows:
        if buckets[row, NEXT] >= 0:
            encode_row(scan, row)


@compiled(nogil=True)
def suits(box: Singles, lowest: Floats, highest: Floats) -> bool:
    """Whether centre and scale of another block, if it has any, suit rows with these bounds."""
    reach, largest = np.float64(box[SCALE]) * code_range(len(lowest))[0], 0.0
    for i in range(len(lowest)):
        centre = np.float64(box[CENTRE + i])
        if max(highest[i] - centre, centre - lowest[i]) > reach:
            return False
        largest = max(largest, highest[i] - lowest[i])
    return bool(0.0 < reach <= COARSE * ROOM * 0.5 * largest)


@compiled(nogil=True)
def center_box(box: Singles, lowest: Floats, highest: Floats) -> None:
    """Set centre and scale of a block for rows with these bounds."""
    scale = FINEST_OF_ALL
    for i in range(len(lowest)):
        box[CENTRE + i] = 0.5 * (lowest[i] + highest[i])
        centre = np.float64(box[CENTRE + i])
        farthest = max(highest[i] - centre, centre - lowest[i])
        scale = max(scale, farthest * ROOM / code_range(len(lowest))[0], FINEST * abs(centre))
    box[SCALE] = scale


# ---------------------------------------------------------------- hash


@compiled(nogil=True)
def slot_of(key: Singles, n_slots: int) -> int:
    """Return the slot of a key in the hash table; -0.0 and 0.0 are the same number."""
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for word in key.view(np.uint32):
        number = np.uint64(word) if word != 0x80000000 else np.uint64(0)
        mixed = (mixed ^ number) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    return int(mixed % np.uint64(n_slots))


@compiled(**UNCOUNTED)
def same_key(keys: Singles, row: int, key: Singles) -> bool:
    """Whether a row has exactly this key."""
    for i in range(len(key)):  # noqa: SIM110  Numba compiles no `all`
        if keys[row, i] != key[i]:
            return False
    return True


@compiled(nogil=True)
def find_key(scan: IndexArrays, key: Singles) -> int:
    """Return the smallest row with exactly this key, or -1."""
    row = scan.buckets[slot_of(key, len(scan.buckets)), SLOT]
    while row >= 0 and not same_key(scan.keys, row, key):
        row = scan.buckets[row, CHAIN]
    return int(row)


@compiled(nogil=True)
def replace_in_chain(buckets: Rows, slot: int, row: int, other: int) -> None:
    """Let the link of a chain that leads to `row` lead to `other`."""
    if buckets[slot, SLOT] == row:
        buckets[slot, SLOT] = other
        return
    before = buckets[slot, SLOT]
    while buckets[before, CHAIN] != row:
        before = buckets[before, CHAIN]
    buckets[before, CHAIN] = other


@compiled(nogil=True)
def add_to_hash(scan: IndexArrays, row: int) -> None:
    """Add a row, whose key is already in `keys`, to the hash table."""
    buckets, key = scan.buckets, scan.keys[row]
    slot, first = slot_of(key, len(buckets)), find_key(scan, key)
    if first < 0:
        buckets[row, NEXT] = buckets[row, PREVIOUS] = row
        buckets[row, CHAIN] = buckets[slot, SLOT]
        buckets[slot, SLOT] = row
        return
    after = buckets[first, NEXT]
    buckets[row, PREVIOUS], buckets[row, NEXT] = first, after
    buckets[first, NEXT] = buckets[after, PREVIOUS] = row
    if row < first:
        buckets[row, CHAIN] = buckets[first, CHAIN]
        replace_in_chain(buckets, slot, first, row)


@compiled(nogil=True)
def remove_from_hash(scan: IndexArrays, row: int) -> None:
    """Remove a row, whose key is the one it was added with.

    If it is the smallest of many rows of one key, the next smallest is searched among them.
    """
    buckets, key = scan.buckets, scan.keys[row]
    before, after = buckets[row, PREVIOUS], buckets[row, NEXT]
    buckets[before, NEXT], buckets[after, PREVIOUS] = after, before
    if find_key(scan, key) == row:
        other = buckets[row, CHAIN]
        if after != row:
            smallest = here = after
            while buckets[here, NEXT] != after:
                here = buckets[here, NEXT]
                smallest = min(smallest, here)
            buckets[smallest, CHAIN] = other
            other = smallest
        replace_in_chain(buckets, slot_of(key, len(buckets)), row, other)
    buckets[row, NEXT] = -1


# ---------------------------------------------------------------- add and remove


@compiled(nogil=True)
def scan_add(scan: IndexArrays, row: int) -> None:
    """Add a row, whose key is already in `keys`.

    A new block begins with the centre and the scale of the one before it, which suit it mostly. If
    they turn out to be too coarse when it is full, it gets its own.
    """
    add_to_hash(scan, row)
    block = row // LANES
    if block > 0 and scan.boxes[block, SCALE] == 0.0:
        scan.boxes[block] = scan.boxes[block - 1]
        scan.boxes[block, ERROR] = 0.0
    if row % LANES == LANES - 1 or not encode_row(scan, row):
        encode_block(scan, block)
    scan.nodes[0, SIZE] += 1
    scan.nodes[0, END] = max(scan.nodes[0, END], row + 1)


@compiled(nogil=True)
def scan_remove(scan: IndexArrays, row: int) -> None:
    """Remove a row, whose key must be the one it was added with; its codes are ignored."""
    remove_from_hash(scan, row)
    scan.nodes[0, SIZE] -= 1


@compiled(nogil=True)
def fill_hash(scan: IndexArrays, rows: Ints) -> None:
    """Fill the hash table, which is still empty, with these rows."""
    for row in rows:
        add_to_hash(scan, row)


@compiled(nogil=True)
def encode_blocks(scan: IndexArrays) -> None:
    """Write the codes of all blocks in use."""
    for block in range(-(-np.int64(scan.nodes[0, END]) // LANES)):
        encode_block(scan, block)

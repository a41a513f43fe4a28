"""The compiled functions of the flat scan: search, codes, hash, add and remove."""

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled
from scrubjay.memory.index_arrays import NO_ROW, SIZE, IndexArrays
from scrubjay.memory.scan_arrays import (
    CENTRE,
    CHAIN,
    CHUNK,
    END,
    ERROR,
    LANES,
    NEXT,
    PREVIOUS,
    SCALE,
    SLOT,
)
from scrubjay.memory.tree_kernels import (
    ANY_ORDER,
    DOUBT,
    LARGEST,
    ROUGH,
    SMALLEST,
    Floats,
    Ints,
    Rows,
    Singles,
    key_distance,
    rough_distance,
)

Codes = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Parts = npt.NDArray[np.uint16]

FAST = {*ANY_ORDER, "nnan"}
"""Numbers here may be infinite, but never NaN."""

STRIDE = 16
"""A search visits each 16th block first, to find near rows early, then the others in order."""

PATIENCE = 4
"""Number of chunks after which a block is given up if all its rows are too far."""

LARGEST_CODE, FARTHEST_CODE = 31, 59
"""The largest code of a row, and of a key that is searched. The sum of CHUNK squares of their
differences is at most 8 * 90^2, which fits into 16 bits."""

ROOM = 1.25
"""How much farther than its rows the codes of a block reach, as a factor."""

FINEST, FINEST_OF_ALL = 1e-6, 1e-12
"""The smallest scale of a block, relative to its centre and absolute."""

CAUTION = 1.0 + 1e-6
"""More than all rounding errors of a limit, as a factor."""

LARGEST_SUM = 2.0**31 - 1
"""No sum is larger; a limit may be."""

HALF_ULP = 2.0**-24
"""The largest rounding error of a float32, relative to it."""

MOST_CANDIDATES = 1024
"""Number of candidates that a search collects at most before it measures them."""

# ---------------------------------------------------------------- search


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
    codes = scan.nodes.view(np.int8)
    n_blocks = -(-np.int64(scan.nodes[0, END]) // LANES)
    local, sums = np.zeros(codes.shape[1] // LANES, np.int16), np.empty(LANES, np.int32)
    parts, highest = np.empty(LANES, np.uint16), np.full(k, np.inf)
    candidates, lowest = np.empty(MOST_CANDIDATES, np.int64), np.empty(MOST_CANDIDATES)
    count, waiting, sample = 0, 0, -(-n_blocks // STRIDE)
    for turn in range(sample + n_blocks):
        block = STRIDE * turn if turn < sample else turn - sample
        if turn >= sample and block % STRIDE == 0:
            continue
        error, farthest = encode_key(scan.boxes[block], key, local)
        limit = code_limit(scan.boxes[block], error, worst)
        if is_near(codes[1 + block], local, limit, parts, sums):
            waiting = collect(
                scan, block, error, farthest, limit, sums, waiting, candidates, lowest, highest
            )
            worst = min(worst, highest[k - 1] * highest[k - 1])
        if waiting > 0 and (turn + 1 >= sample or waiting > MOST_CANDIDATES - LANES):
            count = measure(
                scan, key, k, worst, candidates[:waiting], lowest, count, rows, distances
            )
            waiting = 0
            if count == k:
                worst = min(worst, distances[k - 1])
    return count


@compiled(nogil=True, fastmath=FAST)
def encode_key(box: Singles, key: Singles, local: Shorts) -> tuple[float, float]:
    """Write the codes of a key that is searched, for one block; return two bounds of their error.

    Codes of a key that is far away are cut off. The first bound leaves out what was cut off: no row
    then seems farther than it is. The second one includes it: no row seems nearer than it is. Both
    include the rounding errors of float32.
    """
    inverse = np.float32(1.0 / np.float64(box[SCALE]))  # otherwise LLVM divides in the loop
    most = np.float32(FARTHEST_CODE)
    inside, outside = np.float32(0.0), np.float32(0.0)
    for i in range(len(key)):
        exact = np.float32((key[i] - box[CENTRE + i]) * inverse)
        near = min(max(exact, -most), most)
        code = np.float32(np.rint(near))
        local[i] = np.int16(code)
        inside += np.float32((near - code) * (near - code))
        outside += np.float32((exact - code) * (exact - code))
    if outside == np.inf:  # a difference may exceed float32, its code is then unknown
        return np.inf, np.inf
    factor, extra = 1.0 + (len(key) + 8) * HALF_ULP, 2 * FARTHEST_CODE * HALF_ULP * len(key)
    return (
        factor * np.sqrt(np.float64(inside)) + extra,
        factor * np.sqrt(np.float64(outside)) + extra,
    )


@compiled(nogil=True, forceinline=True)
def code_limit(box: Singles, error: float, worst: float) -> float:
    """Return the squared distance of codes above which a row is certainly farther than `worst`.

    Let x be a row, y what its codes stand for, q the key and z what its codes stand for. Then
    |q - x| >= |z - y| - |q - z| - |x - y|, and the codes measure |z - y| in units of the scale.
    """
    farthest: float = (np.sqrt(worst) + np.float64(box[ERROR])) / np.float64(box[SCALE]) + error
    return farthest * farthest * CAUTION


@compiled(nogil=True)
def is_near(codes: Codes, local: Shorts, limit: float, parts: Parts, sums: Rows) -> bool:
    """Fill `sums` with the squared distances between the codes of a key and those of a block.

    Returns False, and does not finish the sums, as soon as all of them are above the limit. Each
    loop has numbers of one size, and the last one an unknown length, so that LLVM uses one
    instruction for many rows.
    """
    for lane in range(LANES):
        sums[lane] = 0
    n_chunks = len(local) // CHUNK
    for chunk in range(n_chunks):
        for lane in range(LANES):
            part = np.uint16(0)
            for i in range(CHUNK):
                code = np.int16(codes[(chunk * CHUNK + i) * LANES + lane])
                gap = np.int16(code - local[chunk * CHUNK + i])
                part = np.uint16(part + np.uint16(gap * gap))
            parts[lane] = part
        for lane in range(LANES):
            sums[lane] += np.int32(parts[lane])
        if (chunk + 1) % PATIENCE == 0 or chunk + 1 == n_chunks:
            lowest = sums[0]
            for lane in range(len(sums)):
                lowest = min(lowest, sums[lane])
            if lowest > limit:
                return False
    return True


@compiled(nogil=True)
def collect(
    scan: IndexArrays,
    block: int,
    error: float,
    farthest: float,
    limit: float,
    sums: Rows,
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
    near, found = np.empty(LANES, np.int64), np.int64(0)
    most = np.int64(min(limit, LARGEST_SUM))
    for lane in range(LANES):  # without a branch, which the processor could not predict
        near[found] = lane
        found += np.int64(sums[lane] <= most)
    for lane in near[:found]:
        row = block * LANES + lane
        if row >= len(scan.keys) or scan.buckets[row, NEXT] < 0:
            continue
        root = np.sqrt(np.float64(sums[lane]))
        candidates[waiting] = row
        lowest[waiting] = max(scale * (root - error) - own, 0.0)
        waiting += 1
        high = CAUTION * (scale * (root + farthest) + own)
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
    keys = scan.keys
    worst_row = rows[k - 1] if count == k else NO_ROW
    surely_worse = rough_limit(len(key), worst)
    for i in range(len(candidates)):
        row = candidates[i]
        if lowest[i] * lowest[i] > worst * CAUTION or rough_distance(keys, row, key) > surely_worse:
            continue
        distance = key_distance(keys, row, key)
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
            surely_worse = rough_limit(len(key), worst)
    return count


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
    codes = scan.nodes.view(np.int8)[1 + block]
    scale, total = np.float64(box[SCALE]), 0.0
    if scale == 0.0:
        return False
    for i in range(len(key)):
        offset = np.float64(key[i]) - np.float64(box[CENTRE + i])
        code = np.rint(offset / scale)
        if abs(code) > LARGEST_CODE:
            return False
        codes[i * LANES + lane] = np.int8(code)
        gap = offset - code * scale
        total += gap * gap
    # the second term covers tiny errors, which float32 rounds badly
    error = CAUTION * np.sqrt(total) + (CAUTION - 1.0) * scale
    box[ERROR] = max(box[ERROR], np.float32(error))
    return True


@compiled(nogil=True)
def encode_block(scan: IndexArrays, block: int) -> None:
    """Choose centre and scale of a block for its present rows, and write all their codes."""
    keys, buckets, box = scan.keys, scan.buckets, scan.boxes[block]
    lowest, highest = np.full(keys.shape[1], np.inf), np.full(keys.shape[1], -np.inf)
    rows = range(block * LANES, min(block * LANES + LANES, len(keys)))
    for row in rows:
        if buckets[row, NEXT] >= 0:
            for i in range(len(lowest)):
                lowest[i] = min(lowest[i], keys[row, i])
                highest[i] = max(highest[i], keys[row, i])
    scale = FINEST_OF_ALL
    for i in range(len(lowest)):
        box[CENTRE + i] = 0.5 * (lowest[i] + highest[i])
        centre = np.float64(box[CENTRE + i])
        farthest = max(highest[i] - centre, centre - lowest[i])
        scale = max(scale, farthest * ROOM / LARGEST_CODE, FINEST * abs(centre))
    box[SCALE] = scale
    box[ERROR] = 0.0
    for row in rows:
        if buckets[row, NEXT] >= 0:
            encode_row(scan, row)


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


@compiled(nogil=True)
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

    A new block begins with the centre and the scale of the one before it, which suit it mostly.
    """
    add_to_hash(scan, row)
    block = row // LANES
    if block > 0 and scan.boxes[block, SCALE] == 0.0:
        for i in range(scan.boxes.shape[1]):
            scan.boxes[block, i] = scan.boxes[block - 1, i]
        scan.boxes[block, ERROR] = 0.0
    if not encode_row(scan, row):
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

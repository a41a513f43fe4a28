"""The compiled functions of the kd-tree: search, add, remove, build.

A `place` identifies one side of one node, and thus the subtree there: 2 * node + side, with side 0
for left and 1 for right. Place 0, the left side of the head, is the whole tree.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory.distances import (
    DOUBT,
    LARGEST,
    ROUGH,
    SMALLEST,
    Floats,
    Ints,
    Rows,
    Singles,
    U,
    box_bound,
    box_distance,
    key_distance,
    rough_distance,
)
from scrubjay.memory.index_arrays import NO_ROW, SIZE
from scrubjay.memory.leaf_codes import (
    Shorts,
    choose_codes,
    code_limit,
    encode_key,
    encode_row,
    measure_codes,
)
from scrubjay.memory.tree_arrays import (
    BUILT,
    CHILD,
    FIRST_ROW,
    FREE_LEAF,
    FREE_NODE,
    HEAVY,
    LANES,
    LEAF,
    LOCAL,
    MANY,
    SPLIT_DIM,
    SPLIT_ROW,
    STACK,
    SUMS,
    WHOLE,
    TreeArrays,
    leaf_fill,
    leaf_slots,
    scratch_size,
)

SAMPLE = 64
"""Number of rows of a subtree that are used to find the dimension of largest spread."""

# ---------------------------------------------------------------- search


@compiled(nogil=True)
def find_neighbors(
    tree: TreeArrays, key: Singles, k: int, radius: float, rows: Ints, distances: Floats
) -> int:
    """Fill `rows` and squared `distances` with the k nearest within `radius`; return their number.

    They are sorted by (distance, row); entries beyond the returned number are not changed.
    """
    scratch = np.empty(scratch_size(len(key)))
    count: int = search(tree, key, k, radius, rows, distances, scratch)
    return count


@compiled(**UNCOUNTED)
def tree_size(tree: TreeArrays) -> int:
    """Return the number of rows in the tree."""
    return int(tree.nodes[0, SIZE])


@compiled(**UNCOUNTED)
def search(
    tree: TreeArrays,
    key: Singles,
    k: int,
    radius: float,
    rows: Ints,
    distances: Floats,
    scratch: Floats,
) -> int:
    """Like `find_neighbors`, with scratch space of the caller's, `scratch_size` numbers.

    It creates no arrays, which would take as long as visiting some leaves.

    In many dimensions, most boxes are rejected by an approximate distance, and most rows by their
    codes; those that cannot be rejected with certainty are measured exactly.
    """
    keys, nodes, boxes = tree.keys, tree.nodes, tree.boxes
    many = len(key) >= MANY
    doubt = (len(key) + DOUBT) * ROUGH if many else 0.0
    worst, worst_row = radius * radius, NO_ROW
    size = scratch_size(len(key))
    places, bounds = scratch[:STACK].view(np.int64), scratch[STACK:SUMS]
    picked, measured = places[LEAF:], bounds[LEAF:]  # the rows of one leaf
    sums, local = scratch[SUMS:LOCAL].view(np.int32), scratch[LOCAL:size].view(np.int16)
    codes, error, limit = tree.buckets.view(np.int8), 0.0, np.int32(0)
    if many:
        error = encode_key(boxes, key, local)
        limit = code_limit(boxes, len(key), error, worst)
    count = 0
    places[0], bounds[0] = 0, 0.0
    height = 1
    while height > 0:
        height -= 1
        place, bound = places[height], bounds[height]
        node, side = place >> 1, place & 1
        if bound > worst:
            continue
        if bound * (1.0 + 3.0 * doubt) >= worst:  # possibly a tie, which row ids decide
            exact = box_distance(boxes, place, key)
            if exact > worst or (exact == worst and nodes[node, FIRST_ROW + side] > worst_row):
                continue
        child = nodes[node, CHILD + side]
        while child > 0 and bound == 0.0:  # the key is in the box: its own side is the near one
            near = 1 if key[nodes[child, SPLIT_DIM]] > boxes[child, 0] else 0
            beyond = box_bound(boxes, 2 * child + 1 - near, key, doubt)
            if beyond <= worst:
                places[height], bounds[height] = 2 * child + 1 - near, beyond
                height += 1
            node, side = np.int64(child), near
            child = nodes[node, CHILD + side]
        if child > 0:
            left = box_bound(boxes, 2 * child, key, doubt)
            right = box_bound(boxes, 2 * child + 1, key, doubt)
            far = 1
            if right < left or (
                right == left and nodes[child, FIRST_ROW + 1] < nodes[child, FIRST_ROW]
            ):
                far = 0
                left, right = right, left
            if right <= worst:
                places[height], bounds[height] = 2 * child + far, right
                height += 1
            if left <= worst:
                places[height], bounds[height] = 2 * child + 1 - far, left
                height += 1
            continue
        found = np.int64(nodes[node, SIZE + side])
        if many:
            surely_worse = max(worst * (1.0 + doubt), SMALLEST)
            found = pick_rows(
                tree, codes, np.int64(~child), found, key, local, sums, limit, surely_worse, picked
            )
        else:
            for slot in range(found):
                picked[slot] = tree.buckets[~child, slot]
        # all distances first: a branch that the processor cannot predict would delay each of them
        for i in range(found):
            measured[i] = key_distance(keys, picked[i], key)
        for i in range(found):
            row, distance = picked[i], measured[i]
            if distance > worst or (distance == worst and row > worst_row):
                continue
            position = min(count, k - 1)
            while position > 0 and (
                distances[position - 1] > distance
                or (distances[position - 1] == distance and rows[position - 1] > row)
            ):
                distances[position] = distances[position - 1]
                rows[position] = rows[position - 1]
                position -= 1
            distances[position], rows[position] = distance, row
            count = min(count + 1, k)
            if count == k:
                worst, worst_row = distances[k - 1], rows[k - 1]
        if many and count == k and found > 0:
            limit = code_limit(boxes, len(key), error, worst)
    return count


@compiled(nogil=True, forceinline=True)
def pick_rows(
    tree: TreeArrays,
    codes: npt.NDArray[np.int8],
    leaf: int,
    size: int,
    key: Singles,
    local: Shorts,
    sums: Rows,
    limit: np.int32,
    surely_worse: float,
    picked: Ints,
) -> np.int64:
    """Fill `picked` with the rows of a leaf that may be within `worst`; return their number.

    Without branches, which the processor could not predict: each row is written, and stays if the
    next one is written behind it.
    """
    found, kept = U(0), U(0)
    for first in range(0, size, LANES):
        if not measure_codes(codes, leaf, first, local, sums, limit):
            continue
        for lane in range(U(min(LANES, size - first))):
            picked[found] = tree.buckets[U(leaf), U(first) + lane]
            found += U(sums[lane] <= limit)
    for i in range(found):
        row = picked[kept] = picked[i]
        kept += U(not surely_worse < rough_distance(tree.keys, row, key) <= LARGEST)
    return np.int64(kept)


# ---------------------------------------------------------------- add and remove


@compiled(**UNCOUNTED)
def add_row(tree: TreeArrays, row: int) -> int:
    """Add a row, whose key is already in `keys`, to the tree.

    Returns the place that must be rebuilt with `rebuild`, or -1.
    """
    keys, nodes, boxes, buckets = tree.keys, tree.nodes, tree.boxes, tree.buckets
    place, above, unbalanced = 0, 0, -1
    while True:
        node, side = place >> 1, place & 1
        include(keys, nodes, boxes, node, side, row)
        if unbalanced < 0 and node > 0 and is_unbalanced(nodes, node, keys.shape[1]):
            unbalanced = above
        child = nodes[node, CHILD + side]
        if child < 0:
            break
        above = place
        place = 2 * child + side_of(keys, nodes, boxes, child, row)
    size = nodes[node, SIZE + side]
    buckets[~child, size - 1] = row
    if keys.shape[1] >= MANY:
        encode_row(tree, np.int64(~child), np.int64(size - 1), row)
    if has_outgrown(keys, nodes):
        return 0
    if unbalanced < 0 and size == leaf_slots(keys.shape[1]):
        return place
    return unbalanced


@compiled(nogil=True)
def remove_row(tree: TreeArrays, row: int) -> int:
    """Remove a row from the tree; its key must be the one it was added with.

    Returns the place that must be rebuilt with `rebuild`, or -1.
    """
    keys, nodes, boxes, buckets = tree.keys, tree.nodes, tree.boxes, tree.buckets
    path = np.empty(STACK, np.int64)
    place, level, unbalanced = 0, 0, -1
    while True:
        node, side = place >> 1, place & 1
        path[level] = place
        nodes[node, SIZE + side] -= 1
        if unbalanced < 0 and node > 0 and is_unbalanced(nodes, node, keys.shape[1]):
            unbalanced = path[level - 1]
        child = nodes[node, CHILD + side]
        if child < 0:
            break
        place = 2 * child + side_of(keys, nodes, boxes, child, row)
        level += 1
    last = np.int64(nodes[node, SIZE + side])
    slot = 0
    while buckets[~child, slot] != row:
        slot += 1
    buckets[~child, slot] = buckets[~child, last]
    if keys.shape[1] >= MANY and slot < last:
        encode_row(tree, np.int64(~child), slot, np.int64(buckets[~child, slot]))
    if touches(keys, nodes, boxes, node, side, row):
        enclose(keys, nodes, boxes, node, side, buckets[~child], np.int64(0), last)
        while level > 0 and unite(nodes, boxes, path[level - 1]):
            level -= 1
    return unbalanced


@compiled(**UNCOUNTED)
def contains(tree: TreeArrays, row: int) -> bool:
    """Whether a row id, below the length of `keys`, is in the tree."""
    keys, nodes, boxes, buckets = tree.keys, tree.nodes, tree.boxes, tree.buckets
    node, side = 0, 0
    child = nodes[0, CHILD]
    while child > 0:
        node, side = child, side_of(keys, nodes, boxes, child, row)
        child = nodes[node, CHILD + side]
    found = False
    for slot in range(nodes[node, SIZE + side]):
        found = found or buckets[~child, slot] == row
    return found


@compiled(**UNCOUNTED)
def side_of(keys: Singles, nodes: Rows, boxes: Singles, node: int, row: int) -> int:
    """Return the side of a node for a row: pairs (coordinate, row) below the split go left."""
    value, split = keys[row, nodes[node, SPLIT_DIM]], boxes[node, 0]
    if value < split or (value == split and row < nodes[node, SPLIT_ROW]):
        return 0
    return 1


@compiled(**UNCOUNTED)
def is_unbalanced(nodes: Rows, node: int, key_dim: int) -> bool:
    """Whether one side has too many rows, or both together fit into one leaf."""
    left, right = int(nodes[node, SIZE]), int(nodes[node, SIZE + 1])
    if left + right <= leaf_fill(key_dim):
        return True
    return bool(WHOLE * max(left, right) > HEAVY * (left + right))


@compiled(**UNCOUNTED)
def has_outgrown(keys: Singles, nodes: Rows) -> bool:
    """Whether the tree has grown by half since it was built, and should be rebuilt.

    The splits of the first rows may not suit the later ones. In few dimensions this makes no
    difference.
    """
    many: bool = keys.shape[1] >= MANY
    return many and 2 * nodes[0, SIZE] >= 3 * nodes[0, BUILT]


@compiled(**UNCOUNTED)
def include(keys: Singles, nodes: Rows, boxes: Singles, node: int, side: int, row: int) -> None:
    """Add a row to the size and the bounding box of a side."""
    key_dim, box, key = U(keys.shape[1]), U(node), U(row)
    low = U(1 + 2 * keys.shape[1] * side)
    high = low + key_dim
    if nodes[node, SIZE + side] == 0:
        nodes[node, FIRST_ROW + side] = row
        for i in range(key_dim):
            boxes[box, low + i] = boxes[box, high + i] = keys[key, i]
    else:
        nodes[node, FIRST_ROW + side] = min(nodes[node, FIRST_ROW + side], row)
        for i in range(key_dim):
            boxes[box, low + i] = min(boxes[box, low + i], keys[key, i])
            boxes[box, high + i] = max(boxes[box, high + i], keys[key, i])
    nodes[node, SIZE + side] += 1


@compiled(**UNCOUNTED)
def touches(keys: Singles, nodes: Rows, boxes: Singles, node: int, side: int, row: int) -> bool:
    """Whether the box or the smallest row id of a side may be due to this row."""
    key_dim = keys.shape[1]
    low = 1 + 2 * key_dim * side
    touching: bool = nodes[node, FIRST_ROW + side] == row
    for i in range(key_dim):
        x = keys[row, i]
        touching = touching or x == boxes[node, low + i] or x == boxes[node, low + key_dim + i]
    return touching


@compiled(**UNCOUNTED)
def enclose(
    keys: Singles,
    nodes: Rows,
    boxes: Singles,
    node: int,
    side: int,
    rows: Rows,
    start: int,
    stop: int,
) -> None:
    """Set size, smallest row id and box of a side to those of rows[start:stop]."""
    nodes[node, SIZE + side] = 0
    for i in range(start, stop):
        include(keys, nodes, boxes, node, side, np.int64(rows[i]))


@compiled(**UNCOUNTED)
def unite(nodes: Rows, boxes: Singles, place: int) -> bool:
    """Set the box of a place to the union of the two sides below; return whether it changed."""
    node, side = place >> 1, place & 1
    child = nodes[node, CHILD + side]
    key_dim = (boxes.shape[1] - 1) // 4
    low = 1 + 2 * key_dim * side
    first = min(nodes[child, FIRST_ROW], nodes[child, FIRST_ROW + 1])
    changed: bool = first != nodes[node, FIRST_ROW + side]
    nodes[node, FIRST_ROW + side] = first
    for i in range(key_dim):
        left = 1 + i
        lowest = min(boxes[child, left], boxes[child, left + 2 * key_dim])
        highest = max(boxes[child, left + key_dim], boxes[child, left + 3 * key_dim])
        changed = changed or lowest != boxes[node, low + i]
        changed = changed or highest != boxes[node, low + key_dim + i]
        boxes[node, low + i], boxes[node, low + key_dim + i] = lowest, highest
    return changed


# ---------------------------------------------------------------- build


@compiled(nogil=True)
def rebuild(tree: TreeArrays, place: int) -> None:
    """Rebuild the subtree at a place; do nothing if the place is negative."""
    if place >= 0:
        rows = np.empty(tree.nodes[place >> 1, SIZE + (place & 1)], np.int32)
        take_apart(tree, place, rows)
        build(tree, place, rows)


@compiled(nogil=True)
def take_apart(tree: TreeArrays, place: int, rows: Rows) -> None:
    """Collect the rows of a subtree and free its nodes and leaves."""
    nodes, buckets = tree.nodes, tree.buckets
    places = np.empty(STACK, np.int64)
    places[0] = place
    height, count = 1, 0
    while height > 0:
        height -= 1
        here = places[height]
        node, side = here >> 1, here & 1
        child, size = nodes[node, CHILD + side], nodes[node, SIZE + side]
        if side == 0 and here != place:  # the left side is visited last: free its node
            nodes[node, CHILD] = nodes[0, FREE_NODE]
            nodes[0, FREE_NODE] = node
        if child > 0:
            places[height], places[height + 1] = 2 * child, 2 * child + 1
            height += 2
            continue
        for slot in range(size):
            rows[count] = buckets[~child, slot]
            count += 1
        buckets[~child, 0] = nodes[0, FREE_LEAF]
        nodes[0, FREE_LEAF] = ~child


@compiled(nogil=True)
def build(tree: TreeArrays, place: int, rows: Rows) -> None:
    """Build a balanced subtree of `rows`, which are reordered, at an empty place."""
    keys, nodes, boxes, buckets = tree.keys, tree.nodes, tree.boxes, tree.buckets
    values = np.empty(len(rows), np.float32)
    means, spreads = np.empty(keys.shape[1]), np.empty(keys.shape[1])
    parts = np.empty((STACK, 3), np.int64)
    parts[0, 0], parts[0, 1], parts[0, 2] = place, 0, len(rows)
    height = 1
    # every inner place; there are fewer than leaves, which have at least half of leaf_fill rows
    inner, n_inner = np.empty(2 * len(rows) // leaf_fill(keys.shape[1]) + 1, np.int64), 0
    many = keys.shape[1] >= MANY
    if place == 0:
        nodes[0, BUILT] = len(rows)
        if many and len(rows) > 0:
            most_spread(keys, rows, parts[0, 1], parts[0, 2], means, spreads)
            choose_codes(boxes, means, spreads)
    while height > 0:
        height -= 1
        here, start, stop = parts[height, 0], parts[height, 1], parts[height, 2]
        node, side = here >> 1, here & 1
        if stop - start <= leaf_fill(keys.shape[1]):
            enclose(keys, nodes, boxes, node, side, rows, start, stop)
            leaf = nodes[0, FREE_LEAF]
            nodes[0, FREE_LEAF] = buckets[leaf, 0]
            nodes[node, CHILD + side] = ~leaf
            for i in range(start, stop):
                buckets[leaf, i - start] = rows[i]
                if many:
                    encode_row(tree, np.int64(leaf), i - start, np.int64(rows[i]))
            continue
        child = nodes[0, FREE_NODE]
        nodes[0, FREE_NODE] = nodes[child, CHILD]
        nodes[node, CHILD + side], nodes[node, SIZE + side] = child, stop - start
        inner[n_inner] = here
        n_inner += 1
        dimension = most_spread(keys, rows, start, stop, means, spreads)
        for i in range(start, stop):
            values[i] = keys[rows[i], dimension]
        middle = (start + stop) // 2
        select(values, rows, start, stop, middle)
        nodes[child, SPLIT_DIM], nodes[child, SPLIT_ROW] = dimension, rows[middle]
        boxes[child, 0] = values[middle]
        for half in range(2):
            parts[height, 0] = 2 * child + half
            parts[height, 1] = middle if half else start
            parts[height, 2] = stop if half else middle
            height += 1
    # from below, which reads each row once in place of once on every level
    for i in range(n_inner - 1, -1, -1):
        unite(nodes, boxes, inner[i])


@compiled(**UNCOUNTED)
def most_spread(
    keys: Singles, rows: Rows, start: int, stop: int, means: Floats, spreads: Floats
) -> int:
    """Return the dimension with the largest mean distance from the mean, from about SAMPLE rows.

    Fills `means` and `spreads` with the means and the mean distances from them. The width of the
    bounding box is not used, because a single row can determine it.
    """
    key_dim = keys.shape[1]
    stride = max(1, (stop - start) // SAMPLE)
    for i in range(key_dim):
        means[i] = spreads[i] = 0.0
    for j in range(start, stop, stride):
        for i in range(key_dim):
            means[i] += np.float64(keys[rows[j], i])
    n_rows = (stop - start + stride - 1) // stride
    for i in range(key_dim):
        means[i] /= n_rows
    for j in range(start, stop, stride):
        for i in range(key_dim):
            spreads[i] += abs(np.float64(keys[rows[j], i]) - means[i])
    for i in range(key_dim):
        spreads[i] /= n_rows
    dimension = 0
    for i in range(1, key_dim):
        if spreads[i] > spreads[dimension]:
            dimension = i
    return dimension


@compiled(**UNCOUNTED)
def select(values: Singles, rows: Rows, start: int, stop: int, middle: int) -> None:
    """Reorder the pairs (value, row) of a range so that those before `middle` are the smallest.

    No two pairs are equal. The pivot is pseudo-random, so that no order of arrival is bad.
    """
    low, high, state = start, stop - 1, np.int64(stop - start)
    while low < high:
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        pivot = low + state % (high - low + 1)
        value, row = values[pivot], rows[pivot]
        i, j = low, high
        while i <= j:
            while values[i] < value or (values[i] == value and rows[i] < row):
                i += 1
            while values[j] > value or (values[j] == value and rows[j] > row):
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                rows[i], rows[j] = rows[j], rows[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return

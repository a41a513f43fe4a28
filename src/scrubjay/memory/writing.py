"""The compiled functions that change a memory: one loop for single writes, batches and episodes."""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory.distances import Floats, Ints, Rows, Singles, round_key
from scrubjay.memory.index_arrays import IndexArrays
from scrubjay.memory.index_kernels import index_add, index_remove, index_search
from scrubjay.memory.scan_kernels import same_key
from scrubjay.memory.table import (
    BLOCK,
    CLOCK,
    HIGHEST,
    LOWEST,
    N_ROWS,
    NEWER,
    NEWEST,
    OLDER,
    OLDEST,
    TableArrays,
)
from scrubjay.memory.tree_arrays import scratch_size

Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int8]


class Outcome(IntEnum):
    """The outcome of one write."""

    ADDED = 0
    """A new row was added."""
    REPLACED = 1
    """The nearest row was changed: replaced by a better one, or its value blended with the new."""
    KEPT = 2
    """The nearest row was at least as good and is unchanged."""
    EVICTED = 3
    """A new row took the place of the least recent one."""


ADDED, REPLACED, KEPT, EVICTED = (int(outcome) for outcome in Outcome)

RULES = ("replace_if_better", "append", "max", "blend")
REPLACE_IF_BETTER, APPEND, MAX, BLEND = range(4)

RECENCIES = ("write", "hit", "never")
ON_WRITE, ON_HIT, NEVER = range(3)

BAD_KEY, BAD_VALUE, BAD_PAYLOAD = range(3)
KINDS_OF_BAD = 3


@compiled(nogil=True)
def write_rows(
    index_keys: Singles,
    nodes: Rows,
    boxes: Singles,
    buckets: Rows,
    table_values: Singles,
    stamps: Ints,
    written: Ints,
    links: Rows,
    table_records: Bytes,
    counters: Ints,
    extremes: Singles,
    capacity: int,
    threshold: float,
    rule: int,
    blend_rate: float,
    recency: int,
    keys: Floats,
    values: Floats,
    records: Bytes,
    exponents: Ints,
    backwards: bool,
    done: int,
    rows: Ints,
    outcomes: Codes,
) -> int:
    """Write tuples in sequence, each one sees those before it; return the number written.

    If fewer than all are written, the arrays are full and must grow: call again with that number as
    `done`. A negative number, ~(KINDS_OF_BAD * i + kind), means that tuple i is not finite and
    nothing was written. (The arrays of index and table are passed one by one, as in `query_key`.)
    """
    index = IndexArrays(index_keys, nodes, boxes, buckets)
    table = TableArrays(table_values, stamps, written, links, table_records, counters, extremes)
    key = np.empty(keys.shape[1], np.float32)
    if done == 0:
        bad: int = find_bad(keys, values, records, exponents, key)
        if bad >= 0:
            return ~bad
    scratch = np.empty(scratch_size(len(key)))
    nearest, distance = np.empty(1, np.int64), np.empty(1, np.float64)
    written_rows: int = write_in_turn(
        index, table, capacity, threshold, rule, blend_rate, recency, keys, values, records,
        backwards, done, key, scratch, nearest, distance, rows, outcomes,
    )  # fmt: skip
    return written_rows


@compiled(**UNCOUNTED)
def write_in_turn(
    index: IndexArrays,
    table: TableArrays,
    capacity: int,
    threshold: float,
    rule: int,
    blend_rate: float,
    recency: int,
    keys: Floats,
    values: Floats,
    records: Bytes,
    backwards: bool,
    done: int,
    key: Singles,
    scratch: Floats,
    nearest: Ints,
    distance: Floats,
    rows: Ints,
    outcomes: Codes,
) -> int:
    """The loop of `write_rows`, apart because it creates no arrays."""
    counters = table.counters
    for step in range(done, len(keys)):
        i = len(keys) - 1 - step if backwards else step
        round_key(keys[i], key)
        value = np.float32(values[i])
        hit = False
        if rule != APPEND:
            found = index_search(index, key, len(nearest), threshold, nearest, distance, scratch)
            hit = found > 0
        if hit:
            row = nearest[0]
            value = value_on_hit(rule, blend_rate, table.values[row], value)
            outcome = REPLACED if rule == BLEND or value > table.values[row] else KEPT
            if recency == ON_HIT or (recency == ON_WRITE and outcome == REPLACED):
                unlink(table, row)
                link_newest(table, row)
        elif counters[N_ROWS] < capacity:
            row = counters[N_ROWS]
            if row == len(table.values):
                return step
            counters[N_ROWS] += 1
            outcome = ADDED
            link_newest(table, row)
        else:
            row = counters[OLDEST]
            outcome = EVICTED
            unlink(table, row)
            link_newest(table, row)
        rows[i], outcomes[i] = row, outcome
        if outcome != KEPT:
            if outcome != REPLACED or rule == REPLACE_IF_BETTER:
                put_key(index, row, key, outcome == ADDED)
            old = table.values[row]
            table.values[row] = value
            for j in range(records.shape[1]):
                table.records[row, j] = records[i, j]
            counters[CLOCK] += 1
            table.stamps[row] = table.written[row] = counters[CLOCK]
            update_extremes(table, row, old, outcome == ADDED)
    return len(keys)


@compiled(**UNCOUNTED)
def find_bad(keys: Floats, values: Floats, records: Bytes, exponents: Ints, key: Singles) -> int:
    """Return KINDS_OF_BAD * i + kind of the first number that is not finite in float32, or -1."""
    for i in range(len(keys)):
        if not round_key(keys[i], key):
            return KINDS_OF_BAD * i + BAD_KEY
        if not np.isfinite(np.float32(values[i])):
            return KINDS_OF_BAD * i + BAD_VALUE
        for j in range(len(exponents)):
            at, mask = exponents[j, 0], exponents[j, 1]
            high = np.int64(records[i, at]) | (np.int64(records[i, at + 1]) << 8)
            if high & mask == mask:
                return KINDS_OF_BAD * i + BAD_PAYLOAD
    return -1


@compiled(**UNCOUNTED)
def value_on_hit(rule: int, blend_rate: float, old: np.float32, new: np.float32) -> np.float32:
    """Return the value that a hit gives to a row, unless the row is kept."""
    if rule == BLEND:
        return np.float32(old + blend_rate * (np.float64(new) - np.float64(old)))
    return new


@compiled(**UNCOUNTED)
def put_key(index: IndexArrays, row: int, key: Singles, is_new: bool) -> None:
    """Give a key to a row, which is not yet in the index if it is new."""
    stays = not is_new and same_key(index.keys, row, key)
    if not is_new and not stays:
        index_remove(index, row)
    for j in range(len(key)):
        index.keys[row, j] = key[j]
    if not stays:
        index_add(index, row)


@compiled(**UNCOUNTED)
def unlink(table: TableArrays, row: int) -> None:
    """Remove a row from the recency list."""
    links, counters = table.links, table.counters
    older, newer = links[row, OLDER], links[row, NEWER]
    if older >= 0:
        links[older, NEWER] = newer
    else:
        counters[OLDEST] = newer
    if newer >= 0:
        links[newer, OLDER] = older
    else:
        counters[NEWEST] = older


@compiled(**UNCOUNTED)
def link_newest(table: TableArrays, row: int) -> None:
    """Add a row to the recency list as the most recent one."""
    links, counters = table.links, table.counters
    newest = counters[NEWEST]
    links[row, OLDER], links[row, NEWER] = newest, -1
    if newest >= 0:
        links[newest, NEWER] = row
    else:
        counters[OLDEST] = row
    counters[NEWEST] = row


@compiled(**UNCOUNTED)
def touch_rows(table: TableArrays, rows: Ints) -> None:
    """Make these rows the most recent ones, in the given order."""
    for row in rows:
        unlink(table, row)
        link_newest(table, row)


@compiled(**UNCOUNTED)
def set_row_values(table: TableArrays, rows: Ints, values: Singles) -> None:
    """Set values and give new stamps in the given order; recency stays the same."""
    for i in range(len(rows)):
        old = table.values[rows[i]]
        table.values[rows[i]] = values[i]
        table.counters[CLOCK] += 1
        table.stamps[rows[i]] = table.counters[CLOCK]
        is_new = rows[i] < 0  # never; a literal False would be compiled once more
        update_extremes(table, rows[i], old, is_new)


@compiled(**UNCOUNTED)
def update_extremes(table: TableArrays, row: int, old: np.float32, is_new: bool) -> None:
    """Update the extremes after the value of a row has changed from `old`.

    The block is scanned only if the old value may have been one of its extremes; then the nodes
    above it are updated, as far as they change.
    """
    value, extremes = table.values[row], table.extremes
    if value == old and not is_new:
        return
    node = len(extremes) // 2 + row // BLOCK
    lowest, highest = min(extremes[node, LOWEST], value), max(extremes[node, HIGHEST], value)
    if not is_new and (old == extremes[node, LOWEST] or old == extremes[node, HIGHEST]):
        lowest, highest = block_extremes(table, row // BLOCK)
    raise_extremes(extremes, node, lowest, highest)


@compiled(**UNCOUNTED)
def block_extremes(table: TableArrays, block: int) -> tuple[np.float32, np.float32]:
    """Return the lowest and highest value of a block of rows."""
    lowest, highest = np.float32(np.inf), np.float32(-np.inf)
    for i in range(block * BLOCK, min(block * BLOCK + BLOCK, table.counters[N_ROWS])):
        lowest, highest = min(lowest, table.values[i]), max(highest, table.values[i])
    return lowest, highest


@compiled(**UNCOUNTED)
def raise_extremes(extremes: Singles, node: int, lowest: np.float32, highest: np.float32) -> None:
    """Set the extremes of a node, then those of the nodes above it, as far as they change."""
    while extremes[node, LOWEST] != lowest or extremes[node, HIGHEST] != highest:
        extremes[node, LOWEST], extremes[node, HIGHEST] = lowest, highest
        if node == 1:
            return
        sibling = node ^ 1
        lowest = min(lowest, extremes[sibling, LOWEST])
        highest = max(highest, extremes[sibling, HIGHEST])
        node //= 2


@compiled(**UNCOUNTED)
def find_extremes(table: TableArrays) -> None:
    """Compute the extremes of all blocks, for a new table."""
    for block in range(-(-table.counters[N_ROWS] // BLOCK)):
        lowest, highest = block_extremes(table, block)
        raise_extremes(table.extremes, len(table.extremes) // 2 + block, lowest, highest)


@compiled(nogil=True)
def recency_order(table: TableArrays) -> Ints:
    """Return all rows, least recent first."""
    order = np.empty(table.counters[N_ROWS], np.int64)
    row = table.counters[OLDEST]
    for i in range(len(order)):
        order[i] = row
        row = table.links[row, NEWER]
    return order


@compiled(nogil=True)
def discounted_returns(rewards: Floats, gamma: float, last_value: float) -> Floats:
    """Return v_t = r_t + gamma v_{t+1}, backwards from `last_value`, in float64."""
    returns = np.empty(len(rewards), np.float64)
    value = last_value
    for t in range(len(rewards) - 1, -1, -1):
        value = rewards[t] + gamma * value
        returns[t] = value
    return returns

"""Fill a table from the arrays of a file, and check that a table is consistent."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.memory.checks import check
from scrubjay.memory.table import CLOCK, N_ROWS, NEWER, NEWEST, OLDER, OLDEST, TableArrays
from scrubjay.memory.writing import find_extremes


def restore_table(
    table: TableArrays,
    columns: Mapping[str, npt.NDArray[Any]],
    n: int,
    clock: int,
    arrays: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Fill an empty table and its columns with n rows, after checking the arrays."""
    targets: dict[str, npt.NDArray[Any]] = {
        "values": table.values[:n],
        "stamps": table.stamps[:n],
    }
    targets |= {f"columns/{name}": array[:n] for name, array in columns.items()}
    for name, target in targets.items():
        source = arrays[name]
        check(source.dtype == target.dtype, f"{name} has dtype {source.dtype}")
        check(source.shape == target.shape, f"{name} has shape {source.shape}")
        check(np.isfinite(source).all(), f"{name} has numbers that are not finite")
        target[...] = source
    stamps, order = arrays["stamps"], arrays["recency_order"]
    check(order.dtype == np.int64, f"the recency order has dtype {order.dtype}")
    check(are_unique(stamps), "stamps are not unique")
    check(n == 0 or 1 <= stamps.min() <= stamps.max() <= clock, "stamps are beyond the clock")
    check(np.array_equal(np.sort(order), np.arange(n)), "the recency order is not a permutation")
    # files contain the state at the end of an episode: no open episode refers to earlier writes
    table.written[:n] = stamps
    ends = (int(order[0]), int(order[-1])) if n else (-1, -1)
    table.links[order[1:], OLDER] = order[:-1]
    table.links[order[:-1], NEWER] = order[1:]
    table.counters[[N_ROWS, CLOCK, OLDEST, NEWEST]] = n, clock, *ends
    find_extremes(table)


def check_table(table: TableArrays, order: npt.NDArray[np.int64]) -> None:
    """Check stamps and recency list, of which `order` is all rows, least recent first."""
    n, clock = (table.counters.item(counter) for counter in (N_ROWS, CLOCK))
    stamps = table.stamps[:n]
    check(np.array_equal(np.sort(order), np.arange(n)), "the recency list is broken")
    check(np.array_equal(table.links[order[1:], OLDER], order[:-1]), "the list back is broken")
    ends = table.counters[[OLDEST, NEWEST]]
    check(n == 0 or np.array_equal(ends, order[[0, -1]]), "the ends of the list are broken")
    check(are_unique(stamps), "stamps are not unique")
    check(n == 0 or stamps.max() <= clock, "a stamp is beyond the clock")
    check((table.written[:n] <= stamps).all(), "a row was written after its stamp")


def are_unique(stamps: npt.NDArray[np.int64]) -> bool:
    """Whether no number occurs twice; sorted, as np.unique takes 20 times as long for integers."""
    ordered = np.sort(stamps)
    return not (ordered[1:] == ordered[:-1]).any()

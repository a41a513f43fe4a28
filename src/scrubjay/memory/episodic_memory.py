"""An episodic memory: what was seen, what came of it, found again by nearness."""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.memory.checks import (
    check,
    check_shapes,
    key_matrix,
    not_finite,
    not_negative,
    one_key,
    one_of,
    positive_int,
    read_only,
    real_number,
    row_count,
    vector,
)
from scrubjay.memory.kdtree import FIRST_ROWS, KDTree, Neighbors
from scrubjay.memory.table import (
    CLOCK,
    N_ROWS,
    NEWER,
    NEWEST,
    OLDER,
    OLDEST,
    ColumnSpec,
    columns_of,
    copied_table,
    empty_table,
    exponent_masks,
    fill_column,
    grown_table,
    record_type,
)
from scrubjay.memory.writing import (
    APPEND,
    BAD_KEY,
    BAD_VALUE,
    KINDS_OF_BAD,
    RECENCIES,
    RULES,
    Outcome,
    discounted_returns,
    find_bad,
    find_extremes,
    recency_order,
    set_row_values,
    touch_rows,
    write_rows,
)

KIND = "memory"
OUTCOMES = tuple(Outcome)
MAX_CLOCK = 1 << 62
TWO_ACTIONS: Mapping[str, ColumnSpec] = MappingProxyType({"action": 2})

Written = tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]


class EpisodicMemory:
    """A table of (key, value, payload) rows of bounded size, searched by key.

    - `capacity`: rows at most; then each new row takes the place of the least recent one.
    - `distance_threshold`: a write within this distance of a row is a hit on it (d in the paper;
      0 means the same key).
    - `columns`: the payload, each column a length, a shape or (shape, dtype), float32 unless said.
    - `rule`: what a hit does. "replace_if_better": a higher value replaces the whole row, key
      included. "append": there are no hits, every write adds.
    - `recency`: what makes a row recent, beside being added. "write": being replaced; "hit": every
      hit, kept rows too; "never": nothing, first in, first out. `touch` always does.

    Everything that comes in is rounded to float32 (a column: to its dtype) before it is compared.
    Row ids are stable until eviction. Stamps count the changes of the memory: a row's stamp is the
    count at its last change, so what changed since `s = memory.clock` has a stamp above s. A kept
    or touched row changes its place in the recency order at most, never its stamp.

    Reading changes nothing and may be done from many threads; writing needs the memory for itself.
    """

    def __init__(
        self,
        key_dim: int,
        *,
        capacity: int,
        distance_threshold: float = 0.0,
        columns: Mapping[str, ColumnSpec] = TWO_ACTIONS,
        rule: str = "replace_if_better",
        recency: str = "write",
    ) -> None:
        self.key_dim = positive_int("key_dim", key_dim)
        self.capacity = row_count(positive_int("capacity", capacity))
        self.distance_threshold = not_negative("distance_threshold", distance_threshold)
        if math.isinf(self.distance_threshold):
            raise ValueError("distance_threshold must be finite, or all writes hit the same row")
        self.rule = one_of("rule", rule, RULES)
        self.recency = one_of("recency", recency, RECENCIES)
        self._record = record_type(columns)
        self._exponents = exponent_masks(self._record)
        n_rows = min(self.capacity, FIRST_ROWS)
        self.tree = KDTree(self.key_dim, n_rows)
        self.table = empty_table(self._record, n_rows)
        self._prepare()

    def _prepare(self) -> None:
        """What follows from the configuration: codes, and the buffers of a single write."""
        self._codes = RULES.index(self.rule), RECENCIES.index(self.recency)
        self._one_record = np.zeros((1, self._record.itemsize), np.uint8)
        one = columns_of(self._record, self._one_record)
        self._one_columns = {name: column[0, ...] for name, column in one.items()}
        self._one_key, self._one_value = np.empty((1, self.key_dim)), np.empty(1)
        self._one_row, self._one_outcome = np.empty(1, np.int64), np.empty(1, np.int8)

    # ------------------------------------------------------------ what is there

    def __len__(self) -> int:
        return self.table.counters.item(N_ROWS)

    def __repr__(self) -> str:
        return (
            f"EpisodicMemory({self.key_dim}, capacity={self.capacity}, rows={len(self)}, "
            f"distance_threshold={self.distance_threshold}, rule={self.rule!r}, "
            f"recency={self.recency!r}, columns={list(self.column_arrays)})"
        )

    @property
    def clock(self) -> int:
        """How many changes there were: the highest stamp given so far."""
        return self.table.counters.item(CLOCK)

    @property
    def keys(self) -> npt.NDArray[np.float32]:
        """(n, D): the key of each row."""
        return read_only(self.tree.arrays.keys[: len(self)])

    @property
    def values(self) -> npt.NDArray[np.float32]:
        """(n,): the value of each row."""
        return read_only(self.table.values[: len(self)])

    @property
    def value_range(self) -> tuple[float, float]:
        """The lowest and the highest value, (0, 0) while there is no row; it costs no scan."""
        if len(self) == 0:
            return 0.0, 0.0
        lowest, highest = self.table.extremes[1]
        return float(lowest), float(highest)

    @property
    def stamps(self) -> npt.NDArray[np.int64]:
        """(n,): the clock at the last change of each row."""
        return read_only(self.table.stamps[: len(self)])

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The payload of each row, by column."""
        n = len(self)
        return {name: read_only(column[:n]) for name, column in self.column_arrays.items()}

    @property
    def value_array(self) -> npt.NDArray[np.float32]:
        """The values with unused rows, for compiled readers; fetch it again after a write."""
        return self.table.values

    @property
    def written_array(self) -> npt.NDArray[np.int64]:
        """The clock at which each row was last added or replaced, unused rows included.

        A row whose entry is at most a former `clock` is still the row that it was then, although
        its value may have been corrected.
        """
        return self.table.written

    @property
    def column_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The columns with unused rows, for compiled readers; fetch them again after a write."""
        return columns_of(self._record, self.table.records)

    def recency_order(self) -> npt.NDArray[np.int64]:
        """All rows, the one to be evicted first in front."""
        order: npt.NDArray[np.int64] = recency_order(self.table)
        return order

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays that this memory holds."""
        one = (self._one_key, self._one_value, self._one_record, self._one_row, self._one_outcome)
        return self.tree.nbytes + sum(a.nbytes for a in (*self.table, *one, self._exponents))

    # ------------------------------------------------------------ reading

    def nearest(self, key: npt.ArrayLike) -> tuple[Any, Any]:
        """(row, distance) of the nearest row; arrays of both for a matrix of keys."""
        return self.tree.nearest(key)

    def neighbors(self, key: npt.ArrayLike, k: int, radius: float = math.inf) -> Neighbors:
        """Rows and distances of the k nearest, of those the ones within radius, nearest first.

        One key gives arrays as long as there are such rows. A matrix of m keys gives (m, k) arrays,
        padded with row -1 and distance infinity.
        """
        return self.tree.query(key, k, radius)

    # ------------------------------------------------------------ writing

    def write(
        self,
        key: npt.ArrayLike,
        value: float,
        *,
        distance_threshold: float | None = None,
        **columns: npt.ArrayLike,
    ) -> tuple[int, Outcome]:
        """Write one tuple; return its row and what became of it."""
        self._one_key[0] = one_key(np.asarray(key), self.key_dim)
        self._one_value[0] = real_number("value", value)
        self._fill(self._one_columns, columns)
        self._write(
            self._one_key,
            self._one_value,
            self._one_record,
            distance_threshold,
            False,
            self._one_row,
            self._one_outcome,
        )
        return self._one_row.item(), OUTCOMES[self._one_outcome.item()]

    def write_many(
        self,
        keys: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        distance_threshold: float | None = None,
        **columns: npt.ArrayLike,
    ) -> Written:
        """Write tuples in the order given; return the row and outcome of each."""
        matrix = key_matrix(keys, self.key_dim)
        numbers = vector("values", values, len(matrix))
        return self._write_batch(matrix, numbers, columns, distance_threshold, False)

    def write_episode(
        self,
        keys: npt.ArrayLike,
        rewards: npt.ArrayLike,
        gamma: float,
        last_value: float = 0.0,
        *,
        distance_threshold: float | None = None,
        **columns: npt.ArrayLike,
    ) -> Written:
        """Write an episode backwards with its discounted returns (Algorithm 1 of the paper).

        The value of step t is v_t = r_t + gamma v_{t+1}, with `last_value` after the last step.
        Each tuple is written before the next is looked up. Returns row and outcome of each step.
        """
        matrix = key_matrix(keys, self.key_dim)
        rewards = vector("rewards", rewards, len(matrix))
        gamma, last_value = real_number("gamma", gamma), real_number("last_value", last_value)
        returns = discounted_returns(rewards, gamma, last_value)
        return self._write_batch(matrix, returns, columns, distance_threshold, True)

    def write_stale(
        self, keys: npt.ArrayLike, values: npt.ArrayLike, **columns: npt.ArrayLike
    ) -> Written:
        """Write tuples that are all looked up in the memory as it was before the call.

        This is what the first published code of CEC did. A tuple with a hit is compared with the
        row as it is by then, and replaces it if it is better; all others are added in the end.
        Returns the row and outcome of each.
        """
        matrix = key_matrix(keys, self.key_dim)
        numbers = vector("values", values, len(matrix))
        records = np.zeros((len(matrix), self._record.itemsize), np.uint8)
        self._fill(columns_of(self._record, records), columns)
        bad = find_bad(
            matrix, numbers, records, self._exponents, np.empty(self.key_dim, np.float32)
        )
        if bad >= 0:
            raise self._not_finite(matrix, numbers, *divmod(bad, KINDS_OF_BAD))
        rows = self.tree.query(matrix, 1, self.distance_threshold)[0][:, 0]
        outcomes = np.full(len(matrix), Outcome.ADDED, np.int8)
        for i in np.flatnonzero(rows >= 0):
            outcomes[i] = self._replace_if_better(int(rows[i]), matrix[i], numbers[i], records[i])
        new = np.flatnonzero(rows < 0)
        added, kinds = np.empty(len(new), np.int64), np.empty(len(new), np.int8)
        self._write(matrix[new], numbers[new], records[new], None, False, added, kinds, APPEND)
        rows[new], outcomes[new] = added, kinds
        return rows, outcomes

    def _replace_if_better(
        self, row: int, key: npt.NDArray[np.float64], value: float, record: npt.NDArray[np.uint8]
    ) -> Outcome:
        better = np.float32(value) > self.table.values[row]
        if self.recency == "hit" or (self.recency == "write" and better):
            self.touch([row])
        if not better:
            return Outcome.KEPT
        self.tree.move(row, key)
        self.table.records[row] = record
        self.set_values([row], [value])
        self.table.written[row] = self.clock
        return Outcome.REPLACED

    def _write_batch(
        self,
        keys: npt.NDArray[np.float64],
        values: npt.NDArray[np.float64],
        columns: dict[str, npt.ArrayLike],
        distance_threshold: float | None,
        backwards: bool,
    ) -> Written:
        records = np.zeros((len(keys), self._record.itemsize), np.uint8)
        self._fill(columns_of(self._record, records), columns)
        rows, outcomes = np.empty(len(keys), np.int64), np.empty(len(keys), np.int8)
        self._write(keys, values, records, distance_threshold, backwards, rows, outcomes)
        return rows, outcomes

    def _fill(
        self, targets: Mapping[str, npt.NDArray[Any]], columns: Mapping[str, npt.ArrayLike]
    ) -> None:
        """Copy the given columns into records, all of them and no others."""
        if columns.keys() != targets.keys():
            raise ValueError(f"expected the columns {sorted(targets)}, got {sorted(columns)}")
        for name, target in targets.items():
            fill_column(target, name, columns[name])

    def _write(
        self,
        keys: npt.NDArray[np.float64],
        values: npt.NDArray[np.float64],
        records: npt.NDArray[np.uint8],
        threshold: float | None,
        backwards: bool,
        rows: npt.NDArray[np.int64],
        outcomes: npt.NDArray[np.int8],
        rule: int | None = None,
    ) -> None:
        if threshold is None:
            threshold = self.distance_threshold
        else:
            threshold = not_negative("distance_threshold", threshold)
        own_rule, recency = self._codes
        rule = own_rule if rule is None else rule
        done = 0
        while True:
            done = write_rows(
                *self.tree.arrays,
                *self.table,
                self.capacity,
                threshold,
                rule,
                recency,
                keys,
                values,
                records,
                self._exponents,
                backwards,
                done,
                rows,
                outcomes,
            )
            if done == len(keys):
                return
            if done < 0:
                raise self._not_finite(keys, values, *divmod(~done, KINDS_OF_BAD))
            self._grow(min(self.capacity, 2 * len(self.table.values)))

    def _grow(self, n_rows: int) -> None:
        self.tree.reserve(n_rows)
        self.table = grown_table(self.table, self._record, n_rows)
        find_extremes(self.table)

    def set_values(self, rows: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Give rows new values, and new stamps in the order given; recency stays."""
        numbers = self._rows_here(rows)
        set_row_values(self.table, numbers, self._rounded(values, len(numbers)))

    def _rounded(self, values: npt.ArrayLike, n: int) -> npt.NDArray[np.float32]:
        if isinstance(values, np.ndarray) and values.dtype == np.float32 and values.shape == (n,):
            rounded = values
        else:
            with np.errstate(over="ignore"):
                rounded = vector("values", values, n).astype(np.float32)
        if not np.isfinite(rounded).all():
            raise ValueError("values must be finite in float32: check them for NaN and infinity")
        return rounded

    def touch(self, rows: npt.ArrayLike) -> None:
        """Make rows the most recent ones, the last of them the newest; stamps stay."""
        touch_rows(self.table, self._rows_here(rows))

    def _rows_here(self, rows: npt.ArrayLike) -> npt.NDArray[np.int64]:
        array = np.atleast_1d(np.asarray(rows))
        if array.size == 0:
            return np.empty(0, np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"rows must be row ids, got {array.dtype} of shape {array.shape}")
        if array.min() < 0 or array.max() >= len(self):
            raise ValueError(f"rows must be between 0 and {len(self) - 1}, got {array}")
        return array.astype(np.int64)

    # ------------------------------------------------------------ copies and files

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Configuration (for JSON) and arrays from which `from_state` makes the same memory."""
        config = {
            "key_dim": self.key_dim,
            "capacity": self.capacity,
            "distance_threshold": self.distance_threshold,
            "columns": {
                name: [list(column.shape[1:]), column.dtype.name]
                for name, column in self.column_arrays.items()
            },
            "rule": self.rule,
            "recency": self.recency,
            "clock": self.clock,
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "keys": self.keys,
            "values": self.values,
            "stamps": self.stamps,
            "recency_order": self.recency_order(),
            **{f"columns/{name}": column for name, column in self.columns.items()},
        }
        return config, arrays

    @classmethod
    def from_state(cls, config: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The memory that `state` described; `ArchiveError` if the two do not fit together."""
        try:
            options = dict(config)
            clock = options.pop("clock")
            columns = options.pop("columns")
            numbers = (clock, options["key_dim"], options["capacity"])
            check(all(type(n) is int for n in numbers), f"expected whole numbers, got {numbers}")
            check(0 <= clock < MAX_CLOCK, f"the clock is {clock}")
            check(type(options["distance_threshold"]) is not bool, "the threshold is no number")
            specs = {name: (tuple(shape), dtype) for name, (shape, dtype) in columns.items()}
            check_shapes(options["key_dim"], specs, arrays)
            memory = cls(**options, columns=specs)
            memory._restore(clock, arrays)
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            ArithmeticError,
            AssertionError,
            RecursionError,
            MemoryError,
        ) as error:
            raise ArchiveError(f"the stored memory is inconsistent: {error}") from error
        return memory

    def _restore(self, clock: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        n = len(arrays["keys"])
        check(n <= self.capacity, f"{n} rows are more than the capacity {self.capacity}")
        check(arrays["keys"].dtype == np.float32, "keys have the wrong type")
        check(np.isfinite(arrays["keys"]).all(), "keys are not finite")
        if n > len(self.table.values):
            self._grow(n)
        self._restore_table(n, clock, arrays)
        self.tree.rebuild(arrays["keys"])

    def _restore_table(self, n: int, clock: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        targets: dict[str, npt.NDArray[Any]] = {
            "values": self.table.values[:n],
            "stamps": self.table.stamps[:n],
        }
        targets |= {f"columns/{name}": array[:n] for name, array in self.column_arrays.items()}
        for name, target in targets.items():
            source = arrays[name]
            check(source.dtype == target.dtype, f"{name} has dtype {source.dtype}")
            check(source.shape == target.shape, f"{name} has shape {source.shape}")
            check(np.isfinite(source).all(), f"{name} has numbers that are not finite")
            target[...] = source
        stamps, order = arrays["stamps"], arrays["recency_order"]
        check(order.dtype == np.int64, f"the recency order has dtype {order.dtype}")
        check(len(np.unique(stamps)) == n, "stamps are not unique")
        check(n == 0 or 1 <= stamps.min() <= stamps.max() <= clock, "stamps are beyond the clock")
        check(np.array_equal(np.sort(order), np.arange(n)), "the recency order is no permutation")
        # files hold the state at an episode's end, when no open episode asks for older writes
        self.table.written[:n] = stamps
        ends = (int(order[0]), int(order[-1])) if n else (-1, -1)
        self.table.links[order[1:], OLDER] = order[:-1]
        self.table.links[order[:-1], NEWER] = order[1:]
        self.table.counters[[N_ROWS, CLOCK, OLDEST, NEWEST]] = n, clock, *ends
        find_extremes(self.table)

    def digest(self) -> str:
        """A hash of content and order: equal for two memories that behave the same from here on."""
        config, arrays = self.state()
        whole = hashlib.sha256(json.dumps(config, sort_keys=True).encode())
        for name in sorted(arrays):
            whole.update(name.encode())
            whole.update(np.ascontiguousarray(arrays[name]).data)
        return whole.hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; an older file of that name is replaced as a whole."""
        config, arrays = self.state()
        write_archive(path, {"kind": KIND, "memory": config}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file of `save`: same content, same order, same rows evicted later."""
        manifest, arrays = read_archive(path, kind=KIND)
        try:
            return cls.from_state(manifest["memory"], arrays)
        except (ArchiveError, LookupError) as error:
            raise ArchiveError(f"cannot load {path}: {error}") from error

    def copy(self) -> Self:
        """An independent memory with the same content and order."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.tree = self.tree.copy()
        other.table = copied_table(self.table)
        other._prepare()
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        return self.state()

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]) -> None:
        self.__dict__.update(type(self).from_state(*state).__dict__)

    def check_invariants(self) -> None:
        """Raise AssertionError if tree, table and recency list do not fit together."""
        self.tree.check_invariants()
        n, order = len(self), self.recency_order()
        check(len(self.tree) == n, f"the tree has {len(self.tree)} rows, the table {n}")
        check(all(row in self.tree for row in range(n)), "a row is not in the tree")
        check(np.array_equal(np.sort(order), np.arange(n)), "the recency list is broken")
        links = self.table.links
        check(np.array_equal(links[order[1:], OLDER], order[:-1]), "the list back is broken")
        ends = self.table.counters[[OLDEST, NEWEST]]
        check(n == 0 or np.array_equal(ends, order[[0, -1]]), "the ends of the list are broken")
        check(len(np.unique(self.stamps)) == n, "stamps are not unique")
        check(n == 0 or self.stamps.max() <= self.clock, "a stamp is beyond the clock")
        check((self.table.written[:n] <= self.stamps).all(), "a row was written after its stamp")
        check(n <= self.capacity, "there are more rows than the capacity")
        found = (float(self.values.min()), float(self.values.max())) if n else (0.0, 0.0)
        check(self.value_range == found, f"value_range is {self.value_range}, not {found}")

    # ------------------------------------------------------------ errors

    def _not_finite(
        self,
        keys: npt.NDArray[np.float64],
        values: npt.NDArray[np.float64],
        index: int,
        kind: int,
    ) -> ValueError:
        if kind == BAD_KEY:
            return not_finite(keys[index], f"the key of tuple {index}")
        what = f"the value {values[index]}" if kind == BAD_VALUE else "the payload"
        return ValueError(f"{what} of tuple {index} is not finite; nothing was written")

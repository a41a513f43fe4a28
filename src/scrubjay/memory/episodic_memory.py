"""The episodic memory: a table of (key, value, payload) with nearest-neighbour search."""

import math
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from scrubjay.memory.archive import ArchiveError, digest_of, read_archive, write_archive
from scrubjay.memory.changes import Changes, changed_rows, put_changes
from scrubjay.memory.checks import (
    check,
    check_same_layout,
    check_shapes,
    existing_rows,
    float32_vector,
    fraction,
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
from scrubjay.memory.index import FIRST_ROWS, Index, Nearest, Neighbors
from scrubjay.memory.indexes import AUTO, NAMES, index_type
from scrubjay.memory.kdtree import KDTree
from scrubjay.memory.table import (
    CLOCK,
    N_ROWS,
    ColumnSpec,
    columns_of,
    copied_table,
    empty_table,
    exponent_masks,
    fill_column,
    grown_table,
    record_type,
    set_rows,
)
from scrubjay.memory.table_state import check_table, restore_table
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
    value_on_hit,
    write_rows,
)

KIND = "memory"
OUTCOMES = tuple(Outcome)
MAX_CLOCK = 1 << 62
TWO_ACTIONS: Mapping[str, ColumnSpec] = MappingProxyType({"action": 2})

Floats = npt.NDArray[np.float64]
Written = tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]


class EpisodicMemory:
    """A table of (key, value, payload) rows of bounded size, searched by key.

    All numbers are rounded to float32 (columns to their dtype) before they are compared. Row ids
    are stable until eviction. Stamps count the changes of the memory: the stamp of a row is the
    count at its last change, so rows that changed since `s = memory.clock` have a stamp above s.
    Keeping or touching a row can change its place in the recency order, but not its stamp.

    Reading changes nothing and is safe from several threads; writing requires exclusive access.

    Args:
        key_dim: Number of dimensions of a key.
        capacity: Maximum number of rows; after that, each new row replaces the least recent one.
        distance_threshold: A write within this distance of a row is a hit on it (d in the paper; 0
            means the same key).
        columns: The payload: for each column a length, a shape or (shape, dtype), float32 by
            default.
        rule: What a hit does. "replace_if_better": a higher value replaces the whole row, including
            its key. "max": a higher value replaces value and columns, the key stays. "blend": the
            value moves by `blend_rate` of the difference towards the new one, the columns are
            replaced, the key stays. "append": there are no hits, every write adds a row.
        recency: What makes a row recent, besides being added. "write": being replaced. "hit": every
            hit, even if the row is kept. "never": nothing, first in, first out. `touch` makes rows
            recent in all cases.
        index: How rows are found: "kdtree", for few dimensions or small radii; "scan", for many
            dimensions; "auto" chooses the scan above 8 dimensions if `distance_threshold` is 0;
            "torch" also has the rows on a GPU, for many rows of many dimensions (extra `deep`).
            All give the same answers, so files do not contain it.
        blend_rate: Part of the difference by which "blend" changes a value, above 0, at most 1.
        device: Device of torch for `index="torch"`, such as "cuda", "cuda:1" or "cpu".

    Raises:
        ImportError: If `index` is "torch", which is not installed.
        TypeError: If an argument has the wrong type.
        ValueError: If an argument is outside of its range.
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
        index: str = AUTO,
        blend_rate: float = 0.1,
        device: str = "cuda",
    ) -> None:
        self.key_dim = positive_int("key_dim", key_dim)
        self.capacity = row_count(positive_int("capacity", capacity))
        self.distance_threshold = not_negative("distance_threshold", distance_threshold)
        if math.isinf(self.distance_threshold):
            raise ValueError("distance_threshold must be finite, got inf: all writes would be hits")
        self.rule = one_of("rule", rule, RULES)
        self.recency = one_of("recency", recency, RECENCIES)
        self.blend_rate = fraction("blend_rate", blend_rate)
        self.index_name = one_of("index", index, NAMES)
        self._record = record_type(columns)
        self._exponents = exponent_masks(self._record)
        n_rows = min(self.capacity, FIRST_ROWS)
        self.device = device
        kind = index_type(index, self.key_dim, self.distance_threshold, device)
        self.index: Index = kind(self.key_dim, n_rows)
        self.table = empty_table(self._record, n_rows)
        self._prepare()

    def _prepare(self) -> None:
        """Prepare the codes of rule and recency, and the buffers of a single write."""
        self._codes = RULES.index(self.rule), self.blend_rate, RECENCIES.index(self.recency)
        self._one_record = np.zeros((1, self._record.itemsize), np.uint8)
        one = columns_of(self._record, self._one_record)
        self._one_columns = {name: column[0, ...] for name, column in one.items()}
        self._one_key, self._one_value = np.empty((1, self.key_dim)), np.empty(1)
        self._one_row, self._one_outcome = np.empty(1, np.int64), np.empty(1, np.int8)
        # the records, and views of them by the name of the column
        self._columns: tuple[Any, dict[str, npt.NDArray[Any]]] = None, {}

    # ------------------------------------------------------------ content

    def __len__(self) -> int:
        return self.table.counters.item(N_ROWS)

    def __repr__(self) -> str:
        return (
            f"EpisodicMemory({self.key_dim}, capacity={self.capacity}, rows={len(self)}, "
            f"distance_threshold={self.distance_threshold}, rule={self.rule!r}, "
            f"recency={self.recency!r}, columns={list(self.column_arrays)})"
        )

    @property
    def tree(self) -> KDTree:
        """The kd-tree, for compiled code that is written for it.

        Raises:
            TypeError: If the memory has another index.
        """
        if not isinstance(self.index, KDTree):
            raise TypeError(
                f'expected a memory with index="kdtree", got index={self.index_name!r}, which is a '
                f'{self.index.name} here; create the memory with index="kdtree"'
            )
        return self.index

    @property
    def clock(self) -> int:
        """Number of changes so far, which is the highest stamp."""
        return self.table.counters.item(CLOCK)

    @property
    def keys(self) -> npt.NDArray[np.float32]:
        """The key of each row, of shape (n, D)."""
        return read_only(self.index.arrays.keys[: len(self)])

    @property
    def values(self) -> npt.NDArray[np.float32]:
        """The value of each row, of shape (n,)."""
        return read_only(self.table.values[: len(self)])

    @property
    def value_range(self) -> tuple[float, float]:
        """Lowest and highest value, (0, 0) if there is no row; does not scan the rows."""
        if len(self) == 0:
            return 0.0, 0.0
        lowest, highest = self.table.extremes[1].tolist()
        return lowest, highest

    @property
    def stamps(self) -> npt.NDArray[np.int64]:
        """The clock at the last change of each row, of shape (n,)."""
        return read_only(self.table.stamps[: len(self)])

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The payload of each row, by name of the column."""
        n = len(self)
        return {name: read_only(column[:n]) for name, column in self.column_arrays.items()}

    @property
    def value_array(self) -> npt.NDArray[np.float32]:
        """Values including unused rows, for compiled code; get it again after a write."""
        return self.table.values

    @property
    def written_array(self) -> npt.NDArray[np.int64]:
        """The clock when each row was last added or replaced, including unused rows.

        A row whose entry is at most an earlier `clock` is still the same row as then, although its
        value may have changed since.
        """
        return self.table.written

    @property
    def column_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Columns including unused rows, for compiled code; get them again after a write."""
        if self._columns[0] is not self.table.records:
            self._columns = self.table.records, columns_of(self._record, self.table.records)
        return self._columns[1].copy()

    def recency_order(self) -> npt.NDArray[np.int64]:
        """Return all row ids in the order in which they would be evicted.

        Returns:
            The row ids, least recent first.
        """
        order: npt.NDArray[np.int64] = recency_order(self.table)
        return order

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        one = (self._one_key, self._one_value, self._one_record, self._one_row, self._one_outcome)
        return self.index.nbytes + sum(a.nbytes for a in (*self.table, *one, self._exponents))

    # ------------------------------------------------------------ reading

    def nearest(self, key: npt.ArrayLike) -> Nearest:
        """Find the nearest row.

        Args:
            key: One key, or a matrix with a key in each row.

        Returns:
            Row id and distance; two arrays if `key` is a matrix.

        Raises:
            ValueError: If the memory is empty, or the key has a wrong shape or is not finite.
        """
        return self.index.nearest(key)

    def neighbors(self, key: npt.ArrayLike, k: int, radius: float = math.inf) -> Neighbors:
        """Find the k nearest rows within a radius.

        Args:
            key: One key, or a matrix with a key in each row.
            k: Maximum number of rows.
            radius: Maximum distance.

        Returns:
            Row ids and distances, nearest first. For one key, arrays as long as there are such
            rows; for a matrix of m keys, (m, k) arrays padded with row -1 and distance infinity.

        Raises:
            TypeError: If `k` is not a whole number, or the key does not contain numbers.
            ValueError: If `k` or `radius` is out of range, or a key is not finite.
        """
        return self.index.query(key, k, radius)

    # ------------------------------------------------------------ writing

    def write(
        self,
        key: npt.ArrayLike,
        value: float,
        *,
        distance_threshold: float | None = None,
        **columns: npt.ArrayLike,
    ) -> tuple[int, Outcome]:
        """Write one tuple.

        Args:
            key: The key.
            value: The value.
            distance_threshold: Threshold for this call instead of the memory's own.
            **columns: The payload, one argument for each column.

        Returns:
            The row id and the outcome.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a shape is wrong or a number not finite; nothing is written.
        """
        self._one_key[0] = one_key(np.asarray(key), self.key_dim)
        self._one_value[0] = real_number("value", value)
        self._fill(self._one_columns, columns)
        self._write(
            self._one_key, self._one_value, self._one_record, distance_threshold, False,
            self._one_row, self._one_outcome,
        )  # fmt: skip
        return self._one_row.item(), OUTCOMES[self._one_outcome.item()]

    def write_many(
        self,
        keys: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        distance_threshold: float | None = None,
        **columns: npt.ArrayLike,
    ) -> Written:
        """Write tuples in the given order; each one sees those before it.

        Args:
            keys: One key in each row.
            values: The values.
            distance_threshold: Threshold for this call instead of the memory's own.
            **columns: The payload, one array for each column.

        Returns:
            Row ids and outcomes of all tuples.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a shape is wrong or a number not finite; nothing is written.
        """
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
        Each tuple is written before the next one is looked up.

        Args:
            keys: The key of each step.
            rewards: The reward of each step.
            gamma: Discount factor.
            last_value: Value of the state after the last step.
            distance_threshold: Threshold for this call instead of the memory's own.
            **columns: The payload, one array for each column.

        Returns:
            Row ids and outcomes of all steps.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a shape is wrong or a number not finite; nothing is written.
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

        The first published code of CEC did this. A tuple with a hit is compared with the current
        state of the row, and changes it according to the rule (`append` replaces a row if the
        tuple is better); all others are added at the end.

        Args:
            keys: One key in each row.
            values: The values.
            **columns: The payload, one array for each column.

        Returns:
            Row ids and outcomes of all tuples.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a shape is wrong or a number not finite; nothing is written.
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
        rows = self.index.query(matrix, 1, self.distance_threshold)[0][:, 0]
        outcomes = np.full(len(matrix), Outcome.ADDED, np.int8)
        for i in np.flatnonzero(rows >= 0):
            outcomes[i] = self._hit(int(rows[i]), matrix[i], numbers[i], records[i])
        new = np.flatnonzero(rows < 0)
        added, kinds = np.empty(len(new), np.int64), np.empty(len(new), np.int8)
        self._write(matrix[new], numbers[new], records[new], None, False, added, kinds, APPEND)
        rows[new], outcomes[new] = added, kinds
        return rows, outcomes

    def _hit(self, row: int, key: Floats, value: float, record: npt.NDArray[np.uint8]) -> Outcome:
        old = self.table.values[row]
        new = value_on_hit(*self._codes[:2], old, np.float32(value))
        changes = self.rule == "blend" or new > old
        if self.recency == "hit" or (self.recency == "write" and changes):
            self.touch([row])
        if not changes:
            return Outcome.KEPT
        if self.rule not in ("max", "blend"):
            self.index.move(row, key)
        self.table.records[row] = record
        self.set_values([row], [new])
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
        """Copy columns into records, after checking that all of them and no others are given."""
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
        own_rule, blend_rate, recency = self._codes
        rule = own_rule if rule is None else rule
        done = 0
        while True:
            done = write_rows(
                *self.index.arrays,
                *self.table,
                self.capacity,
                threshold,
                rule,
                blend_rate,
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
                self.index.rows_changed(rows)
                return
            if done < 0:
                raise self._not_finite(keys, values, *divmod(~done, KINDS_OF_BAD))
            self._grow(min(self.capacity, 2 * len(self.table.values)))

    def _grow(self, n_rows: int) -> None:
        self.index.reserve(n_rows)
        self.table = grown_table(self.table, self._record, n_rows)
        find_extremes(self.table)

    def rekey(self, keys: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Give every row another key, for example after an embedding has been trained.

        The rows are written into an empty memory under their new keys, the least recent first: rows
        with new keys at most `distance_threshold` apart become one, as the rule says. All ids and
        stamps are new.

        Args:
            keys: The new key of each row.

        Returns:
            The new id of each row.

        Raises:
            TypeError: If the keys are not numbers.
            ValueError: If their shape is wrong or one is not finite; nothing is changed.
        """
        matrix = key_matrix(keys, self.key_dim)
        if len(matrix) != len(self):
            raise ValueError(f"expected {len(self)} keys, one for each row, got {len(matrix)}")
        other, order = self.copy(), self.recency_order()
        other.index.rebuild(np.empty((0, self.key_dim), np.float32))
        other.table = empty_table(self._record, len(self.table.values))
        other.table.counters[CLOCK] = self.clock
        columns: dict[str, Any] = {name: each[order] for name, each in self.columns.items()}
        rows = other.write_many(matrix[order], self.values[order], **columns)[0]
        self.index, self.table = other.index, other.table
        return rows[np.argsort(order)]

    def set_values(self, rows: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Change the values of rows.

        The rows get new stamps in the given order; keys, columns and recency stay the same.

        Args:
            rows: Row ids.
            values: The new values.

        Raises:
            TypeError: If `rows` are not whole numbers, or `values` not numbers.
            ValueError: If a row does not exist, or a value is not finite.
        """
        numbers = existing_rows(rows, len(self))
        set_row_values(self.table, numbers, float32_vector("values", values, len(numbers)))

    def set_columns(self, rows: npt.ArrayLike, **columns: npt.ArrayLike) -> None:
        """Change columns of rows.

        The rows get new stamps in the given order; keys, values and recency stay the same.

        Args:
            rows: Row ids; of a row that is named twice, the last one counts.
            **columns: The new contents, one array for each column that changes.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a row or column does not exist, a shape is wrong or a number not finite;
                nothing is changed.
        """
        numbers = existing_rows(rows, len(self))
        set_rows(self.column_arrays, numbers, columns)
        set_row_values(self.table, numbers, self.table.values[numbers])

    def touch(self, rows: npt.ArrayLike) -> None:
        """Make rows the most recent ones, without changing their stamps.

        Args:
            rows: Row ids; the last of them becomes the most recent.

        Raises:
            TypeError: If `rows` are not whole numbers.
            ValueError: If a row does not exist.
        """
        touch_rows(self.table, existing_rows(rows, len(self)))

    def merge(self, other: "EpisodicMemory") -> Written:
        """Write all rows of another memory into this one, as `write_many` would.

        The rows are written in the other memory's order of recency, least recent first. The result
        is the same as if the rows of the second memory had been written to the first one after
        its own rows. Without eviction, and with a
        threshold of 0, "max" and "replace_if_better" keep the highest value of each key, whichever
        memory is merged into which.

        Args:
            other: A memory with the same dimension of keys and the same columns. Its keys must
                come from the same embedding, which only the caller can know.

        Returns:
            Row ids here and outcomes, one for each row of the other memory in that order.

        Raises:
            ValueError: If the dimension or the columns differ; nothing is written.
        """
        check_same_layout(self, other)
        order = other.recency_order()
        columns: dict[str, Any] = {name: part[order] for name, part in other.columns.items()}
        return self.write_many(other.keys[order], other.values[order], **columns)

    # ------------------------------------------------------------ copies in other processes

    def changes(self, since: int = 0) -> Changes:
        """Return the rows that changed after a clock.

        Args:
            since: A former `clock` of this memory; 0 for all rows.

        Returns:
            The rows, for `apply`.
        """
        return changed_rows(self.index.arrays, self.table, since, self.distance_threshold)

    def apply(self, changes: Changes) -> None:
        """Update this copy of a memory to the state in which the memory returned the changes.

        A copy is for reading: write to the memory itself, because only that knows which rows are
        recent.

        Args:
            changes: All changes since the `clock` of this copy.
        """
        if changes.n_rows < len(self):  # `rekey` has joined rows, all others have changed
            self.index.rebuild(np.empty((0, self.key_dim), np.float32))
            self.table = empty_table(self._record, len(self.table.values))
        while len(self.table.values) < changes.n_rows:
            self._grow(min(self.capacity, 2 * len(self.table.values)))
        put_changes(self.index.arrays, self.table, changes)
        self.index.rows_changed(changes.rows)
        self.distance_threshold = changes.distance_threshold

    # ------------------------------------------------------------ copies and files

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return everything from which `from_state` creates the same memory.

        Returns:
            The configuration, for JSON, and the arrays by name.
        """
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
        if self.rule == "blend":
            config["blend_rate"] = self.blend_rate
        arrays: dict[str, npt.NDArray[Any]] = {
            "keys": self.keys,
            "values": self.values,
            "stamps": self.stamps,
            "recency_order": self.recency_order(),
            **{f"columns/{name}": column for name, column in self.columns.items()},
        }
        return config, arrays

    @classmethod
    def from_state(
        cls,
        config: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        index: str = AUTO,
        device: str = "cuda",
    ) -> Self:
        """Create a memory from a `state`.

        Args:
            config: The configuration.
            arrays: The arrays by name.
            index: How rows are found, which is not part of a state.
            device: Device of torch for `index="torch"`.

        Returns:
            A memory with the same content and order.

        Raises:
            ArchiveError: If configuration and arrays are inconsistent.
        """
        try:
            options = dict(config)
            clock = options.pop("clock")
            columns = options.pop("columns")
            numbers = (clock, options["key_dim"], options["capacity"])
            check(all(type(n) is int for n in numbers), f"expected whole numbers, got {numbers}")
            check(0 <= clock < MAX_CLOCK, f"the clock is {clock}")
            check(type(options["distance_threshold"]) is not bool, "the threshold is not a number")
            specs = {name: (tuple(shape), dtype) for name, (shape, dtype) in columns.items()}
            check_shapes(options["key_dim"], specs, arrays)
            memory = cls(**options, columns=specs, index=index, device=device)
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
        restore_table(self.table, self.column_arrays, n, clock, arrays)
        self.index.rebuild(arrays["keys"])

    def digest(self) -> str:
        """Return a hash of content and order.

        Returns:
            A string that is equal for two memories that will behave the same.
        """
        return digest_of(*self.state())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the memory to a file; an existing file is replaced atomically.

        Args:
            path: The file.

        Raises:
            OSError: If the file cannot be written.
        """
        config, arrays = self.state()
        write_archive(path, {"kind": KIND, "memory": config}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], index: str = AUTO, device: str = "cuda") -> Self:
        """Read a file written by `save`.

        Args:
            path: The file.
            index: How rows are found, which is not part of a file.
            device: Device of torch for `index="torch"`.

        Returns:
            A memory with the same content and order.

        Raises:
            ArchiveError: If the file is damaged or does not contain a memory.
            OSError: If the file cannot be opened.
        """
        manifest, arrays = read_archive(path, kind=KIND)
        try:
            return cls.from_state(manifest["memory"], arrays, index, device)
        except (ArchiveError, LookupError) as error:
            raise ArchiveError(f"cannot load {path}: {error}") from error

    def copy(self) -> Self:
        """Return an independent copy.

        Returns:
            A memory with the same content and order.
        """
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.index = self.index.copy()
        other.table = copied_table(self.table)
        other._prepare()  # noqa: SLF001  its own class
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], str, str]:
        return *self.state(), self.index_name, self.device

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__dict__.update(type(self).from_state(*state).__dict__)

    def check_invariants(self) -> None:
        """Check that index, table and recency list are consistent.

        Raises:
            AssertionError: If they are not.
        """
        self.index.check_invariants()
        n = len(self)
        check(len(self.index) == n, f"the index has {len(self.index)} rows, the table {n}")
        check(all(row in self.index for row in range(n)), "a row is not in the index")
        check(n <= self.capacity, "there are more rows than the capacity")
        check_table(self.table, self.recency_order())
        found = (float(self.values.min()), float(self.values.max())) if n else (0.0, 0.0)
        check(self.value_range == found, f"value_range is {self.value_range}, not {found}")

    # ------------------------------------------------------------ errors

    def _not_finite(self, keys: Floats, values: Floats, index: int, kind: int) -> ValueError:
        if kind == BAD_KEY:
            return not_finite(keys[index], f"the key of tuple {index}")
        what = f"the value {values[index]}" if kind == BAD_VALUE else "the payload"
        return ValueError(f"{what} of tuple {index} is not finite; nothing was written")

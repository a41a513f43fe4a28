"""The CSV files of a run folder: written row by row, cut back to a checkpoint, read."""

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from scrubjay.training.errors import RunFolderError
from scrubjay.training.files import write_text

Row = dict[str, str]
Number = TypeVar("Number", int, float)
Parsed = TypeVar("Parsed")
Columns = dict[str, npt.NDArray[np.float64]]

WORDS = {"": math.nan, "true": 1.0, "false": 0.0}
TAIL = 65_536  # bytes at the end of a file that hold its last row


class Table:
    """One CSV file. The columns are those of the first row, and `timestep` is one of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: list[str] = []
        self._file: Any = None

    def append(self, row: Mapping[str, Any]) -> None:
        if self._file is None:
            self._open(row)
        with self._failure_named():
            if not self._columns:
                self._columns = list(row)
                self._writer.writerow(self._columns)
            self._writer.writerow([_plain(row[name]) for name in self._columns])

    def _open(self, row: Mapping[str, Any]) -> None:
        self._columns = read_header(self.path)
        unknown = [name for name in self._columns if name not in row]
        if unknown:
            raise RunFolderError(
                f"{self.path}: expected the columns {', '.join(row)}; its first line has "
                f"{', '.join(map(repr, unknown))}: restore that line, or begin a new run"
            )
        self._file = self.path.open("a", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")

    def rows(self) -> list[Row]:
        """All complete rows written so far, as text."""
        self.flush()
        return read_rows(self.path)

    def number(self, row: Row, column: str, kind: Callable[[str], Number]) -> Number:
        """A row's entry as a number, or an error that names the file and the column.

        Args:
            row: One of `rows`.
            column: The name of the column.
            kind: `int` or `float`.

        Raises:
            RunFolderError: If there is no such column, or its entry is not such a number.
        """
        text = row.get(column)
        try:
            return kind(text or "")
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise RunFolderError(
                f"{self.path} is damaged: expected {what} in the column {column!r}, got {text!r}; "
                "restore the file, or begin a new run"
            ) from None

    def rows_until(self, timestep: int) -> list[Row]:
        """The complete rows up to a timestep."""
        return [row for row in self.rows() if self.number(row, "timestep", int) <= timestep]

    def replace(self, rows: list[Row]) -> None:
        """Replace all rows."""
        self.close()
        if not self.path.exists():
            return
        text = io.StringIO(newline="")
        if rows:
            writer = csv.DictWriter(text, read_header(self.path), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        write_text(self.path, text.getvalue())

    def cut(self, timestep: int) -> None:
        """Drop the rows after `timestep`, and an incomplete last line of a killed process."""
        self.replace(self.rows_until(timestep))

    def remove(self) -> None:
        """Remove all rows and the file."""
        self.close()
        self.path.unlink(missing_ok=True)

    def flush(self, sync: bool = False) -> None:
        if self._file is not None:
            with self._failure_named():
                self._file.flush()
                if sync:
                    os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with self._failure_named():
                file.close()

    @contextmanager
    def _failure_named(self) -> Iterator[None]:
        """The system's own message for a full disk does not say which file it was."""
        try:
            yield
        except OSError as error:
            raise OSError(
                error.errno,
                f"could not write {self.path} ({error.strerror}); the last checkpoint is whole: "
                "make space on the disk, then resume the run",
            ) from error


def read_rows(path: Path) -> list[Row]:
    """The complete rows of a CSV file, without an incomplete last line."""
    lines, _ = _read_lines(path)
    rows = _parse(path, csv.DictReader(lines))
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():  # more fields than the header has, or fewer
            raise RunFolderError(
                f"{path}, line {number}: expected as many fields as in the first line; the file is "
                "damaged"
            )
    return rows


def read_header(path: Path) -> list[str]:
    """The names of the columns; none where the file is missing or empty."""
    first, end, _ = _read(path).partition("\n")
    return _parse(path, csv.reader([first]))[0] if end else []


def read_columns(path: Path) -> tuple[Columns, list[str]]:
    """The columns of a CSV file as numbers (empty: NaN), and what had to be left out.

    A file begins with its first row: before, it is missing or empty, which gives no columns. A
    killed run may leave a last line half written; it is left out and reported.

    Raises:
        RunFolderError: If it is anything else than a table of numbers.
    """
    text, is_cut = _read_lines(path)
    lines = _parse(path, csv.reader(text))
    notes = [f"{path.name}: the last line was half written and is left out"] if is_cut else []
    if not lines:
        return {}, notes
    header = lines[0]
    rows = [_numbers(path, i, header, line) for i, line in enumerate(lines[1:], 2) if line]
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), len(header))
    return {name: matrix[:, i] for i, name in enumerate(header)}, notes


def column(columns: Columns, name: str, path: Path) -> npt.NDArray[np.float64]:
    """A column of the file at `path` that must be there."""
    if name not in columns:
        raise RunFolderError(f"{path}: expected a column {name!r}, got {', '.join(columns)}")
    return columns[name]


def last_timestep(path: Path) -> int:
    """The timestep of the last complete row, whose first column it is; 0 without rows.

    Reads the end of the file only, so that it can be called often during a run.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
            whole, _, _ = file.read().rpartition(b"\n")
    except OSError:
        return 0
    first = whole.rpartition(b"\n")[2].partition(b",")[0]
    return int(first) if first.isdigit() else 0


def _read_lines(path: Path) -> tuple[list[str], bool]:
    """All complete lines, and whether an incomplete one was left out."""
    whole, _, rest = _read(path).rpartition("\n")
    return whole.splitlines(), bool(rest)


def _parse(path: Path, reader: Iterable[Parsed]) -> list[Parsed]:
    try:
        return list(reader)
    except csv.Error as error:
        raise RunFolderError(f"{path} is damaged: {error}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise RunFolderError(f"{path} is damaged and cannot be read: {error}") from error
    except OSError as error:
        raise RunFolderError(f"{path} cannot be read: {error}") from error


def _numbers(path: Path, line: int, header: list[str], fields: list[str]) -> list[float]:
    if len(fields) != len(header):
        raise RunFolderError(
            f"{path}, line {line}: expected {len(header)} fields, got {len(fields)}; "
            "the file is damaged"
        )
    return [_number(path, line, text) for text in fields]


def _number(path: Path, line: int, text: str) -> float:
    word = text.strip().lower()
    if word in WORDS:
        return WORDS[word]
    try:
        return float(word)
    except ValueError:
        raise RunFolderError(
            f"{path}, line {line}: expected a number, got {text!r}; the file is damaged"
        ) from None


def _plain(value: Any) -> Any:
    """Booleans as 1 and 0, so that a mean of them is a rate; nothing for what is not known."""
    if value is None:
        return ""
    return int(value) if isinstance(value, bool) else value

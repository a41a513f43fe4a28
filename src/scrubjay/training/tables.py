"""CSV files that grow row by row and can be cut back to a checkpoint."""

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from scrubjay.training.errors import RunFolderError
from scrubjay.training.files import write_text

Row = dict[str, str]
Number = TypeVar("Number", int, float)


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
        """All whole rows written so far, as text."""
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
        """The whole rows up to a timestep."""
        return [row for row in self.rows() if self.number(row, "timestep", int) <= timestep]

    def replace(self, rows: list[Row]) -> None:
        """Have these rows and no others."""
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
        """Drop the rows after `timestep`, and a last line that a killed process left half."""
        self.replace(self.rows_until(timestep))

    def remove(self) -> None:
        """Have no rows and no file."""
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
    """The whole rows of a CSV file; a last line without its end is not one."""
    text = _read(path)
    lines = text[: text.rfind("\n") + 1].splitlines()
    try:
        return list(csv.DictReader(lines))
    except csv.Error as error:
        raise RunFolderError(f"{path} is damaged: {error}") from error


def read_header(path: Path) -> list[str]:
    first, end, _ = _read(path).partition("\n")
    try:
        return next(csv.reader([first])) if end else []
    except csv.Error as error:
        raise RunFolderError(f"{path} is damaged: {error}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise RunFolderError(f"{path} is damaged: {error}") from error


def _plain(value: Any) -> Any:
    """Booleans as 1 and 0, so that a mean of them is a rate; nothing for what is not known."""
    if value is None:
        return ""
    return int(value) if isinstance(value, bool) else value

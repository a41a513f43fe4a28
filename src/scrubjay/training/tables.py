"""CSV files that grow row by row and can be cut back to a checkpoint."""

import csv
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Table:
    """One CSV file. The columns are those of the first row, and `timestep` is one of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: list[str] = read_header(path)
        self._file: Any = None

    def append(self, row: Mapping[str, Any]) -> None:
        if self._file is None:
            self._file = self.path.open("a", newline="", encoding="utf-8")
            self._writer = csv.writer(self._file, lineterminator="\n")
        with self._failure_named():
            if not self._columns:
                self._columns = list(row)
                self._writer.writerow(self._columns)
            self._writer.writerow([_plain(row[name]) for name in self._columns])

    def rows(self) -> list[dict[str, str]]:
        """All whole rows written so far, as text."""
        self.flush()
        return read_rows(self.path)

    def cut(self, timestep: int) -> None:
        """Drop the rows after `timestep`, and a last line that a killed process left half."""
        self.close()
        if not self.path.exists():
            return
        kept = [row for row in read_rows(self.path) if int(row["timestep"]) <= timestep]
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns, lineterminator="\n")
            if kept:
                writer.writeheader()
            writer.writerows(kept)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
        self._columns = read_header(self.path)

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


def read_rows(path: Path) -> list[dict[str, str]]:
    """The whole rows of a CSV file; a last line without its end is not one."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    lines = text[: text.rfind("\n") + 1].splitlines()
    return list(csv.DictReader(lines))


def read_header(path: Path) -> list[str]:
    if not path.exists():
        return []
    first, end, _ = path.read_text(encoding="utf-8").partition("\n")
    return next(csv.reader([first])) if end else []


def _plain(value: Any) -> Any:
    """Booleans as 1 and 0, so that a mean of them is a rate; nothing for what is not known."""
    if value is None:
        return ""
    return int(value) if isinstance(value, bool) else value

"""Reading the CSV files of a run folder, with nothing but the csv module."""

import csv
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Table = dict[str, Array]

WORDS = {"": math.nan, "true": 1.0, "false": 0.0}


class RunError(ValueError):
    """A run folder that cannot be used, or runs that do not belong together."""


def read_table(path: Path) -> tuple[Table, list[str]]:
    """The columns of a CSV file as numbers (empty: NaN), and what had to be left out.

    A file begins with its first row: before, it is missing or empty, which gives no columns. A
    killed run may leave a last line half written; it is left out and reported. Anything else that
    is not a table of numbers is an error.
    """
    text = _text(path)
    complete, _, rest = text.rpartition("\n")
    lines = list(csv.reader(complete.splitlines()))
    notes = [f"{path.name}: the last line was half written and is left out"] if rest else []
    if not lines:
        return {}, notes
    header, body = lines[0], lines[1:]
    rows = [_numbers(path, i + 2, header, row) for i, row in enumerate(body) if row]
    matrix = np.array(rows, dtype=np.float64).reshape(len(rows), len(header))
    return {name: matrix[:, i] for i, name in enumerate(header)}, notes


def column(table: Table, name: str, path: Path) -> Array:
    """A column that must be there."""
    if name not in table:
        raise RunError(f"{path}: a column {name!r} was expected, there are {', '.join(table)}")
    return table[name]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path} cannot be read: {error}") from error


def _numbers(path: Path, line: int, header: list[str], row: list[str]) -> list[float]:
    if len(row) != len(header):
        raise RunError(
            f"{path}, line {line}: {len(header)} fields were expected, {len(row)} came; "
            "the file is damaged"
        )
    return [_number(path, line, field) for field in row]


def _number(path: Path, line: int, field: str) -> float:
    word = field.strip().lower()
    if word in WORDS:
        return WORDS[word]
    try:
        return float(word)
    except ValueError:
        raise RunError(
            f"{path}, line {line}: a number was expected, {field!r} came; the file is damaged"
        ) from None

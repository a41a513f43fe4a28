"""Results on disk, with their numbers and their origin; earlier results are kept."""

import csv
import io
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scrubjay.training.errors import RunError
from scrubjay.training.run_folder import hardware, now, read_json, versions

Cell = str | int | float | None
Row = dict[str, Cell]

VARIANT = ("task", "method", "metric")  # the columns that tell apart what has seeds


@dataclass(frozen=True)
class ResultTable:
    """The numbers of a figure, and the notes of its caption.

    Attributes:
        rows: One dictionary for each row, by column; None where a cell is empty.
        notes: Sentences for the caption, such as which runs are missing.
    """

    rows: list[Row]
    notes: list[str] = field(default_factory=list)


def save_result(
    stem: str | Path,
    contents: Mapping[str, bytes],
    rows: Sequence[Mapping[str, object]],
    command: str,
    notes: Sequence[str] = (),
    added: bool = False,
) -> list[Path]:
    """Write a result of any kind, its numbers and its origin.

    Each file appears whole or not at all. A result that is there already with other numbers is
    first moved to `previous/<stem>.<time of it>.*`; with the same numbers it is replaced.

    Args:
        stem: The files' path without a suffix.
        contents: The result itself, as bytes by suffix (".png", ".md").
        rows: Its numbers, for stem.csv.
        command: The command that made it, for stem.json.
        notes: Sentences for a caption, for stem.json.
        added: Whether numbers of the stored result are among the rows; stem.json then names its
            origin too, under "added_to".

    Returns:
        The paths that were written.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    earlier = _earlier_origins(stem) if added else []
    contents = {**contents, ".csv": csv_bytes(rows), ".json": _origin(command, notes, earlier)}
    paths = {suffix: stem.with_name(stem.name + suffix) for suffix in contents}
    temporary = _write_temporary({paths[suffix]: c for suffix, c in contents.items()})
    if paths[".csv"].exists() and paths[".csv"].read_bytes() != contents[".csv"]:
        _keep_previous(stem, paths)
    return _rename(temporary)


def replace_pictures(stem: str | Path, pictures: Mapping[str, bytes]) -> list[Path]:
    """Write a stored result's pictures again; its numbers and its origin stay as they are."""
    stem = Path(stem)
    files = {stem.with_name(stem.name + suffix): content for suffix, content in pictures.items()}
    return _rename(_write_temporary(files))


def read_table(stem: str | Path) -> ResultTable:
    """The numbers of a stored result.

    Args:
        stem: Its path without a suffix.

    Returns:
        Its rows, with numbers as numbers, and the notes of its caption.

    Raises:
        RunError: If stem.csv or stem.json is missing or is damaged.
    """
    stem = Path(stem)
    path, origin = (stem.with_name(stem.name + suffix) for suffix in (".csv", ".json"))
    for file in (path, origin):
        if not file.exists():
            raise RunError(f"expected a stored result with {file}, got no such file")
    notes = read_json(origin).get("notes", [])
    return ResultTable(parse_csv(path.read_text(encoding="utf-8")), [str(note) for note in notes])


def add_rows(stored: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """The rows of a result, completed with those of further runs.

    Args:
        stored: Rows of the stored result.
        new: Rows of the further runs. They replace stored rows of the same task, method, metric and
            seed.

    Returns:
        The rows of all seeds, by task, method and metric in the order of their first rows, and each
        by seed. Those that belong to no seed, such as summaries, are left out: they no longer hold.
    """
    stored, new = ([row for row in rows if isinstance(row["seed"], int)] for rows in (stored, new))
    replaced = {(_variant(row), row["seed"]) for row in new}
    kept = [row for row in stored if (_variant(row), row["seed"]) not in replaced]
    variants = dict.fromkeys(_variant(row) for row in [*stored, *new])
    places = {variant: place for place, variant in enumerate(variants)}
    return sorted([*kept, *new], key=lambda row: (places[_variant(row)], number_of(row["seed"])))


def csv_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Rows as a CSV file; a column for every name that any row has."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parse_csv(text: str) -> list[Row]:
    """The rows of a CSV file, with numbers as numbers and None for empty cells."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    return [{name: _cell(value) for name, value in row.items()} for row in reader]


def number_of(cell: Cell) -> float:
    """A cell that must hold a number.

    Raises:
        RunError: If it does not.
    """
    if isinstance(cell, int | float):
        return float(cell)
    raise RunError(f"expected a number in a stored result, got {cell!r}")


def _variant(row: Row) -> tuple[Cell, ...]:
    return tuple(row.get(name) for name in VARIANT)


def _cell(text: str) -> Cell:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _earlier_origins(stem: Path) -> list[dict[str, object]]:
    """The origin of a stored result and of those that it was added to, the oldest first."""
    path = stem.with_name(f"{stem.name}.json")
    if not path.exists():
        return []
    origin = read_json(path)
    origin.pop("notes", None)  # those that still hold are among the new ones
    return [*origin.pop("added_to", []), origin]


def _origin(command: str, notes: Sequence[str], earlier: Sequence[object]) -> bytes:
    origin = {
        "command": command,
        "written": now(),
        **({"notes": list(notes)} if notes else {}),
        **({"added_to": list(earlier)} if earlier else {}),
        "versions": versions(),
        "hardware": hardware(),
    }
    return (json.dumps(origin, indent=2, ensure_ascii=False) + "\n").encode()


def _write_temporary(contents: Mapping[Path, bytes]) -> dict[Path, Path]:
    """All files under temporary names first, so that none appears if one cannot be written."""
    unique = f".{secrets.token_hex(4)}.tmp"
    temporary = {path: path.with_name(path.name + unique) for path in contents}
    for path, content in contents.items():
        _write(temporary[path], content)
    return temporary


def _rename(temporary: Mapping[Path, Path]) -> list[Path]:
    for path, written in temporary.items():
        written.replace(path)
    return list(temporary)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _keep_previous(stem: Path, paths: Mapping[str, Path]) -> None:
    folder = stem.parent / "previous"
    folder.mkdir(exist_ok=True)
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(paths[".csv"].stat().st_mtime))
    name, number = f"{stem.name}.{moment}", 1
    while (folder / f"{name}.csv").exists():
        number += 1
        name = f"{stem.name}.{moment}-{number}"
    for suffix, path in paths.items():
        if path.exists():
            path.replace(folder / f"{name}{suffix}")

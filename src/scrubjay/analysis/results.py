"""Results on disk: with the numbers behind them and how they came to be, none ever lost."""

import csv
import io
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scrubjay.training.run_folder import hardware, now, versions


def save_result(
    stem: str | Path, contents: Mapping[str, bytes], rows: Sequence[Mapping[str, Any]], command: str
) -> list[Path]:
    """As `save_figure`, for results of any kind: `contents` by suffix, beside .csv and .json."""
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    contents = {**contents, ".csv": _csv(rows), ".json": _origin(command)}
    paths = {suffix: stem.with_name(stem.name + suffix) for suffix in contents}
    unique = f".{secrets.token_hex(4)}.tmp"
    temporary = {suffix: path.with_name(path.name + unique) for suffix, path in paths.items()}
    for suffix, content in contents.items():
        _write(temporary[suffix], content)
    if paths[".csv"].exists() and paths[".csv"].read_bytes() != contents[".csv"]:
        _keep_previous(stem, paths)
    for suffix in contents:
        temporary[suffix].replace(paths[suffix])
    return list(paths.values())


def _csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _origin(command: str) -> bytes:
    origin = {
        "command": command,
        "written": now(),
        "versions": versions(),
        "hardware": hardware(),
    }
    return (json.dumps(origin, indent=2) + "\n").encode()


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

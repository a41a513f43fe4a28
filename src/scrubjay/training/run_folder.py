"""The folder of one run, readable with nothing but a CSV reader.

manifest.json   what it is, how it stands, where and with what it ran
config.json     everything that is needed to run it again
command.txt     the command that started it
progress.csv, episodes.csv, eval.csv    reproducible to the last bit
time.csv        wall clock
checkpoints/    last.scrub, best.scrub, step-<N>.scrub
"""

import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

from scrubjay.training.tables import Table

SCHEMA = 1
TABLES = ("progress", "episodes", "eval", "trajectories", "time")
PACKAGES = (
    "scrubjay", "numpy", "numba", "gymnasium", "mujoco", "gymnasium-robotics", "torch",
    "stable-baselines3",
)  # fmt: skip


class RunFolderError(ValueError):
    """A folder that is not what was expected: not a run, damaged, or already used."""


class RunFolder:
    """Opened with `create` for a new run, with `open` for one that exists."""

    def __init__(self, path: Path, manifest: dict[str, Any], config: dict[str, Any]) -> None:
        self.path = path
        self.manifest = manifest
        self.config = config
        self.tables = {name: Table(path / f"{name}.csv") for name in TABLES}

    @classmethod
    def create(
        cls, path: str | PathLike[str], config: Mapping[str, Any], command: str = ""
    ) -> "RunFolder":
        """Start a new run; a folder that holds one already is left alone."""
        folder = Path(path)
        if (folder / "manifest.json").exists():
            raise RunFolderError(
                f"{folder} holds a run already: resume it (scrubjay train --resume {folder}) "
                "or choose another folder"
            )
        config = {"start_timestep": 0, **config}
        run = cls(folder, new_manifest(config, command), config)
        try:
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            write_json(folder / "config.json", run.config)
            write_text(folder / "command.txt", command + "\n")
            run.update()
        except OSError as error:
            raise RunFolderError(
                f"the run folder {folder} cannot be written ({error.strerror}); choose another one"
            ) from error
        return run

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "RunFolder":
        """Open a run that exists, with clear errors for what is none."""
        folder = Path(path)
        manifest = read_json(folder / "manifest.json")
        if manifest.get("schema", 0) > SCHEMA:
            raise RunFolderError(
                f"{folder} was written by a newer scrubjay (schema {manifest['schema']}, "
                f"this one reads up to {SCHEMA}): upgrade scrubjay to use it"
            )
        return cls(folder, manifest, read_json(folder / "config.json"))

    def update(self, **fields: Any) -> None:
        """Change entries of the manifest, atomically."""
        self.manifest.update(fields)
        write_json(self.path / "manifest.json", self.manifest)

    def checkpoint(self, name: str, suffix: str = ".scrub") -> Path:
        return self.path / "checkpoints" / f"{name}{suffix}"

    def cut(self, timestep: int) -> None:
        for table in self.tables.values():
            table.cut(timestep)

    def sync(self) -> None:
        """Everything written so far is on the disk afterwards."""
        for table in self.tables.values():
            table.flush(sync=True)

    def close(self) -> None:
        with ExitStack() as stack:  # closes all of them, even when one fails
            for table in self.tables.values():
                stack.callback(table.close)


def new_manifest(config: Mapping[str, Any], command: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": "running",
        "agent": config.get("agent"),
        "task": config.get("task"),
        "seed": config.get("seed"),
        "command": command,
        "started": now(),
        "finished": None,
        "first_success_step": None,
        "first_greedy_success_step": None,
        "versions": versions(),
        "hardware": hardware(),
    }


def versions() -> dict[str, str]:
    """The versions of what may change a result; absent packages are left out."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "processor": processor_name(),
        "cores": os.cpu_count(),
    }


def processor_name() -> str:
    """The processor's name where the system tells it (platform.processor is empty on Linux)."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a small file so that a reader sees the old or the new one, never half."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RunFolderError(f"{path.parent} is not a run folder: it has no {path.name}") from error
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunFolderError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise RunFolderError(f"{path} is damaged: an object was expected")
    return content


def command_line() -> str:
    """The command that started this process, as one would type it again."""
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return shlex.join([program, *sys.argv[1:]])

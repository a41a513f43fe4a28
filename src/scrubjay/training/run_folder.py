"""The folder of one run, readable with nothing but a CSV reader.

manifest.json   what it is, how it stands, where and with what it ran
config.json     everything that is needed to run it again
command.txt     the command that started it
progress.csv, episodes.csv, eval.csv    reproducible to the last bit
time.csv        wall clock
evaluations.npz eval.csv in the layout of Stable-Baselines3's EvalCallback
logged.csv      what callbacks recorded with `logger.record`: timestep, name, value
checkpoints/    last.scrub, best.scrub, step-<N>.scrub
run.lock        held by the one process that may write here; owner.json says which
"""

import json
import os
import platform
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, Self

from scrubjay.training.errors import RunExistsError, RunFolderError
from scrubjay.training.evaluations_npz import NAME as EVALUATIONS
from scrubjay.training.files import remove_temporary_files, write_text
from scrubjay.training.lock import FolderLock
from scrubjay.training.tables import Table

__all__ = ["RunFolder", "RunFolderError", "write_text"]

SCHEMA = 1
TABLES = ("progress", "episodes", "eval", "trajectories", "time", "logged")
PACKAGES = (
    "scrubjay", "numpy", "numba", "gymnasium", "mujoco", "gymnasium-robotics", "torch",
    "stable-baselines3",
)  # fmt: skip


class RunFolder:
    """A run folder, opened with `create` for a new run or with `open` for one that exists.

    A run folder has one writer at a time. `create` and `open(..., for_writing=True)` take its lock,
    `close` releases it. Readers take none.

    Args:
        path: The folder.
        manifest: The content of manifest.json.
        config: The content of config.json.
        lock: The folder's lock, if it is held.
    """

    def __init__(
        self,
        path: Path,
        manifest: dict[str, Any],
        config: dict[str, Any],
        lock: FolderLock | None = None,
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.config = config
        self.tables = {name: Table(path / f"{name}.csv") for name in TABLES}
        self._lock = lock or FolderLock(path)
        self._new = False

    @classmethod
    def create(
        cls, path: str | PathLike[str], config: Mapping[str, Any], command: str = ""
    ) -> "RunFolder":
        """Start a new run; a folder that already contains a run is not changed.

        Args:
            path: The folder.
            config: The content of config.json.
            command: The command that started the run.

        Returns:
            The folder, locked for writing.

        Raises:
            RunExistsError: If there is a run already.
            LockedError: If another process is writing to the folder.
            RunFolderError: If the folder cannot be written.
        """
        folder = Path(path)
        config = {"start_timestep": 0, **config}
        run = cls(folder, new_manifest(config, command), config)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            run._lock.acquire()
            if (folder / "manifest.json").exists():
                raise RunExistsError(
                    f"{folder} holds a run already: resume it (scrubjay train --resume {folder}) "
                    "or choose another folder"
                )
            run._new = True
            run._write_start(command)
        except OSError as error:
            run._lock.release()
            raise RunFolderError(
                f"the run folder {folder} cannot be written ({error.strerror}); choose another one"
            ) from error
        except BaseException:
            run._lock.release()
            raise
        return run

    @classmethod
    def open(cls, path: str | PathLike[str], for_writing: bool = False) -> "RunFolder":
        """Open a run that exists.

        Args:
            path: The run folder.
            for_writing: Whether to take the folder's lock, which resuming a run requires.

        Returns:
            The folder.

        Raises:
            LockedError: If another process is writing to the folder, with `for_writing`.
            RunFolderError: If it is not a run folder, or damaged.
        """
        folder = Path(path)
        lock = FolderLock(folder)
        if for_writing and (folder / "manifest.json").exists():
            lock.acquire()
        try:
            manifest = read_manifest(folder)
            config = read_json(folder / "config.json")
            if for_writing:
                remove_temporary_files(folder)
                remove_temporary_files(folder / "checkpoints")
        except BaseException:
            lock.release()
            raise
        return cls(folder, manifest, config, lock)

    def lock(self) -> None:
        """Lock the folder for writing, if it is not locked yet; all methods that write call this.

        Raises:
            LockedError: If another process is writing to the folder.
            RunFolderError: If the run has continued since it was opened for reading.
        """
        if self._lock.held:
            return
        self._lock.acquire()
        try:
            self._check_unchanged()
        except BaseException:
            self._lock.release()
            raise

    def _check_unchanged(self) -> None:
        if json.dumps(read_json(self.path / "manifest.json")) != json.dumps(self.manifest):
            raise RunFolderError(
                f"{self.path} has changed since it was opened: open it again with for_writing=True"
            )

    def update(self, **fields: Any) -> None:
        """Change entries of the manifest, atomically.

        Args:
            **fields: The entries.
        """
        self.lock()
        self.manifest.update(fields)
        write_json(self.path / "manifest.json", self.manifest)

    def restart(self, config: Mapping[str, Any], command: str = "") -> None:
        """Remove all results and begin the run again from its start.

        Args:
            config: The content of config.json.
            command: The command that started the run.
        """
        self.lock()
        shutil.rmtree(self.path / "checkpoints", ignore_errors=True)
        for table in self.tables.values():
            table.remove()
        (self.path / EVALUATIONS).unlink(missing_ok=True)
        self.config = {"start_timestep": 0, **config}
        self.manifest = new_manifest(self.config, command)
        self._write_start(command)

    def _write_start(self, command: str) -> None:
        (self.path / "checkpoints").mkdir(exist_ok=True)
        write_json(self.path / "config.json", self.config)
        write_text(self.path / "command.txt", command + "\n")
        # last: with its manifest a folder is a run
        write_json(self.path / "manifest.json", self.manifest)

    def checkpoint(self, name: str, suffix: str = ".scrub") -> Path:
        """The file of a checkpoint.

        Args:
            name: "last", "best" or "step-N".
            suffix: Its suffix.

        Returns:
            The path, whether or not the file exists.
        """
        return self.path / "checkpoints" / f"{name}{suffix}"

    def cut(self, timestep: int) -> None:
        """Remove the rows after a timestep from all tables, or from none if one is damaged.

        Args:
            timestep: The timestep of the last rows that are kept.
        """
        self.lock()
        kept = {table: table.rows_until(timestep) for table in self.tables.values()}
        for table, rows in kept.items():
            table.replace(rows)

    def sync(self) -> None:
        """Write everything to the disk."""
        for table in self.tables.values():
            table.flush(sync=True)

    def close(self) -> None:
        """Close all files and release the lock."""
        with ExitStack() as stack:  # closes all of them, even when one fails
            stack.callback(self._lock.release)
            for table in self.tables.values():
                stack.callback(table.close)

    def abandon(self) -> None:
        """Undo a start that failed, so that the same command can be given again.

        The files of a new run are removed; a resumed run is marked as failed. Does nothing to a
        folder that is closed already.
        """
        if not self._lock.held:
            return
        try:
            if self._new:
                self._remove_start()
            elif self.manifest.get("status") == "running":
                self.update(status="failed", finished=now())
        finally:
            self.close()

    def _remove_start(self) -> None:
        for name in ("manifest.json", "config.json", "command.txt"):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # not empty: it has other files
            (self.path / "checkpoints").rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        # training closes the folder itself, also on errors: if it is still open, the error
        # happened before training began
        if kind is None:
            self.close()
        else:
            self.abandon()


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
    """The versions of packages that may change a result; absent ones are left out."""
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
    """The processor's name where it is available (platform.processor is empty on Linux)."""
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


def check_schema(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a run of a newer version."""
    schema = manifest.get("schema", 0)
    if not isinstance(schema, int):
        raise RunFolderError(
            f"{folder / 'manifest.json'} is damaged: expected a whole number as schema, "
            f"got {schema!r}"
        )
    if schema > SCHEMA:
        raise RunFolderError(
            f"{folder} was written by a newer scrubjay (schema {schema}, "
            f"this one reads up to {SCHEMA}): upgrade scrubjay to use it"
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder.

    Raises:
        RunFolderError: If there is none, or it is damaged or of a newer version.
    """
    manifest = read_json(folder / "manifest.json")
    check_schema(folder, manifest)
    return manifest


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a run folder.

    Raises:
        RunFolderError: If there is no such file, or it is damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RunFolderError(
            f"{path.parent} is not a run folder: it has no {path.name} ({path} is missing)"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(
            f"{path} is damaged ({error}): repeat the run or leave it out"
        ) from error
    if not isinstance(content, dict):
        raise RunFolderError(f"{path} is damaged: expected an object, got {type(content).__name__}")
    return content


def command_line() -> str:
    """The command that started this process, ready to be typed again."""
    path = Path(sys.argv[0] if sys.argv and sys.argv[0] else "python")
    program = ["python", "-m", path.parent.name] if path.name == "__main__.py" else [path.name]
    return shlex.join([*program, *sys.argv[1:]])

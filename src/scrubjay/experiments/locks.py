"""One process at a time in a run folder.

The lock is the system's own lock (flock) on `run.lock`, so it ends with its process, however that
dies: there are no stale locks to judge. The file says who holds it, for people.
"""

import fcntl
import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAME = "run.lock"


class LockedError(RuntimeError):
    """Another process works in this folder."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Have the folder to oneself, or raise `LockedError` at once."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _lock(handle, path):
            raise LockedError(f"{folder} is in use by {describe(folder)}")
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(_who()).encode())
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Whether a living process works in the folder."""
    try:
        handle = os.open(folder / NAME, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _lock(handle, folder / NAME)
    finally:
        os.close(handle)


def describe(folder: Path) -> str:
    """Who holds the folder, as far as its lock says."""
    try:
        who = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return f"process {who['pid']} on {who['host']}"
    except (OSError, ValueError, KeyError):
        return "another process"


def _lock(handle: int, path: Path) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    # its holder may have ended and removed the file between our opening and our locking it
    try:
        return path.stat().st_ino == os.fstat(handle).st_ino
    except FileNotFoundError:
        return False


def _who() -> dict[str, Any]:
    return {"pid": os.getpid(), "host": platform.node()}

"""One process at a time in a run folder.

The lock is the operating system's, on `run.lock`, so it ends with its process, even one that was
killed. `owner.json` tells people who holds it; it is a file of its own because some versions of
filelock truncate the lock file. `run.lock` is never deleted: two processes could then hold locks
on two files of that name.
"""

import json
import os
import platform
from pathlib import Path

from filelock import FileLock, Timeout

from scrubjay.training.errors import LockedError, RunFolderError
from scrubjay.training.files import write_text

LOCK = "run.lock"
OWNER = "owner.json"
# Seconds to wait for the lock: long enough for a new owner to write its name, and for `is_held`
# in another process to be over.
WAIT = 0.5


class FolderLock:
    """The lock of one run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / LOCK, thread_local=False)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock.is_locked

    def acquire(self) -> None:
        """Take the lock; does nothing if this object holds it.

        Raises:
            LockedError: If another process, or another object in this one, holds it.
            RunFolderError: If the folder cannot be written.
        """
        if self.held:
            return
        try:
            self._lock.acquire(timeout=WAIT)
            write_text(self._folder / OWNER, json.dumps(_this_process()) + "\n")
        except Timeout as error:
            raise LockedError(
                f"{self._folder} is in use by {owner(self._folder)}: wait until that process has "
                "ended, or choose another folder"
            ) from error
        except OSError as error:
            self._lock.release()
            raise RunFolderError(
                f"the run folder {self._folder} cannot be written ({error.strerror}); "
                "choose another one"
            ) from error

    def release(self) -> None:
        """Give the lock back; does nothing if this object does not hold it."""
        if self.held:
            (self._folder / OWNER).unlink(missing_ok=True)
            self._lock.release()


def is_held(folder: Path) -> bool:
    """Whether a living process works in the folder."""
    if not (folder / OWNER).exists():
        return False
    probe = FileLock(folder / LOCK, thread_local=False)
    try:
        probe.acquire(timeout=0)
    except Timeout:
        return True
    probe.release()
    return False


def owner(folder: Path) -> str:
    """The owner of the folder, according to `owner.json`."""
    try:
        content = json.loads((folder / OWNER).read_text(encoding="utf-8"))
        return f"process {content['pid']} on {content['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _this_process() -> dict[str, int | str]:
    return {"pid": os.getpid(), "host": platform.node()}

"""Launchers of the runs of a sweep: processes of this machine, or a Ray cluster.

A launcher starts one worker for a run and returns a `Task`, which the sweep polls until it has
ended. Everything else, the run folder, its lock, the log, resuming, is done by
the worker, so a run has the same results on every launcher.

Nothing heavy is imported here, because every actor of Ray imports it.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Literal, Protocol

THREADS = ("OMP", "MKL", "OPENBLAS", "NUMBA", "VECLIB")
LOST = 76  # the worker disappeared with its machine: the run can be resumed elsewhere
LauncherName = Literal["local", "ray"]


class Task(Protocol):
    """A worker that was started."""

    def poll(self) -> int | None:
        """Its exit code, or None while it works."""

    def stop(self) -> None:
        """Ask it to save the last episode boundary and end."""

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most that many seconds."""

    def kill(self) -> None:
        """End it at once, and release what it holds."""


class Launcher(Protocol):
    """Starts workers."""

    @property
    def jobs(self) -> int:
        """How many may work at a time."""

    def start(self, order: dict[str, Any], folder: Path, log: Path) -> Task:
        """Start a worker for a run.

        Args:
            order: What `scrubjay.runs.worker` reads: configuration, command, where the method is.
            folder: The run folder, which exists.
            log: What the worker prints is appended to this file.

        Returns:
            The worker.
        """

    def close(self) -> None:
        """Release what the launcher itself holds."""


class LocalTask:
    """A worker as a process of this machine."""

    def __init__(self, order: dict[str, Any], folder: Path, log: Path) -> None:
        self._log: IO[bytes] = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "scrubjay.runs.worker", str(folder)],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, **{f"{name}_NUM_THREADS": "1" for name in THREADS}},
            # a Ctrl-C at the terminal is for the sweep, which then stops its workers once
            start_new_session=True,
        )
        assert self._process.stdin is not None
        # held open: when it closes, however this process ends, the worker stops at its last episode
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def poll(self) -> int | None:
        """Its exit code, or None while it works."""
        code = self._process.poll()
        if code is not None:
            self._close()
        return code

    def result(self) -> int:
        """Wait for its end and return its exit code."""
        code = self._process.wait()
        self._close()
        return code

    def stop(self) -> None:
        """Ask it to save the last episode boundary and end."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most that many seconds."""
        self._process.wait(seconds)
        self._close()

    def kill(self) -> None:
        """End it at once, and release what it holds."""
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._log.close()


class LocalLauncher:
    """Processes of this machine, one for each core by default."""

    @property
    def jobs(self) -> int:
        """How many may work at a time."""
        return os.cpu_count() or 1

    def start(self, order: dict[str, Any], folder: Path, log: Path) -> LocalTask:
        """Start a worker for a run."""
        return LocalTask(order, folder, log)

    def close(self) -> None:
        """Nothing is held."""


def make_launcher(name: LauncherName = "local", address: str | None = None) -> Launcher:
    """A launcher by name.

    Args:
        name: "local": processes of this machine. "ray": a Ray cluster.
        address: The address of the cluster, or "auto"; by default Ray is started here.

    Returns:
        The launcher.

    Raises:
        ValueError: If there is no such launcher, or an address for the local one.
        ImportError: If Ray is not installed.
        RayError: If no cluster answers.
    """
    if name == "ray":
        from scrubjay.runs.ray_launcher import RayLauncher

        return RayLauncher(address)
    if name != "local":
        raise ValueError(f"expected the launcher local or ray, got {name!r}")
    if address is not None:
        raise ValueError(f"expected no address for the launcher local, got {address!r}: choose ray")
    return LocalLauncher()

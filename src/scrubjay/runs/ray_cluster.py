"""A connection to a Ray cluster, with messages that say what to do when there is none."""

import importlib.metadata
import os
import platform
import signal
import socket
import threading
from collections.abc import Mapping
from typing import Any

from scrubjay.optional import require

CONNECT_TIMEOUT = 10.0  # seconds for a cluster to answer
RAY_PORT = 6379
PACKAGES = ("scrubjay", "numpy", "numba", "gymnasium")


class RayError(RuntimeError):
    """A cluster that does not answer, or cannot be used."""


def connect(address: str | None) -> Any:
    """Ray, connected to a cluster.

    Args:
        address: HOST:PORT, "auto" for a cluster of this machine, or None to start Ray here for as
            long as this process lives; a connection that exists already is used.

    Returns:
        The module `ray`.

    Raises:
        ImportError: If Ray is not installed.
        RayError: If no cluster answers.
    """
    ray = require("ray", "ray")
    if ray.is_initialized():
        return ray
    if address is not None:
        _check_port(_found() if address == "auto" else address)
    settings: dict[str, Any] = {} if address is not None else {"include_dashboard": False}
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level="error", **settings)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray's own handler would end a training at once
    except (ConnectionError, RuntimeError, ValueError) as error:
        # RuntimeError: another version of Ray or Python on the other side
        raise RayError(_no_cluster(address, str(error).split("\n")[0])) from error
    return ray


def _found() -> str:
    """The address of this machine's cluster, which may have ended without taking it back."""
    utils = require("ray._private.utils", "ray")
    found = os.environ.get("RAY_ADDRESS") or utils.read_ray_address()
    if not found:
        raise RayError(_no_cluster("auto", "none was started on this machine"))
    return str(found)


def _check_port(address: str) -> None:
    """Ask the port itself first: Ray would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host:
        host, port = port, str(RAY_PORT)
    try:
        socket.create_connection((host, int(port)), CONNECT_TIMEOUT).close()
    except (OSError, ValueError) as error:
        raise RayError(_no_cluster(address, str(error))) from error


def _no_cluster(address: str | None, reason: str) -> str:
    if address is None:
        return f"Ray could not be started on this machine: {reason}"
    return (
        f"no Ray cluster answers at {address!r} ({reason}); start one with `ray start --head "
        f"--port={RAY_PORT}` and give its HOST:{RAY_PORT}, or leave the address out to start Ray "
        "on this machine"
    )


def versions() -> dict[str, str]:
    """The versions on which the result of a run depends."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **found}


def check_versions(node: str, there: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse a node with other versions: a run there would give other results.

    Args:
        node: The node's name.
        there: Its versions.
        here: Those of this process.

    Raises:
        RayError: If they differ.
    """
    different = [
        f"{name} {there.get(name, 'missing')} (here {version})"
        for name, version in here.items()
        if there.get(name) != version
    ]
    if different:
        raise RayError(
            f"expected the same versions on all nodes, got {', '.join(different)} on {node}; "
            "install the same ones there, for example with a lock file or one container image"
        )


def full_store(what: str, n_bytes: int) -> RayError:
    """The error of an object store without room."""
    return RayError(
        f"Ray's object store is full: expected room for {what} of {n_bytes / 1e6:.0f} MB; start "
        "the nodes with `ray start --object-store-memory=BYTES`, lower the capacity, or use fewer "
        "collectors"
    )

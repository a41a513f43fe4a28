"""The runs of a sweep on a Ray cluster: an actor on some node starts the same worker process.

All nodes must see the sweep's folder under the same path (NFS, EFS or similar): run folders, their
locks and checkpoints work there as on one machine. When an actor or its node is lost, the worker's
standard input closes, so that it stops at its last episode if it still lives, and the run is
resumed on another node.
"""

import contextlib
import platform
from pathlib import Path
from typing import Any

from scrubjay.runs.launchers import LOST, LocalTask
from scrubjay.runs.ray_cluster import RayError, check_versions, connect, versions


class RunOnNode:
    """An actor: one worker process on its node."""

    def __init__(self) -> None:
        self._task: LocalTask | None = None

    def describe(self, folder: str) -> tuple[str, dict[str, str], bool]:
        """The node's name, its versions, and whether it sees a folder."""
        return platform.node(), versions(), Path(folder).is_dir()

    def work(self, order: dict[str, Any], folder: str, log: str) -> int:
        """Start the worker, wait for its end and return its exit code."""
        self._task = LocalTask(order, Path(folder), Path(log))
        return self._task.result()

    def stop(self) -> None:
        """Ask the worker, if there is one, to save the last episode boundary and end."""
        if self._task is not None:
            self._task.stop()


class RayTask:
    """A worker on some node."""

    def __init__(
        self, ray: Any, actor: Any, idle: list[Any], order: dict[str, Any], folder: Path, log: Path
    ) -> None:
        self._ray, self._idle = ray, idle
        self._order, self._folder, self._log = order, folder, log
        self._checked = False
        self._give(actor)

    def _give(self, actor: Any) -> None:
        folder, log = str(self._folder.resolve()), str(self._log.resolve())
        self._actor = actor
        self._described = actor.describe.remote(folder)
        self._code = actor.work.remote(self._order, folder, log)

    def poll(self) -> int | None:
        """Its exit code, `LOST` if it or its node was lost, None while it works or waits."""
        if not self._checked and self._is_there(self._described, 0):
            self._check()
        elif not self._checked and self._idle:
            # an idle actor may hold the processor for which this one waits
            self._ray.kill(self._actor)
            self._give(self._idle.pop())
        return self._result() if self._is_there(self._code, 0) else None

    def _is_there(self, reference: Any, seconds: float) -> bool:
        return bool(self._ray.wait([reference], timeout=seconds)[0])

    def _check(self) -> None:
        """Refuse a node with other versions, or without access to the run folder."""
        with contextlib.suppress(self._ray.exceptions.RayActorError):
            node, there, sees = self._ray.get(self._described)
            check_versions(node, there, versions())
            if not sees:
                raise RayError(
                    f"expected all nodes to see {self._folder.resolve()}, but {node} does not; "
                    "choose a folder on a file system that all nodes share"
                )
        self._checked = True

    def _result(self) -> int:
        try:
            code = int(self._ray.get(self._code))
            self._idle.append(self._actor)
            return LOST if code < 0 else code  # ended by a signal: try elsewhere
        except self._ray.exceptions.RayActorError:
            return LOST

    def stop(self) -> None:
        """Ask it to save the last episode boundary and end."""
        self._actor.stop.remote()

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most that many seconds."""
        self._is_there(self._code, seconds)
        self.kill()

    def kill(self) -> None:
        """End it at once, and release what it holds."""
        self._ray.kill(self._actor)


class RayLauncher:
    """Runs on a Ray cluster, one processor for each.

    Args:
        address: HOST:PORT of the cluster, "auto" for one of this machine; None starts Ray here.

    Raises:
        ImportError: If Ray is not installed.
        RayError: If no cluster answers.
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray = connect(address)
        # two calls at a time: one waits for the end, the other may stop it
        self._actor = self._ray.remote(num_cpus=1, max_concurrency=2)(RunOnNode)
        self._idle: list[Any] = []  # actors that have done their work and can do more

    @property
    def jobs(self) -> int:
        """How many may work at a time: the processors of the cluster."""
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def warm_up(self, n: int) -> None:
        """Start actors before there is work for them.

        Args:
            n: How many.
        """
        actors = [self._new_actor() for _ in range(n)]
        self._ray.get([actor.describe.remote(".") for actor in actors])
        self._idle += actors

    def start(self, order: dict[str, Any], folder: Path, log: Path) -> RayTask:
        """Start a worker for a run, on the first node that has a processor for it."""
        actor = self._idle.pop() if self._idle else self._new_actor()
        return RayTask(self._ray, actor, self._idle, order, folder, log)

    def _new_actor(self) -> Any:
        return self._actor.options(scheduling_strategy="SPREAD").remote()

    def close(self) -> None:
        """End idle actors; the connection stays for other sweeps of this process."""
        while self._idle:
            self._ray.kill(self._idle.pop())

"""Collectors on a Ray cluster: each has a copy of the memories and gets the rows that changed.

An order brings the changes since the collector's last order, an answer is a whole episode. A
collector decides against the memories as they were when its episode began.

Everything travels as pickled bytes: arrays that Ray itself brings are read-only, for which Numba
would compile every kernel a second time.
"""

import pickle
import time
from collections.abc import Iterable
from typing import Any

from scrubjay.memory.changes import Changes
from scrubjay.runs.ray_cluster import check_versions, connect, full_store, versions
from scrubjay.training.collecting import CollectorError, Failure, Opening
from scrubjay.training.collector import Collected, Collector, Order

START_TIMEOUT = 300.0  # seconds for all actors to start
ANSWER = 5.0  # seconds for an actor to say how far it is


class RayCollector:
    """An actor: a collector with its own copy of the memories."""

    def __init__(self, job: bytes, index: int) -> None:
        self._n_decisions = 0
        self._collector = Collector(pickle.loads(job), index, enter=self._count)

    def _count(self) -> None:
        self._n_decisions += 1

    def describe(self) -> dict[str, str]:
        """The versions on its node."""
        return versions()

    def decisions(self) -> int:
        """How many decisions it has made, to see whether it makes progress."""
        return self._n_decisions

    def run(self, message: bytes) -> bytes:
        """Bring the memories up to date and run one episode."""
        order: Order
        changes: dict[str, Changes]
        order, changes = pickle.loads(message)
        agent = self._collector.agent
        for name, memory in agent.memories.items():
            memory.apply(changes[name])
        agent.use_memories(agent.memories)
        return pickle.dumps(self._collector.run(order))


class RayCollectors:
    """The transport of a Ray cluster.

    Args:
        opening: What to start.
        address: HOST:PORT of the cluster, "auto" for one of this machine; None starts Ray here.

    Raises:
        ImportError: If Ray is not installed.
        RayError: If no cluster answers, versions differ, or the object store is full.
        CollectorError: If a collector cannot be started.
    """

    ahead = 1  # an order brings the memory with which its episode is decided

    def __init__(self, opening: Opening, address: str | None = None) -> None:
        self._ray = connect(address)
        self._opening = opening
        # two calls at a time: while an episode runs, one may ask how far it is
        self._kind = self._ray.remote(num_cpus=1, max_concurrency=2)(RayCollector)
        self._job = self._put(pickle.dumps(opening.job), "an agent and its environment")
        self._actors: list[Any] = []
        self._described: list[Any] = []  # the versions on their nodes; None: checked
        self._clocks: list[dict[str, int]] = []
        self._running: dict[Any, int] = {}  # the episode that is to come: its collector
        self._progress: dict[int, tuple[float, int]] = {}
        for index in range(opening.n):
            self._actors.append(None)
            self._described.append(None)
            self._clocks.append({})
            self._start(index)
        try:
            self._check_start()
        except BaseException:
            self.close()
            raise

    def _put(self, value: bytes, what: str) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.put(value)
        except (errors.ObjectStoreFullError, errors.OutOfDiskError) as error:
            raise full_store(what, len(value)) from error

    def _start(self, index: int) -> None:
        self._actors[index] = self._kind.options(scheduling_strategy="SPREAD").remote(
            self._job, index
        )
        self._described[index] = self._actors[index].describe.remote()
        self._clocks[index] = dict.fromkeys(self._opening.memories, 0)

    def _check_start(self) -> None:
        errors = self._ray.exceptions
        try:
            self._ray.get(self._described, timeout=START_TIMEOUT)
            for index in range(self._opening.n):
                self._check(index)
        except errors.GetTimeoutError as error:
            cores = int(self._ray.cluster_resources().get("CPU", 0))
            raise CollectorError(
                f"expected a processor for each of {self._opening.n} collectors, got {cores} in "
                "the cluster; ask for fewer, or add nodes"
            ) from error
        except errors.RayActorError as error:
            raise CollectorError(f"a collector could not be started: {_reason(error)}") from error

    def _check(self, index: int) -> None:
        """Refuse a node with other versions, also where a collector was replaced."""
        if self._described[index] is not None:
            there = self._ray.get(self._described[index])
            check_versions(f"the node of collector {index}", there, versions())
            self._described[index] = None

    # -- orders and episodes -------------------------------------------------------------------

    def begin(self, index: int, order: Order) -> None:
        """Give a collector an episode to run, and the rows that changed since its last one."""
        clocks = self._clocks[index]
        changes = {
            name: memory.changes(clocks[name]) for name, memory in self._opening.memories.items()
        }
        message = self._put(pickle.dumps((order, changes)), "the changed rows")
        clocks.update({name: each.clock for name, each in changes.items()})
        self._running[self._actors[index].run.remote(message)] = index
        self._progress[index] = self._deadline(), -1

    def publish(self) -> None:
        """Do nothing: the next order contains the changes."""

    def wait(self, seconds: float) -> Iterable[tuple[int, Collected | Failure]]:
        """The results of collectors that have arrived, after at most that many seconds."""
        if not self._running:
            return []
        ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=seconds)
        arrived = [self._received(reference) for reference in ready]
        return [*arrived, *self._silent()]

    def _received(self, reference: Any) -> tuple[int, Collected | Failure]:
        index = self._running.pop(reference)
        try:
            collected = pickle.loads(self._ray.get(reference))
            self._check(index)
            return index, collected
        except self._ray.exceptions.RayError as error:
            return index, Failure(_reason(error))

    def _silent(self) -> list[tuple[int, Failure]]:
        """Collectors that have made no decision for too long."""
        found = []
        for reference, index in list(self._running.items()):
            deadline, before = self._progress[index]
            if time.monotonic() < deadline:
                continue
            now = self._decisions(index)
            if now is None or now == before:
                del self._running[reference]
                reason = f"it made no step for {self._opening.timeout:g} s"
                found.append((index, Failure(f"{reason}; a longer timeout would wait for it")))
            else:
                self._progress[index] = self._deadline(), now
        return found

    def _decisions(self, index: int) -> int | None:
        try:
            return int(self._ray.get(self._actors[index].decisions.remote(), timeout=ANSWER))
        except (self._ray.exceptions.RayError, TimeoutError):
            return None

    def _deadline(self) -> float:
        return time.monotonic() + self._opening.timeout

    def replace(self, index: int) -> None:
        """End a collector, whatever it does, and start another one in its place."""
        self._ray.kill(self._actors[index])
        self._start(index)

    def close(self) -> None:
        """End all collectors."""
        for actor in self._actors:
            self._ray.kill(actor)


def _reason(error: BaseException) -> str:
    """What happened, in one line: the error in the actor, or the actor's own end."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):
        return f"{type(cause).__name__}: {cause}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__

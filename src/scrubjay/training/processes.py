"""Collectors as processes of this machine, which search the memories in shared memory."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from scrubjay.memory.shared import Address, Publisher, Reader
from scrubjay.training.collecting import CollectorError, Failure, Opening
from scrubjay.training.collector import Collected, Collector, Order

READY = "ready"
START_TIMEOUT = 300.0  # seconds to start a process, import everything and make an environment
SCRIPT = '; in a script, train below `if __name__ == "__main__":`, because it is imported again'
MAX_AHEAD = 16_384  # bytes of an order for a busy collector; a few of them fit into any pipe
LAST_WORDS = 2.0  # seconds that a collector has to close its environment


def work(connection: Connection, packed: bytes, address: Address, index: int) -> None:
    """A collector's process: returns an episode for each order, and ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the writer
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        job = pickle.loads(packed)
        agent = job.agent
        reader = Reader(address, index, agent.memories, agent.use_memories)
        collector = Collector(job, index, reader.enter, reader.leave)
        connection.send(READY)
        for order in received(connection):
            connection.send(collector.run(order))
        collector.env.close()
    except (EOFError, BrokenPipeError):
        pass  # the writer is gone
    except BaseException as error:
        text = traceback.format_exception_only(error)[-1].strip()
        with contextlib.suppress(OSError):
            connection.send(Failure(text))
    os._exit(0)  # the interpreter's own end would complain about arrays in shared memory


def received(connection: Connection) -> Iterable[Order]:
    """The orders in turn, each with the newest state that has arrived, until None arrives."""
    orders: deque[Order] = deque()
    while True:
        while not orders or connection.poll():
            order = connection.recv()
            if order is None:
                return
            orders.append(order)
        states = [each.embedding for each in orders if each.embedding is not None]
        newest = orders[-1]._replace(embedding=states[-1] if states else None)
        yield newest._replace(number=orders.popleft().number)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


@dataclass
class Worker:
    """A collector's process, as the writer sees it."""

    process: BaseProcess
    connection: Connection
    is_ready: bool = False
    n_sent: int = 0  # orders that it has not answered yet
    decisions: int = -1
    deadline: float = 0.0
    waiting: deque[Order] = field(default_factory=deque)


class Processes:
    """The transport of one machine.

    Args:
        opening: What to start.

    Raises:
        CollectorError: If a collector cannot be started.
    """

    # the longest sweep of values on PointUMaze takes as long as four of its episodes
    ahead = 4

    def __init__(self, opening: Opening) -> None:
        self._timeout = opening.timeout
        # only spawned processes are safe beside threads and graphics contexts
        self._context = multiprocessing.get_context("spawn")
        self._packed = pickle.dumps(opening.job)
        self._publisher = Publisher(opening.memories, opening.n)
        self._known: list[Any] = [None] * opening.n  # the embedding that each collector has
        self._seen = self._now = time.monotonic()
        self._workers: list[Worker] = []
        try:
            self._workers = [self._start(index) for index in range(opening.n)]
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    # -- starting and ending -------------------------------------------------------------------

    def _start(self, index: int) -> Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=work,
            args=(theirs, self._packed, self._publisher.address, index),
            name=f"collector-{index}",
        )
        process.start()
        theirs.close()
        self._known[index] = None
        return Worker(process, ours, deadline=self._time() + START_TIMEOUT)

    def _wait_until_ready(self) -> None:
        while not all(worker.is_ready for worker in self._workers):
            for index, failure in self.wait(0.5):
                assert isinstance(failure, Failure)
                raise CollectorError(f"collector {index} could not be started: {failure.reason}")

    def replace(self, index: int) -> None:
        """End a collector, whatever it does, and start another one in its place."""
        self._end(self._workers[index])
        self._publisher.release(index)
        self._workers[index] = self._start(index)

    def _end(self, worker: Worker) -> None:
        worker.process.kill()
        worker.process.join()
        worker.connection.close()
        worker.process.close()

    def close(self) -> None:
        """End all collectors; those between two episodes close their environments first."""
        for worker in self._workers:
            with contextlib.suppress(OSError):
                worker.connection.send(None)
        end = time.monotonic() + LAST_WORDS
        for worker in self._workers:
            if not worker.n_sent:
                worker.process.join(max(end - time.monotonic(), 0))
            self._end(worker)
        self._workers = []
        self._publisher.close()

    # -- orders and episodes -------------------------------------------------------------------

    def begin(self, index: int, order: Order) -> None:
        """Give a collector an episode to run; one that is being started runs it then."""
        self._workers[index].waiting.append(order)
        self._send(index)

    def _send(self, index: int) -> None:
        """Send pending orders, a large one only to a collector that waits for it."""
        worker = self._workers[index]
        while worker.is_ready and worker.waiting:
            state = worker.waiting[0].embedding
            is_known = same_arrays(self._known[index], state)
            if worker.n_sent and not is_known and _size(state) > MAX_AHEAD:
                return  # it may be sending an episode: both would wait for the other to receive
            order = worker.waiting.popleft()
            if is_known:
                order = order._replace(embedding=None)
            self._known[index] = state
            if not worker.n_sent:
                worker.deadline = self._time() + self._timeout
            worker.n_sent += 1
            with contextlib.suppress(OSError):  # a dead one is found by `wait`
                worker.connection.send(order)

    def publish(self) -> None:
        """Let collectors decide against the memories as they are now."""
        self._publisher.publish()

    def wait(self, seconds: float) -> Iterable[tuple[int, Collected | Failure]]:
        """The results of collectors that have arrived, after at most that many seconds."""
        connections = {worker.connection: i for i, worker in enumerate(self._workers)}
        arrived: list[tuple[int, Collected | Failure]] = []
        for connection in wait(connections, seconds):
            index = connections[connection]  # type: ignore[index]
            result = self._received(index)
            if result is not None:
                arrived.append((index, result))
        silent = self._silent({index for index, _ in arrived})
        return [*arrived, *silent]

    def _received(self, index: int) -> Collected | Failure | None:
        worker = self._workers[index]
        try:
            result = worker.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            worker.process.join(LAST_WORDS)
            return Failure(_ending(worker.process.exitcode, worker.is_ready), not worker.is_ready)
        if isinstance(result, Failure):
            return result._replace(at_start=not worker.is_ready)
        if result == READY:
            worker.is_ready = True
            self._send(index)
            return None
        worker.n_sent -= 1
        self._send(index)
        return result  # type: ignore[no-any-return]

    def _silent(self, heard: set[int]) -> list[tuple[int, Failure]]:
        """Collectors that have an episode, or are being started, and make no progress."""
        now, found = self._time(), []
        for index, worker in enumerate(self._workers):
            if index in heard or (worker.is_ready and not worker.n_sent):
                continue
            decisions = self._publisher.decisions(index)
            if worker.is_ready and decisions != worker.decisions:
                worker.decisions, worker.deadline = decisions, now + self._timeout
            elif now > worker.deadline:
                limit = self._timeout if worker.is_ready else START_TIMEOUT
                reason = f"it made no step for {limit:g} s; a longer timeout would wait for it"
                found.append((index, Failure(reason, not worker.is_ready)))
        return found

    def _time(self) -> float:
        """Seconds, without most of the time in which this process itself was suspended."""
        now = time.monotonic()
        self._now += min(now - self._seen, 1.0)
        self._seen = now
        return self._now


def _ending(code: int | None, was_ready: bool) -> str:
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with code {code}{'' if was_ready else SCRIPT}"


def _size(state: Any) -> int:
    return sum(array.nbytes for array in state.values()) if state else 0


def same_arrays(known: Any, state: Any) -> bool:
    """Whether two states of an embedding are the same."""
    if known is None or state is None:
        return known is state
    return known.keys() == state.keys() and all(
        (known[name] == array).all() for name, array in state.items()
    )

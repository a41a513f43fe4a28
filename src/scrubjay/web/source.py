"""The data of the page: the checkpoints of a run or one file, and the task to replay."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.agents.explanation import Explanation, nearest_rows
from scrubjay.memory import EpisodicMemory
from scrubjay.web.point_cloud import PointCloud

MIN_OPEN = 4  # checkpoints that are kept open, whatever their size
MAX_BYTES = 1 << 30  # more are kept while all together take less than this


@dataclass(frozen=True)
class Source:
    """What is inspected.

    Attributes:
        title: The name of the run or file.
        task: The task's name, "" if it is not known.
        checkpoints: The names of the checkpoints, oldest first.
        shown: The index of the checkpoint that is shown first.
        load: Opens a checkpoint by name: an agent, or a memory without one.
        make_env: Makes the task's environment, with more arguments such as `render_mode`.
        seed: Decides the start states of replayed episodes.
        success_key: The entry of `info` that says whether an episode was solved.
    """

    title: str
    task: str
    checkpoints: tuple[str, ...]
    shown: int
    load: Callable[[str], Any]
    make_env: Callable[..., gymnasium.Env[Any, Any]]
    seed: int = 0
    success_key: str | None = None


@dataclass
class Checkpoint:
    """An opened checkpoint.

    Attributes:
        name: Its name.
        memories: Its memories by name.
        agent: Its agent, None for a file that has only a memory.
        clouds: The rows of each memory as points, by the memory's name.
    """

    name: str
    memories: Mapping[str, EpisodicMemory]
    agent: Any
    clouds: dict[str, PointCloud] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clouds = {name: PointCloud(memory) for name, memory in self.memories.items()}
        for cloud in self.clouds.values():
            cloud.prepare()

    @property
    def n_bytes(self) -> int:
        """Bytes of its memories and clouds."""
        return sum(cloud.memory.nbytes + cloud.n_bytes for cloud in self.clouds.values())

    def explain(self, key: npt.NDArray[np.float64]) -> Explanation:
        """Explain the greedy decision; without an agent that can, return the nearest rows.

        Args:
            key: The key of a state.

        Returns:
            The explanation.
        """
        if hasattr(self.agent, "explain_key"):
            found: Explanation = self.agent.explain_key(key)
            return found
        rows = nearest_rows(dict(self.memories), key)
        return Explanation(key, np.empty(0, np.float32), rows, -1)


class Checkpoints:
    """Opens the checkpoints of a source, and keeps those that were used last.

    Requests come from several threads. A checkpoint is opened by the first request for it;
    other requests wait for this one only, not for checkpoints that are opened at the same time.

    Args:
        source: The source.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: OrderedDict[int, Future[Checkpoint]] = OrderedDict()
        self._lock = threading.Lock()
        self._shown = -1

    def __getitem__(self, index: int) -> Checkpoint:
        with self._lock:
            known = index in self._open
            future = self._open.setdefault(index, Future())
            self._open.move_to_end(index)
        if not known:
            self._fill(index, future)
        return future.result()

    def prepare_around(self, index: int) -> None:
        """Open others in the background, the nearest first, until they take too much memory.

        Args:
            index: The one that is shown.
        """
        with self._lock:
            if index == self._shown:
                return
            self._shown = index
        threading.Thread(target=self._prepare, args=(index,), daemon=True).start()

    def _prepare(self, shown: int) -> None:
        others = (i for i in range(len(self._source.checkpoints)) if i != shown)
        for turn, index in enumerate(sorted(others, key=lambda i: (abs(i - shown), -i))):
            if shown != self._shown or (turn >= MIN_OPEN - 1 and self._is_full()):
                return
            with suppress(Exception):  # a damaged one raises its error when it is requested
                self[index]

    def _fill(self, index: int, future: "Future[Checkpoint]") -> None:
        try:
            future.set_result(self._load(self._source.checkpoints[index]))
        except BaseException as error:
            with self._lock:
                self._open.pop(index, None)
            future.set_exception(error)
            return
        with self._lock:
            while len(self._open) > MIN_OPEN and self._n_bytes() > MAX_BYTES:
                self._open.popitem(last=False)

    def _is_full(self) -> bool:
        with self._lock:
            return self._n_bytes() * (1 + 1 / max(len(self._open), 1)) > MAX_BYTES

    def _n_bytes(self) -> int:
        done = [future for future in self._open.values() if future.done()]
        return sum(future.result().n_bytes for future in done if future.exception() is None)

    def _load(self, name: str) -> Checkpoint:
        found = self._source.load(name)
        if isinstance(found, EpisodicMemory):
            return Checkpoint(name, {"memory": found}, None)
        return Checkpoint(name, found.memories, found)

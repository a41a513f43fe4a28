"""What the page shows: the checkpoints of a run or one file, and the task to replay."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.agents.explanation import Explanation, nearest_rows
from scrubjay.memory import EpisodicMemory
from scrubjay.web.planes import Plane

MOST_OPEN = 4  # checkpoints that are kept in memory


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
        planes: The rows of each memory as points, by the memory's name.
    """

    name: str
    memories: Mapping[str, EpisodicMemory]
    agent: Any
    planes: dict[str, Plane] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.planes = {name: Plane(memory) for name, memory in self.memories.items()}

    def explain(self, key: npt.NDArray[np.float64]) -> Explanation:
        """Why the agent acts as it does; the nearest rows, where there is no such agent.

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
    """Opens the checkpoints of a source and keeps the last few.

    Args:
        source: The source.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._open: OrderedDict[int, Checkpoint] = OrderedDict()
        self._lock = threading.Lock()

    def __getitem__(self, index: int) -> Checkpoint:
        with self._lock:
            if index not in self._open:
                self._open[index] = self._load(self._source.checkpoints[index])
            self._open.move_to_end(index)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return self._open[index]

    def prepare_around(self, index: int) -> None:
        """Open the checkpoints beside one in the background, as they are likely to be next.

        Args:
            index: The one that is shown.
        """
        beside = [i for i in (index + 1, index - 1) if 0 <= i < len(self._source.checkpoints)]
        threading.Thread(target=self._prepare, args=(beside,), daemon=True).start()

    def _prepare(self, indices: list[int]) -> None:
        with suppress(Exception):  # a damaged one says so when it is asked for
            for index in indices:
                for plane in self[index].planes.values():
                    plane.axes()

    def _load(self, name: str) -> Checkpoint:
        found = self._source.load(name)
        if isinstance(found, EpisodicMemory):
            return Checkpoint(name, {"memory": found}, None)
        return Checkpoint(name, found.memories, found)

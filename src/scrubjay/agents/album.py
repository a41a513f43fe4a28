"""Pictures of a memory's best rows.

A memory stores keys, and most embeddings cannot be inverted: the image of a row cannot be computed
from its key. So an agent whose observations are images keeps the images of its best
rows, a few for each memory, for the report and for users. Decisions do not use them.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.embedding.pictures import Image
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.archive import ArchiveError

N_BEST = 9
"""Number of pictures of a memory, each of another value: rows of one value often look alike."""

MAX_FRAMES = 4096
"""Steps of an episode whose observations are kept until its end; the best rows are mostly early."""


class FrameBuffer:
    """The first observations of open episodes, if they are images, until the episodes end.

    Args:
        method: The agent, whose embedding may want all of them.
        n_lanes: The number of environments.
    """

    def __init__(self, method: Any, n_lanes: int) -> None:
        self._dtype = None if method.album is None else method.flattener.picture_type
        self._max_frames = math.inf if method.embedding.studies else MAX_FRAMES
        self._lanes: list[list[npt.NDArray[Any]]] = [[] for _ in range(n_lanes)]

    def begin(self, lanes: int | npt.NDArray[np.int64]) -> None:
        """Begin new episodes.

        Args:
            lanes: A lane, or an array of them.
        """
        if self._dtype is not None:
            for lane in np.atleast_1d(lanes):
                self._lanes[lane] = []

    def keep(self, lane: int, vector: npt.NDArray[np.float64]) -> None:
        """Keep an observation.

        Args:
            lane: The environment.
            vector: The observation.
        """
        if self._dtype is not None and len(self._lanes[lane]) < self._max_frames:
            self._lanes[lane].append(vector.astype(self._dtype))

    def keep_all(self, vectors: npt.NDArray[np.float64]) -> None:
        """Keep an observation of every lane.

        Args:
            vectors: One observation in each row.
        """
        if self._dtype is not None:
            for lane, vector in enumerate(vectors):
                self.keep(lane, vector)

    def frames(self, lane: int, n_steps: int) -> npt.NDArray[Any] | None:
        """Return the observations of an episode.

        Args:
            lane: The environment.
            n_steps: The number of steps of the episode.

        Returns:
            One observation in each row, None if they are not images.
        """
        return None if self._dtype is None else np.array(self._lanes[lane][:n_steps])


class Page(NamedTuple):
    """The pictures of one memory, best first."""

    rows: npt.NDArray[np.int64]
    keys: npt.NDArray[np.float32]
    """The keys of the rows: a row with another key has been replaced."""
    pictures: list[Image]


class Album:
    """The images of the rows with the highest values, for each memory of an agent.

    Args:
        picture: Turns an observation, as a vector, into a picture.
    """

    def __init__(self, picture: Callable[[npt.NDArray[Any]], Image]) -> None:
        self._picture = picture
        self.pages: dict[str, Page] = {}

    def add(
        self,
        memories: Mapping[str, EpisodicMemory],
        clocks: Mapping[str, int],
        keys: npt.NDArray[Any],
        frames: npt.NDArray[Any] | None,
    ) -> None:
        """Add the images of the rows that an episode has written.

        Args:
            memories: The memories by name.
            clocks: Their clocks before the episode was written.
            keys: The key of each step.
            frames: The observations of the first steps, as vectors.
        """
        if frames is None:
            return
        rounded = keys[: len(frames)].astype(np.float32)
        for name, memory in memories.items():
            page = self._still_there(name, memory)
            changed = np.flatnonzero(memory.written_array[: len(memory)] > clocks[name])
            best = highest(memory.values, np.union1d(changed, page.rows))
            entries = dict(zip(page.rows.tolist(), page.pictures, strict=True))
            for row in [row for row in best.tolist() if row not in entries]:
                steps = np.flatnonzero((rounded == memory.keys[row]).all(axis=1))
                if len(steps):
                    entries[row] = self._picture(frames[steps[0]])
            rows = np.array([row for row in best.tolist() if row in entries], np.int64)
            self.pages[name] = Page(rows, memory.keys[rows], [entries[r] for r in rows.tolist()])

    def moved(self, name: str, memory: EpisodicMemory, new_rows: npt.NDArray[np.int64]) -> None:
        """Follow the rows of a memory that has been given other keys.

        Args:
            name: The memory's name.
            memory: The memory.
            new_rows: The present id of each former row.
        """
        if name not in self.pages:
            return
        former = self.pages[name]
        rows, first = np.unique(new_rows[former.rows], return_index=True)
        order = np.argsort(first)
        rows, kept = rows[order], [former.pictures[i] for i in first[order]]
        self.pages[name] = Page(rows, memory.keys[rows], kept)

    def _still_there(self, name: str, memory: EpisodicMemory) -> Page:
        """The page of a memory, without rows that have been replaced."""
        empty = Page(np.empty(0, np.int64), np.empty((0, memory.key_dim), np.float32), [])
        rows, keys, pictures = self.pages.get(name, empty)
        same = (memory.keys[rows] == keys).all(axis=1)
        kept = [picture for picture, there in zip(pictures, same, strict=True) if there]
        return Page(rows[same], keys[same], kept)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the content for a file.

        Returns:
            Arrays by name.
        """
        pages = {name: page for name, page in self.pages.items() if len(page.rows)}
        return {f"{name}/rows": page.rows for name, page in pages.items()} | {
            f"{name}/pictures": np.array(page.pictures) for name, page in pages.items()
        }

    def restore(
        self, state: Mapping[str, npt.NDArray[Any]], memories: Mapping[str, EpisodicMemory]
    ) -> None:
        """Set it to a `state`; files of older versions have none.

        Args:
            state: Arrays by name.
            memories: The memories by name.

        Raises:
            ArchiveError: If it does not fit the memories.
        """
        self.pages = {}
        for name in sorted({entry.split("/")[0] for entry in state}):
            rows, pictures = state.get(f"{name}/rows"), state.get(f"{name}/pictures")
            if rows is None or pictures is None or name not in memories:
                raise ArchiveError(f"expected rows and pictures of a memory, got those of {name!r}")
            check_page(rows, pictures, len(memories[name]))
            self.pages[name] = Page(rows, memories[name].keys[rows], list(pictures))


def highest(values: npt.NDArray[np.float32], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of these rows, those with the highest values, best first; of each value the smallest id."""
    _, first = np.unique(-values[rows], return_index=True)
    return rows[first[:N_BEST]]


def check_page(rows: npt.NDArray[Any], pictures: npt.NDArray[Any], n_rows: int) -> None:
    """Raise ArchiveError if rows and pictures of a file cannot be those of a memory."""
    colors = pictures.ndim == 3 or (pictures.ndim == 4 and pictures.shape[3] == 3)
    fits = rows.dtype == np.int64 and rows.ndim == 1 and pictures.dtype == np.uint8 and colors
    if not fits or len(rows) != len(pictures) or len(np.unique(rows)) != len(rows):
        raise ArchiveError(
            f"expected a picture for each row, got {rows.dtype} {rows.shape} and {pictures.dtype} "
            f"{pictures.shape}"
        )
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ArchiveError(f"expected pictures of rows below {n_rows}, got {rows}")

"""The memories of a run as points in a plane."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents.files import read_album, read_memories
from scrubjay.analysis.reading import Array, RunData
from scrubjay.memory.archive import ArchiveError
from scrubjay.training.errors import RunError


@dataclass(frozen=True)
class MemoryView:
    """Rows of a memory as points in a plane, each with its value; `name` where it has siblings.

    Memories of images also have the pictures of their best rows, with the values of those.
    """

    run: RunData
    name: str
    x: Array
    y: Array
    values: Array
    x_label: str
    y_label: str
    pictures: npt.NDArray[np.uint8] | None = None
    picture_values: Array | None = None


def view_memories(run: RunData) -> list[MemoryView]:
    """The memories in a run's last checkpoint that have rows, over their first two key dimensions.

    One-dimensional keys are shown with the stored action as the second axis.

    Args:
        run: A run, of whatever method: its class need not be installed.

    Returns:
        The views; none where the checkpoint is not of an agent with a memory.

    Raises:
        RunError: If the checkpoint cannot be read.
    """
    path = run.path / "checkpoints" / "last.scrub"
    if not path.exists():
        return []
    try:
        memories, album = read_memories(path), read_album(path)
    except (ArchiveError, OSError) as error:
        raise RunError(f"the memory cannot be shown: {error}") from error
    return [
        _view(run, name if len(memories) > 1 else "", arrays, album.get(name, {}))
        for name, arrays in memories.items()
        if {"keys", "values"} <= arrays.keys() and len(arrays["keys"])
    ]


def _view(
    run: RunData,
    name: str,
    arrays: Mapping[str, npt.NDArray[Any]],
    page: Mapping[str, npt.NDArray[Any]],
) -> MemoryView:
    keys, values = arrays["keys"], arrays["values"]
    second, labels = keys[:, 1:2], ("key 1", "key 2")
    if keys.shape[1] == 1:
        second, labels = arrays.get("columns/action", values), ("key", "action")
    x, y = keys[:, 0], second.reshape(len(keys), -1)[:, 0]
    across, up, best = (array.astype(np.float64) for array in (x, y, values))
    shown = (page["pictures"], best[page["rows"]]) if page else (None, None)
    return MemoryView(run, name, across, up, best, *labels, *shown)

"""The memories of a run as points in a plane."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scrubjay.analysis.reading import Array, RunData
from scrubjay.memory.archive import ArchiveError, read_archive
from scrubjay.training.errors import RunError


@dataclass(frozen=True)
class MemoryView:
    """Rows of a memory as points in a plane, each with its value."""

    run: RunData
    name: str
    x: Array
    y: Array
    values: Array
    x_label: str
    y_label: str


def read_memories(run: RunData) -> list[MemoryView]:
    """The memories in a run's last checkpoint over their first two key dimensions.

    One-dimensional keys are shown with the stored action as the second axis. Empty memories are
    left out, and so is a checkpoint that is not of an agent with memories.

    Args:
        run: The run.

    Returns:
        The memories, in the order of their names.

    Raises:
        RunError: If the checkpoint cannot be read.
    """
    path = run.path / "checkpoints" / "last.scrub"
    if not path.exists():
        return []
    try:
        _, arrays = read_archive(path, "agent")
    except (ArchiveError, OSError) as error:
        raise RunError(f"the memory cannot be shown: {error}") from error
    # 0.1.0 had one memory, without a name
    named = (re.fullmatch(r"(memory|memories/.+)/keys", name) for name in arrays)
    prefixes = sorted(found[1] for found in named if found)
    return [_view(run, prefix, arrays) for prefix in prefixes if len(arrays[f"{prefix}/keys"])]


def _view(run: RunData, prefix: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> MemoryView:
    keys, values = arrays[f"{prefix}/keys"], arrays[f"{prefix}/values"]
    if keys.shape[1] > 1:
        up, labels = keys[:, 1], ("key 1", "key 2")
    else:
        actions = arrays.get(f"{prefix}/columns/action", values)
        up, labels = actions.reshape(len(keys), -1)[:, 0], ("key", "action")
    x, y, best = (array.astype(np.float64) for array in (keys[:, 0], up, values))
    return MemoryView(run, prefix.rpartition("/")[2], x, y, best, *labels)

"""The memory of a run as points in a plane."""

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
    x: Array
    y: Array
    values: Array
    x_label: str
    y_label: str


def read_memory(run: RunData) -> MemoryView | None:
    """The memory in a run's last checkpoint over its first two key dimensions.

    One-dimensional keys are shown with the stored action as the second axis. None where the
    checkpoint is not of an agent with a memory; a checkpoint that cannot be read is a `RunError`.
    """
    path = run.path / "checkpoints" / "last.scrub"
    if not path.exists():
        return None
    try:
        _, arrays = read_archive(path, "agent")
    except (ArchiveError, OSError) as error:
        raise RunError(f"the memory cannot be shown: {error}") from error
    keys, values = arrays.get("memory/keys"), arrays.get("memory/values")
    if keys is None or values is None or len(keys) == 0:
        return None
    if keys.shape[1] > 1:
        return _view(run, keys[:, 0], keys[:, 1], values, "key 1", "key 2")
    actions = arrays.get("memory/columns/action", values)
    return _view(run, keys[:, 0], actions.reshape(len(keys), -1)[:, 0], values, "key", "action")


def _view(
    run: RunData,
    x: npt.NDArray[np.generic],
    y: npt.NDArray[np.generic],
    values: npt.NDArray[np.generic],
    x_label: str,
    y_label: str,
) -> MemoryView:
    across, up, best = (array.astype(np.float64) for array in (x, y, values))
    return MemoryView(run, across, up, best, x_label, y_label)

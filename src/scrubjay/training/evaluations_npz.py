"""evaluations.npz of a run folder: what Stable-Baselines3's `EvalCallback` would have saved.

RL Baselines3 Zoo's plotting scripts, and others that were written for that layout, read it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.training.files import replacing
from scrubjay.training.records import EpisodeRecord

NAME = "evaluations.npz"


class EvaluationsFile:
    """Collects the evaluations of a run and writes them all, so that the file is always whole.

    Args:
        folder: The run folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._by_step: dict[int, list[EpisodeRecord]] = {}

    def add(self, records: Iterable[EpisodeRecord]) -> None:
        """Add evaluation episodes, in the order of their steps.

        Args:
            records: The episodes.
        """
        for record in records:
            self._by_step.setdefault(record.timestep, []).append(record)

    @property
    def evaluations(self) -> list[list[EpisodeRecord]]:
        """The episodes of each evaluation."""
        return list(self._by_step.values())

    def write(self) -> None:
        """Write the file; removes it if there are no evaluations."""
        if not self._by_step:
            self.path.unlink(missing_ok=True)
            return
        with replacing(self.path) as temporary:
            arrays: dict[str, Any] = as_arrays(self.evaluations)  # for mypy: no array is a flag
            np.savez(temporary, **arrays)


def as_arrays(evaluations: Sequence[Sequence[EpisodeRecord]]) -> dict[str, npt.NDArray[Any]]:
    """Evaluations in the layout of Stable-Baselines3.

    Args:
        evaluations: The episodes of each evaluation; those of one that was cut short are left out.

    Returns:
        `timesteps` (n,), `results` and `ep_lengths` (n, episodes), and, if the task has a success
        signal, `successes` (n, episodes).
    """
    full = max(map(len, evaluations))
    whole = [records for records in evaluations if len(records) == full]
    arrays = {
        "timesteps": np.array([records[0].timestep for records in whole], np.int64),
        "results": np.array([[record.total_reward for record in records] for records in whole]),
        "ep_lengths": np.array([[r.length for r in records] for records in whole], np.int64),
    }
    if all(record.is_success is not None for records in whole for record in records):
        arrays["successes"] = np.array([[bool(r.is_success) for r in rs] for rs in whole])
    return arrays

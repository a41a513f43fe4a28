"""CEC with the stale index of its first published code: a cause to measure, not a way to go.

There the search tree is built anew after each episode, so that while an episode is written every
look-up sees the rows of the episodes before it and none of its own. Its close states are all stored
one by one where a living index merges them, and several of them can hit the same old row in turn.
`benchmarks/peers/published_design.py` has that design whole, with its cost; this one has its memory
at the speed of `CEC`. (Its eviction, which mixes rows up, is left out: a full memory appends by
giving the oldest rows away.)
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents import CEC
from scrubjay.memory import EpisodicMemory, Outcome


class StaleIndexCEC(CEC):
    """Writes an episode against the memory as it was before the episode."""

    name = "cec-stale"

    def _make_memory(self) -> EpisodicMemory:
        return self._new_memory("append", "never")

    def _write(self, keys: Any, values: Any, actions: Any) -> npt.NDArray[Any]:
        hit_rows = self._hit_rows(keys)
        outcomes = np.full(len(keys), Outcome.ADDED, np.int8)
        for i in np.flatnonzero(hit_rows >= 0):
            outcomes[i] = self._hit(int(hit_rows[i]), keys[i], actions[i], values[i])
        new = np.flatnonzero(hit_rows < 0)
        self.memory.write_many(keys[new], values[new], action=actions[new])
        return outcomes

    def _hit_rows(self, keys: Any) -> npt.NDArray[np.int64]:
        """For each key the nearest row of the episodes before, -1 if none is within d."""
        rows, _ = self.memory.neighbors(keys, 1, self.memory.distance_threshold)
        return rows[:, 0]

    def _hit(self, row: int, key: Any, action: Any, value: float) -> Outcome:
        """Compare with the row as it is by now, found by where it was before."""
        memory = self.memory
        if np.float32(value) <= memory.value_array[row]:
            return Outcome.KEPT
        memory.tree.move(row, key)
        memory.set_values([row], [value])
        memory.column_arrays["action"][row] = action
        return Outcome.REPLACED

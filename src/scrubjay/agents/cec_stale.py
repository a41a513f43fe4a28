"""CEC with the stale index of its first published code, to measure what that index costs.

The published code rebuilds its search tree after each episode. While an episode is written, every
look-up sees the rows of earlier episodes and none of its own: close states of one episode are all
stored where an index that is up to date merges them, and several of them can replace the same old
row in turn. `benchmarks/peers/published_design.py` contains that whole design and its cost; this
class has its memory at the speed of `CEC`. Its eviction, which mixes up rows, is left out: a full
memory replaces its oldest rows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents.cec import CEC
from scrubjay.memory import EpisodicMemory


class StaleIndexCEC(CEC):
    """Writes an episode against the memory as it was before the episode."""

    name = "cec-stale"

    def make_memories(self) -> dict[str, EpisodicMemory]:
        """One memory that appends rows instead of merging them."""
        memory = EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self.distance_threshold,
            columns={"action": self.codec.size},
            rule="append",
            recency="never",
            index="kdtree",
        )
        return {"memory": memory}

    def write(self, keys: Any, values: Any, actions: Any) -> npt.NDArray[np.int8]:
        """Write against the rows that were there before the episode."""
        return self.memory.write_stale(keys, values, action=actions)[1]

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

from scrubjay.agents.cec import CEC
from scrubjay.memory import EpisodicMemory


class StaleIndexCEC(CEC):
    """Writes an episode against the memory as it was before the episode."""

    name = "cec-stale"

    def make_memories(self) -> dict[str, EpisodicMemory]:
        memory = EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self.distance_threshold,
            columns={"action": self.codec.size},
            rule="append",
            recency="never",
        )
        return {"memory": memory}

    def write(self, keys: Any, values: Any, actions: Any) -> npt.NDArray[np.int8]:
        return self.memory.write_stale(keys, values, action=actions)[1]

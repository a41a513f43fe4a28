"""What is written down of an episode."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One finished episode. `timestep` is the count of training steps when it was over."""

    episode: int
    environment: int
    timestep: int
    length: int
    total_reward: float
    terminated: bool
    truncated: bool
    is_success: bool | None


def success_of(info: Mapping[str, Any]) -> bool | None:
    """Whether the task was solved, where the environment says so."""
    for key in ("is_success", "success"):
        if key in info:
            # some environments report an array, of one entry or of several conditions
            return bool(np.all(info[key]))
    return None

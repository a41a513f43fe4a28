"""The record of an episode, and how its success is read."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One finished episode.

    Attributes:
        episode: Its number, from 0.
        environment: The number of its environment.
        timestep: The number of training steps when it ended.
        length: Its number of steps.
        total_reward: The sum of its rewards.
        terminated: Whether it reached a terminal state.
        truncated: Whether it was cut by a time limit.
        is_success: Whether it was solved; None if the environment has no success signal.
    """

    episode: int
    environment: int
    timestep: int
    length: int
    total_reward: float
    terminated: bool
    truncated: bool
    is_success: bool | None


SUCCESS_KEYS = ("is_success", "success")


def success_of(info: Mapping[str, Any], success_key: str | None = None) -> bool | None:
    """Whether the task was solved, or None where the environment does not say.

    Args:
        info: The info of an episode's last step.
        success_key: The entry that says so; by default "is_success", then "success". It may be any
            scalar or array; an array counts as solved if all its entries are true.

    Returns:
        True, False or None.
    """
    for key in (success_key,) if success_key is not None else SUCCESS_KEYS:
        if info.get(key) is not None:
            value = np.asarray(info[key])
            return bool(np.all(value)) if value.size else None
    return None


class SuccessReader:
    """Reads the success of episodes, and warns once if a given `success_key` is missing."""

    def __init__(self, success_key: str | None = None) -> None:
        if success_key is not None and (not isinstance(success_key, str) or not success_key):
            raise ValueError(
                f"expected success_key to be the name of an entry of info, got {success_key!r}"
            )
        self.key = success_key
        self._warned = False

    def __call__(self, info: Mapping[str, Any]) -> bool | None:
        """Whether an episode was solved, from the info of its last step."""
        success = success_of(info, self.key)
        if success is None and self.key is not None and not self._warned:
            self._warned = True
            found = ", ".join(map(str, info)) or "no entries"
            warnings.warn(
                f"expected info to have {self.key!r} at an episode's end, got {found}; such "
                "episodes have no success signal",
                UserWarning,
                stacklevel=2,
            )
        return success

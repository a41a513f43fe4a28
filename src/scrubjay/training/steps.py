"""The results of a step, the same for environments of all kinds."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy.typing as npt


class LastStep(NamedTuple):
    """How an episode ended in one environment; `observation` is the episode's own last one."""

    observation: Any
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]


class Stacked(NamedTuple):
    """A step of all lanes, one entry for each, as Stable-Baselines3's callbacks read it."""

    observations: Any
    rewards: npt.NDArray[Any]
    infos: list[dict[str, Any]]
    actions: npt.NDArray[Any]


def select(observations: Any, lane: int) -> Any:
    """One environment's part of a stack of observations."""
    if isinstance(observations, Mapping):
        return {key: select(part, lane) for key, part in observations.items()}
    return observations[lane]

"""The results of a step, the same for environments of all kinds."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
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


def over_parts(function: Callable[..., Any], *observations: Any) -> Any:
    """Apply a function to each array of observations, which may be parts of dicts and tuples.

    Args:
        function: What is applied: it takes one array of each observation.
        observations: Observations with the same entries.

    Returns:
        What it returned, in the dicts and tuples of the first observation.
    """
    first = observations[0]
    if isinstance(first, Mapping):
        return {key: over_parts(function, *(each[key] for each in observations)) for key in first}
    if isinstance(first, tuple):
        parts = zip(*observations, strict=True)
        return tuple(over_parts(function, *part) for part in parts)
    return function(*observations)


def select(observations: Any, lane: int) -> Any:
    """One environment's part of a stack of observations."""
    return over_parts(lambda part: part[lane], observations)


def stack_of_one(observation: Any) -> Any:
    """A stack with a single observation."""
    return over_parts(lambda part: np.asarray(part)[None], observation)

"""Observations of goal environments."""

from collections.abc import Sequence
from typing import Any

import gymnasium

from scrubjay.embedding.base import Bounds, Embedding, Vector
from scrubjay.embedding.flatten import Flattener


class GoalDifference(Embedding):
    """What is still missing: desired goal minus achieved goal, then the other entries named.

    Where only the way to the goal counts (an arm in free space) the difference says it all, and
    what was learnt for one goal holds for all. Where there are walls name "observation" too.
    """

    name = "goal_difference"

    def __init__(self, keys: Sequence[str] = ()) -> None:
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            raise TypeError(f"a list of names of Dict entries was expected, {keys!r} came")
        self.keys = tuple(keys)

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        flattener = Flattener(space, ("desired_goal", "achieved_goal", *self.keys))
        if flattener.shapes[0] != flattener.shapes[1]:
            raise ValueError(
                "goals of one shape were expected; the desired one has "
                f"{flattener.shapes[0]}, the achieved one {flattener.shapes[1]}"
            )
        self._goal_dim = flattener.sizes[0]
        return flattener

    def bind(self, bounds: Bounds, seed: int) -> Bounds:  # noqa: ARG002
        low, high = bounds
        n = self._goal_dim
        self.input_dim, self.key_dim = len(low), len(low) - n
        below, above = low[n:].copy(), high[n:].copy()
        below[:n], above[:n] = low[:n] - high[n : 2 * n], high[:n] - low[n : 2 * n]
        return below, above

    def embed(self, vector: Vector, out: Vector) -> None:
        n = self._goal_dim
        out[n:] = vector[2 * n :]
        out[:n] = vector[:n] - vector[n : 2 * n]

    def config(self) -> dict[str, Any]:
        return {"name": self.name, "keys": list(self.keys)}


def has_goals(space: gymnasium.Space[Any]) -> bool:
    """Whether observations say where things are and where they should be."""
    goals = {"achieved_goal", "desired_goal"}
    return isinstance(space, gymnasium.spaces.Dict) and goals <= set(space.spaces)

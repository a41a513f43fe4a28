"""Observations of goal environments."""

from collections.abc import Sequence
from typing import Any

import gymnasium

from scrubjay.embedding.base import Bounds, Embedding, Vector
from scrubjay.embedding.flatten import Flattener


class GoalDifference(Embedding):
    """Desired goal minus achieved goal, followed by other entries of the observation.

    If only the direction to the goal matters (an arm in free space), the difference is sufficient,
    and what was learned for one goal applies to all. If there are obstacles, add "observation".

    Args:
        keys: Names of further entries of the Dict observation.

    Raises:
        TypeError: If `keys` is not a list of names.
    """

    name = "goal_difference"

    def __init__(self, keys: Sequence[str] = ()) -> None:
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            raise TypeError(f"expected a list of names of Dict entries, got {keys!r}")
        self.keys = tuple(keys)

    def flattener(self, space: gymnasium.Space[Any]) -> Flattener:
        flattener = Flattener(space, ("desired_goal", "achieved_goal", *self.keys))
        if flattener.shapes[0] != flattener.shapes[1]:
            raise ValueError(
                "expected goals of the same shape, got a desired goal of shape "
                f"{flattener.shapes[0]} and an achieved goal of shape {flattener.shapes[1]}"
            )
        self.goal_dim = flattener.sizes[0]
        return flattener

    def bind(self, bounds: Bounds, seed: int) -> Bounds:  # noqa: ARG002
        low, high = bounds
        n = self.goal_dim
        self.input_dim, self.key_dim = len(low), len(low) - n
        below, above = low[n:].copy(), high[n:].copy()
        below[:n], above[:n] = low[:n] - high[n : 2 * n], high[:n] - low[n : 2 * n]
        return below, above

    def embed(self, vector: Vector, out: Vector) -> None:
        n = self.goal_dim
        out[n:] = vector[2 * n :]
        out[:n] = vector[:n] - vector[n : 2 * n]

    def embed_batch(self, vectors: Vector) -> Vector:
        n = self.goal_dim
        keys: Vector = vectors[:, n:].copy()
        keys[:, :n] = vectors[:, :n] - vectors[:, n : 2 * n]
        return keys

    def config(self) -> dict[str, Any]:
        return {"name": self.name, "keys": list(self.keys)}


def has_goals(space: gymnasium.Space[Any]) -> bool:
    """Whether a space is that of a goal environment."""
    goals = {"achieved_goal", "desired_goal"}
    return isinstance(space, gymnasium.spaces.Dict) and goals <= set(space.spaces)

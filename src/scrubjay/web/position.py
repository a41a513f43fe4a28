"""The dimensions of a key that are the position in a maze, and its walls in those dimensions."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FIRST_TWO = ((0, 1.0), (1, 1.0))  # index in the observation and factor, of x and of y
NUDGE = 0.5  # how far the position is moved to see which dimension of the key follows


class PositionAxes(NamedTuple):
    """The position of a task among the dimensions of a key.

    Attributes:
        axes: The dimensions of the key that are x and y.
        walls: Line segments x0, y0, x1, y1, in units of the key.
        ratio: Units of the key along x that are as long as one along y.
        flipped: Whether these dimensions of the key fall while x and y grow.
    """

    axes: tuple[int, int]
    walls: list[list[float]]
    ratio: float
    flipped: tuple[bool, bool]


def find_position(agent: Any, seen: dict[str, Any]) -> PositionAxes | None:
    """The position in the key, for a task whose observation contains its position.

    It begins with it, unless the task's `position_in_observation` has the index and the factor of x
    and of y. Each coordinate must move one dimension of the key, and in proportion.

    Args:
        agent: The agent, whose embedding makes the key.
        seen: A first "observation" of the task, with "position", "walls" and
            "position_in_observation" if it has them.

    Returns:
        The axes, None if the key does not contain the position.
    """
    observation, position = seen.get("observation"), seen.get("position")
    if position is None or not isinstance(observation, np.ndarray) or observation.ndim != 1:
        return None
    if not hasattr(agent, "embedding") or not agent.embedding.ready:
        return None
    start = observation.astype(np.float64)
    indices, factors = zip(*seen.get("position_in_observation", FIRST_TWO), strict=True)
    if len(start) <= max(indices) or not np.allclose(start[list(indices)] * factors, position):
        return None
    found = [_moved(agent, start, i) for i in indices]
    if None in found or found[0][0] == found[1][0]:
        return None
    x, y = found[0][0], found[1][0]
    x_scale, y_scale = (moved[1] / factor for moved, factor in zip(found, factors, strict=True))
    key = _key(agent, start)
    shift = [key[x] - x_scale * position[0], key[y] - y_scale * position[1]]
    scale = [x_scale, y_scale]
    walls = [
        [float(shift[i % 2] + scale[i % 2] * end) for i, end in enumerate(wall)]
        for wall in seen.get("walls", [])
    ]
    return PositionAxes((x, y), walls, abs(x_scale / y_scale), (x_scale < 0, y_scale < 0))


def _moved(agent: Any, start: Floats, coordinate: int) -> Any:
    """The dimension of the key that follows a coordinate, and by how much; None if several do."""
    nudge = np.zeros(len(start))
    nudge[coordinate] = NUDGE
    once = _key(agent, start + nudge) - _key(agent, start)
    twice = _key(agent, start + 2 * nudge) - _key(agent, start)
    changed = np.flatnonzero(np.abs(once) > 1e-9)
    if len(changed) != 1 or not np.allclose(twice, 2 * once):
        return None
    return int(changed[0]), float(once[changed[0]] / NUDGE)


def _key(agent: Any, observation: Floats) -> Floats:
    vector, key = np.empty(agent.flattener.size), np.empty(agent.embedding.key_dim)
    agent.flattener.into(observation, vector)
    agent.embedding.embed(vector, key)
    return key

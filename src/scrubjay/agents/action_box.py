"""The box of actions, in the storage type of the memory."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

Bounds = npt.NDArray[np.float32]


class ActionBox:
    """A finite Box, with bounds in float32 so that a stored action is the executed one exactly.

    Rounding a bound to float32 may step over it (float32(0.1) > 0.1), so it is rounded inwards.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        if not isinstance(space, gymnasium.spaces.Box):
            raise TypeError(
                f"CEC acts in a Box of continuous actions, this environment has {space}"
            )
        if space.dtype not in (np.float32, np.float64):
            raise TypeError(
                "CEC stores the actions that it executes as float32, so a Box of float32 or "
                f"float64 was expected; this environment has {space}"
            )
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ValueError(
                f"CEC needs finite action bounds to scale its noise, this environment has {space}; "
                "choose some, for example: env = gymnasium.wrappers.TransformAction(env, lambda "
                f"action: action, gymnasium.spaces.Box(-1.0, 1.0, {space.shape}, "
                f"numpy.{space.dtype}))"
            )
        self.space = space
        self.size = int(np.prod(space.shape))
        self._is_plain = len(space.shape) == 1 and space.dtype == np.float32
        self.low = _inwards(np.ravel(space.low), np.inf)
        self.high = _inwards(np.ravel(space.high), -np.inf)

    def executed(self, action: Bounds) -> npt.NDArray[Any]:
        """A flat stored action as the environment wants it: its shape, its type, a fresh array."""
        if self._is_plain:
            return action.copy()
        return action.reshape(self.space.shape).astype(self.space.dtype)

    def check_stored(self, actions: Bounds) -> None:
        """Refuse stored actions, one a row, that the environment would not take."""
        if not ((self.low <= actions) & (actions <= self.high)).all():
            raise ValueError(f"there are stored actions outside of {self.space}")

    def centre(self) -> npt.NDArray[Any]:
        return self.executed((self.low + self.high) / np.float32(2))


def _inwards(bound: npt.NDArray[Any], inside: float) -> Bounds:
    wide = bound.astype(np.float64)
    rounded = wide.astype(np.float32)
    outside = rounded < wide if inside > 0 else rounded > wide
    return np.where(outside, np.nextafter(rounded, np.float32(inside)), rounded).astype(np.float32)

"""Action codecs: what the environment executes, as numbers that a memory stores.

A stored action is a short vector of float32. For a Box it is the action itself, so that what is
stored is what was executed, bit for bit; for discrete spaces it holds the index.
"""

from typing import Any, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.registry import agent_specs

Stored = npt.NDArray[np.float32]

MAX_INDEX = 2**24  # the largest whole number up to which float32 has all of them


class ActionCodec(Protocol):
    """Converts actions of an action space to stored numbers and back.

    Attributes:
        size: Numbers in a stored action.
        bounds: (2, size): the lowest and highest stored numbers.
        discrete: Whether only whole numbers are actions.
    """

    size: int
    bounds: Stored
    discrete: bool

    def decode(self, stored: Stored) -> Any:
        """The action of one stored vector, in the form that the environment expects."""

    def decode_many(self, stored: Stored) -> npt.NDArray[Any]:
        """The actions of many stored vectors, one a row."""

    def encode(self, action: Any) -> Stored:
        """The stored vector of an action of the environment."""

    def default(self) -> Any:
        """The action while nothing is known: the middle of a Box, the first discrete one."""


class BoxCodec:
    """A bounded Box, with bounds in float32 so that a stored action is the executed one exactly.

    Rounding a bound to float32 may step over it (float32(0.1) > 0.1), so it is rounded inwards.
    """

    discrete = False

    def __init__(self, space: gymnasium.spaces.Box) -> None:
        if space.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"expected a Box of float32 or float64 as the action space, got {space}: actions "
                "are stored as float32"
            )
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ValueError(
                f"expected finite action bounds, got {space}; give the environment a bounded "
                "action space, for example: env = gymnasium.wrappers.TransformAction(env, lambda "
                f"action: action, gymnasium.spaces.Box(-1.0, 1.0, {space.shape}, "
                f"numpy.{space.dtype}))"
            )
        self.space = space
        self.size = int(np.prod(space.shape))
        self.bounds = np.stack(
            [_inwards(np.ravel(space.low), np.inf), _inwards(np.ravel(space.high), -np.inf)]
        )
        self._is_plain = len(space.shape) == 1 and space.dtype == np.float32

    def decode(self, stored: Stored) -> npt.NDArray[Any]:
        if self._is_plain:
            return stored.copy()
        return stored.reshape(self.space.shape).astype(self.space.dtype)

    def decode_many(self, stored: Stored) -> npt.NDArray[Any]:
        return stored.reshape(-1, *self.space.shape).astype(self.space.dtype)

    def encode(self, action: Any) -> Stored:
        array = np.asarray(action)
        if array.shape != self.space.shape:
            raise ValueError(f"expected an action of shape {self.space.shape}, got {array.shape}")
        # compared as float32, so that a bound that was rounded to float32 is inside
        with np.errstate(over="ignore"):
            stored: Stored = array.astype(np.float32).ravel()
            low, high = (np.ravel(b).astype(np.float32) for b in (self.space.low, self.space.high))
        if not ((low <= stored) & (stored <= high)).all():
            raise ValueError(f"expected an action of {self.space}, got {action!r}; clip it first")
        return np.clip(stored, *self.bounds)

    def default(self) -> npt.NDArray[Any]:
        return self.decode((self.bounds / np.float32(2)).sum(axis=0))


class DiscreteCodec:
    """A Discrete space: a stored action is the number of the action, counted from its start."""

    discrete = True
    size = 1

    def __init__(self, space: gymnasium.spaces.Discrete) -> None:
        if space.n > MAX_INDEX:
            raise ValueError(f"expected at most {MAX_INDEX} discrete actions, got {space}")
        self.space = space
        self.bounds = np.array([[0], [space.n - 1]], np.float32)

    def decode(self, stored: Stored) -> Any:
        return self.space.dtype.type(self.space.start + int(stored[0]))

    def decode_many(self, stored: Stored) -> npt.NDArray[Any]:
        numbers = stored[:, 0].astype(np.int64) + int(self.space.start)
        return numbers.astype(self.space.dtype)

    def encode(self, action: Any) -> Stored:
        number = np.asarray(action)[()]
        index = int(number) - int(self.space.start) if isinstance(number, np.integer) else -1
        if not 0 <= index < self.space.n:
            raise ValueError(f"expected an action of {self.space}, got {action!r}")
        return np.array([index], np.float32)

    def default(self) -> Any:
        return self.decode(self.bounds[0])


class MultiDiscreteCodec:
    """A MultiDiscrete space: a stored action has the number of each part."""

    discrete = True

    def __init__(self, space: gymnasium.spaces.MultiDiscrete) -> None:
        if int(np.max(space.nvec)) > MAX_INDEX:
            raise ValueError(f"expected at most {MAX_INDEX} actions in each part, got {space}")
        self.space = space
        self.size = int(np.prod(space.nvec.shape))
        high = np.ravel(space.nvec).astype(np.float32) - 1
        self.bounds = np.stack([np.zeros_like(high), high])

    def decode(self, stored: Stored) -> npt.NDArray[Any]:
        return np.asarray(self.decode_many(stored[None])[0])

    def decode_many(self, stored: Stored) -> npt.NDArray[Any]:
        shaped = stored.reshape(-1, *self.space.nvec.shape).astype(self.space.dtype)
        return np.asarray(shaped + self.space.start)

    def encode(self, action: Any) -> Stored:
        array, nvec = np.asarray(action), self.space.nvec
        possible = array.shape == nvec.shape and array.dtype.kind in "iu"
        if possible:
            index = array.astype(np.int64) - self.space.start
            possible = bool(((index >= 0) & (index < nvec)).all())
        if not possible:
            raise ValueError(f"expected an action of {self.space}, got {action!r}")
        return np.ravel(index).astype(np.float32)

    def default(self) -> npt.NDArray[Any]:
        return self.decode(self.bounds[0])


CODECS: dict[type[gymnasium.Space[Any]], Any] = {
    gymnasium.spaces.Box: BoxCodec,
    gymnasium.spaces.Discrete: DiscreteCodec,
    gymnasium.spaces.MultiDiscrete: MultiDiscreteCodec,
}
KINDS = tuple(kind.__name__ for kind in CODECS)


def make_codec(
    space: gymnasium.Space[Any], method: str, kinds: tuple[str, ...] = KINDS
) -> ActionCodec:
    """The codec of an action space.

    Args:
        space: The environment's action space.
        method: The method's name, for the message.
        kinds: The kinds of spaces in which the method can act.

    Raises:
        TypeError: If the method cannot act in this kind of space; the message says which can.
    """
    for kind, codec in CODECS.items():
        if isinstance(space, kind) and kind.__name__ in kinds:
            made: ActionCodec = codec(space)
            return made
    known = ", ".join(kinds)
    spaces = f"the spaces {known}; expected one of them" if kinds[1:] else f"{known} spaces only"
    raise TypeError(f"{method} acts in {spaces}, got {space}{methods_for(space)}")


def methods_for(space: gymnasium.Space[Any]) -> str:
    """The end of a message that refuses an action space: which methods can act in it."""
    others = [name for name, spec in agent_specs().items() if type(space).__name__ in spec.actions]
    return f"; methods that can act in it: {', '.join(others)}" if others else ""


def _inwards(bound: npt.NDArray[Any], inside: float) -> Stored:
    wide = bound.astype(np.float64)
    rounded = wide.astype(np.float32)
    outside = rounded < wide if inside > 0 else rounded > wide
    return np.where(outside, np.nextafter(rounded, np.float32(inside)), rounded).astype(np.float32)

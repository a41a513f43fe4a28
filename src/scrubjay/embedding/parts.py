"""The parts of an observation: arrays of numbers as they are, categories as one-hot codes.

As in `gymnasium.spaces.flatten`: a Discrete of n values has n numbers, all 0 but one, so that all
its values are equally far from each other; the entries of a Dict or Tuple follow each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

Vector = npt.NDArray[np.float64]
Place = str | tuple[str | int, ...]

MAX_CATEGORIES = 4096
KINDS = "Box, Discrete, MultiDiscrete and MultiBinary, or Dict and Tuple of them"


@dataclass(frozen=True)
class Part:
    """A space without parts of its own.

    Attributes:
        place: The entry of a Dict in which it is, or the way there through several; () for all.
        space: The space.
        size: How many numbers it has as part of a vector.
        shape: The shape of an observation.
        coded: Whether it has categories, which are coded.
    """

    place: Place
    space: gymnasium.Space[Any]
    size: int
    shape: tuple[int, ...]
    coded: bool

    @property
    def bounds(self) -> tuple[Vector, Vector]:
        """Lowest and highest numbers."""
        if isinstance(self.space, spaces.Box):
            low, high = np.ravel(self.space.low), np.ravel(self.space.high)
            return low.astype(np.float64), high.astype(np.float64)
        return np.zeros(self.size), np.ones(self.size)

    def write(self, observations: Any, out: Vector) -> None:
        """Write one observation into a vector, or a stack of them into the rows of a matrix.

        Args:
            observations: The observation, or the stack.
            out: The vector of length `size`, or the matrix.

        Raises:
            TypeError: If they are not numbers.
            ValueError: If the shape is wrong, or a category does not exist.
        """
        found, expected = np.asarray(observations), (*out.shape[:-1], *self.shape)
        if found.shape != expected:
            raise ValueError(
                f"expected an observation of shape {expected}, got shape {found.shape}"
            )
        if self.coded:
            self._write_codes(found, out)
            return
        if found.dtype.kind not in "fiub":
            raise TypeError(f"expected a numeric observation, got dtype {found.dtype}")
        out[:] = found.reshape(out.shape)

    def _write_codes(self, found: npt.NDArray[Any], out: Vector) -> None:
        if found.dtype.kind not in "iu":
            raise TypeError(f"expected whole numbers for {self.space}, got dtype {found.dtype}")
        counts, start = categories(self.space)
        rows = out.reshape(-1, self.size)
        codes = found.reshape(len(rows), -1).astype(np.int64) - start
        if ((codes < 0) | (codes >= counts)).any():
            raise ValueError(f"expected an observation of {self.space}, got {found}")
        rows[:] = 0.0
        np.put_along_axis(rows, codes + np.cumsum(counts) - counts, 1.0, axis=1)


def categories(
    space: gymnasium.Space[Any],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How many values each number of a Discrete or MultiDiscrete space has, and the first ones."""
    if isinstance(space, spaces.Discrete):
        return np.array([space.n], np.int64), np.array([space.start], np.int64)
    assert isinstance(space, spaces.MultiDiscrete)
    return np.ravel(space.nvec).astype(np.int64), np.ravel(space.start).astype(np.int64)


def is_categorical(space: gymnasium.Space[Any]) -> bool:
    """Whether all parts of a space are categories."""
    return all(part.coded for part in find_parts(space))


def find_parts(space: gymnasium.Space[Any], place: tuple[str | int, ...] = ()) -> list[Part]:
    """All parts of a space in their order.

    Args:
        space: The space.
        place: Where it is within the observation.

    Returns:
        The parts.

    Raises:
        TypeError: If there is one of which no numbers can be made.
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        entries = _entries(space)
        return [part for key, each in entries for part in find_parts(each, (*place, key))]
    shown = place[0] if len(place) == 1 and isinstance(place[0], str) else place
    coded = isinstance(space, spaces.Discrete | spaces.MultiDiscrete)
    return [Part(shown, space, _size(space), space.shape or (), coded)]


def _entries(space: Any) -> Iterator[tuple[str | int, gymnasium.Space[Any]]]:
    if isinstance(space, spaces.Dict):
        yield from space.spaces.items()
    else:
        yield from enumerate(space.spaces)


def _size(space: gymnasium.Space[Any]) -> int:
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        size = int(categories(space)[0].sum())
        if size > MAX_CATEGORIES:
            raise TypeError(
                f"expected at most {MAX_CATEGORIES:,} categories, each of which is a number of "
                f"the key, got {space}; return what distinguishes them as a Box, for example by "
                "gymnasium.wrappers.TransformObservation"
            )
        return size
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return int(np.prod(space.shape))
    raise TypeError(
        f"expected observations of numbers ({KINDS}), got {space}; "
        "return numbers, for example by gymnasium.wrappers.TransformObservation"
    )

"""From observations to flat vectors."""

import math
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.parts import Part, Place, find_parts, is_categorical
from scrubjay.embedding.pictures import Image, picture_of

Vector = npt.NDArray[np.float64]
FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


class Flattener:
    """Copies observations into float64 vectors, after checking their shape and type.

    Args:
        space: The observation space: Box, Discrete, MultiDiscrete or MultiBinary, or a Dict or
            Tuple of these. Categories become one-hot codes.
        keys: Entries of the Dict to use, in this order; by default all of them.

    Attributes:
        keys: The places of the parts within an observation; None if it has no parts.
        shapes: The shapes of the parts.
        sizes: How many numbers of the vector each part has.
        size: Length of the vectors.
        bounds: Their lowest and highest numbers.
        reach: How far a neighbour may be, in distance thresholds: 1 if observations are only
            categories, as other categories are not similar.
    """

    def __init__(self, space: gymnasium.Space[Any], keys: tuple[str, ...] | None = None) -> None:
        self._parts = parts = _find_parts(space, keys)
        self.keys: tuple[Place, ...] | None = tuple(part.place for part in parts)
        if self.keys == ((),):  # the observation is not made of parts
            self.keys = None
        self.reach = 1.0 if keys is None and is_categorical(space) else math.inf
        self.shapes = tuple(part.shape for part in parts)
        self.sizes = tuple(part.size for part in parts)
        self.size = sum(self.sizes)
        if self.size == 0:
            raise ValueError(f"expected observations with at least one number, got {space}")
        plain = isinstance(parts[0].space, gymnasium.spaces.Box)
        self._vector_shape = (self.size,) if plain else None
        self.picture_type = _picture_type(parts[0])
        low, high = zip(*(part.bounds for part in parts), strict=True)
        self.bounds = np.concatenate(low), np.concatenate(high)

    reach = math.inf
    picture_type: np.dtype[Any] | None
    """The type of a vector that suffices for `picture`; None if observations are not images."""

    def picture(self, vector: npt.NDArray[Any]) -> Image:
        """Turn the vector of an observation, which is an image, into a picture."""
        low, high = (float(bound[0]) for bound in self.bounds)
        return picture_of(vector.reshape(self.shapes[0]), low, high)

    def into(self, observation: Any, out: Vector) -> None:
        """Write an observation into `out`; raise an error if its shape or type is wrong."""
        if self.keys is None:
            # the most common case first, because further checks would cost more than the copy
            if (
                type(observation) is np.ndarray
                and observation.shape == self._vector_shape
                and (observation.dtype is FLOAT64 or observation.dtype is FLOAT32)
            ):
                out[:] = observation
            else:
                self._parts[0].write(observation, out)
            return
        self._write_entries(observation, out)

    def into_batch(self, observations: Any, out: Vector) -> None:
        """Write a stack of observations into the rows of `out`."""
        if self.keys is None:
            self._parts[0].write(observations, out)
        else:
            self._write_entries(observations, out)

    def _write_entries(self, observation: Any, out: Vector) -> None:
        start = 0
        for part in self._parts:
            end = start + part.size
            part.write(self._entry(observation, part.place), out[..., start:end])
            start = end

    def batch_of(self, observations: Any) -> Vector:
        """Return a stack of observations as a matrix, one observation in each row."""
        first = observations if self.keys is None else self._entry(observations, self.keys[0])
        out = np.empty((len(first), self.size))
        self.into_batch(observations, out)
        return out

    def _entry(self, observation: Any, place: Place) -> Any:
        try:
            if isinstance(place, str):
                return observation[place]
            for key in place:
                observation = observation[key]
            return observation
        except (LookupError, TypeError) as error:
            raise ValueError(
                f"expected an observation with the entries {self.keys}, got {observation!r}"
            ) from error

    def is_batch(self, observation: Any) -> bool:
        """Whether this is a stack of observations, with one more leading dimension."""
        first = observation if self.keys is None else self._entry(observation, self.keys[0])
        ndim = first.ndim if type(first) is np.ndarray else np.ndim(first)
        return ndim == len(self.shapes[0]) + 1


def _find_parts(space: gymnasium.Space[Any], keys: tuple[str, ...] | None) -> list[Part]:
    """The parts of an observation, or of the chosen entries of a Dict."""
    if keys is None:
        return find_parts(space)
    if not isinstance(space, gymnasium.spaces.Dict):
        raise TypeError(f"expected a Dict observation with the entries {keys}, got {space}")
    unknown = [key for key in keys if key not in space.spaces]
    if unknown:
        raise ValueError(
            f"expected entries of the observation, {list(space.spaces)}, got {unknown}"
        )
    return [part for key in keys for part in find_parts(space.spaces[key], (key,))]


def _picture_type(part: Part) -> np.dtype[Any] | None:
    space = part.space
    if part.place != () or not isinstance(space, gymnasium.spaces.Box):
        return None
    if not 2 <= len(space.shape) <= 4:
        return None
    return np.dtype(np.uint8 if space.dtype == np.uint8 else np.float32)

"""From observations to flat vectors."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.pictures import Image, picture_of

Vector = npt.NDArray[np.float64]
FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


class Flattener:
    """Copies observations into float64 vectors, after checking their shape and type.

    Args:
        space: The observation space: a Box, or a Dict of Boxes.
        keys: Entries of the Dict to use, in this order; by default all of them.
    """

    def __init__(self, space: gymnasium.Space[Any], keys: tuple[str, ...] | None = None) -> None:
        self.keys = _selected_keys(space, keys)
        parts = _parts(space, self.keys)
        self.shapes = tuple(part.shape for part in parts)
        self.sizes = tuple(int(np.prod(shape)) for shape in self.shapes)
        self.size = sum(self.sizes)
        if self.size == 0:
            raise ValueError(f"expected observations with at least one number, got {space}")
        self._vector_shape = (self.size,)
        one_image = self.keys is None and 2 <= len(self.shapes[0]) <= 4
        self.picture_type = _picture_type(parts[0]) if one_image else None
        self.bounds = (
            np.concatenate([np.ravel(part.low).astype(np.float64) for part in parts]),
            np.concatenate([np.ravel(part.high).astype(np.float64) for part in parts]),
        )

    picture_type: np.dtype[Any] | None
    """The type of a vector that suffices for `picture`; None if observations are no images."""

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
                _copy(observation, self.shapes[0], out)
            return
        start = 0
        for key, shape, size in zip(self.keys, self.shapes, self.sizes, strict=True):
            _copy(self._entry(observation, key), shape, out[start : start + size])
            start += size

    def into_batch(self, observations: Any, out: Vector) -> None:
        """Write a stack of observations into the rows of `out`."""
        if self.keys is None:
            _copy(observations, (len(out), *self.shapes[0]), out)
            return
        start = 0
        for key, shape, size in zip(self.keys, self.shapes, self.sizes, strict=True):
            part = self._entry(observations, key)
            _copy(part, (len(out), *shape), out[:, start : start + size])
            start += size

    def batch_of(self, observations: Any) -> Vector:
        """Return a stack of observations as a matrix, one observation in each row."""
        first = observations if self.keys is None else self._entry(observations, self.keys[0])
        out = np.empty((len(first), self.size))
        self.into_batch(observations, out)
        return out

    def _entry(self, observation: Any, key: str) -> Any:
        try:
            return observation[key]
        except (LookupError, TypeError) as error:
            raise ValueError(
                f"expected an observation with the entries {self.keys}, got {observation!r}"
            ) from error

    def is_batch(self, observation: Any) -> bool:
        """Whether this is a stack of observations, with one more leading dimension."""
        first = observation if self.keys is None else self._entry(observation, self.keys[0])
        ndim = first.ndim if type(first) is np.ndarray else np.ndim(first)
        return ndim == len(self.shapes[0]) + 1


def _copy(part: Any, shape: tuple[int, ...], out: Vector) -> None:
    part = np.asarray(part)
    if part.shape != shape:
        raise ValueError(f"expected an observation of shape {shape}, got shape {part.shape}")
    if part.dtype.kind not in "fiub":
        raise TypeError(f"expected a numeric observation, got dtype {part.dtype}")
    out[:] = part.reshape(out.shape)


def _selected_keys(
    space: gymnasium.Space[Any], keys: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    if isinstance(space, gymnasium.spaces.Dict):
        return keys if keys is not None else tuple(space.spaces)
    if keys is not None:
        raise TypeError(f"expected a Dict observation with the entries {keys}, got {space}")
    return None


def _parts(space: gymnasium.Space[Any], keys: tuple[str, ...] | None) -> list[gymnasium.spaces.Box]:
    if keys is None:
        return [_require_box(space)]
    if not isinstance(space, gymnasium.spaces.Dict):
        raise TypeError(f"expected a Dict observation, got {space}")
    unknown = [key for key in keys if key not in space.spaces]
    if unknown:
        raise ValueError(
            f"expected entries of the observation, {list(space.spaces)}, got {unknown}"
        )
    return [_require_box(space.spaces[key]) for key in keys]


def _picture_type(space: gymnasium.spaces.Box) -> np.dtype[Any]:
    return np.dtype(np.uint8 if space.dtype == np.uint8 else np.float32)


def _require_box(space: Any) -> gymnasium.spaces.Box:
    if not isinstance(space, gymnasium.spaces.Box):
        raise TypeError(
            f"expected Box observations or a Dict of them, got {space}; "
            "use gymnasium.wrappers.FlattenObservation"
        )
    return space

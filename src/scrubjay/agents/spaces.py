"""Spaces as plain data, so that a saved agent loads without its environment."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]


def describe_space(space: gymnasium.Space[Any], prefix: str) -> tuple[dict[str, Any], Arrays]:
    """JSON and arrays that make the space again: Boxes and Dicts of Boxes.

    The entries of a Dict are a list, because their order decides the order of a key's dimensions.
    """
    if isinstance(space, gymnasium.spaces.Dict):
        parts, arrays = [], {}
        for index, (key, part) in enumerate(space.spaces.items()):
            description, found = describe_space(part, f"{prefix}/{index}")
            parts.append([key, description])
            arrays.update(found)
        return {"dict": parts}, arrays
    if not isinstance(space, gymnasium.spaces.Box):
        raise TypeError(f"only Boxes and Dicts of Boxes can be saved, this is {space}")
    arrays = {f"{prefix}/low": space.low.copy(), f"{prefix}/high": space.high.copy()}
    return {"box": str(np.dtype(space.dtype))}, arrays


def build_space(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> gymnasium.Space[Any]:
    """The space of a description made by `describe_space`."""
    if "dict" in description:
        parts = [
            (_entry_name(key), build_space(part, arrays, f"{prefix}/{index}"))
            for index, (key, part) in enumerate(description["dict"])
        ]
        return gymnasium.spaces.Dict(parts)
    low, high = arrays[f"{prefix}/low"], arrays[f"{prefix}/high"]
    if not str(low.dtype) == str(high.dtype) == description["box"] or low.shape != high.shape:
        raise ValueError(
            f"expected bounds of {description['box']} and of one shape for the {prefix} space, got "
            f"{low.dtype} of shape {low.shape} and {high.dtype} of shape {high.shape}"
        )
    if not (low <= high).all():  # NaN included
        raise ValueError(f"the {prefix} space has lower bounds above its upper ones, or NaN")
    return gymnasium.spaces.Box(low, high, dtype=low.dtype.type)


def _entry_name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"expected the name of an entry of a Dict space, got {key!r}")
    return key

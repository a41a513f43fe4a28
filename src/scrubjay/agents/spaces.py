"""Spaces as plain data, so that a saved agent loads without its environment."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

Arrays = dict[str, npt.NDArray[Any]]
Description = dict[str, Any]


def describe_space(space: gymnasium.Space[Any], prefix: str) -> tuple[Description, Arrays]:
    """JSON and arrays from which `build_space` makes the space again.

    The entries of a Dict are a list, because their order decides the order of a key's dimensions.

    Args:
        space: A Box, Discrete, MultiDiscrete or MultiBinary, or a Dict or Tuple of such spaces.
        prefix: What the names of the arrays begin with.

    Returns:
        The description, and the arrays by name.

    Raises:
        TypeError: If it is another kind of space.
    """
    if isinstance(space, spaces.Box):
        return {"box": str(space.dtype)}, {
            f"{prefix}/low": space.low.copy(),
            f"{prefix}/high": space.high.copy(),
        }
    if isinstance(space, spaces.Discrete):
        return {"discrete": str(space.dtype), "n": int(space.n), "start": int(space.start)}, {}
    if isinstance(space, spaces.MultiDiscrete):
        return {"multi_discrete": str(space.dtype)}, {
            f"{prefix}/nvec": space.nvec.copy(),
            f"{prefix}/start": space.start.copy(),
        }
    if isinstance(space, spaces.MultiBinary):
        return {"multi_binary": list(space.shape), "flat": isinstance(space.n, int)}, {}
    if isinstance(space, spaces.Dict):
        parts, arrays = _describe_parts(list(space.spaces.values()), prefix)
        return {"dict": [list(pair) for pair in zip(space.spaces, parts, strict=True)]}, arrays
    if isinstance(space, spaces.Tuple):
        parts, arrays = _describe_parts(list(space.spaces), prefix)
        return {"tuple": parts}, arrays
    raise TypeError(
        "expected a Box, Discrete, MultiDiscrete, MultiBinary, Dict or Tuple space, which can be "
        f"saved, got {space}"
    )


def _describe_parts(
    parts: list[gymnasium.Space[Any]], prefix: str
) -> tuple[list[Description], Arrays]:
    descriptions, arrays = [], {}
    for index, part in enumerate(parts):
        description, found = describe_space(part, f"{prefix}/{index}")
        descriptions.append(description)
        arrays.update(found)
    return descriptions, arrays


def build_space(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> gymnasium.Space[Any]:
    """The space of a description made by `describe_space`.

    Args:
        description: What `describe_space` returned.
        arrays: The arrays that belong to it.
        prefix: What their names begin with.

    Returns:
        The space.

    Raises:
        ValueError: If the description contradicts itself or its arrays.
    """
    for kind, build in BUILDERS.items():
        if kind in description:
            built: gymnasium.Space[Any] = build(description, arrays, prefix)
            return built
    raise ValueError(f"expected the description of a space, got {description}")


def _build_box(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> spaces.Box:
    low, high = arrays[f"{prefix}/low"], arrays[f"{prefix}/high"]
    _check_arrays(description["box"], prefix, low, high)
    if not (low <= high).all():  # NaN included
        raise ValueError(f"the {prefix} space has lower bounds above its upper ones, or NaN")
    return spaces.Box(low, high, dtype=low.dtype.type)


def _build_discrete(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> spaces.Discrete:
    del arrays
    n, start, dtype = description["n"], description["start"], np.dtype(description["discrete"])
    whole = type(n) is int and type(start) is int and dtype.kind in "iu"
    if not whole or n < 1 or not _fits(dtype, n, start, start + n - 1):
        raise ValueError(f"expected the {prefix} space to be Discrete, got {description}")
    # older versions of Gymnasium have no argument dtype
    other = {} if dtype == np.int64 else {"dtype": dtype.type}
    return spaces.Discrete(n, start=start, **other)


def _build_multi_discrete(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> spaces.MultiDiscrete:
    nvec, start = arrays[f"{prefix}/nvec"], arrays[f"{prefix}/start"]
    _check_arrays(description["multi_discrete"], prefix, nvec, start)
    if nvec.dtype.kind not in "iu" or not (nvec > 0).all():
        raise ValueError(f"expected whole numbers above 0 in the {prefix} space, got {nvec}")
    return spaces.MultiDiscrete(nvec, dtype=nvec.dtype.type, start=start)


def _build_multi_binary(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> spaces.MultiBinary:
    del arrays
    shape, flat = description["multi_binary"], description["flat"]
    sizes = all(type(size) is int and 0 < size < 1 << 31 for size in shape)
    if not sizes or not isinstance(flat, bool) or (flat and len(shape) != 1):
        raise ValueError(f"expected the {prefix} space to be MultiBinary, got {description}")
    return spaces.MultiBinary(shape[0] if flat else shape)


def _build_dict(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> spaces.Dict:
    return spaces.Dict(
        [
            (_entry_name(key), build_space(part, arrays, f"{prefix}/{index}"))
            for index, (key, part) in enumerate(description["dict"])
        ]
    )


def _build_tuple(
    description: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], prefix: str
) -> "spaces.Tuple[Any]":  # a string: it is not generic in older versions of Gymnasium
    parts = enumerate(description["tuple"])
    return spaces.Tuple([build_space(part, arrays, f"{prefix}/{i}") for i, part in parts])


BUILDERS = {
    "dict": _build_dict,
    "tuple": _build_tuple,
    "box": _build_box,
    "discrete": _build_discrete,
    "multi_discrete": _build_multi_discrete,
    "multi_binary": _build_multi_binary,
}


def _check_arrays(
    dtype: Any, prefix: str, first: npt.NDArray[Any], second: npt.NDArray[Any]
) -> None:
    if not str(first.dtype) == str(second.dtype) == dtype or first.shape != second.shape:
        raise ValueError(
            f"expected arrays of {dtype} and of one shape for the {prefix} space, got "
            f"{first.dtype} of shape {first.shape} and {second.dtype} of shape {second.shape}"
        )


def _fits(dtype: np.dtype[Any], *numbers: int) -> bool:
    limits = np.iinfo(dtype)
    return all(limits.min <= number <= limits.max for number in numbers)


def _entry_name(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"expected the name of an entry of a Dict space, got {key!r}")
    return key

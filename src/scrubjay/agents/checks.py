"""Checks and warnings when an agent is made or begins to train."""

import math
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrubjay.embedding.parts import find_parts

MAX_IMAGE_KEY = 256  # a key of an image with more numbers causes a warning


def check_names(memories: Mapping[str, Any]) -> None:
    """Refuse names that a file could not have, before anything is learned."""
    for name in memories:
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise ValueError(
                f"expected the name of a memory to have letters, digits and _ only, got {name!r}"
            )


def warn_of_images(agent: Any) -> None:
    """Warn if whole images are the keys of the memory."""
    size = agent.embedding.key_dim
    spaces = (part.space for part in find_parts(agent.observation_space))
    images = [space for space in spaces if len(space.shape or ()) >= 2 and space.dtype == np.uint8]
    if images and size >= MAX_IMAGE_KEY:
        warnings.warn(
            f"images of shape {images[0].shape} make keys of {size:,} numbers, about "
            f"{8 * size:,} bytes a row of the memory; project them, as with "
            "embedding=RandomProjection(16)",
            UserWarning,
            stacklevel=5,
        )


def warn_of_size(agent: Any, total_timesteps: float | None) -> None:
    """Warn if the rows that a training may write would not fit into this computer's memory."""
    steps = math.inf if total_timesteps is None else total_timesteps
    memories = agent.memories.values()
    row = max((memory.nbytes / len(memory.value_array) for memory in memories), default=0.0)
    free = sum(memory.capacity - len(memory) for memory in memories)
    rows, available = sum(map(len, memories)) + min(free, steps), physical_memory()
    if rows * row > available:
        warnings.warn(
            f"up to {rows:,.0f} rows of {row:,.0f} bytes need {rows * row / 2**30:,.1f} GiB, and "
            f"this computer has {available / 2**30:,.1f}; lower capacity, or make keys of fewer "
            f"than {agent.embedding.key_dim:,} numbers",
            UserWarning,
            stacklevel=3,
        )


def physical_memory() -> float:
    """Bytes of this computer's memory, infinity if it is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf

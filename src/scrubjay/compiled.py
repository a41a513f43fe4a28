"""`compiled`: Numba's njit with a cache on disk that notices every change of the code in it.

Numba compares a function's own file alone. What the function calls, and the constants it reads, are
compiled into it from other files: after an update of one of those, old code would go on running.
"""

import functools
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit

PACKAGES = ("agents", "embedding", "envs", "memory")
"""Those that have compiled functions."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called, and keep that until any of the sources change."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(cache=True, **options)(function)
        # nothing to stamp where Numba is switched off or finds no folder to write to
        file = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if file is not None:
            file._source_stamp = stamp()
        return kernel

    return decorate


@functools.cache
def stamp() -> str:
    """A hash of all files that compiled functions can come from."""
    digest = sha256()
    for package in PACKAGES:
        for path in sorted((Path(__file__).parent / package).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()

"""`compiled`: Numba's njit with a cache on disk that any change of the sources invalidates.

Numba only checks whether a function's own file has changed. The functions that it calls and the
constants that it reads are compiled into it from other files; after a change of one of those, Numba
alone would use outdated code.

The cache only saves time: if no folder is writable, functions are compiled without it, and code
from a damaged cache file is compiled again.
"""

import contextlib
import functools
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit, typeof
from numba.core.caching import FunctionCache

PACKAGES = ("agents", "embedding", "envs", "memory", "pixels.py", "streams.py")
"""Packages and modules with compiled functions."""

COUNTED, UNCOUNTED = {"_nrt": True}, {"_nrt": False}
"""Options for a function that creates no arrays itself: Numba then does not count references to its
arguments, which costs 25 to 60 ns for each array in a call from Python, and in compiled code a
quarter of the time of a write."""

COMMON = {"nogil": True}
"""Options of all functions: with different ones, Numba compiles what they call once for each."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call, and cache the result until any source changes.

    Args:
        **options: Options of Numba's `njit`, such as `fastmath`; all release the GIL.

    Returns:
        A decorator.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(**{**COUNTED, **COMMON, **options})(function)
        if hasattr(kernel, "enable_caching"):  # a plain function if Numba is disabled
            # Numba raises RuntimeError if it finds no writable folder
            with contextlib.suppress(RuntimeError):
                kernel._cache = SourceCache(function)  # noqa: SLF001  Numba has no public way
        return kernel

    return decorate


def without_dispatch(kernel: Any, *arguments: Any) -> Any:
    """Return the machine code of a compiled function for arguments of these types.

    Numba looks up the types of all arguments in every call, 0.4 us for 22 of them. Machine code
    skips that, so the caller must keep to these types and memory layouts. It cannot be pickled: an
    agent stores it as `_kernel`, which is left out of its pickle.
    """
    if not hasattr(kernel, "overloads"):  # a plain function if Numba is disabled
        return kernel
    types = tuple(map(typeof, arguments))
    kernel.compile(types)  # does nothing if it is compiled already
    return getattr(kernel.overloads[types], "entry_point", kernel)


class SourceCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk, valid for one version of all sources; its failures are ignored."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        file = self._cache_file
        ours = Path(__file__).parent in Path(function.__code__.co_filename).parents
        # the file of a function from another package is checked too
        file._source_stamp = stamp() if ours else (stamp(), file._source_stamp)  # noqa: SLF001

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes can raise any exception
            self._start_again()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # the disk may be full, or the folder no longer writable
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def _start_again(self) -> None:
        """Delete the cache files, because saving reads the index, which may be damaged."""
        try:
            self.flush()
        except OSError:
            self.disable()


@functools.cache
def stamp() -> str:
    """Return a hash of all source files with compiled functions."""
    digest = sha256()
    for package in PACKAGES:
        place = Path(__file__).parent / package
        for path in [place] if place.is_file() else sorted(place.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()

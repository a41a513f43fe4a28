"""`compiled`: Numba's njit with a cache on disk that notices every change of the code in it.

Numba compares a function's own file alone. What the function calls, and the constants it reads, are
compiled into it from other files: after an update of one of those, old code would go on running.

The cache only saves time: where no folder is writable functions are compiled without it, and a
damaged file in it is compiled anew.
"""

import contextlib
import functools
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

PACKAGES = ("agents", "embedding", "envs", "memory")
"""Those that have compiled functions."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function when it is first called, and keep that until any of the sources change."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(**options)(function)
        if hasattr(kernel, "enable_caching"):  # a plain function where Numba is switched off
            # Numba raises RuntimeError where it finds no writable folder
            with contextlib.suppress(RuntimeError):
                kernel._cache = SourceCache(function)  # noqa: SLF001  Numba has no public way
        return kernel

    return decorate


def without_dispatch(kernel: Any) -> Any:
    """The machine code of a compiled function that has one signature, otherwise the function.

    Numba looks up the types of all arguments in every call, 0.4 us for 22 of them. Machine code
    skips that, so the caller must keep to the types and memory layouts of the first call. It cannot
    be pickled: an agent keeps it as `_kernel`, which its pickle leaves out.
    """
    return _machine_code(kernel, len(getattr(kernel, "overloads", ())))


@functools.cache
def _machine_code(kernel: Any, n_signatures: int) -> Any:
    if n_signatures != 1:
        return kernel
    (overload,) = kernel.overloads.values()
    return getattr(overload, "entry_point", kernel)


class SourceCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk, valid for one state of all sources; its failures are ignored."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        file = self._cache_file
        ours = Path(__file__).parent in Path(function.__code__.co_filename).parents
        # the file of a method from outside counts too
        file._source_stamp = stamp() if ours else (stamp(), file._source_stamp)  # noqa: SLF001

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # unpickling damaged bytes can raise anything
            self._start_again()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # the disk may be full, or the folder not writable any more
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)

    def _start_again(self) -> None:
        """Forget the files: saving reads the index, which may be the damaged one."""
        try:
            self.flush()
        except OSError:
            self.disable()


@functools.cache
def stamp() -> str:
    """A hash of all files that compiled functions can come from."""
    digest = sha256()
    for package in PACKAGES:
        for path in sorted((Path(__file__).parent / package).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()

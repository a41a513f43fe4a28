"""Imports by name: packages that only some users have, and modules that a user has named."""

import importlib
import os
import sys
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say in one line how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise ImportError(
            f'{missing} is needed for this and is not installed: pip install "scrubjay[{extra}]"'
        ) from error


def import_from_here(module: str) -> ModuleType:
    """Import a module that the user has named; it may be in the current folder.

    The current folder stays on the path, as with `python -m`: the module may import its neighbours
    later.

    Raises:
        ModuleNotFoundError: If there is no such module, or it imports one that does not exist.
    """
    here = os.getcwd()
    if not {"", here} & set(sys.path):
        sys.path.insert(0, here)
    importlib.invalidate_caches()  # the file may be a moment old
    return importlib.import_module(module)

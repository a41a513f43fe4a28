"""Imports of packages that only some users have."""

import importlib
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

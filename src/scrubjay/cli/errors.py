"""Errors as one line that says what to do, or where in the user's own code they happened."""

import sysconfig
import traceback
from pathlib import Path

import gymnasium

import scrubjay

# Errors whose message is meant for the user; others are faults of this package.
EXPECTED = (ValueError, TypeError, ImportError, OSError, gymnasium.error.Error)
INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
CREATOR = " was raised from the environment creator"  # added by gymnasium.make
SHOW_MORE = "(SCRUBJAY_TRACEBACK=1 shows the whole traceback)"


def message(error: Exception) -> str:
    """The message for the user in one line; "" for a bug of this package."""
    place = own_code(error)
    if place:
        return f"{place}: {type(error).__name__}: {one_line(error)} {SHOW_MORE}"
    text, creator, _ = one_line(error).partition(CREATOR)
    if creator:
        missing = "required positional argument" in text or "required keyword-only" in text
        return f"{text}{'; give it as in --env-kwargs NAME=VALUE' if missing else ''}"
    if isinstance(error, gymnasium.error.UnregisteredEnv):
        return (
            f"{one_line(error).rstrip('.')}; is its package installed, and named as in "
            "module:Name-v0? `scrubjay tasks` lists the tasks that are there"
        )
    return one_line(error) if isinstance(error, EXPECTED) or _of_gymnasium(error) else ""


def own_code(error: Exception) -> str:
    """The place in the user's own files at which an error happened, "" if it was elsewhere."""
    if isinstance(error, SyntaxError) and _is_own(error.filename or ""):
        return f"{_short(error.filename or '')}, line {error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_own(f.filename)]
    return f"{_short(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""


def one_line(error: BaseException) -> str:
    """The message of an error without its line breaks."""
    return " ".join(str(error).split()) or type(error).__name__


def _of_gymnasium(error: Exception) -> bool:
    """Whether Gymnasium refuses something, such as an environment without an action space."""
    frames = traceback.extract_tb(error.__traceback__)
    package = Path(gymnasium.__file__).resolve().parent
    return bool(frames) and Path(frames[-1].filename).resolve().is_relative_to(package)


def _is_own(filename: str) -> bool:
    """Whether a file is neither installed, nor part of Python or of this package."""
    if not filename or filename.startswith("<"):
        return False
    path = Path(filename).resolve()
    package = Path(scrubjay.__file__).resolve().parent
    installed = [Path(sysconfig.get_path(name)).resolve() for name in INSTALLED]
    return not any(path.is_relative_to(place) for place in (package, *installed))


def _short(filename: str) -> str:
    """A path as seen from the current folder, where it is below it."""
    path, here = Path(filename).resolve(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

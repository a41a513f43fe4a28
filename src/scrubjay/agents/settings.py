"""Settings of a method, read from its constructor's signature.

A hyper-parameter is written once, in the signature, with its type, its range and its default; its
line of help is in the docstring's `Args`. Checks, `config()`, the command line's flags and their
help, and the ranges for tuning all come from there.
"""

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Union

import numpy as np

from scrubjay.agents.schedules import LinearSchedule, as_schedule
from scrubjay.embedding import Embedding, load_embedding

NOT_SETTINGS = ("self", "env", "verbose", "tensorboard_log")
NO_DEFAULT = inspect.Parameter.empty


@dataclass(frozen=True)
class Range:
    """The numbers that a setting may have, for `typing.Annotated`.

    Attributes:
        low: The smallest number.
        high: The largest number.
        above: Whether `low` itself is excluded.
        tune: The range in which tuning searches, if not all of it.
        log: Whether tuning searches on a logarithmic scale.
    """

    low: float = -np.inf
    high: float = np.inf
    above: bool = False
    tune: tuple[float, float] | None = None
    log: bool = False

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        relation = "greater than" if self.above else "of at least"
        low = "" if self.low == -np.inf else f" {relation} {_digits(self.low)}"
        joint = " and" if low else " of"
        high = "" if self.high == np.inf else f"{joint} at most {_digits(self.high)}"
        return low + high


@dataclass(frozen=True)
class Setting:
    """One parameter of a constructor.

    Attributes:
        name: The parameter's name.
        kinds: The types that it may have, `None` and each choice of a `Literal` among them.
        range: The numbers that it may have.
        default: Its default.
        help: Its line in the docstring.
    """

    name: str
    kinds: tuple[Any, ...]
    range: Range
    default: Any
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be."""
        return tuple(kind for kind in self.kinds if isinstance(kind, str))

    def checked(self, value: Any) -> Any:
        """The value in the setting's own type.

        Raises:
            ValueError: If the value is not one that the setting may have.
        """
        if LinearSchedule in self.kinds:
            return self._as_schedule(value)
        for kind in self.kinds:
            found = _as_kind(kind, value)
            if found is not NO_DEFAULT and (not _is_number(found) or found in self.range):
                return found
        raise ValueError(f"expected {self.name} to be {self.expected}, got {value!r}")

    def _as_schedule(self, value: Any) -> LinearSchedule:
        try:
            return as_schedule(value)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"expected {self.name} to be {self.expected}, got {value!r}"
            ) from error

    @property
    def expected(self) -> str:
        """The values that the setting may have, in words."""
        if LinearSchedule in self.kinds:
            return (
                "a number between 0 and 1, (start, end, steps) with such a start and end and at "
                "least 1 step, or a LinearSchedule"
            )
        words = dict.fromkeys(_word(kind, self.range) for kind in self.kinds)
        return " or ".join(words)


def settings_of(cls: Any) -> dict[str, Setting]:
    """The settings of a class by name, in the order of its constructor's signature.

    A constructor that takes `**kwargs` hands them to the class above it, whose settings are then
    settings of this class too.

    Args:
        cls: The class of a method.

    Returns:
        The settings by name.
    """
    key: Any = cls  # for mypy, to which type[Any] is not hashable
    return dict(_settings_of(key))


@cache
def _settings_of(cls: Any) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for owner in cls.__mro__:
        if "__init__" not in owner.__dict__ or owner is object:
            continue
        inherited, found = found, _own_settings(owner)
        found |= inherited
        parameters = inspect.signature(owner.__dict__["__init__"]).parameters.values()
        if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
            break
    return found


def _own_settings(cls: type[Any]) -> dict[str, Setting]:
    function: Callable[..., Any] = cls.__dict__["__init__"]
    hints = typing.get_type_hints(function, include_extras=True)
    helps = argument_help(f"{cls.__doc__ or ''}\n{function.__doc__ or ''}")
    parameters = inspect.signature(function).parameters.values()
    others = {*NOT_SETTINGS, *getattr(cls, "conveniences", ())}
    return {
        parameter.name: Setting(
            parameter.name,
            *_kinds_and_range(hints.get(parameter.name, Any)),
            parameter.default,
            helps.get(parameter.name, ""),
        )
        for parameter in parameters
        if parameter.name not in others
        and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def argument_help(text: str) -> dict[str, str]:
    """The entries of the `Args` sections of Google-style docstrings, each in one line."""
    helps: dict[str, str] = {}
    for section in re.findall(r"^( *)Args:\n((?:\1 +.*\n|\s*\n)+)", text, re.MULTILINE):
        indent = " " * (len(section[0]) + 4)
        for entry in re.split(rf"^{indent}(?=\S)", section[1], flags=re.MULTILINE):
            name, colon, words = entry.partition(":")
            if colon and name.strip().isidentifier():
                helps[name.strip()] = " ".join(words.split())
    return helps


def _kinds_and_range(hint: Any) -> tuple[tuple[Any, ...], Range]:
    """The alternatives of a type hint, and the range that `Annotated` gives to its numbers."""
    limits = Range()
    if typing.get_origin(hint) is typing.Annotated:
        hint, *extras = typing.get_args(hint)
        limits = next((extra for extra in extras if isinstance(extra, Range)), limits)
    if typing.get_origin(hint) in (Union, types.UnionType):
        parts = [_kinds_and_range(part) for part in typing.get_args(hint)]
        given = [inner for _, inner in parts if inner != Range()]
        return sum((kinds for kinds, _ in parts), ()), given[0] if given else limits
    if typing.get_origin(hint) is Literal:
        return typing.get_args(hint), limits
    return (hint,), limits


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and isinstance(value, int | np.integer)


def _digits(number: float) -> str:
    """A limit as people write it: 2147483647, not 2.14748e+09."""
    return str(int(number)) if float(number).is_integer() else f"{number:g}"


def _as_kind(kind: Any, value: Any) -> Any:
    """The value as one of the alternatives, or `NO_DEFAULT` if it is not of that kind."""
    if kind is Any:
        return value
    if kind in (None, types.NoneType):
        return None if value is None else NO_DEFAULT
    if isinstance(kind, str | int | float):  # an entry of a Literal
        return value if type(value) is type(kind) and value == kind else NO_DEFAULT
    if kind is bool:
        return bool(value) if isinstance(value, bool | np.bool_) else NO_DEFAULT
    if kind is int:
        return int(value) if _is_whole(value) else NO_DEFAULT
    if kind is float:
        return _as_float(value)
    if kind is Embedding:
        value = load_embedding(value) if isinstance(value, Mapping) else value
    if typing.get_origin(kind) is Sequence:
        return _as_sequence(typing.get_args(kind)[0], value)
    return value if not isinstance(kind, type) or isinstance(value, kind) else NO_DEFAULT


def _as_float(value: Any) -> Any:
    try:
        number = float(value) if _is_number(value) else np.nan
    except OverflowError:  # a Python integer beyond all floats
        number = np.nan
    return number if np.isfinite(number) else NO_DEFAULT


def _as_sequence(kind: Any, value: Any) -> Any:
    if not isinstance(value, list | tuple | np.ndarray):
        return NO_DEFAULT
    found = tuple(_as_kind(kind, entry) for entry in value)
    return NO_DEFAULT if NO_DEFAULT in found else found


def _word(kind: Any, limits: Range) -> str:
    if kind in (None, types.NoneType):
        return "None"
    if isinstance(kind, str | int | float):
        return repr(kind)
    if kind is bool:
        return "True or False"
    if kind is int:
        return f"a whole number{limits}"
    if kind is float:
        return f"a finite number{limits}"
    if kind is Embedding:
        return "an Embedding such as RunningNormalizer()"
    if typing.get_origin(kind) is Sequence:
        return "a list, each entry " + _word(typing.get_args(kind)[0], Range())
    return getattr(kind, "__name__", str(kind))

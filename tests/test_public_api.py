"""The public API is documented: every parameter, every return value.

Public is what `scrubjay` and its packages list in `__all__`: classes with their public methods, and
functions. A docstring counts for the methods that override its own, which need not repeat it.
"""

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

import pytest

ROOMS = (
    "scrubjay",
    "scrubjay.memory",
    "scrubjay.embedding",
    "scrubjay.training",
    "scrubjay.agents",
    "scrubjay.deep",
    "scrubjay.runs",
    "scrubjay.analysis",
    "scrubjay.figures",
    "scrubjay.report",
    "scrubjay.envs",
)
SECTION = re.compile(r"^(\w+):\n((?:(?:[ \t].*)?\n?)*)", re.MULTILINE)
NAME = re.compile(r"^ {4}\*{0,2}(\w+)(?: \(.*?\))?:", re.MULTILINE)
NAMES = re.compile(r"^ {4}((?:\*{0,2}\w+, )+\w+):", re.MULTILINE)


def exported(room: str) -> Iterator[tuple[str, object]]:
    """The names and objects of `__all__`; those of an extra that is not installed are left out."""
    module = importlib.import_module(room)
    for name in getattr(module, "__all__", ()):
        try:
            yield f"{room}.{name}", getattr(module, name)
        except ImportError:
            pytest.importorskip("stable_baselines3")
            raise


def sections(text: str) -> dict[str, str]:
    return dict(SECTION.findall(f"{text}\n"))


def documented(text: str) -> set[str]:
    """The names that the sections Args and Attributes explain."""
    found = sections(text)
    content = found.get("Args", "") + "\n" + found.get("Attributes", "")
    groups = {name for group in NAMES.findall(content) for name in group.split(", ")}
    return {*NAME.findall(content), *groups}


def parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    found = list(inspect.signature(function).parameters.values())
    return [parameter for parameter in found if parameter.name not in ("self", "cls")]


def is_ours(thing: object) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("scrubjay")


def returns_something(function: Callable[..., object]) -> bool:
    annotation = inspect.signature(function).return_annotation
    return annotation not in (None, "None", inspect.Signature.empty)


def function_faults(name: str, function: Callable[..., object], text: str) -> Iterator[str]:
    missing = [p.name for p in parameters(function) if p.name not in documented(text)]
    if missing:
        yield f"{name}: Args lacks {', '.join(missing)}"
    if returns_something(function) and not sections(text).keys() & {"Returns", "Yields"}:
        yield f"{name}: no Returns"


def explained_fields(cls: type) -> set[str]:
    """The fields of a class that have a docstring of their own, a literal behind the annotation."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    pairs = zip(tree.body, tree.body[1:], strict=False)
    return {
        field.target.id
        for field, after in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    }


def class_faults(name: str, cls: type) -> Iterator[str]:
    text = inspect.getdoc(cls) or ""
    own = cls.__doc__ if is_ours(cls) else text
    if not own:
        yield f"{name}: no docstring"
        return
    if issubclass(cls, enum.Enum | Warning) or getattr(cls, "_is_protocol", False):
        pass
    elif dataclasses.is_dataclass(cls) or hasattr(cls, "_fields"):
        fields = list(getattr(cls, "_fields", getattr(cls, "__dataclass_fields__", ())))
        missing = [f for f in fields if f not in documented(text) | explained_fields(cls)]
        if missing:
            yield f"{name}: {', '.join(missing)} not explained"
    elif is_ours(cls.__init__):
        known = documented(f"{text}\n\n{inspect.getdoc(cls.__init__) or ''}")
        missing = [p.name for p in parameters(cls) if p.name not in known]
        if missing:
            yield f"{name}: Args lacks {', '.join(missing)}"
    yield from member_faults(cls)


def member_faults(cls: type) -> Iterator[str]:
    """Faults of public methods and properties, under the name of the class that defines them."""
    for member, static in inspect.getmembers_static(cls):
        is_property = isinstance(static, property)
        function = static.fget if is_property else getattr(static, "__func__", static)
        if member.startswith("_") or not inspect.isfunction(function) or not is_ours(function):
            continue
        where = f"{function.__module__}.{function.__qualname__}"
        # what an overriding method says is added to what it overrides
        texts = [inspect.getdoc(vars(base)[member]) for base in cls.__mro__ if member in vars(base)]
        text = "\n\n".join(filter(None, texts))
        if not text:
            yield f"{where}: no docstring"
        elif not is_property:
            yield from function_faults(where, getattr(cls, member), text)


def faults(name: str, thing: object) -> Iterator[str]:
    if not is_ours(thing):
        return
    if inspect.isclass(thing):
        yield from class_faults(name, thing)
    elif inspect.isfunction(thing):
        yield from function_faults(name, thing, inspect.getdoc(thing) or "")


@pytest.mark.parametrize("room", ROOMS)
def test_everything_exported_is_documented(room):
    found = [fault for name, thing in exported(room) for fault in faults(name, thing)]
    assert not found, "\n" + "\n".join(dict.fromkeys(found))


@pytest.mark.parametrize("room", ROOMS)
def test_constructors_and_learn_name_their_parameters(room):
    """An editor shows what a signature lists, and nothing that hides in **kwargs."""
    hidden = []
    for name, thing in exported(room):
        if not inspect.isclass(thing):
            continue
        for function in (thing.__init__, getattr(thing, "learn", None)):
            if function is None or not is_ours(function):
                continue
            found = [p for p in parameters(function) if p.kind is p.VAR_KEYWORD]
            hidden += [f"{name}.{function.__name__}: **{p.name}" for p in found]
    assert not hidden, "\n" + "\n".join(hidden)

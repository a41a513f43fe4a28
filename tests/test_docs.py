"""The documentation names files, modules and functions that exist."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(scrubjay.__file__).parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))

CODE = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:py|json|csv|md|png))`")
DOTTED = re.compile(r"`(scrubjay(?:\.\w+)+)\b")
# `path.py`, `Name` or `Name.method`: the name is defined in that file
PLACE = re.compile(r"`([\w/]+\.py)`,\s+`(?!\w+\.py`)(\w+(?:\.\w+)?)`")
METHOD = re.compile(r"`([A-Z]\w+\.[a-z_]+)[`(]")
# written by a run, not kept here
OF_RUNS = {
    *("manifest.json", "config.json", "owner.json"),
    "my_module.py",  # a user's own
    *("progress.csv", "episodes.csv", "eval.csv", "trajectories.csv", "time.csv"),
}


def prose(page: Path) -> str:
    return CODE.sub("", page.read_text(encoding="utf-8"))


def definitions(path: Path) -> Iterator[str]:
    """The classes and functions of a file, and the methods and attributes of its classes."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef):
                yield f"{node.name}.{inner.name}"  # type: ignore[attr-defined]
            elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                yield f"{node.name}.{inner.target.id}"  # type: ignore[attr-defined]


def exists(name: str) -> bool:
    return any((folder / name).exists() for folder in (ROOT, SOURCE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_exist(page):
    text = prose(page)
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    files = set(NAMED_FILE.findall(text)) - OF_RUNS
    assert [name for name in sorted(files) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_scrubjay_exist(page):
    for name in set(DOTTED.findall(prose(page))):
        assert resolves(name), f"{page.name} mentions {name}"


def resolves(name: str) -> bool:
    if name in ("scrubjay.agents",):  # also the group of entry points
        return True
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute) or bool(
            importlib.import_module(name)
        )
    except ImportError:
        return False


def test_the_walk_through_the_code_is_as_described():
    places = PLACE.findall(prose(ROOT / "docs" / "design.md"))
    assert len(places) >= 10
    for file, name in places:
        assert name in set(definitions(SOURCE / file)), f"{file} has no {name}"


def test_methods_in_the_design_exist():
    known = {name for path in SOURCE.rglob("*.py") for name in definitions(path)}
    methods = set(METHOD.findall(prose(ROOT / "docs" / "design.md")))
    assert len(methods) >= 10
    assert methods <= known, sorted(methods - known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_public_names_in_examples_exist(page):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        for names in re.findall(r"^from scrubjay import (.+)$", block, re.MULTILINE):
            assert set(names.split(", ")) <= set(scrubjay.__all__)

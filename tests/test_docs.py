"""The documentation names files, modules and functions that exist."""

import ast
import importlib
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay
from scrubjay.registry import agent_spec, agent_specs

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(scrubjay.__file__).parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

METHOD_PAGES = {
    "cec": "cec.md",
    "cec-plus": "plus.md",
    "mfec": "mfec.md",
    "sac": "sac.md",
    "emac": "emac.md",
    "crossq": "crossq.md",
    "tqc": "tqc.md",
    "dqn": "dqn.md",
}

CODE = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:py|json|csv|md|png))`")
DOTTED = re.compile(r"`(scrubjay(?:\.\w+)+)\b")
# `path.py`, `Name` or `Name.method`: the name is defined in that file
PLACE = re.compile(r"`([\w/]+\.py)`,\s+`(?!\w+\.py`)(\w+(?:\.\w+)?)`")
METHOD = re.compile(r"`([A-Z]\w+\.[a-z_]+)[`(]")
# a code block with a path as its title quotes that file
QUOTE = re.compile(
    r'^([ \t]*)```python title="([\w/]+\.py)"\n(.*?)^\1```', re.DOTALL | re.MULTILINE
)
# written by a run, not kept here
OF_RUNS = {
    *("manifest.json", "config.json", "owner.json", "logged.csv"),
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
def test_quoted_code_is_that_of_the_file(page):
    for _, path, quote in QUOTE.findall(page.read_text(encoding="utf-8")):
        source = textwrap.dedent((ROOT / path).read_text(encoding="utf-8"))
        assert is_quote(quote, source), f"{page.name}: {path} no longer contains\n{quote}"


def is_quote(quote: str, source: str) -> bool:
    """Whether a file contains these lines one after the other, indented by any common amount."""
    wanted = textwrap.dedent(quote).splitlines()
    lines = source.splitlines()
    parts = ("\n".join(lines[i : i + len(wanted)]) for i in range(len(lines) - len(wanted) + 1))
    return any(textwrap.dedent(part).splitlines() == wanted for part in parts)


def test_quotes_are_compared_line_by_line():
    source = "def f():\n    a = 1\n\n    return a\n"
    assert is_quote("a = 1\n\nreturn a\n", source)
    assert not is_quote("a = 1\nreturn a\n", source)
    assert not is_quote("a = 2\n", source)


def test_every_method_has_a_page_with_quoted_code():
    for name, page in METHOD_PAGES.items():
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert QUOTE.search(text), f"{page} quotes no code"
        assert f"`{name}`" in text
        for heading in ("## The algorithm", "## Logged metrics", "## Results"):
            assert heading in text or page == "mfec.md", f"{page} has no {heading}"
    assert METHOD_PAGES.keys() == set(agent_specs()) - {"cec-stale"}


@pytest.mark.parametrize("name", METHOD_PAGES)
def test_every_logged_metric_is_explained(name, tmp_path):
    if agent_spec(name).extra == "deep":
        pytest.importorskip("stable_baselines3")
    task = "FourRoomsGrid" if agent_spec(name).actions == ("Discrete",) else "GrowingTree"
    agent = scrubjay.make(name, f"scrubjay/{task}-v0", seed=1)
    agent.learn(200, run_folder=tmp_path / "run", eval_freq=0)
    logged: set[str] = set()
    for table in ("progress", "time"):
        header = (tmp_path / "run" / f"{table}.csv").read_text(encoding="utf-8").splitlines()[0]
        logged |= {*header.split(",")} - {"timestep"}
    common = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    own = (ROOT / "docs" / METHOD_PAGES[name]).read_text(encoding="utf-8")
    for metric in sorted(logged):
        assert f"`{metric}`" in common, f"docs/metrics.md does not explain {metric}"
        if metric.startswith(("memory/", "policy/", "train/")):
            assert f"`{metric}`" in own, f"docs/{METHOD_PAGES[name]} does not mention {metric}"


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
        for names in re.findall(r"^[ \t]*from scrubjay import (.+)$", block, re.MULTILINE):
            assert set(names.split(", ")) <= set(scrubjay.__all__)

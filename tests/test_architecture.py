"""The architecture, checked: which package may import which, and what importing costs."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay

SOURCE = Path(scrubjay.__file__).parent
ORDER = (
    *("memory", "embedding", "training", "agents", "deep", "runs", "analysis", "figures"),
    *("report", "web", "studies", "cli"),
)
BELOW_ALL = {"registry", "compiled", "randomness", "streams", "optional", "pixels", "__version__"}

MAY_IMPORT = {package: set(ORDER[:index]) | BELOW_ALL for index, package in enumerate(ORDER)}
for package in ORDER[ORDER.index("deep") :]:
    MAY_IMPORT[package] |= {"envs"}
MAY_IMPORT["envs"] = set(BELOW_ALL)
MAY_IMPORT["web"] -= {"report"}  # they stand beside each other
# The only ones that may name something above them, in strings: the others are looked up there.
MAY_NAME_ALL = {SOURCE / "registry.py", SOURCE / "__init__.py"}
# Imports packages of others, whose names it is given.
MAY_IMPORT_BY_NAME = {*MAY_NAME_ALL, SOURCE / "optional.py"}
NAME = re.compile(r"scrubjay\.(\w+)[\w.]*(:\w*)?")


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def packages_imported(tree: ast.AST) -> set[str]:
    """The packages of scrubjay that a file imports anywhere, even inside a function."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module]
            if node.module == "scrubjay":
                names = [f"scrubjay.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("scrubjay.")}
    return found


def packages_named(tree: ast.AST) -> set[str]:
    """The packages in strings like "scrubjay.package.module" or "scrubjay.package.module:Class"."""
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    found = [NAME.fullmatch(text) for text in texts if isinstance(text, str)]
    return {match[1] for match in found if match}


def imports_by_unknown_name(tree: ast.AST) -> Iterator[int]:
    """The lines of import_module calls whose argument does not begin with a known package."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in ("import_module", "__import__") and not begins_with_a_package(node.args[0]):
            yield node.lineno


def begins_with_a_package(argument: ast.expr) -> bool:
    """Whether it is "scrubjay.package..." or f"scrubjay.package.{x}" or f"{__package__}.{x}"."""
    first = argument.values[0] if isinstance(argument, ast.JoinedStr) else argument
    if isinstance(first, ast.Constant):
        return isinstance(first.value, str) and NAME.fullmatch(first.value) is not None
    inner = first.value if isinstance(first, ast.FormattedValue) else None
    return isinstance(inner, ast.Name) and inner.id == "__package__"


def files_of(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_lower_packages_never_import_higher_ones(package: str) -> None:
    assert files_of(package), f"there is no package {package}"
    for path in files_of(package):
        wrong = packages_imported(parse(path)) - MAY_IMPORT[package] - {package}
        assert not wrong, f"{path.relative_to(SOURCE)} must not import {sorted(wrong)}"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_lower_packages_never_name_higher_ones(package: str) -> None:
    for path in files_of(package):
        wrong = packages_named(parse(path)) - MAY_IMPORT[package] - {package}
        assert not wrong, f"{path.relative_to(SOURCE)} must not name {sorted(wrong)} in a string"


def test_modules_below_all_packages_import_none() -> None:
    for path in set(SOURCE.glob("*.py")) - {SOURCE / "__init__.py", SOURCE / "__main__.py"}:
        tree = parse(path)
        wrong = packages_imported(tree) - BELOW_ALL
        assert not wrong, f"{path.name} must not import {sorted(wrong)}"
        if path not in MAY_NAME_ALL:
            assert not packages_named(tree) - BELOW_ALL, f"{path.name} must not name a package"


def test_the_registry_names_methods_in_agents_and_deep_only() -> None:
    assert packages_named(parse(SOURCE / "registry.py")) == {"agents", "deep"}


def test_what_is_imported_by_name_is_known_where_it_is_imported() -> None:
    for path in set(SOURCE.rglob("*.py")) - MAY_IMPORT_BY_NAME:
        lines = list(imports_by_unknown_name(parse(path)))
        assert not lines, f"{path.relative_to(SOURCE)}, lines {lines}: import of an unknown name"


@pytest.mark.parametrize(
    ("source", "packages", "lines"),
    [
        ("import importlib\nimportlib.import_module('scrubjay.cli.main')", {"cli"}, []),
        ("x = 'scrubjay.deep.emac:EMAC'", {"deep"}, []),
        ("import_module(f'scrubjay.deep.{name}')", {"deep"}, []),
        ("import_module(name)", set(), [1]),
        ("__import__(names[0])", set(), [1]),
        ("import_module(f'{__package__}.{name}')", set(), []),
        ("x = 'as scrubjay.cli.main does'", set(), []),
    ],
)
def test_the_check_of_names_sees_them(source: str, packages: set[str], lines: list[int]) -> None:
    tree = ast.parse(source)
    assert packages_named(tree) == packages
    assert list(imports_by_unknown_name(tree)) == lines


def test_every_package_has_its_place() -> None:
    found = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert found == set(MAY_IMPORT)


def test_the_design_lists_every_package_and_module() -> None:
    design = (SOURCE.parent.parent / "docs" / "design.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^  (\w+(?:/|\.py)) ", design, re.MULTILINE))
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__main__.py"}
    assert listed == modules | {f"{package}/" for package in MAY_IMPORT}


def test_all_public_names_exist_and_are_listed() -> None:
    for name in scrubjay.__all__:
        assert getattr(scrubjay, name) is not None
    assert sorted(scrubjay.__all__) == sorted(scrubjay._HOME_OF)
    assert {"AgentSpec", "MemoryAgent", "make", "preset", "register", "resume"} <= set(
        scrubjay.__all__
    )
    with pytest.raises(AttributeError, match="no attribute 'CECC'"):
        scrubjay.CECC  # noqa: B018


def test_importing_compiles_nothing_and_loads_nothing_heavy() -> None:
    script = (
        "import sys, scrubjay\n"
        "heavy = {'numba', 'torch', 'mujoco', 'matplotlib', 'stable_baselines3', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr

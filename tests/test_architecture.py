"""The plan of the house, checked: who may import whom, and what importing costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import scrubjay

SOURCE = Path(scrubjay.__file__).parent
ORDER = ("memory", "embedding", "training", "agents", "experiments", "cli")
GROUND = {"compiled", "randomness", "optional", "__version__"}

MAY_IMPORT = {room: set(ORDER[:index]) | GROUND for index, room in enumerate(ORDER)}
MAY_IMPORT["experiments"] |= {"envs"}
MAY_IMPORT["cli"] |= {"envs"}
MAY_IMPORT["envs"] = {"compiled", "optional"}
MAY_IMPORT["deep"] = {"memory", "embedding", "training", "agents", "envs"} | GROUND


def rooms_imported(path: Path) -> set[str]:
    """The rooms of scrubjay that a file imports anywhere, even inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


def files_of(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py"))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_lower_rooms_never_import_higher_ones(room: str) -> None:
    assert files_of(room), f"there is no room {room}"
    for path in files_of(room):
        wrong = rooms_imported(path) - MAY_IMPORT[room] - {room}
        assert not wrong, f"{path.relative_to(SOURCE)} must not import {sorted(wrong)}"


def test_every_room_is_in_the_plan() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(MAY_IMPORT)


def test_all_public_names_exist_and_are_listed() -> None:
    for name in scrubjay.__all__:
        assert getattr(scrubjay, name) is not None
    assert sorted(scrubjay.__all__) == sorted(scrubjay._HOME_OF)
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

"""The path of a newcomer, timed: what docs/getting_started.md says, in a fresh clone.

    python -m benchmarks.newcomer

Clones this repository, creates a virtual environment, installs scrubjay there, and runs every
command of the page with a compiler cache that is empty. Prints the table of the page.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "getting_started.md"
MODULE = re.compile(
    r"^```python\n(import gymnasium\nimport numpy.*?)^```", re.DOTALL | re.MULTILINE
)
BASH = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands() -> Iterator[list[str]]:
    """The page's commands, the installation apart."""
    for block in BASH.findall(PAGE.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("scrubjay"):
                yield shlex.split(line, comments=True)


def timed(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> float:
    """The seconds of a command; what it prints is shown if it fails."""
    start = time.perf_counter()
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if result.returncode:
        sys.exit(f"{shlex.join(command)} failed:\n{result.stdout}{result.stderr}")
    return seconds


def install(folder: Path) -> Iterator[tuple[str, float]]:
    """Clone and install, with the seconds of each step."""
    programs = folder / "venv" / "bin"
    steps = {
        "clone": ["git", "clone", "--quiet", str(ROOT), "repository"],
        "create an environment": [sys.executable, "-m", "venv", "venv"],
        "install": [str(programs / "pip"), "install", "--quiet", "./repository[mujoco,plots]"],
    }
    for name, command in steps.items():
        yield name, timed(command, folder, clean_environment(folder))


def use(folder: Path) -> Iterator[tuple[str, float]]:
    """Every command of the page with its seconds."""
    module = MODULE.search(PAGE.read_text(encoding="utf-8"))
    assert module is not None, f"{PAGE.name} has no environment"
    (folder / "my_module.py").write_text(module[1], encoding="utf-8")
    for name, *arguments in commands():
        program = str(folder / "venv" / "bin" / name)
        seconds = timed([program, *arguments], folder, clean_environment(folder))
        yield f"`{shlex.join([name, *arguments])}`", seconds


def clean_environment(folder: Path) -> dict[str, str]:
    """The variables of this process, with a cache of compiled code that is empty at first."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTHONPATH", None)
    return environment


def main() -> None:
    """Walk the path, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where; by default a temporary one")
    parser.add_argument("--only", choices=("install", "use"), help="one half of the path")
    arguments = parser.parse_args()
    phases = {"install": install, "use": use}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print("| step | seconds |\n|---|---|")
        for name in [arguments.only] if arguments.only else phases:
            for step, seconds in phases[name](folder.resolve()):
                print(f"| {step} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()

"""scrubjay doctor: versions, known problems and their fixes."""

import argparse
import platform
import re
from collections.abc import Mapping, Sequence

from scrubjay.cli.layout import print_facts, wrapped
from scrubjay.cli.main import refuse

PARTS = {  # the extras of pyproject.toml that users install
    "core": ("numpy", "numba", "gymnasium", "tqdm", "filelock"),
    "mujoco": ("mujoco", "gymnasium-robotics", "imageio", "imageio-ffmpeg", "pillow"),
    "plots": ("matplotlib", "jinja2"),
    "tensorboard": ("tensorboard",),
    "deep": ("torch", "stable-baselines3", "sb3-contrib"),
    "atari": ("ale-py",),
    "minatar": ("minatar",),
    "web": ("starlette", "uvicorn", "pillow"),
    "tune": ("optuna", "sqlalchemy"),
    "wandb": ("wandb",),
    "minari": ("minari",),
    "hub": ("huggingface_hub",),
    "ray": ("ray",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `scrubjay doctor`."""
    parser.epilog = "example:\n  scrubjay doctor\n\nThe exit code is 1 if there is a known problem."


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Print versions and known problems."""
    refuse(unknown, arguments)
    versions = installed()
    print(f"scrubjay {versions['scrubjay']}, Python {platform.python_version()}")
    facts = [("system", platform.platform())]
    for extra, packages in PARTS.items():
        found = [f"{name} {versions[name]}" for name in packages if name in versions]
        missing = [name for name in packages if name not in versions]
        line = ", ".join(found)
        if missing:
            line += f"{'; ' if found else ''}without {', '.join(missing)}"
            line += f' (pip install "scrubjay[{extra}]")'
        facts.append((extra, line))
    print_facts(facts)
    problems = known_problems(versions)
    for problem in problems:
        print(wrapped(f"problem: {problem}", "", "  "))
    print("no known problems" if not problems else f"known problems: {len(problems)}")
    return 1 if problems else 0


def installed() -> dict[str, str]:
    """The versions of the installed packages that scrubjay can use."""
    from importlib import metadata

    names = ["scrubjay", *(name for packages in PARTS.values() for name in packages)]
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def known_problems(versions: Mapping[str, str]) -> list[str]:
    """The known problems of this combination of versions, each with its fix."""
    problems = []
    robotics, mujoco = versions.get("gymnasium-robotics"), versions.get("mujoco")
    if robotics and mujoco and number(mujoco) >= (3, 12) and number(robotics) <= (1, 4, 2):
        problems.append(
            f"gymnasium-robotics {robotics} fails with mujoco {mujoco} (its Fetch tasks fail when "
            'they are made): pip install "mujoco<3.12"'
        )
    if mujoco and number(mujoco) < (3, 3):
        problems.append(
            f"mujoco {mujoco} is older than what the tasks were checked with: "
            'pip install "mujoco>=3.3,<3.12"'
        )
    if number(versions.get("gymnasium", "1.2")) < (1, 2):
        problems.append(
            f"gymnasium {versions['gymnasium']} is older than scrubjay supports: "
            'pip install "gymnasium>=1.2"'
        )
    return problems


def number(version: str) -> tuple[int, ...]:
    """The numeric part of a version, for comparison: 3.12.0rc1 -> (3, 12, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()

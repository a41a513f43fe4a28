"""The version and the supported dependencies are the same wherever they are written."""

import re
import tomllib
from pathlib import Path

import scrubjay

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lower_bounds(requirements: list[str]) -> dict[str, tuple[int, ...]]:
    found = (re.match(r"([\w-]+)[>=]=([\d.]+)", requirement) for requirement in requirements)
    return {match[1].lower(): numbers(match[2]) for match in found if match}


def numbers(version: str) -> tuple[int, ...]:
    """A version as three numbers: 1.2 is 1.2.0."""
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def test_ci_tests_the_lowest_declared_versions():
    tested = lower_bounds((ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines())
    extras = PROJECT["optional-dependencies"]
    declared = lower_bounds([*PROJECT["dependencies"], *extras["mujoco"], *extras["plots"]])
    assert tested == declared


def test_ci_tests_the_declared_versions_of_python():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    declared = re.findall(r":: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert f"python: {declared}".replace("'", '"') in workflow


def test_the_changelog_and_the_citation_have_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\d\S+)", changelog, re.MULTILINE)[1] == scrubjay.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {scrubjay.__version__}\n" in citation

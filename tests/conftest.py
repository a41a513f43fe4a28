"""Shared by all tests: nothing here needs a display."""

import os
from types import SimpleNamespace

import pytest

from run_folders import write_run

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session", autouse=True)
def fixed_seeds():
    """Agents that are given no seed get 0, so that every run of the tests is the same."""
    with pytest.MonkeyPatch.context() as patch:
        # in this module alone: other packages draw names until one is new
        patch.setattr("scrubjay.agents.habits.secrets", SimpleNamespace(randbelow=lambda _: 0))
        yield


@pytest.fixture
def make_run(tmp_path):
    """Writes a run folder `tmp_path/runs/<name>` by the settings of `write_run`."""
    return lambda name, **settings: write_run(tmp_path / "runs" / name, **settings)

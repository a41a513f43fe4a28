"""Shared by all tests: nothing here needs a display."""

import os

import pytest

from run_folders import write_run

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def make_run(tmp_path):
    """Writes a run folder `tmp_path/runs/<name>` by the settings of `write_run`."""
    return lambda name, **settings: write_run(tmp_path / "runs" / name, **settings)

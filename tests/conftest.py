"""Shared by all tests: nothing here needs a display."""

import os
from types import SimpleNamespace

# before NumPy and torch are imported: workers and their processes share the cores already
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest  # noqa: E402

from run_folders import write_run  # noqa: E402

HARD = bool(os.environ.get("SCRUBJAY_HARD"))


def pytest_collection_modifyitems(config, items):
    """Leave endurance tests to `make test-hard`; each has a smaller one beside it."""
    hard = [] if HARD else [item for item in items if item.get_closest_marker("hard")]
    config.hook.pytest_deselected(items=hard)
    items[:] = [item for item in items if item not in hard]


@pytest.fixture(scope="session", autouse=True)
def fixed_seeds():
    """Agents that are given no seed get 0, so that every run of the tests is the same."""
    with pytest.MonkeyPatch.context() as patch:
        # in this module alone: other packages draw names until one is new
        patch.setattr("scrubjay.agents.sb3_compat.secrets", SimpleNamespace(randbelow=lambda _: 0))
        yield


@pytest.fixture
def make_run(tmp_path):
    """Writes a run folder `tmp_path/runs/<name>` by the settings of `write_run`."""
    return lambda name, **settings: write_run(tmp_path / "runs" / name, **settings)

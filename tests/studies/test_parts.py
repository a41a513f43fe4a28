"""`scrubjay reproduce parts`: its plan, and the rows of its picture."""

import numpy as np
import pytest

from scrubjay.studies import parts
from scrubjay.studies.shared.workspace import Budget, Workspace


def workspace_of(tmp_path, agents=("cec-plus",), **budget):
    return Workspace(tmp_path / "runs", tmp_path / "out", Budget(**budget), agents, "a test")


def test_each_task_is_run_with_all_parts_and_without_some(tmp_path):
    configs = parts.plan(workspace_of(tmp_path))
    n_variants = sum(1 + len(arms) for arms in parts.PAIRS.values())
    assert len(configs) == n_variants * len(parts.SEEDS)
    assert parts.cases().keys() == parts.PAIRS.keys()
    assert len(parts.plan(workspace_of(tmp_path, quick=True))) == 2 * len(parts.SEEDS)
    assert parts.plan(workspace_of(tmp_path, agents=("cec",))) == []


def test_the_picture_shows_that_a_sweep_raises_values():
    pytest.importorskip("mujoco")
    rows = parts.planning_rows(2_500)
    before, after = (
        np.array([row["value"] for row in rows if row["panel"] == panel])
        for panel in parts.PANELS[:2]
    )
    assert len(before) == len(after)
    assert (np.sort(after) >= np.sort(before)).all()

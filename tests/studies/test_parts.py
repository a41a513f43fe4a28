"""`scrubjay reproduce parts`: the rows of its picture."""

import numpy as np
import pytest

from scrubjay.agents.discovery import CONNECTED
from scrubjay.studies import parts


def values(rows, panel):
    return np.array([row["value"] for row in rows if row["panel"] == panel])


def test_a_sweep_gives_values_to_rows_of_other_episodes():
    pytest.importorskip("mujoco")
    rows = parts.planning_rows()
    before, after = values(rows, parts.BEFORE), values(rows, parts.AFTER)
    assert len(before) == len(after)
    assert 0 < (before > 0).mean() < 0.5
    assert (after > 0).mean() > 2 * (before > 0).mean()


def test_most_rows_are_lured_to_a_far_row():
    pytest.importorskip("mujoco")
    lures = values(parts.discovery_rows(8_000), parts.LURES)
    assert lures.max() == 1
    assert (lures > 0).mean() >= CONNECTED


def test_rows_have_another_value_for_another_goal():
    pytest.importorskip("gymnasium_robotics")
    rows = parts.goal_rows(3_000)
    one, other = (values(rows, panel) for panel in parts.GOALS)
    assert len(one) == len(other) > 2_500
    assert one.max() > 0.9
    assert other.max() > 0.9


def test_the_sensors_of_noise_are_ignored():
    rows = parts.dimension_rows()
    assert [row["y"] for row in rows] == [0, 0, 1, 1, 1]
    assert [row["value"] > 0.5 for row in rows] == [True, True, False, False, False]

"""`scrubjay reproduce parts`: the rows of its picture."""

import numpy as np
import pytest

from scrubjay.studies import parts


def test_the_picture_shows_that_a_sweep_raises_values():
    pytest.importorskip("mujoco")
    rows = parts.planning_rows(2_500)
    before, after = (
        np.array([row["value"] for row in rows if row["panel"] == panel])
        for panel in parts.PANELS[:2]
    )
    assert len(before) == len(after)
    assert (np.sort(after) >= np.sort(before)).all()

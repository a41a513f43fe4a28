"""CEC and CECPlus end with the rows that version 0.1.0 ended with, bit for bit.

`python tests/record_rows.py` records them anew.
"""

import pytest

import record_rows
from record_rows import CASES, TASKS, Case

RECORD = record_rows.read()
WITHOUT_MUJOCO = {"GrowingTree", "SparseMountainCar"}
SLOW = {"SafexpCarGoal", "SparseFetchReach"}


def parameter(case):
    marks = [pytest.mark.slow] if case.task in SLOW else []
    return pytest.param(case, marks=marks, id="-".join(map(str, case)))


@pytest.fixture(scope="module")
def controls():
    """The hashes of the controls on this machine, each computed once."""
    return {}


def skip_on_other_machines(task, controls):
    """Skip where the physics or the arithmetic differ from the recorded ones without any agent."""
    if "arithmetic" not in controls:
        controls["arithmetic"] = record_rows.arithmetic()
    if task not in controls:
        controls[task] = record_rows.control(task)
    if controls["arithmetic"] != RECORD["arithmetic"]:
        pytest.skip("exp, normals or matrix products differ from the recorded ones in some bit")
    if controls[task] != RECORD["controls"][task]:
        pytest.skip(f"{task} differs from the recorded one on this machine, without any agent")


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_rows_are_the_recorded_ones(case, controls):
    if case.task not in WITHOUT_MUJOCO:
        pytest.importorskip("mujoco")
    if case.task == "SparseFetchReach":
        pytest.importorskip("gymnasium_robotics")
    skip_on_other_machines(case.task, controls)
    recorded = RECORD["runs"][case.method][case.task][str(case.seed)]
    assert record_rows.run(case) == recorded


def test_every_case_is_recorded():
    recorded = {
        Case(method, task, int(seed))
        for method, tasks in RECORD["runs"].items()
        for task, seeds in tasks.items()
        for seed in seeds
    }
    assert recorded == set(CASES)
    assert RECORD["controls"].keys() == TASKS.keys()

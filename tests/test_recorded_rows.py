"""CEC and CECPlus end with the recorded rows, bit for bit: those of CEC are of version 0.1.0.

`python tests/record_rows.py CECPlus` records those of CECPlus anew.
"""

import pytest

import record_rows
from record_rows import CASES, METHODS, TASKS, Case

RECORDS = {method: record_rows.read(method) for method in METHODS}
WITHOUT_MUJOCO = {"GrowingTree", "SparseMountainCar"}
SLOW = {"SafexpCarGoal", "SparseFetchReach"}


def parameter(case):
    marks = [pytest.mark.slow] if case.task in SLOW else []
    return pytest.param(case, marks=marks, id="-".join(map(str, case)))


@pytest.fixture(scope="module")
def controls():
    """The hashes of the controls on this machine, each computed once."""
    return {}


def skip_on_other_machines(task, record, controls):
    """Skip where the physics or the arithmetic differ from the recorded ones without any agent."""
    if "arithmetic" not in controls:
        controls["arithmetic"] = record_rows.arithmetic()
    if task not in controls:
        controls[task] = record_rows.control(task)
    if controls["arithmetic"] != record["arithmetic"]:
        pytest.skip("exp, normals or matrix products differ from the recorded ones in some bit")
    if controls[task] != record["controls"][task]:
        pytest.skip(f"{task} differs from the recorded one on this machine, without any agent")


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_rows_are_the_recorded_ones(case, controls):
    if case.task not in WITHOUT_MUJOCO:
        pytest.importorskip("mujoco")
    if case.task == "SparseFetchReach":
        pytest.importorskip("gymnasium_robotics")
    record = RECORDS[case.method]
    skip_on_other_machines(case.task, record, controls)
    recorded = record["runs"][case.method][case.task][str(case.seed)]
    assert record_rows.run(case) == recorded


def test_every_case_is_recorded():
    recorded = {
        Case(method, task, int(seed))
        for method, record in RECORDS.items()
        for tasks in record["runs"].values()
        for task, seeds in tasks.items()
        for seed in seeds
    }
    assert recorded == set(CASES)
    assert all(record["controls"].keys() == TASKS.keys() for record in RECORDS.values())

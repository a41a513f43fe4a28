"""`scrubjay reproduce ablation` and `plus`: their plans, and tiny real studies."""

import csv

import pytest

from scrubjay.studies import ablation, plus
from scrubjay.studies.reproduce import reproduce
from scrubjay.studies.shared.methods import StudyBudget
from scrubjay.studies.shared.plus_cases import FULL, PAPER, Case
from scrubjay.studies.shared.suite_tasks import IMAGES, SUITE
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.training.errors import RunError

TREE = Case("GrowingTree", "GrowingTree", 800, 400, 400, 1.0)


def workspace_of(tmp_path, agents=("cec-plus",), **budget):
    return Workspace(
        tmp_path / "runs",
        tmp_path / "out",
        StudyBudget(**budget),
        agents,
        "scrubjay reproduce a test",
    )


def test_the_study_has_all_tasks_arms_and_seeds(tmp_path):
    configs = ablation.plan(workspace_of(tmp_path))
    n_runs = sum(arm.suits(case) for case in ablation.CASES for arm in ablation.ARMS)
    assert len(configs) == n_runs * len(ablation.SEEDS)
    assert len(ablation.CASES) == len(ablation.TITLES)
    families = {case.family for case in ablation.CASES}
    assert families == {case.family for case in SUITE} - {IMAGES}
    assert ablation.plan(workspace_of(tmp_path, agents=("cec",))) == []
    assert plus.plan(workspace_of(tmp_path, agents=())) == []


@pytest.mark.parametrize("arm", ablation.ARMS, ids=lambda arm: arm.label)
def test_an_arm_differs_in_its_own_part_only(arm):
    case = next(case for case in ablation.CASES if arm.suits(case))
    configs = [one.config(case, 0) for one in (arm, FULL)]
    agent, whole = (config.make_agent(config.make_env()) for config in configs)
    differences = {name for name, value in agent.config().items() if value != whole.config()[name]}
    if arm is not PAPER:
        assert agent.name == "cec-plus"
        # without planning for goals, the default embedding is another one
        assert differences - ({"embedding"} - set(arm.options)) == set(arm.options)


def test_a_tiny_study_is_run_drawn_and_never_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(ablation, "CASES", (TREE,))
    monkeypatch.setattr(ablation, "ARMS", (FULL, PAPER))
    workspace = workspace_of(tmp_path, seeds=(0, 1, 2))
    assert reproduce("ablation", workspace, jobs=2).n_done == 6
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"suite"}
    with (tmp_path / "out" / "ablation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["arm"], row["seeds"]) for row in rows] == [("CECPlus", "3"), ("CEC", "3")] * 2
    assert 0 <= float(rows[0]["low"]) <= float(rows[0]["iqm"]) <= float(rows[0]["high"]) <= 1
    with (tmp_path / "out" / "table-ablation-overall.csv").open(newline="") as file:
        whole = list(csv.DictReader(file))
    assert [row["arm"] for row in whole] == ["CECPlus", "CEC"]
    assert 0 <= float(whole[1]["full_better_low"]) <= float(whole[1]["full_better"]) <= 1
    table = (tmp_path / "out" / "table-ablation.md").read_text()
    assert "GrowingTree, 0k" in table
    assert (tmp_path / "out" / "ablation-curves.png").stat().st_size > 1000
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("eval.csv")}
    reproduce("ablation", workspace_of(tmp_path, agents=()), jobs=1)
    assert written == {path: path.stat().st_mtime_ns for path in written}


def test_targets_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(plus, "CASES", (TREE,))
    reproduce("plus", workspace_of(tmp_path, seeds=(0, 1, 2)), jobs=2)
    page = (tmp_path / "out" / "table-plus.md").read_text()
    assert "| CECPlus |" in page
    assert "| CEC " not in page  # it has a target: CEC is not run


def test_nothing_to_draw_is_said(tmp_path):
    for name in ("ablation", "plus"):
        with pytest.raises(RunError, match=f"{name} has nothing to draw"):
            reproduce(name, workspace_of(tmp_path, agents=()))

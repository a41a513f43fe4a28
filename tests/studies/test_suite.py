"""`scrubjay reproduce suite`: its plan, its scores, and a tiny real study."""

import csv

import numpy as np
import pytest

from scrubjay.studies import suite
from scrubjay.studies.reproduce import redraw, reproduce
from scrubjay.studies.shared.methods import METHODS, StudyBudget
from scrubjay.studies.shared.suite_tasks import SUITE, SuiteTask
from scrubjay.studies.shared.workspace import Workspace


def workspace_of(tmp_path, agents=("cec-plus",), **budget):
    return Workspace(
        tmp_path / "runs",
        tmp_path / "out",
        StudyBudget(**budget),
        agents,
        "scrubjay reproduce a test",
    )


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_plan_has_ten_seeds_of_ours_and_two_of_networks(tmp_path):
    configs = suite.plan(workspace_of(tmp_path))
    assert len(configs) == 10 * len(SUITE)
    assert all(not config.options for config in configs)  # one setting for all tasks
    assert all(config.steps % config.eval_freq == 0 for config in configs)
    names = tuple(name for name in suite.ARMS if name not in ("cec-plus", "cec"))
    networks = suite.plan(workspace_of(tmp_path, names))
    assert {config.seed for config in networks} == {0, 1}
    assert max(config.steps for config in networks) == 20_000
    discrete = [config.task for config in networks if config.agent == "dqn"]
    assert set(discrete) == {"CartPole-v1", "scrubjay/FourRoomsGrid-v0"}
    assert len(suite.plan(workspace_of(tmp_path, quick=True))) == 3 * 3
    assert set(suite.ARMS) <= set(METHODS)


def test_titles_are_different_and_all_tasks_can_be_made():
    assert len({case.title for case in SUITE}) == len(SUITE)
    for case in SUITE:
        env = suite.ARMS["cec-plus"].config(case, 0).make_env()
        assert env.spec.max_episode_steps
        env.close()


@pytest.fixture
def tiny(monkeypatch):
    cases = (
        SuiteTask("tree", "GrowingTree", 1000, 500, 1000, 0.9, family="trees"),
        SuiteTask("pole", "CartPole-v1", 1000, 500, 1000, 0.0, metric="return", optimum=500.0),
    )
    monkeypatch.setattr(suite, "SUITE", cases)
    return cases


@pytest.mark.usefixtures("tiny")
def test_a_tiny_suite_is_run_drawn_and_redrawn(tmp_path):
    workspace = workspace_of(tmp_path, ("cec-plus", "cec"), seeds=(0, 1, 2))
    assert reproduce("suite", workspace, jobs=1).n_done == 12
    rows = rows_of(tmp_path / "out" / "table-suite.csv")
    found = [(row["task"], row["method"], row["horizon"], row["seeds"]) for row in rows]
    assert found == [
        ("tree", "CECPlus", "200", "3"),
        ("tree", "CEC", "200", "3"),
        ("pole", "CECPlus", "500", "3"),
        ("pole", "CEC", "500", "3"),
    ]
    scores = rows_of(tmp_path / "out" / "suite-summary.csv")
    assert all(0 <= float(row["score"]) <= 1 for row in scores)
    for name in ("suite", "suite-summary"):
        picture = tmp_path / "out" / f"{name}.png"
        before = picture.read_bytes()
        picture.unlink()
        redraw("suite", workspace)
        assert picture.read_bytes() == before


def test_a_score_is_the_last_one_by_then():
    runs = [("a", np.array([0.5, 1.0]), np.array([1.0, 2.0]), np.array([0.2, 0.8]))]
    (by_share,) = suite.at_shares(runs)
    np.testing.assert_array_equal(by_share[0], [0, 0, 0, 0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.8])
    (by_seconds,) = suite.at_seconds(runs, np.array([0.5, 1.0, 9.0]))
    np.testing.assert_array_equal(by_seconds[0], [0, 0.2, 0.8])


def test_methods_are_compared_on_tasks_that_all_of_them_have():
    rows = [
        {"method": method, "task": task}
        for method, tasks in (("CECPlus", "abcd"), ("SAC", "abc"), ("DQN", "d"))
        for task in tasks
    ]
    assert suite.compared(rows) == (["CECPlus", "SAC"], ["a", "b", "c"])
    only_one_task = [*rows, {"method": "SAC with HER", "task": "a"}]
    assert suite.compared(only_one_task) == suite.compared(rows)


def test_random_actions_are_the_same_every_time():
    case = SuiteTask("pole", "CartPole-v1", 1000, 500, 1000, 0.0, metric="return")
    first = suite.random_score(case)
    assert first == suite.random_score(case)
    assert first["horizon"] == 500
    assert 15 < first["random"] < 30

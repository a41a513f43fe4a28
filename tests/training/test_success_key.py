"""The success of an episode: which entry of `info` says so, and what is said where none does."""

import csv
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import scrubjay
from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.training import Evaluator, RunFolder
from scrubjay.training.records import success_of


class Reporting(gymnasium.Wrapper):
    """A corridor whose info has one entry of our choice, and none of its own."""

    def __init__(self, **entries):
        super().__init__(Corridor([0.0, 1.0]))
        self.entries = entries

    def step(self, action):
        return *super().step(action)[:4], dict(self.entries)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True), (False, False), (np.bool_(True), True), (1, True), (0, False), (1.0, True),
        (np.float32(0.0), False), (np.array([1.0]), True), (np.array([False]), False),
        (np.array(True), True), ([True], True), ([0], False), (np.array([1, 0]), False),
        (None, None), (np.array([]), None),
    ],
)  # fmt: skip
def test_any_scalar_or_array_says_it(value, expected):
    assert success_of({"is_success": value}) is expected
    assert success_of({"success": value}) is expected
    assert success_of({"goal": value}, "goal") is expected


def test_the_first_known_key_counts_and_a_given_one_alone():
    assert success_of({"is_success": False, "success": True}) is False
    assert success_of({"is_success": True, "goal": False}, "goal") is False
    assert success_of({"is_success": True}, "goal") is None
    assert success_of({}) is None


@pytest.mark.parametrize("value", [True, 1.0, np.array([True]), [1]])
@pytest.mark.parametrize("vector", [False, True])
def test_a_key_of_ones_own_in_training_and_evaluation(tmp_path, value, vector):
    if vector and isinstance(value, list):
        pytest.skip("Gymnasium's vector environments refuse a list in info")
    env = Reporting(goal=value)
    agent = CEC(SyncVectorEnv([lambda: Reporting(goal=value)] * 2) if vector else env, seed=1)
    agent.learn(
        20, run_folder=tmp_path / "run", success_key="goal", log_freq=4, eval_freq=10,
        eval_env=Reporting(goal=value), n_eval_episodes=2,
    )  # fmt: skip
    folder = RunFolder.open(tmp_path / "run")
    assert folder.config["success_key"] == "goal"
    assert folder.manifest["success_signal"] is True
    assert folder.manifest["first_success_step"] == (4 if vector else 2)
    for table in ("episodes", "eval"):
        assert {row["is_success"] for row in rows(tmp_path / "run", table)} == {"1"}


def test_no_signal_is_neither_failure_nor_never(tmp_path, capsys):
    CEC(Reporting(), seed=1).learn(
        20, run_folder=tmp_path / "run", log_freq=4, eval_freq=10, eval_env=Reporting(),
        n_eval_episodes=2, progress_bar=True,
    )  # fmt: skip
    manifest = RunFolder.open(tmp_path / "run").manifest
    assert manifest["success_signal"] is False
    assert manifest["first_success_step"] is None
    for table in ("episodes", "eval"):
        assert {row["is_success"] for row in rows(tmp_path / "run", table)} == {""}
    assert {row["rollout/success_rate"] for row in rows(tmp_path / "run", "progress")} == {""}
    shown = capsys.readouterr().err
    assert "evaluation at step 10: no success signal, return" in shown
    assert "success no signal" in shown


def test_a_resumed_run_reads_the_same_key(tmp_path):
    class StopError(Exception):
        pass

    def stop(local, _):
        if local["self"].num_timesteps >= 10:
            raise StopError

    options = {"run_folder": tmp_path / "run", "success_key": "goal"}
    with pytest.raises(StopError):
        CEC(Reporting(goal=True), seed=1).learn(40, callback=stop, **options)
    scrubjay.resume(tmp_path / "run", env=Reporting(goal=True))
    assert len(rows(tmp_path / "run", "episodes")) == 20
    assert {row["is_success"] for row in rows(tmp_path / "run", "episodes")} == {"1"}


def test_a_key_that_is_missing_is_said_once():
    with pytest.warns(UserWarning, match="expected info to have 'gaol' .* got goal;") as warned:
        CEC(Reporting(goal=True), seed=1).learn(20, success_key="gaol")
    assert len(warned) == 1


def test_an_evaluator_of_its_own():
    agent = CEC(Reporting(), seed=1).learn(4)
    records = Evaluator(Reporting(goal=[1]), 2, seed=0, success_key="goal").run(agent, 4)
    assert [record.is_success for record in records] == [True, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Evaluator(Reporting(), 1, seed=0).run(agent, 4)[0].is_success is None


@pytest.mark.parametrize("key", ["", 3, ["goal"]])
def test_what_is_no_key(key):
    with pytest.raises(ValueError, match="expected success_key to be the name of an entry of info"):
        CEC(Reporting(), seed=1).learn(4, success_key=key)


def rows(folder, table):
    with (folder / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_info_of_a_vector_environment_may_have_dicts():
    """Gymnasium's RecordEpisodeStatistics has one."""
    env = RecordEpisodeStatistics(SyncVectorEnv([lambda: Reporting(success=True)] * 2))
    seen = []
    CEC(env, seed=1).learn(8, callback=lambda local, _: seen.append(local["infos"][1]))
    assert seen[1]["success"]
    assert seen[1]["episode"]["l"] == 2

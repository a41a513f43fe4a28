"""evaluations.npz: Stable-Baselines3's layout, and always what eval.csv says."""

import numpy as np
import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.training.evaluations_npz import as_arrays
from scrubjay.training.records import EpisodeRecord


def trained(folder, env=lambda: Corridor([0.0, 1.0]), steps=100, **plan):
    settings = {"eval_freq": 25, "n_eval_episodes": 3, **plan}
    return CEC(env(), seed=0).learn(steps, run_folder=folder, eval_env=env(), **settings)


def read(folder):
    with np.load(folder / "evaluations.npz") as file:
        return dict(file)


def test_check_23_it_says_what_eval_csv_says(tmp_path):
    pandas = pytest.importorskip("pandas")
    trained(tmp_path / "run")
    found, table = read(tmp_path / "run"), pandas.read_csv(tmp_path / "run" / "eval.csv")
    assert found["timesteps"].tolist() == sorted(set(table["timestep"]))
    columns = {"results": "return", "ep_lengths": "length", "successes": "is_success"}
    for name, column in columns.items():
        assert found[name].shape == (4, 3)
        assert found[name].ravel().tolist() == table[column].tolist()


def test_check_23_names_types_and_shapes_are_those_of_stable_baselines3(tmp_path):
    callbacks = pytest.importorskip("stable_baselines3.common.callbacks")
    monitor = pytest.importorskip("stable_baselines3.common.monitor")
    env = monitor.Monitor(Corridor([0.0, 1.0]))
    theirs = callbacks.EvalCallback(
        env, n_eval_episodes=3, eval_freq=25, log_path=str(tmp_path / "theirs"), verbose=0
    )
    CEC(Corridor([0.0, 1.0]), seed=0).learn(100, callback=theirs)
    trained(tmp_path / "ours")
    expected, found = read(tmp_path / "theirs"), read(tmp_path / "ours")
    assert set(found) == set(expected)
    for name in expected:
        assert found[name].dtype == expected[name].dtype
        assert found[name].shape == expected[name].shape


def test_a_task_without_a_success_signal_has_no_successes(tmp_path):
    import gymnasium

    trained(tmp_path / "run", lambda: gymnasium.make("Pendulum-v1"), steps=400, eval_freq=200)
    assert set(read(tmp_path / "run")) == {"timesteps", "results", "ep_lengths"}


def test_there_is_no_file_without_an_evaluation(tmp_path):
    trained(tmp_path / "run", steps=20)
    assert not (tmp_path / "run" / "evaluations.npz").exists()


def test_an_evaluation_that_was_cut_short_is_left_out():
    def record(step, number):
        return EpisodeRecord(number, 0, step, 5, 1.0, True, False, True)

    found = as_arrays([[record(10, 0), record(10, 1)], [record(20, 0)]])
    assert found["timesteps"].tolist() == [10]

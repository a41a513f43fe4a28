"""Deep runs in the common run folder."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
import torch

import scrubjay.envs  # noqa: F401
from scrubjay.deep import (
    EMAC,
    is_finished,
    load_checkpoint,
    make_deep_agent,
    start_run,
    train_deep,
)
from scrubjay.training import Evaluator, Plan, RunFolder, RunFolderError

TASK = "scrubjay/GrowingTree-v0"
SMALL = {"policy_kwargs": {"net_arch": [16, 16]}, "batch_size": 16, "learning_starts": 250}
PLAN = Plan(eval_freq=400, log_freq=200, checkpoint_freq=500, checkpoint_steps=(300, 700))


def run(path, agent="sac", seed=3, steps=1000, plan=PLAN, between=lambda: None, **options):
    config = {"agent": agent, "task": TASK, "seed": seed, "steps": steps}
    folder = start_run(path, config, "scrubjay train")
    model = make_deep_agent(agent, TASK, None, seed, **{**SMALL, **options})
    between()
    evaluator = Evaluator(gymnasium.make(TASK), 2, seed)
    train_deep(model, folder, total_timesteps=steps, plan=plan, evaluator=evaluator)
    return model


def rows(path, table):
    with (path / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "sac"
    return path, run(path, steps=1500, learning_starts=1000)


def test_run_folder_has_what_every_run_has(finished):
    path, _ = finished
    manifest = json.loads((path / "manifest.json").read_text())
    assert (manifest["status"], manifest["agent"], manifest["seed"]) == ("finished", "sac", 3)
    assert manifest["timesteps"] == 1500
    assert manifest["episodes"] == len(rows(path, "episodes"))
    names = {file.name for file in (path / "checkpoints").iterdir()}
    assert names == {"last.zip", "best.zip", "step-300.zip", "step-700.zip"}


def test_episodes_are_those_of_the_environment(finished):
    path, _ = finished
    episodes = rows(path, "episodes")
    assert list(episodes[0]) == [
        "episode", "environment", "timestep", "length", "return", "terminated", "truncated",
        "is_success",
    ]  # fmt: skip
    assert [int(row["episode"]) for row in episodes] == list(range(len(episodes)))
    ends = np.cumsum([int(row["length"]) for row in episodes])
    assert [int(row["timestep"]) for row in episodes] == ends.tolist()
    assert all(int(row["terminated"]) or int(row["truncated"]) for row in episodes)


def test_evaluations_are_at_their_steps(finished):
    path, _ = finished
    evaluations = rows(path, "eval")
    assert list(evaluations[0]) == ["timestep", "episode", "return", "length", "is_success"]
    places = [(int(row["timestep"]), int(row["episode"])) for row in evaluations]
    assert places == [(step, episode) for step in (400, 800, 1200) for episode in (0, 1)]


def test_progress_tells_the_losses(finished):
    path, _ = finished
    last = rows(path, "progress")[-1]
    assert float(last["train/critic_loss"]) >= 0
    assert int(float(last["train/n_updates"])) <= 500
    assert float(last["rollout/ep_len_mean"]) > 0
    assert [row["timestep"] for row in rows(path, "time")] == [
        row["timestep"] for row in rows(path, "progress")
    ]


def test_last_checkpoint_is_the_model(finished):
    path, model = finished
    loaded = load_checkpoint(RunFolder.open(path))
    assert loaded.num_timesteps == 1500
    for name, tensor in model.policy.state_dict().items():
        assert torch.equal(tensor, loaded.policy.state_dict()[name])
    assert load_checkpoint(RunFolder.open(path), "step-300").num_timesteps == 300


def test_checkpoint_acts_as_its_evaluation_says(finished):
    path, _ = finished
    by_step = {}
    for row in rows(path, "eval"):
        by_step.setdefault(int(row["timestep"]), []).append(float(row["return"]))
    best = load_checkpoint(RunFolder.open(path), "best")
    again = Evaluator(gymnasium.make(TASK), 2, 3).run(best, best.num_timesteps)
    assert [record.total_reward for record in again] == by_step[best.num_timesteps]


def test_a_finished_run_is_left_alone(finished):
    path, _ = finished
    assert is_finished(path)
    with pytest.raises(RunFolderError, match="finished run"):
        start_run(path, {"agent": "sac"})
    with pytest.raises(RunFolderError, match="no checkpoint 'step-1'"):
        load_checkpoint(RunFolder.open(path), "step-1")


def tables(path):
    return {name: (path / f"{name}.csv").read_bytes() for name in ("progress", "episodes", "eval")}


def disturb():
    """Others in the process draw from the global generators too."""
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)


@pytest.mark.parametrize("agent", ["sac", "emac"])
def test_same_seed_same_tables(tmp_path, agent):
    options = {"learning_starts": 450}
    run(tmp_path / "a", agent, steps=600, **options)
    run(tmp_path / "b", agent, steps=600, between=disturb, **options)
    run(tmp_path / "c", agent, seed=4, steps=600, **options)
    assert tables(tmp_path / "a") == tables(tmp_path / "b")
    assert tables(tmp_path / "a") != tables(tmp_path / "c")
    rare = Plan(eval_freq=600, log_freq=200)
    run(tmp_path / "d", agent, steps=600, plan=rare, **options)
    assert tables(tmp_path / "a")["progress"] == tables(tmp_path / "d")["progress"]


def test_emac_tells_of_its_memory(tmp_path):
    model = run(tmp_path / "emac", "emac", steps=600, learning_starts=550)
    last = rows(tmp_path / "emac", "progress")[-1]
    assert isinstance(model, EMAC)
    assert float(last["memory/size"]) == len(model.memory) > 0
    loaded = load_checkpoint(RunFolder.open(tmp_path / "emac"))
    assert loaded.memory.rows.digest() == model.memory.rows.digest()


def test_hindsight_acts_without_an_environment(tmp_path):
    pytest.importorskip("gymnasium_robotics")
    task = "scrubjay/SparseFetchReach-v0"
    model = make_deep_agent("sac", task, None, 0, "her", buffer_size=500, **SMALL)
    folder = start_run(tmp_path / "her", {"agent": "sac", "task": task, "seed": 0})
    train_deep(model, folder, total_timesteps=60)
    loaded = load_checkpoint(RunFolder.open(tmp_path / "her"))
    observation, _ = gymnasium.make(task).reset(seed=0)
    action, _ = loaded.predict(observation, deterministic=True)
    assert np.array_equal(action, model.predict(observation, deterministic=True)[0])


ENDLESS = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_runner import run
run(Path(sys.argv[1]), steps=10**6)
"""


@pytest.mark.parametrize(("number", "status"), [("SIGINT", "interrupted"), ("SIGKILL", "running")])
def test_a_stopped_run_says_so_and_starts_again(tmp_path, number, status):
    path = tmp_path / "run"
    program = ENDLESS.format(tests=os.path.dirname(__file__))
    process = subprocess.Popen([sys.executable, "-c", program, str(path)], stderr=subprocess.PIPE)
    wait_for(lambda: (path / "checkpoints" / "step-300.zip").exists(), process)
    process.send_signal(signal.Signals[number])
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    assert json.loads((path / "manifest.json").read_text())["status"] == status
    if number == "SIGINT":
        assert load_checkpoint(RunFolder.open(path)).num_timesteps >= 300
    assert not is_finished(path)
    run(path, steps=400)
    run(tmp_path / "fresh", steps=400)
    assert is_finished(path)
    assert tables(path) == tables(tmp_path / "fresh")
    assert not (path / "checkpoints" / "step-700.zip").exists()


def wait_for(condition, process, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < limit, "the run made no progress"
        time.sleep(0.05)


def test_models_of_elsewhere_are_refused():
    from stable_baselines3 import SAC

    with pytest.raises(ValueError, match="NumberedEpisodes"):
        train_deep(SAC("MlpPolicy", "Pendulum-v1"), None, total_timesteps=10)


def test_a_trained_model_is_refused():
    model = make_deep_agent("sac", TASK, None, 0, **SMALL)
    model.learn(10)
    with pytest.raises(ValueError, match="has trained for 10 steps"):
        train_deep(model, None, total_timesteps=10)


def test_episodes_start_where_the_others_start():
    """The first observations equal those of an agent without networks under the same seed."""
    from scrubjay.deep import NumberedEpisodes
    from scrubjay.randomness import Stream, reset_seed

    numbered, plain = (gymnasium.make("Pendulum-v1") for _ in range(2))
    numbered = NumberedEpisodes(numbered, seed=5)
    for episode in range(3):
        expected, _ = plain.reset(seed=reset_seed(5, Stream.ENVIRONMENT, 0, episode))
        assert np.array_equal(numbered.reset(seed=123)[0], expected)

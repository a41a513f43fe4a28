"""Networks in the shape of the other agents: the common run folder, evaluation and files."""

import csv
import json
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
import torch

import scrubjay
from probes import Drift, Faulty
from scrubjay.agents import CEC
from scrubjay.deep import EMAC, SAC, EMACAgent, NumberedEpisodes
from scrubjay.memory import ArchiveError
from scrubjay.randomness import Stream, reset_seed
from scrubjay.runs.launch import load_agent, resume
from scrubjay.training import Evaluator, RunFolder, RunFolderError

TASK = "scrubjay/GrowingTree-v0"
SMALL = {"policy_kwargs": {"net_arch": [16, 16]}, "batch_size": 16, "learning_starts": 250}
PLAN = {"eval_freq": 400, "log_freq": 200, "checkpoint_freq": 500, "checkpoint_steps": (300, 700)}


def run(path, agent="sac", seed=3, steps=1000, plan=PLAN, between=lambda: None, **options):
    made = scrubjay.make(agent, TASK, seed=seed, **{**SMALL, **options})
    between()
    return made.learn(steps, run_folder=path, eval_env=TASK, n_eval_episodes=2, **plan)


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
    path, agent = finished
    loaded, _ = load_agent(path)
    assert (loaded.num_timesteps, loaded.n_episodes) == (1500, agent.n_episodes)
    for name, tensor in agent.model.policy.state_dict().items():
        assert torch.equal(tensor, loaded.model.policy.state_dict()[name])
    assert loaded.config() == agent.config()
    assert load_agent(path, "step-300")[0].num_timesteps == 300


def test_checkpoint_acts_as_its_evaluation_says(finished):
    path, _ = finished
    by_step = {}
    for row in rows(path, "eval"):
        by_step.setdefault(int(row["timestep"]), []).append(float(row["return"]))
    best, _ = load_agent(path, "best")
    again = Evaluator(gymnasium.make(TASK), 2, 3).run(best, best.num_timesteps)
    assert [record.total_reward for record in again] == by_step[best.num_timesteps]


def test_a_finished_run_is_left_alone(finished):
    path, _ = finished
    before = (path / "manifest.json").read_bytes()
    assert resume(path).num_timesteps == 1500
    assert (path / "manifest.json").read_bytes() == before
    with pytest.raises(RunFolderError, match="holds a run already"):
        scrubjay.make("sac", TASK).learn(10, run_folder=path)
    assert (path / "manifest.json").read_bytes() == before
    with pytest.raises(RunFolderError, match="no checkpoint 'step-1'"):
        load_agent(path, "step-1")


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
    rare = {"eval_freq": 600, "log_freq": 200}
    run(tmp_path / "d", agent, steps=600, plan=rare, **options)
    assert tables(tmp_path / "a")["progress"] == tables(tmp_path / "d")["progress"]


def test_emac_tells_of_its_memory(tmp_path):
    agent = run(tmp_path / "emac", "emac", steps=600, learning_starts=550)
    last = rows(tmp_path / "emac", "progress")[-1]
    assert isinstance(agent.model, EMAC)
    assert float(last["memory/size"]) == len(agent.memory) > 0
    assert agent.gauges() == {"memory": len(agent.memory)}
    loaded, _ = load_agent(tmp_path / "emac")
    assert list(loaded.memories) == ["memory"]
    assert loaded.memories["memory"].digest() == agent.memories["memory"].digest()


def test_hindsight_acts_without_an_environment(tmp_path):
    pytest.importorskip("gymnasium_robotics")
    task = "scrubjay/SparseFetchReach-v0"
    agent = SAC(task, **SAC.preset(task, "her"), buffer_size=500, **SMALL)
    agent.learn(60, run_folder=tmp_path / "her")
    loaded, _ = load_agent(tmp_path / "her")
    assert loaded.hindsight
    observation, _ = gymnasium.make(task).reset(seed=0)
    action, _ = loaded.predict(observation, deterministic=True)
    assert np.array_equal(action, agent.predict(observation, deterministic=True)[0])


# ---------------------------------------------------------------- stopped runs


ENDLESS = f"""
import sys
import scrubjay
agent = scrubjay.make("sac", {TASK!r}, seed=3, **{SMALL})
agent.learn(10**6, run_folder=sys.argv[1], eval_env={TASK!r}, n_eval_episodes=2, **{PLAN})
"""


@pytest.mark.parametrize(("number", "status"), [("SIGINT", "interrupted"), ("SIGKILL", "running")])
def test_a_stopped_run_says_so_and_starts_again(tmp_path, number, status):
    path = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stderr=subprocess.PIPE)
    wait_for(lambda: (path / "checkpoints" / "step-300.zip").exists(), process)
    process.send_signal(signal.Signals[number])
    try:
        process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    assert json.loads((path / "manifest.json").read_text())["status"] == status
    if number == "SIGINT":
        assert load_agent(path)[0].num_timesteps >= 300
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "steps": 400}))
    assert resume(path).num_timesteps == 400
    run(tmp_path / "fresh", steps=400)
    assert json.loads((path / "manifest.json").read_text())["status"] == "finished"
    assert tables(path) == tables(tmp_path / "fresh")
    assert not (path / "checkpoints" / "step-700.zip").exists()


def wait_for(condition, process, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < limit, "the run made no progress"
        time.sleep(0.05)


def test_an_error_in_the_environment_leaves_a_failed_run_with_its_tables(tmp_path):
    env = Faulty(gymnasium.make(TASK), at=200, fault="raise")
    with pytest.raises(RuntimeError, match="fell over"):
        SAC(env, seed=0, **SMALL).learn(1000, run_folder=tmp_path / "run", log_freq=50)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["status"], manifest["timesteps"]) == ("failed", 199)
    assert rows(tmp_path / "run", "episodes")
    assert (tmp_path / "run" / "checkpoints" / "last.zip").exists()


def test_an_error_before_the_first_step_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="eval_env"):
        SAC(TASK, **SMALL).learn(10, run_folder=tmp_path / "run", eval_freq=5)
    with pytest.raises(TypeError, match=r"config\.json, got policy_kwargs"):
        SAC(TASK, policy_kwargs={"activation_fn": torch.nn.Tanh}, seed=0).learn(
            10, run_folder=tmp_path / "run"
        )
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- training


@pytest.mark.parametrize("name", ["sac", "emac"])
def test_vector_environments_are_refused(name):
    with pytest.raises(TypeError, match=f"{name} trains on one environment"):
        scrubjay.make(name, gymnasium.make_vec("Pendulum-v1", num_envs=2))


def test_a_trained_model_is_refused():
    agent = SAC(TASK, **SMALL).learn(10)
    with pytest.raises(ValueError, match="has trained for 10 steps"):
        agent.learn(10)


def test_evaluation_needs_an_environment_of_its_own():
    env = gymnasium.make(TASK)
    with pytest.raises(ValueError, match="an environment of its own"):
        SAC(env, **SMALL).learn(10, eval_env=env, eval_freq=5)


def test_so_many_episodes(tmp_path):
    agent = SAC(TASK, seed=0, **SMALL).learn(total_episodes=3, run_folder=tmp_path / "run")
    assert agent.n_episodes == len(rows(tmp_path / "run", "episodes")) == 3
    assert int(rows(tmp_path / "run", "episodes")[-1]["timestep"]) == agent.num_timesteps
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "finished"
    with pytest.raises(ValueError, match="one of the two"):
        SAC(TASK, **SMALL).learn(10, total_episodes=3)


@pytest.mark.parametrize("agent", ["sac", "emac"])
def test_a_cap_on_episodes_ends_them_as_time_outs(tmp_path, agent):
    made = scrubjay.make(agent, Drift(limit=10**9, edge=np.inf), **SMALL)
    made.learn(70, run_folder=tmp_path / "run", max_episode_steps=20)
    episodes = rows(tmp_path / "run", "episodes")
    assert [int(row["length"]) for row in episodes] == [20, 20, 20]
    assert all(int(row["truncated"]) and not int(row["terminated"]) for row in episodes)


def test_callbacks_of_both_libraries_are_told(tmp_path):
    from stable_baselines3.common.callbacks import CheckpointCallback

    seen = []

    class Stop(scrubjay.BaseCallback):
        def _on_step(self):
            return self.num_timesteps < 30

    def note(locals_, _):
        seen.append(locals_["self"].num_timesteps)

    saving = CheckpointCallback(10, str(tmp_path / "saved"))
    agent = SAC(TASK, **SMALL)
    agent.learn(100, callback=[saving, Stop(), note], run_folder=tmp_path / "run")
    assert agent.num_timesteps == 30
    assert seen == list(range(1, 31))
    assert len(list((tmp_path / "saved").iterdir())) == 3
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "stopped"


def test_one_thread_while_it_trains_and_as_many_as_before_afterwards():
    used = []

    def note(*_):
        used.append(torch.get_num_threads())

    torch.set_num_threads(2)
    try:
        SAC(TASK, **SMALL).learn(3, callback=note)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert used == [1, 1, 1]


def test_episodes_start_where_the_others_start():
    """The first observations equal those of an agent without networks under the same seed."""
    numbered, plain = (gymnasium.make("Pendulum-v1") for _ in range(2))
    numbered = NumberedEpisodes(numbered, seed=5)
    for episode in range(3):
        expected, _ = plain.reset(seed=reset_seed(5, Stream.ENVIRONMENT, 0, episode))
        assert np.array_equal(numbered.reset(seed=123)[0], expected)


# ---------------------------------------------------------------- files


def test_loading_needs_the_users_word(tmp_path):
    agent = EMACAgent(TASK, alpha=0.2, seed=4, **SMALL).learn(300)
    agent.save(tmp_path / "agent.zip")
    with pytest.raises(ValueError, match="expected trusted=True"):
        EMACAgent.load(tmp_path / "agent.zip")
    loaded = EMACAgent.load(tmp_path / "agent.zip", trusted=True)
    assert loaded.config() == agent.config()
    assert loaded.memories["memory"].digest() == agent.memories["memory"].digest()
    assert loaded.observation_space == agent.observation_space
    with pytest.raises(ValueError, match="expected a new agent to train, got one that was loaded"):
        loaded.learn(10)


def test_a_model_of_stable_baselines_can_be_loaded(tmp_path):
    import stable_baselines3

    model = stable_baselines3.SAC("MlpPolicy", TASK, gamma=0.9, seed=1, device="cpu")
    model.save(tmp_path / "model.zip")
    loaded = SAC.load(tmp_path / "model.zip", trusted=True)
    assert (loaded.gamma, loaded.seed, loaded.hindsight) == (0.9, 1, False)
    observation = np.array([0.5], np.float32)
    assert loaded.predict(observation, deterministic=True)[0] == pytest.approx(
        model.predict(observation, deterministic=True)[0]
    )


def test_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    agent = SAC(TASK, **SMALL)
    agent.save(tmp_path / "agent.zip")
    before = (tmp_path / "agent.zip").read_bytes()

    def fail(path):
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(agent.model, "save", fail)
    with pytest.raises(OSError, match="No space"):
        agent.save(tmp_path / "agent.zip")
    assert (tmp_path / "agent.zip").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["agent.zip"]


def test_a_half_written_checkpoint_of_a_killed_run_is_cleared_away(tmp_path):
    run(tmp_path / "run", steps=10)
    half = tmp_path / "run" / "checkpoints" / ".last.0123abcd.tmp.zip"
    half.write_bytes(b"half")
    with RunFolder.open(tmp_path / "run", for_writing=True):
        assert not half.exists()


def test_the_habits_of_stable_baselines3(tmp_path, capsys):
    """A table, TensorBoard's files, a drawn seed, a hint for a policy, a suffix."""
    with pytest.raises(TypeError, match=r"write SAC\(env, \.\.\.\)"):
        SAC("MlpPolicy", TASK)
    agent = SAC(TASK, verbose=1, learning_starts=10_000, buffer_size=100)
    assert agent.config()["seed"] == agent.seed == agent.model.seed
    assert agent.get_env().num_envs == 1

    def record(local, _):
        local["self"].logger.record("own/steps", local["self"].num_timesteps)

    agent.learn(3e2, callback=record, log_interval=1, run_folder=tmp_path / "run")
    out = capsys.readouterr().out
    assert "ep_rew_mean" in out
    assert repr(agent).startswith("SAC(env=<scrubjay/GrowingTree-v0>, seed=")
    agent.save(tmp_path / "sac")
    assert SAC.load(tmp_path / "sac.zip", trusted=True).seed == agent.seed
    with pytest.raises(ArchiveError, match="model of Stable-Baselines3; load it with its own"):
        CEC.load(tmp_path / "sac")

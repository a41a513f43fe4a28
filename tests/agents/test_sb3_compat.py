"""What users of Stable-Baselines3 expect of an agent, for every method."""

import inspect
import pickle
import re
import secrets
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest

from probes import Corridor, Drift
from scrubjay import BaseCallback, RandomProjection, RunFolder
from scrubjay.agents import CEC, CECPlus
from scrubjay.agents.settings import settings_of


class Quiet(CEC):
    """A method from outside: its constructor knows nothing of conveniences."""

    name = "quiet"

    def __init__(self, env, *, seed: int = 0, **settings) -> None:
        super().__init__(env, seed=seed, **settings)


class Pictures(gym.Env):
    observation_space = gym.spaces.Box(0, 255, (20, 20, 3), np.uint8)
    action_space: ClassVar = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action):  # noqa: ARG002
        self.time += 1
        return self.observation_space.sample(), 1.0, self.time == 3, False, {}


# ---------------------------------------------------------------- conveniences


@pytest.mark.parametrize("method", [CEC, CECPlus, Quiet])
def test_every_method_has_them_and_they_are_no_settings(method):
    agent = method(Corridor(), verbose=1, tensorboard_log="logs", device="cpu", seed=3)
    assert (agent.verbose, agent.tensorboard_log, agent.device) == (1, "logs", "cpu")
    names = {"verbose", "tensorboard_log", "device"}
    assert not names & agent.config().keys()
    assert not names & settings_of(method).keys()
    assert names <= inspect.signature(method).parameters.keys()
    assert (method(Corridor()).verbose, method(Corridor()).device) == (0, "auto")


def test_constructors_list_their_parameters_for_editors():
    """Not only at run time: no **settings."""
    for method in (CEC, CECPlus):
        written = inspect.signature(inspect.unwrap(method.__init__)).parameters
        assert {"n_neighbors", "gamma", "seed", "verbose", "tensorboard_log", "device"} <= (
            written.keys()
        )
        assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in written.values())


@pytest.mark.parametrize("verbose", [3, -1, "yes", None])
def test_what_verbose_may_be(verbose):
    with pytest.raises(ValueError, match="expected verbose to be 0, 1 or 2, got"):
        CEC(Corridor(), verbose=verbose)


@pytest.mark.parametrize("method", [CEC, CECPlus, Quiet])
def test_no_seed_draws_one_and_records_it(method, tmp_path, monkeypatch):
    # elsewhere in the tests a drawn seed is always 0
    monkeypatch.setattr("scrubjay.agents.sb3_compat.secrets", secrets)
    agents = [method(Drift(), seed=None) for _ in range(3)]
    assert len({agent.seed for agent in agents}) == 3
    agent = agents[0].learn(200, run_folder=tmp_path / "run")
    assert agent.config()["seed"] == agent.seed
    assert RunFolder.open(tmp_path / "run").config["seed"] == agent.seed
    again = method(Drift(), seed=agent.seed).learn(200)
    assert again.memory.digest() == agent.memory.digest()
    agent.save(tmp_path / "agent")
    assert method.load(tmp_path / "agent").seed == agent.seed


def test_a_later_seed_is_as_good_as_one_in_the_constructor():
    embedding = RandomProjection(2)
    agent = CEC(Drift(3), seed=1, embedding=embedding)
    agent.set_random_seed(2)
    expected = CEC(Drift(3), seed=2, embedding=embedding).learn(200).memory.digest()
    assert agent.learn(200).memory.digest() == expected
    agent.set_random_seed(None)
    assert agent.seed == 2


# ---------------------------------------------------------------- words


def test_repr():
    agent = CECPlus("scrubjay/GrowingTree-v0", seed=3).learn(3000)
    assert re.fullmatch(
        r"CECPlus\(env=<scrubjay/GrowingTree-v0>, seed=3, [\d,]+ rows, [\d,]+ steps\)", repr(agent)
    )
    vector = gym.vector.SyncVectorEnv([Corridor] * 2)
    assert repr(CEC(vector, seed=1)) == "CEC(env=<2 x Corridor>, seed=1, 0 rows, 0 steps)" or (
        repr(CEC(vector, seed=1)).startswith("CEC(env=<2 x ")
    )


def test_images_as_keys_are_worth_a_warning():
    with pytest.warns(UserWarning, match=r"keys of 1,200 numbers, about 9,600 bytes .*Projection"):
        CEC(Pictures(), seed=1)
    CEC(Pictures(), seed=1, embedding=RandomProjection(16)).learn(9)


def test_an_attribute_that_no_agent_has():
    agent = CEC(Corridor(), seed=1)
    assert not hasattr(agent, "replay_buffer")
    assert "replay_buffer" not in dir(agent)
    with pytest.raises(AttributeError, match=r"CEC has no replay_buffer: use agent\.memory"):
        agent.replay_buffer  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        agent.nonsense  # noqa: B018
    assert pickle.loads(pickle.dumps(agent.config())) == agent.config()


# ---------------------------------------------------------------- files


def test_either_suffix_or_none(tmp_path):
    agent = CEC(Drift(), seed=1).learn(100)
    agent.save(tmp_path / "a")
    agent.save(tmp_path / "b.zip")
    agent.save(tmp_path / "c.scrub")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.scrub", "b.zip", "c.scrub"]
    for name in ("a", "a.scrub", "a.zip", "b", "b.zip", "b.scrub", "c", "c.zip"):
        assert CEC.load(tmp_path / name).memory.digest() == agent.memory.digest()
    with pytest.raises(FileNotFoundError, match=r"d\.zip, which does not exist"):
        CEC.load(tmp_path / "d.zip")


# ---------------------------------------------------------------- learn


def test_the_table_of_verbose(capsys):
    CEC(Corridor([0.0, 1.0]), seed=1, verbose=1).learn(16, log_interval=4)
    out = capsys.readouterr().out
    assert out.count("| rollout/") == 2
    for line in (
        r"\|    ep_len_mean +\| 2 +\|",
        r"\|    ep_rew_mean +\| 1 +\|",
        r"\|    success_rate +\| 1 +\|",
        r"\|    episodes +\| 8 +\|",
        r"\|    total_timesteps +\| 16 +\|",
        r"\|    size +\| 2 +\|",
    ):
        assert re.search(line, out), line
    assert len({len(line) for line in out.split("\n\n")[0].splitlines()[:5]}) == 1


def test_no_success_signal_is_no_line_of_the_table(capsys):
    class Mute(Corridor):
        def step(self, action):
            return *super().step(action)[:4], {}

    CEC(Mute(), seed=1, verbose=1).learn(12)
    out = capsys.readouterr().out
    assert "ep_rew_mean" in out
    assert "success" not in out


def test_learning_prints_nothing_by_default(capsys):
    CEC(Corridor(), seed=1).learn(30)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_the_counter_that_is_reported_begins_anew_and_nothing_else(capsys):
    agent = CEC(Corridor([0.0, 1.0]), seed=1, verbose=1)
    agent.learn(8).learn(8).learn(8, reset_num_timesteps=False)
    reported = re.findall(r"total_timesteps +\| (\d+)", capsys.readouterr().out)
    assert reported == ["8", "8", "16"]
    assert (agent.num_timesteps, agent.n_episodes) == (24, 12)


def test_tensorboard_log(tmp_path):
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="TensorBoard is an extra: scrubjay[tensorboard]",
    )
    agent = CEC(Corridor([0.0, 1.0]), seed=1, tensorboard_log=tmp_path)
    agent.learn(16).learn(8).learn(8, reset_num_timesteps=False)

    def steps(name):
        events = accumulator.EventAccumulator(str(tmp_path / name))
        events.Reload()
        return [event.step for event in events.Scalars("rollout/ep_rew_mean")]

    assert sorted(path.name for path in tmp_path.iterdir()) == ["CEC_1", "CEC_2"]
    assert steps("CEC_1") == [8, 16]
    assert steps("CEC_2") == [8, 16]


# ---------------------------------------------------------------- callbacks of our own


def test_a_callback_of_our_own_is_complete(tmp_path, capsys):
    class Look(BaseCallback):
        def _init_callback(self):
            assert self.parent is None
            assert self.verbose == 1

        def _on_step(self):
            assert set(self.locals) >= {"infos", "rewards", "dones", "actions", "new_obs", "self"}
            assert self.globals == {}
            assert self.training_env.num_envs == 2
            self.logger.record("own/reward", float(self.locals["rewards"].sum()))
            return True

    env = gym.vector.SyncVectorEnv([lambda: Corridor([0.0, 1.0])] * 2)
    agent = CEC(env, seed=1, verbose=1)
    look = Look(verbose=1)
    agent.learn(16, callback=look, run_folder=tmp_path / "run", log_interval=4)
    assert (look.n_calls, look.num_timesteps) == (8, 16)
    assert "own/" in capsys.readouterr().out
    rows = RunFolder.open(tmp_path / "run").tables["logged"].rows()
    assert {row["name"] for row in rows} == {"own/reward"}
    assert rows[-1] == {"timestep": "16", "name": "own/reward", "value": "2.0"}


def test_what_is_recorded_reaches_the_run_folder_without_a_table_too(tmp_path):
    def record(local, _):
        local["self"].logger.record("own/steps", local["self"].num_timesteps)

    CEC(Corridor([0.0, 1.0]), seed=1).learn(
        9, callback=record, run_folder=tmp_path / "run", log_freq=4
    )
    rows = RunFolder.open(tmp_path / "run").tables["logged"].rows()
    assert [row["timestep"] for row in rows] == ["4", "8", "10"]


@pytest.mark.parametrize("answer", [False, np.False_, 0])
def test_any_false_answer_stops(answer):
    assert CEC(Corridor([0.0] * 5), seed=1).learn(50, callback=lambda *_: answer).n_episodes == 0

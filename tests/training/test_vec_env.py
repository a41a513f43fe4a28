"""Vector environments of Stable-Baselines3: the same episodes as in Gymnasium's."""

import functools
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from probes import Corridor, Drift, Mixed
from scrubjay.agents import CEC, CECPlus
from scrubjay.training import Evaluator, RunFolder
from scrubjay.training.vec_env import FirstLane

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is an extra: scrubjay[deep]")

from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)


class Float32Rewards(gym.Wrapper):
    """A `VecEnv` keeps rewards in float32: others are rounded there."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, float(np.float32(reward)), *rest


def make_drift():
    return Float32Rewards(Drift())


def subprocesses(makers):
    return SubprocVecEnv(makers, start_method="fork")


@pytest.mark.parametrize(
    "wrap",
    [
        DummyVecEnv,
        subprocesses,
        lambda makers: VecMonitor(DummyVecEnv(makers)),
        lambda makers: DummyVecEnv([functools.partial(monitored, make) for make in makers]),
    ],
    ids=["DummyVecEnv", "SubprocVecEnv", "VecMonitor", "Monitor"],
)
@pytest.mark.parametrize("method", [CEC, CECPlus])
def test_the_same_rows_as_in_a_vector_environment_of_gymnasium(wrap, method):
    vector = SyncVectorEnv([make_drift] * 3, autoreset_mode=AutoresetMode.DISABLED)
    expected = method(vector, seed=1).learn(1500)
    env = wrap([make_drift] * 3)
    found = method(env, seed=1).learn(1500)
    env.close()
    assert found.num_timesteps == expected.num_timesteps
    assert found.memory.digest() == expected.memory.digest()
    assert len(found.memory) > 100


def monitored(make):
    return Monitor(make())


def test_dictionaries_of_observations():
    vector = SyncVectorEnv([Mixed] * 2, autoreset_mode=AutoresetMode.DISABLED)
    expected = CEC(vector, seed=1).learn(100)
    assert CEC(DummyVecEnv([Mixed] * 2), seed=1).learn(100).memory.digest() == (
        expected.memory.digest()
    )


class Parts(gym.Wrapper):
    """Observations as a tuple of arrays."""

    def __init__(self):
        super().__init__(Mixed())
        self.observation_space = gym.spaces.Tuple(self.env.observation_space.values())

    def step(self, action):
        observation, *rest = self.env.step(action)
        return tuple(observation[key] for key in self.env.observation_space), *rest

    def reset(self, **given):
        observation, info = self.env.reset(**given)
        return tuple(observation[key] for key in self.env.observation_space), info


@pytest.mark.parametrize("autoreset_mode", AutoresetMode)
def test_tuples_of_observations(autoreset_mode):
    agent = CEC(SyncVectorEnv([Parts] * 2, autoreset_mode=autoreset_mode), seed=1).learn(100)
    expected = CEC(DummyVecEnv([Mixed] * 2), seed=1).learn(100)
    assert agent.memory.digest() == expected.memory.digest()


def test_tuples_of_observations_of_stable_baselines3():
    seen = []
    agent = CEC(DummyVecEnv([Parts] * 2), seed=1)
    agent.learn(100, callback=lambda found, _: seen.append(found["new_obs"]))
    expected = CEC(DummyVecEnv([Mixed] * 2), seed=1).learn(100)
    assert agent.memory.digest() == expected.memory.digest()
    actions, _ = agent.predict(seen[0], deterministic=True)
    assert actions.shape == (2, 2)


def test_one_environment_with_tuples_of_observations():
    agent, seen = CEC(Parts(), seed=1), []
    agent.learn(100, callback=lambda found, _: seen.append(found["new_obs"]))
    first = agent.get_env().reset()
    for observation in (first, seen[0]):
        assert [part.shape for part in observation] == [(1, 1), (1, 2, 2), (1, 2)]


@pytest.mark.parametrize("truncates", [True, False])
def test_a_time_out_is_told_from_an_end(tmp_path, truncates):
    env = DummyVecEnv([lambda: Corridor([0.0, 1.0], truncates)] * 2)
    CEC(env, seed=1).learn(8, run_folder=tmp_path / "run")
    rows = RunFolder.open(tmp_path / "run").tables["episodes"].rows()
    assert [(row["terminated"], row["truncated"]) for row in rows] == [
        ("0", "1") if truncates else ("1", "0")
    ] * 4
    assert {row["is_success"] for row in rows} == {"1"}
    assert RunFolder.open(tmp_path / "run").config["n_envs"] == 2


def test_the_last_observation_is_the_episodes_own():
    """CECPlus reads it for its last step; after the automatic reset the stack has another one."""
    seen = []

    def look(local, _):
        if local["dones"][0]:
            seen.append(local["infos"][0]["terminal_observation"].tolist())

    CEC(DummyVecEnv([lambda: Corridor([0.0, 1.0])]), seed=1).learn(6, callback=look)
    assert seen == [[2.0]] * 3


def test_wrappers_that_change_observations_are_taken_as_they_are():
    env = VecFrameStack(DummyVecEnv([make_drift] * 2), n_stack=2)
    first, second = (CEC(env, seed=1).learn(300) for _ in range(2))
    assert first.observation_space.shape == (4,)
    assert first.memory.digest() == second.memory.digest()  # seeded at the start of each training
    with pytest.raises(ValueError, match=r"in gymnasium\.wrappers\.TimeLimit instead of giving"):
        CEC(env, seed=1).learn(300, max_episode_steps=3)


def test_the_users_own_limit_of_steps(tmp_path):
    env = DummyVecEnv([lambda: Corridor([0.0] * 9)] * 2)
    agent = CEC(env, seed=1)
    agent.learn(12, max_episode_steps=3, run_folder=tmp_path / "run")
    rows = RunFolder.open(tmp_path / "run").tables["episodes"].rows()
    assert [row["length"] for row in rows] == ["3"] * 4


def test_a_normalizer_that_learns_is_refused():
    with pytest.raises(ValueError, match=r"pass embedding=RunningNormalizer\(\)"):
        CEC(VecNormalize(DummyVecEnv([make_drift])))
    frozen = VecNormalize(DummyVecEnv([make_drift]), training=False, norm_reward=False)
    assert CEC(frozen, seed=1).learn(50).num_timesteps >= 50


@pytest.mark.parametrize("n_envs", [1, 2])
def test_evaluation_in_one_gives_what_the_environment_itself_does(n_envs):
    agent = CEC(make_drift(), seed=1).learn(500)
    expected = Evaluator(make_drift(), 5, seed=3).run(agent, 500)
    env = FirstLane(DummyVecEnv([make_drift] * n_envs))
    found = Evaluator(env, 5, seed=3).run(agent, 500)
    # a VecEnv cannot tell an end from an end that is a time-out too
    found = [replace(record, truncated=False) for record in found]
    assert found == [replace(record, truncated=False) for record in expected]


def test_evaluation_during_training(tmp_path):
    tables = []
    for name, env in (("vec", DummyVecEnv([make_drift])), ("single", make_drift())):
        CEC(make_drift(), seed=1).learn(
            200, eval_env=env, eval_freq=100, n_eval_episodes=2, run_folder=tmp_path / name
        )
        tables.append((tmp_path / name / "eval.csv").read_text())
    assert tables[0] == tables[1]


def test_get_env_is_a_vec_env_that_steps_and_resets_by_itself():
    agent = CEC(SyncVectorEnv([lambda: Corridor([0.0, 1.0])] * 2), seed=1)
    env = agent.get_env()
    assert isinstance(env, DummyVecEnv)  # for callbacks that compare types
    assert env is agent.get_env()
    assert env.reset().tolist() == [[0.0], [0.0]]
    env.step(np.zeros((2, 1), np.float32))
    observations, rewards, dones, infos = env.step(np.zeros((2, 1), np.float32))
    assert observations.tolist() == [[0.0], [0.0]]
    assert (rewards.tolist(), dones.tolist()) == ([1.0, 1.0], [True, True])
    assert infos[1]["terminal_observation"].tolist() == [2.0]
    assert env.get_attr("truncates") == [False, False]
    agent.set_env(env)
    assert agent.env is env.env

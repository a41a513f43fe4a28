"""Minari: a dataset made here, read back, and learned from; no network."""

import gymnasium
import numpy as np
import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.runs.datasets import DatasetRecorder, learn_from_dataset

minari = pytest.importorskip("minari", reason="Minari is an extra: scrubjay[minari]")
pytestmark = pytest.mark.filterwarnings("ignore")  # its own: there is no author


@pytest.fixture(autouse=True)
def datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def test_an_agent_learns_from_a_dataset_what_it_learned_from_the_episodes(tmp_path):
    env = DatasetRecorder(gymnasium.make("scrubjay/GrowingTree-v0"))
    settings = {"distance_threshold": 0.01, "seed": 3}
    trained = CEC(env, **settings).learn(600)
    env.save("tree/cec-v0", algorithm_name="cec")
    dataset = minari.load_dataset("tree/cec-v0")
    assert dataset.total_episodes == trained.n_episodes
    assert dataset.total_steps == trained.num_timesteps
    taught = learn_from_dataset(CEC("scrubjay/GrowingTree-v0", **settings), "tree/cec-v0")
    assert taught.memory.digest() == trained.memory.digest()
    assert taught.num_timesteps == trained.num_timesteps
    taught.save(tmp_path / "taught")
    key = dataset[0].observations[0]
    assert taught.predict(key, deterministic=True)[0] == trained.predict(key, deterministic=True)[0]


def test_a_part_of_a_dataset(tmp_path):  # noqa: ARG001
    env = DatasetRecorder(Corridor([0.0, 0.0, 1.0]))
    CEC(env, seed=0).learn(12)
    dataset = env.save("corridor/cec-v0")
    taught = learn_from_dataset(CEC(Corridor([0.0, 0.0, 1.0]), seed=0), dataset, n_episodes=2)
    assert taught.n_episodes == 2


def test_other_spaces_are_refused():
    env = DatasetRecorder(Corridor([0.0, 1.0]))
    CEC(env, seed=0).learn(4)
    dataset = env.save("corridor/other-v0")
    with pytest.raises(ValueError, match="expected a dataset with the observation_space"):
        learn_from_dataset(CEC("scrubjay/GrowingTree-v0", seed=0), dataset)


def test_without_an_episode_there_is_nothing_to_save():
    with pytest.raises(ValueError, match="at least one whole episode"):
        DatasetRecorder(Corridor([0.0, 1.0])).save("corridor/empty-v0")


def test_goals_are_kept_as_dictionaries():
    space = gymnasium.spaces.Dict(
        observation=gymnasium.spaces.Box(-1, 1, (2,), np.float64),
        desired_goal=gymnasium.spaces.Box(-1, 1, (1,), np.float64),
    )

    class Goals(gymnasium.Env):
        observation_space, action_space = space, gymnasium.spaces.Box(-1, 1, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed, options=options)
            self.t = 0
            return self.observe(), {}

        def observe(self):
            return {"observation": np.full(2, self.t / 9), "desired_goal": np.ones(1)}

        def step(self, action):  # noqa: ARG002
            self.t += 1
            return self.observe(), float(self.t == 5), self.t == 5, False, {}

    env = DatasetRecorder(Goals())
    trained = CEC(env, seed=0).learn(20)
    taught = learn_from_dataset(CEC(Goals(), seed=0), env.save("goals/cec-v0"))
    assert taught.memory.digest() == trained.memory.digest()

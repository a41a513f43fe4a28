"""Settings as the authors had them, and models made from them."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import SAC, HerReplayBuffer

import scrubjay.envs
from scrubjay.deep import (
    EMAC,
    SETTINGS,
    NumberedEpisodes,
    deep_options,
    make_deep_agent,
    state_values,
)


def sac(name, setting="authors"):
    options = deep_options("sac", f"scrubjay/{name}-v0", setting)
    return options["batch_size"], options["learning_rate"]


def test_authors_settings():
    assert sac("PointUMaze") == (16, 1e-3)
    assert sac("Point4Rooms") == sac("SparseFetchReach") == (32, 1e-3)
    assert sac("SparseMountainCar") == (16, 0.01)
    assert sac("SafexpPointGoal") == sac("SafexpCarGoal") == (32, 0.01)


@pytest.mark.parametrize("task_id", scrubjay.envs.TASK_IDS)
def test_every_task_has_its_settings(task_id):
    assert deep_options("sac", task_id)["gamma"] == 0.99
    assert deep_options("emac", task_id)["n_neighbors"] == 2


def test_defaults_are_stable_baselines_own():
    env = gymnasium.make("Pendulum-v1")
    ours = make_deep_agent("sac", "Pendulum-v1", env, 0, "defaults")
    theirs = SAC("MlpPolicy", env, seed=0, device="cpu")
    for name in ("batch_size", "learning_rate", "gamma", "tau", "learning_starts", "buffer_size"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert type(ours) is SAC


def test_emac_has_its_authors_settings():
    model = make_deep_agent("emac", "scrubjay/GrowingTree-v0", None, 0)
    assert isinstance(model, EMAC)
    buffer = model.episodes
    assert (buffer.alpha, buffer.beta, buffer.memory.n_neighbors) == (0.1, 0.5, 2)
    assert (model.batch_size, model.learning_starts, model.learning_rate) == (256, 1000, 1e-3)
    assert model.policy.net_arch == [256, 256]


def test_hindsight_on_the_task_with_goals():
    pytest.importorskip("gymnasium_robotics")
    model = make_deep_agent(
        "sac", "scrubjay/SparseFetchReach-v0", None, 0, "her", buffer_size=500, batch_size=16
    )
    assert isinstance(model.replay_buffer, HerReplayBuffer)
    model.learn(150)
    assert model._n_updates == 50


def test_emac_on_the_task_with_goals():
    pytest.importorskip("gymnasium_robotics")
    model = make_deep_agent(
        "emac", "scrubjay/SparseFetchReach-v0", None, 0, buffer_size=500, learning_starts=100
    )
    model.learn(110)
    assert model._n_updates == 10
    assert model.memory.projection.shape == (16 + 4, 4)


def test_options_go_over_the_setting():
    model = make_deep_agent("sac", "scrubjay/GrowingTree-v0", None, 0, batch_size=8)
    assert model.batch_size == 8
    assert all(model.get_env().env_is_wrapped(NumberedEpisodes))


def test_state_values_are_the_smaller_critics_at_the_own_action():
    model = make_deep_agent("sac", "scrubjay/GrowingTree-v0", None, 0)
    observations = np.array([[0.0], [0.5], [1.0]], dtype=np.float32)
    expected = []
    for observation in observations:
        action, _ = model.predict(observation, deterministic=True)
        scaled = torch.tensor(model.policy.scale_action(action))[None]
        values = model.critic(torch.tensor(observation)[None], scaled)
        expected.append(min(value.item() for value in values))
    np.testing.assert_allclose(state_values(model, observations), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ppo", "scrubjay/GrowingTree-v0"), "one of sac, emac; 'ppo' came"),
        (("sac", "Pendulum-v1"), 'take setting="defaults"'),
        (("sac", "scrubjay/GrowingTree-v0", "best"), "authors, defaults, her; 'best' came"),
        (("sac", "scrubjay/GrowingTree-v0", "her"), "needs a task with goals"),
        (
            ("emac", "scrubjay/GrowingTree-v0", "her"),
            "settings of emac: authors; 'her' came",
        ),
    ],
)
def test_unknown_settings_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        deep_options(*arguments)
    assert set(SETTINGS) == {"sac", "emac"}


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3"])
def test_missing_extra_says_what_to_install(missing):
    program = f"import sys; sys.modules[{missing!r}] = None; import scrubjay.deep"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode != 0
    last = result.stderr.strip().splitlines()[-1]
    assert missing in last
    assert 'pip install "scrubjay[deep]"' in last

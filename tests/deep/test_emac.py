"""EMAC beside DDPG, its files, and its ways with episodes that do not end."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import DDPG
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from scrubjay.deep import EMAC, EpisodicReplayBuffer

SMALL = {"batch_size": 32, "learning_starts": 250, "device": "cpu"}
NETWORK = {"net_arch": [16, 16]}


def make_emac(seed=0, env="Pendulum-v1", **settings):
    return EMAC("MlpPolicy", env, seed=seed, policy_kwargs=NETWORK, **{**SMALL, **settings})


def make_ddpg(buffer_class, buffer_settings, seed=0):
    return DDPG(
        "MlpPolicy",
        "Pendulum-v1",
        seed=seed,
        policy_kwargs=NETWORK,
        action_noise=NormalActionNoise(np.zeros(1), np.full(1, 0.1)),
        replay_buffer_class=buffer_class,
        replay_buffer_kwargs=buffer_settings,
        **SMALL,
    )


class LateBuffer(ReplayBuffer):
    """Stable-Baselines3's buffer, told of everything when the episode is over."""

    waiting = ()

    def add(self, *transition):
        self.waiting = (*self.waiting, transition)
        if transition[4][0]:
            for step in self.waiting:
                super().add(*step)
            self.waiting = ()


def assert_same_networks(first, second):
    for name, tensor in first.policy.state_dict().items():
        assert torch.equal(tensor, second.policy.state_dict()[name]), name


def networks_differ(first, second):
    others = second.policy.state_dict()
    return any(not torch.equal(t, others[n]) for n, t in first.policy.state_dict().items())


@pytest.mark.parametrize("timeouts", ["terminal", "bootstrap"])
def test_without_memory_and_priorities_it_is_ddpg_bit_for_bit(timeouts):
    settings = {"alpha": 0.0, "beta": 0.0, "timeouts": timeouts}
    emac = make_emac(**settings).learn(450)
    same_buffer = make_ddpg(EpisodicReplayBuffer, settings).learn(450)
    assert emac._n_updates == same_buffer._n_updates == 200
    assert_same_networks(emac, same_buffer)
    handles = {"handle_timeout_termination": timeouts == "bootstrap"}
    assert_same_networks(emac, make_ddpg(LateBuffer, handles).learn(450))


@pytest.mark.parametrize("settings", [{"alpha": 0.1, "beta": 0.0}, {"alpha": 0.0, "beta": 0.5}])
def test_memory_and_priorities_each_change_what_is_learned(settings):
    first, second = (
        make_emac(**chosen, learning_starts=200).learn(420)
        for chosen in ({"alpha": 0.0, "beta": 0.0}, settings)
    )
    assert networks_differ(first, second)


def test_the_first_updates_draw_uniformly():
    """As many as there are warm-up steps: until then beta changes nothing."""
    first, second = (make_emac(beta=beta).learn(450) for beta in (0.0, 0.5))
    assert first._n_updates == 200 < second.episodes.uniform_draws == 250
    assert_same_networks(first, second)


def test_same_seed_same_networks():
    assert_same_networks(make_emac().learn(300), make_emac().learn(300))
    assert networks_differ(make_emac(seed=1).learn(300), make_emac().learn(300))


def test_saved_and_loaded_it_remembers_the_same(tmp_path):
    model = make_emac().learn(450)
    model.save(tmp_path / "model.zip")
    loaded = EMAC.load(tmp_path / "model.zip", device="cpu")
    assert_same_networks(model, loaded)
    pairs = np.random.default_rng(0).normal(size=(20, 4))
    assert np.array_equal(model.memory.read(pairs), loaded.memory.read(pairs))
    assert len(loaded.memory) == 400
    assert loaded.episodes.alpha == 0.1
    observation = gymnasium.make("Pendulum-v1").reset(seed=0)[0]
    assert np.array_equal(
        model.predict(observation, deterministic=True)[0],
        loaded.predict(observation, deterministic=True)[0],
    )


def test_loaded_with_an_environment_it_learns_on(tmp_path):
    make_emac().learn(300).save(tmp_path / "model.zip")
    loaded = EMAC.load(tmp_path / "model.zip", env=gymnasium.make("Pendulum-v1"), device="cpu")
    loaded.learn(300)
    assert len(loaded.memory) == 400  # 200 from the file and one more episode


def test_waits_for_the_first_episode_to_end():
    model = make_emac(learning_starts=50).learn(260)
    assert model._n_updates == 61  # from step 200 on


def test_an_episode_cut_off_by_a_new_training_is_not_remembered():
    model = make_emac().learn(250)
    model.learn(250)
    assert model.episodes.size() == len(model.memory) == 400
    model.learn(150, reset_num_timesteps=False)
    assert model.episodes.size() == 600


def test_bootstrapped_returns_end_in_the_critics_value():
    model = make_emac(timeouts="bootstrap").learn(200)
    buffer = model.episodes
    last = buffer.next_observations[199, 0]
    value = model._value(last)  # nothing was trained yet
    assert buffer.last_value == pytest.approx(value, rel=1e-5)
    assert buffer.returns[199] == pytest.approx(buffer.rewards[199, 0] + 0.99 * value, rel=1e-5)


def test_evaluated_by_stable_baselines():
    mean, _ = evaluate_policy(make_emac(), gymnasium.make("Pendulum-v1"), 1, warn=False)
    assert np.isfinite(mean)


def test_normalised_environments_are_refused():
    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")]))
    with pytest.raises(ValueError, match="VecNormalize"):
        make_emac(env=env)


def test_many_environments_are_refused():
    env = DummyVecEnv([lambda: gymnasium.make("Pendulum-v1")] * 2)
    with pytest.raises(ValueError, match="expected 1 environment, got 2"):
        make_emac(env=env)

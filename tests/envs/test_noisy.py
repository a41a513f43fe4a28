"""The two tasks in which nothing happens twice."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from scrubjay.envs.mountain_car import SparseMountainCar
from scrubjay.envs.noisy import Noisy

IDS = ("scrubjay/NoisySparseMountainCar-v0", "scrubjay/NoisyPointUMaze-v0")


def rollout(env, seed, n_steps=30):
    seen = [env.reset(seed=seed)[0]]
    rng = np.random.default_rng(0)
    for _ in range(n_steps):
        low, high = env.action_space.low, env.action_space.high
        seen.append(env.step(rng.uniform(low, high).astype(np.float32))[0])
    return np.array(seen)


@pytest.mark.parametrize("task", IDS)
def test_a_seed_decides_the_noise(task):
    env = gym.make(task)
    np.testing.assert_array_equal(rollout(env, 1), rollout(env, 1))
    assert (rollout(env, 1) != rollout(env, 2)).any()


@pytest.mark.filterwarnings("ignore:.*A Box observation space m:UserWarning")
@pytest.mark.parametrize("task", IDS)
def test_it_is_a_gymnasium_environment(task):
    check_env(gym.make(task).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("task", IDS)
def test_without_noise_it_is_the_task_itself(task):
    quiet = gym.make(task, action_noise=0.0, observation_noise=0.0)
    plain = gym.make(task.replace("Noisy", ""))
    np.testing.assert_allclose(rollout(quiet, 3), rollout(plain, 3))
    assert (rollout(gym.make(task), 3) != rollout(plain, 3)).any()


def test_the_size_of_the_noise():
    env = Noisy(SparseMountainCar(), [0.9, 0.07], action_noise=0.0, observation_noise=0.01)
    env.reset(seed=0)
    seen = np.array([env._seen(np.array([-0.5, 0.0], np.float32)) for _ in range(4000)])
    np.testing.assert_allclose(seen.std(axis=0), [0.009, 0.0007], rtol=0.05)
    assert env.observation_space.contains(env._seen(env.observation_space.high))


def test_wrong_noise_is_refused():
    with pytest.raises(ValueError, match="expected noise >= 0"):
        Noisy(SparseMountainCar(), [1, 1], action_noise=-0.1)
    with pytest.raises(TypeError, match="Box"):
        Noisy(gym.make("CartPole-v1"), 1.0)

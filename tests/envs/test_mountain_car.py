"""SparseMountainCar beside Gymnasium's own mountain car."""

import copy
import importlib.util
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env

from scrubjay.envs.mountain_car import SparseMountainCar

ID = "scrubjay/SparseMountainCar-v0"


def push_along(observation):
    """Force in the direction of motion: reaches the flag in about a hundred steps."""
    return np.array([1.0 if observation[1] >= 0 else -1.0], np.float32)


def test_gymnasium_finds_nothing_to_complain_about():
    check_env(gym.make(ID).unwrapped, skip_render_check=True)  # a window needs pygame


@pytest.mark.parametrize("policy", ["random", "push along"])
def test_states_and_ends_are_gymnasiums(policy):
    ours, theirs = gym.make(ID), gym.make("MountainCarContinuous-v0")
    generator = np.random.default_rng(1)
    observation, _ = ours.reset(seed=5)
    np.testing.assert_array_equal(observation, theirs.reset(seed=5)[0])
    ended = False
    while not ended:
        action = generator.uniform(-1.5, 1.5, 1).astype(np.float32)
        if policy == "push along":
            action = push_along(observation)
        observation, reward, terminated, truncated, info = ours.step(action)
        expected = theirs.step(action)
        np.testing.assert_array_equal(observation, expected[0])
        assert (terminated, truncated) == expected[2:4]
        assert reward == 100.0 * terminated
        assert info == {"is_success": terminated}
        ended = terminated or truncated
    assert terminated == (policy == "push along")


def test_doing_nothing_pays_nothing():
    env = gym.make(ID)
    env.reset(seed=0)
    results = [env.step(np.zeros(1, np.float32)) for _ in range(999)]
    assert all(reward == 0.0 for _, reward, *_ in results)
    assert [truncated for *_, truncated, _ in results] == [False] * 998 + [True]


def test_copies_continue_alike():
    env = SparseMountainCar()
    env.reset(seed=3)
    env.step(np.ones(1))
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_array_equal(
            twin.step(np.ones(1))[0], copy.deepcopy(env).step(np.ones(1))[0]
        )
        np.testing.assert_array_equal(twin.reset()[0], copy.deepcopy(env).reset()[0])


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments(mode):
    env = gym.make_vec(ID, num_envs=2, vectorization_mode=mode)
    observations, _ = env.reset(seed=[1, 2])
    for row, seed in zip(observations, (1, 2), strict=True):
        np.testing.assert_array_equal(row, gym.make(ID).reset(seed=seed)[0])
    env.step(np.zeros((2, 1), np.float32))
    env.close()


@pytest.mark.parametrize("action", [[np.nan], [0.1, 0.1], 0.1])
def test_a_bad_action_is_an_error(action):
    env = SparseMountainCar()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"one number of shape \(1,\)"):
        env.step(np.array(action))


def test_actions_out_of_range_act_as_the_bound():
    results = []
    for force in (1.0, 7.0, 1e300, np.inf):
        env = SparseMountainCar()
        env.reset(seed=0)
        results.append(env.step(np.array([force]))[0])
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_the_picture_needs_no_pygame_and_shows_where_the_car_is():
    env = SparseMountainCar(render_mode="rgb_array")
    env.reset(seed=0)
    centers = []
    for position in (-1.0, 0.3):
        env.state = np.array([position, 0.0])
        red, green, blue = np.moveaxis(env.render().astype(int), -1, 0)
        dark_blue = (blue > red + 60) & (blue < 170) & (green < 110)
        centers.append(np.nonzero(dark_blue)[1].mean() / 600 * 1.8 - 1.2)
    assert centers == pytest.approx([-1.0, 0.3], abs=0.1)


def test_bad_render_modes_are_errors():
    with pytest.raises(ValueError, match="render_mode"):
        SparseMountainCar(render_mode="ansi")


@pytest.mark.skipif(importlib.util.find_spec("pygame") is not None, reason="pygame is installed")
def test_a_window_without_pygame_says_what_to_install():
    with pytest.raises(DependencyNotInstalled, match="pip install"):
        SparseMountainCar(render_mode="human").reset(seed=0)

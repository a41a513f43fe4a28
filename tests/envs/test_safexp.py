"""Safexp as a Gymnasium environment: starts, layouts, actions, copies, vectors, pictures."""

import copy
import math
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.passive_env_checker import env_render_passive_checker

from scrubjay.envs.safexp import ROBOT, SafexpCarGoal, SafexpPointGoal

IDS = ("scrubjay/SafexpPointGoal-v0", "scrubjay/SafexpCarGoal-v0")
CLASSES = (SafexpPointGoal, SafexpCarGoal)


def actions(n, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, 2)).astype(np.float32)


def drive(env, n=30, seed=0):
    return np.array([env.step(action)[0] for action in actions(n, seed)])


# Its two warnings are the unbounded observation, as in the original: sensors know no bound.
@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*imum value is")
@pytest.mark.parametrize("id_", IDS)
def test_gymnasium_finds_nothing_to_complain_about(id_):
    env = gym.make(id_, render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)  # it would open a window
    env_render_passive_checker(env.unwrapped)
    env.close()


@pytest.mark.parametrize(("id_", "size"), list(zip(IDS, (24, 36), strict=True)))
def test_dimensions_and_horizon(id_, size):
    env = gym.make(id_)
    observation, _ = env.reset(seed=0)
    assert observation.shape == (size,)
    assert observation.dtype == np.float64
    assert env.unwrapped.model.nu == 2
    stay = np.zeros(2, np.float32)
    ends = [env.step(stay)[2:4] for _ in range(1000)]
    assert ends[:-1] == [(False, False)] * 999
    assert ends[-1] == (False, True)


@pytest.mark.parametrize("id_", IDS)
def test_every_episode_starts_alike_for_every_seed(id_):
    env = gym.make(id_)
    first, _ = env.reset(seed=1)
    drive(env, 5)
    second, _ = env.reset()
    other, _ = gym.make(id_).reset(seed=2)
    assert np.array_equal(first, second)
    assert np.array_equal(first, other)


def pose(env):
    """Where the robot is: x, y and heading."""
    rotation = env.data.body("robot").xmat
    x, y, _ = env.data.body("robot").xpos
    return np.array([x, y, math.atan2(rotation[3], rotation[0])])


@pytest.mark.parametrize("task", CLASSES)
def test_start_noise_is_uniform_in_the_world_and_follows_the_seed(task):
    env = task(start_noise=True)
    env.reset(seed=0)
    offsets = []
    for _ in range(400):
        env.reset()
        offsets.append(pose(env) - ROBOT)
    scaled = np.array(offsets) / (0.05, 0.05, 0.1)
    assert np.abs(scaled).max() <= 1.0 + 1e-12
    assert (np.abs(scaled).max(axis=0) > 0.98).all()
    np.testing.assert_allclose(scaled.var(axis=0), 1 / 3, rtol=0.15)
    again = task(start_noise=(0.05, 0.1))
    assert np.array_equal(env.reset(seed=5)[0], again.reset(seed=5)[0])
    assert not np.array_equal(env.reset(seed=5)[0], env.reset(seed=6)[0])


@pytest.mark.parametrize("task", CLASSES)
def test_a_noisy_start_moves_as_a_robot_placed_there(task):
    noisy = task(start_noise=(0.05, 0.8))
    noisy.reset(seed=3)
    placed = task(robot=pose(noisy))
    placed.reset()
    if task is SafexpCarGoal:  # the same knife edge of wheels and floor for both
        placed.data.qpos[:] = noisy.data.qpos
    np.testing.assert_allclose(drive(noisy, 10), drive(placed, 10), atol=1e-7)


def test_a_start_that_would_touch_a_wall_is_drawn_again():
    env = SafexpPointGoal(start_noise=(1.5, 3.0))
    env.reset(seed=0)
    for _ in range(100):
        env.reset()
        assert env.data.ncon == 0 or env.data.contact.dist.min() >= 0.0
        x, y, _ = pose(env)
        assert math.hypot(x - 2.4, y - 1.5) > 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"walls": [(1.0, 1.0, 0.2)]}, "expected walls to be pairs"),
        ({"walls": [(1.0, math.nan)]}, "expected walls to be pairs"),
        ({"walls": [(1.3, 1.0)]}, "touches a wall"),
        ({"goal": (1.0, 2.0, 3.0)}, "expected goal to be 2 finite numbers"),
        ({"goal": (1.1, 1.1)}, "starts in the goal"),
        ({"goal": (1.8, 1.5)}, "lies in a wall"),
        ({"robot": (1.0, 1.0)}, "expected robot to be 3 finite numbers"),
        ({"robot": (1.0, math.inf, 0.0)}, "expected robot to be 3 finite numbers"),
        ({"robot": (0.6, 1.0, 0.0)}, "touches a wall"),
        ({"start_noise": (0.1, -0.1)}, "start_noise of at least 0"),
        ({"start_noise": 0.1}, "expected start_noise to be 2 finite numbers"),
        ({"render_mode": "ansi"}, "expected render_mode to be"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SafexpPointGoal(**settings)


def test_without_walls_the_lidar_sees_nothing_and_the_robot_drives_on():
    env = SafexpPointGoal(walls=(), goal=(4.0, 0.0), robot=(0.0, 0.0, 0.0))
    observation, _ = env.reset()
    assert not observation[14:].any()
    np.testing.assert_allclose(observation[3:5], [1.0, 0.0], atol=1e-3)
    steps = [env.step(np.array([1.0, 0.0]))[1:3] for _ in range(200)]
    arrival = steps.index((1.0, True))
    assert steps[:arrival] == [(0.0, False)] * arrival
    assert 100 < arrival < 200  # about 3.8 m at no more than 1.5 m/s


def test_one_wall_is_seen_in_its_direction():
    env = SafexpPointGoal(walls=[(0.0, 1.0)], goal=(9.0, 9.0), robot=(0.0, 0.0, 0.0))
    lidar = env.reset()[0][14:]
    expected = np.zeros(10)  # 90 degrees: the middle of the bin from 72 to 108
    expected[[1, 2, 3]] = np.exp(-1.0) * np.array([0.5, 1.0, 0.5])
    np.testing.assert_allclose(lidar, expected, rtol=1e-12)


def test_a_wall_a_hair_below_straight_ahead_is_seen_in_the_first_bin_and_its_neighbours():
    env = SafexpPointGoal(walls=[(1.0, -1e-18)], goal=(9.0, 9.0), robot=(0.0, 0.0, 0.0))
    lidar = env.reset()[0][14:]
    assert lidar[0] == pytest.approx(
        np.exp(-1.0), rel=1e-15
    )  # NumPy versions differ in the last bit
    assert not lidar[2:9].any()


@pytest.mark.parametrize("task", CLASSES)
def test_actions_out_of_range_are_clipped(task):
    wild, tame = task(), task()
    wild.reset()
    tame.reset()
    for action in ([5.0, -0.3], [-np.inf, 2.0]):
        given = np.array(action, np.float32)
        got = wild.step(given)[0]
        assert np.array_equal(got, tame.step(np.clip(given, -1, 1))[0])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.0], "shape"),
        (0.0, "shape"),
        ([[0.0, 0.0]], "shape"),
        ([0.0, 0.0, 0.0], "shape"),
        ([0.0, math.nan], "NaN"),
    ],
)
def test_wrong_actions_are_refused(action, message):
    env = SafexpCarGoal()
    env.reset()
    with pytest.raises(ValueError, match=message):
        env.step(np.array(action))


@pytest.mark.parametrize("task", CLASSES)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_continues_exactly_as_the_original(task, copied):
    env = task(start_noise=True)
    env.reset(seed=4)
    drive(env, 20)
    twin = copied(env)
    assert np.array_equal(drive(env, 20, seed=1), drive(twin, 20, seed=1))
    assert np.array_equal(env.reset()[0], twin.reset()[0])
    assert np.array_equal(drive(env), drive(twin))


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_step_as_single_environments(id_, mode):
    vector = gym.make_vec(id_, num_envs=2, vectorization_mode=mode, start_noise=True, wrappers=None)
    single = gym.make(id_, start_noise=True)
    try:
        first, _ = vector.reset(seed=[7, 8])
        assert np.array_equal(first[1], single.reset(seed=8)[0])
        for action in actions(5):
            observations, rewards, terminated, truncated, info = vector.step(
                np.stack([action, action])
            )
            assert np.array_equal(observations[1], single.step(action)[0])
        assert rewards.shape == terminated.shape == truncated.shape == (2,)
        assert info["is_success"].tolist() == [False, False]
    finally:
        vector.close()


@pytest.mark.parametrize("task", CLASSES)
def test_a_picture_shows_walls_goal_and_robot_and_changes_nothing(task):
    drawn, plain = task(render_mode="rgb_array", width=160, height=120), task()
    drawn.reset()
    plain.reset()
    picture = drawn.render().astype(int)
    assert picture.shape == (120, 160, 3)
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    assert np.sum((red > 100) & (red > 2 * green) & (red > 2 * blue)) > 20  # robot
    assert np.sum((green > 100) & (green > 1.5 * red) & (green > 1.5 * blue)) > 50  # goal
    assert np.sum((np.ptp(picture, axis=2) < 10) & (red < 170)) > 1000  # walls
    for action in actions(5):
        after = drawn.step(action)[0]
        drawn.render()
        assert np.array_equal(after, plain.step(action)[0])
    drawn.close()

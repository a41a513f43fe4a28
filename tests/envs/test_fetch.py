"""SparseFetchReach against gymnasium-robotics' own FetchReach, and as a goal environment."""

import copy
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.passive_env_checker import env_render_passive_checker
from gymnasium_robotics.envs.fetch.reach import MujocoFetchReachEnv

from scrubjay.envs.fetch import SparseFetchReach, check_versions

ID = "scrubjay/SparseFetchReach-v0"


def actions(n, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, 4)).astype(np.float32)


def towards_goal(observation):
    move = observation["desired_goal"] - observation["achieved_goal"]
    return np.clip(np.append(10.0 * move, 0.0), -1.0, 1.0).astype(np.float32)


def same(first, second):
    return all(np.array_equal(first[name], second[name]) for name in first)


def drive(env, n=10, seed=0):
    return np.array([env.step(action)[0]["observation"] for action in actions(n, seed)])


# Its warnings are gymnasium-robotics' unbounded spaces.
@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*imum value is")
def test_gymnasium_finds_nothing_to_complain_about():
    env = gym.make(ID, render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)  # it would open a window
    env_render_passive_checker(env.unwrapped)
    env.close()


@pytest.mark.parametrize("seed", range(4))
def test_observations_are_the_original_bit_for_bit(seed):
    ours, theirs = SparseFetchReach(), MujocoFetchReachEnv()
    got, _ = ours.reset(seed=seed)
    expected, _ = theirs.reset(seed=seed)
    assert same(got, expected)
    policy = towards_goal if seed % 2 else lambda _: next(random_actions)
    random_actions = iter(actions(50, seed))
    for _ in range(50):
        action = policy(got)
        got, reward, terminated, truncated, info = ours.step(action)
        expected, penalty, *_ = theirs.step(action)
        assert same(got, expected)
        assert reward == penalty + 1.0
        assert terminated == info["is_success"] == (reward == 1.0)
        assert (type(terminated), type(info["is_success"])) == (bool, bool)
        assert truncated is False


def test_a_straight_way_to_the_goal_succeeds_and_ends():
    env = gym.make(ID)
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        total, length = 0.0, 0
        done = False
        while not done:
            observation, reward, terminated, truncated, info = env.step(towards_goal(observation))
            total, length, done = total + reward, length + 1, terminated or truncated
        assert (total, terminated, info["is_success"]) == (1.0, True, True)
        assert length < 20


def test_an_episode_without_success_is_cut_after_50_steps():
    env = gym.make(ID)
    env.reset(seed=0)
    env.unwrapped.goal = np.array([9.0, 9.0, 9.0])
    ends = [env.step(action)[2:4] for action in actions(50)]
    assert ends == [(False, False)] * 49 + [(False, True)]


def test_rewards_of_many_goals_at_once():
    env = SparseFetchReach()
    achieved = np.zeros((4, 3))
    desired = np.array([[0.05, 0.0, 0.0], [0.0501, 0.0, 0.0], [0.0, 0.0, 0.0], [0.04, 0.04, 0.0]])
    rewards = env.compute_reward(achieved, desired, [{}] * 4)
    assert rewards.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert env.compute_terminated(achieved, desired, {}).tolist() == [True, False, True, False]
    for i in range(4):
        assert env.compute_reward(achieved[i], desired[i], {}) == rewards[i]


def test_hindsight_experience_replay_runs_on_it():
    sb3 = pytest.importorskip("stable_baselines3")
    agent = sb3.SAC(
        "MultiInputPolicy",
        gym.make(ID),
        replay_buffer_class=sb3.HerReplayBuffer,
        learning_starts=100,
        batch_size=32,
        policy_kwargs={"net_arch": [16]},
        train_freq=10,
        gradient_steps=1,
        seed=0,
        device="cpu",
    )
    agent.learn(300)
    relabelled = agent.replay_buffer.sample(256).rewards.numpy()
    assert set(np.unique(relabelled)) == {0.0, 1.0}


def test_the_start_state_can_be_set():
    env = SparseFetchReach()
    env.reset(seed=0)
    drive(env)
    state = {"qpos": env.data.qpos.copy(), "qvel": env.data.qvel.copy()}
    expected = env._get_obs()["observation"]
    other = SparseFetchReach()
    observation, _ = other.reset(seed=1, options=state)
    np.testing.assert_allclose(observation["observation"], expected, atol=1e-12)
    assert np.array_equal(other.data.qpos, state["qpos"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qpos": np.zeros(3)}, "expected 15 finite numbers"),
        ({"qvel": np.full(15, np.nan)}, "expected 15 finite numbers"),
        ({"goal": np.zeros(3)}, "expected the options 'qpos' and 'qvel'"),
    ],
)
def test_wrong_starts_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SparseFetchReach().reset(options=options)


@pytest.mark.parametrize(
    ("action", "message"),
    [([0.0], "shape"), ([[0.0] * 4], "shape"), ([0.0, 0.0, np.nan, 0.0], "NaN")],
)
def test_wrong_actions_are_refused(action, message):
    env = SparseFetchReach()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(np.array(action))


def test_actions_out_of_range_are_clipped():
    wild, tame = SparseFetchReach(), SparseFetchReach()
    wild.reset(seed=0)
    tame.reset(seed=0)
    action = np.array([3.0, -np.inf, 0.2, 0.0], np.float32)
    assert same(wild.step(action)[0], tame.step(np.clip(action, -1, 1))[0])


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(ValueError, match="expected render_mode to be"):
        SparseFetchReach(render_mode="ansi")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_continues_exactly_as_the_original(copied):
    env = gym.make(ID)
    env.reset(seed=4)
    drive(env)
    twin = copied(env)
    assert twin.unwrapped.spec == env.unwrapped.spec
    assert np.array_equal(drive(env, 10, seed=1), drive(twin, 10, seed=1))
    assert same(env.reset()[0], twin.reset()[0])
    assert np.array_equal(drive(env), drive(twin))


def test_environments_that_share_a_model_do_not_disturb_each_other():
    alone, first = SparseFetchReach(), SparseFetchReach()
    alone.reset(seed=0)
    expected = drive(alone)
    first.reset(seed=0)
    got = []
    for action in actions(10):
        got.append(first.step(action)[0]["observation"])
        drawing = SparseFetchReach(render_mode="rgb_array", width=32, height=32)
        drawing.reset(seed=1)
        drawing.step(action)
    drawing.render()
    drawing.close()
    assert first.model is alone.model
    assert drawing.model is not alone.model
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vectors_step_as_single_environments(mode):
    vector = gym.make_vec(ID, num_envs=2, vectorization_mode=mode)
    single = gym.make(ID)
    try:
        first, _ = vector.reset(seed=[7, 8])
        assert np.array_equal(first["observation"][1], single.reset(seed=8)[0]["observation"])
        for action in actions(3):
            observations, *_ = vector.step(np.stack([action, action]))
            expected = single.step(action)[0]["observation"]
            assert np.array_equal(observations["observation"][1], expected)
    finally:
        vector.close()


def test_a_picture_shows_the_target_and_changes_nothing():
    drawn, plain = SparseFetchReach(render_mode="rgb_array"), SparseFetchReach()
    drawn.reset(seed=1)
    plain.reset(seed=1)

    def target_pixels():
        red, green, blue = drawn.render().astype(int).transpose(2, 0, 1)
        return np.argwhere((red > 150) & (green < 60) & (blue < 60))

    before = target_pixels()
    assert len(before) > 10
    for action in actions(3):
        assert same(drawn.step(action)[0], plain.step(action)[0])
        drawn.render()
    drawn.goal[2] += 0.1
    assert target_pixels()[:, 0].mean() < before[:, 0].mean() - 5  # higher in the picture
    drawn.close()


@pytest.mark.parametrize("mujoco_version", ["3.12.0", "3.17.0", "4.0.0", "3.12.0rc1"])
@pytest.mark.parametrize("robotics_version", ["1.4.2", "1.4.0", "1.3.1"])
def test_a_broken_pair_is_refused_with_the_fix(mujoco_version, robotics_version):
    with pytest.raises(ImportError, match=r'pip install "mujoco<3.12"') as error:
        check_versions(mujoco_version, robotics_version)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("mujoco_version", "robotics_version"),
    [("3.11.0", "1.4.2"), ("3.3.7", "1.4.2"), ("3.12.0", "1.4.3"), ("4.0.0", "1.5.0")],
)
def test_a_working_pair_is_accepted(mujoco_version, robotics_version):
    check_versions(mujoco_version, robotics_version)


def test_without_gymnasium_robotics_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['gymnasium_robotics'] = None\n"
        "import gymnasium, scrubjay.envs\n"
        f"gymnasium.make('{ID}')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install "scrubjay[mujoco]"' in run.stderr.splitlines()[-1]

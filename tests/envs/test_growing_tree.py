"""GrowingTree against the few sentences that define it."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from scrubjay.envs.growing_tree import GrowingTree

ID = "scrubjay/GrowingTree-v0"


def run(actions):
    """Everything that one episode returns, until it ends."""
    env = gym.make(ID)
    env.reset(seed=0)
    steps = []
    for action in actions:
        steps.append(env.step(action))
        if steps[-1][2] or steps[-1][3]:
            break
    return steps


# Its two warnings are the unbounded observation: no bound would be true.
@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*imum value is")
def test_gymnasium_finds_nothing_to_complain_about():
    check_env(gym.make(ID).unwrapped)


def test_nine_float32_steps_reach_the_goal_and_nine_float64_steps_do_not():
    assert len(run([np.array([0.1], np.float32)] * 20)) == 9
    assert len(run([np.array([0.1], np.float64)] * 20)) == 10


def test_the_height_is_the_float64_sum_of_the_actions_as_given():
    actions = np.random.default_rng(0).uniform(-0.1, 0.1, (200, 1)).astype(np.float32)
    height = 0.0
    for action, (observation, *_) in zip(actions, run(actions), strict=False):
        height += float(action[0])
        assert observation.dtype == np.float64
        assert observation[0] == height


def test_success_pays_one_and_terminates():
    *before, last = run([np.array([0.1], np.float32)] * 20)
    assert all(step[1:] == (0.0, False, False, {"is_success": False}) for step in before)
    assert last[1:] == (1.0, True, False, {"is_success": True})


def test_the_goal_distance_is_strict():
    env = GrowingTree(tree_height=0.2)
    env.reset()
    assert not env.step(np.array([0.1]))[2]  # 0.2 - 0.1 is exactly 0.1 in float64
    env.reset()
    assert env.step(np.array([np.nextafter(0.1, 1.0) + 1e-16]))[2]


def test_step_200_truncates():
    steps = run([np.array([0.0])] * 300)
    assert len(steps) == 200
    assert steps[-1][1:] == (0.0, False, True, {"is_success": False})


def test_success_on_step_200_counts():
    steps = run([np.array([0.0])] * 191 + [np.array([0.1], np.float32)] * 9)
    assert len(steps) == 200
    assert steps[-1][1:] == (1.0, True, True, {"is_success": True})


def test_heights_are_not_clipped():
    steps = run([np.array([-0.1])] * 200)
    assert steps[-1][0][0] == pytest.approx(-20)


def test_copies_continue_alike():
    env = GrowingTree()
    env.reset(seed=3)
    env.step(np.array([0.05]))
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.step(np.array([0.03]))[0] == pytest.approx(0.08)
    assert env.height == 0.05


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments(mode):
    env = gym.make_vec(ID, num_envs=2, vectorization_mode=mode)
    env.reset(seed=0)
    observations, *_ = env.step(np.array([[0.1], [-0.1]], np.float32))
    np.testing.assert_allclose(observations, [[0.1], [-0.1]], atol=1e-8)
    env.close()


@pytest.mark.parametrize("action", [[np.nan], [np.inf], [0.1, 0.1], 0.1, [[0.1]]])
def test_a_bad_action_is_an_error(action):
    env = GrowingTree()
    env.reset()
    with pytest.raises(ValueError, match=r"one finite number of shape \(1,\)"):
        env.step(np.array(action))
    assert env.height == 0.0


def test_bad_arguments_are_errors():
    with pytest.raises(ValueError, match="render_mode"):
        GrowingTree(render_mode="ansi")
    with pytest.raises(ValueError, match="tree_height"):
        GrowingTree(tree_height=0.0)
    with pytest.raises(ValueError, match="options"):
        GrowingTree().reset(options={"height": 1})


def test_the_picture_shows_the_tree_growing():
    env = GrowingTree(render_mode="rgb_array")
    env.reset()
    small = env.render()
    env.height = 0.95
    tall = env.render()
    assert small.shape == tall.shape == (400, 400, 3)
    assert small.dtype == np.uint8

    def green(picture):
        red, leaf, blue = np.moveaxis(picture.astype(int), -1, 0)
        return ((leaf > red + 30) & (leaf > blue + 30)).sum()

    assert green(tall) > 20 * green(small) > 0


def test_drawing_without_a_render_mode_warns():
    with pytest.warns(UserWarning, match="render_mode"):
        assert GrowingTree().render() is None

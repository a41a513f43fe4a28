"""CEC and CECPlus with discrete actions, from training to files and other people's evaluation."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from neutral import KINDS

from probes import Handmade, Keys
from scrubjay.agents import CEC, CECPlus, MemoryAgent
from scrubjay.embedding import FrozenNormalizer, RunningNormalizer

SPACES = {
    "Discrete": gym.spaces.Discrete(4),
    "with a start": gym.spaces.Discrete(5, start=-2),
    "MultiDiscrete": gym.spaces.MultiDiscrete([2, 3]),
    "a matrix with a start": gym.spaces.MultiDiscrete([[2, 3], [4, 1]], start=[[0, 1], [-2, 5]]),
}
METHODS = {
    **KINDS,
    "CECPlus": CECPlus,
    "normalised CEC": partial(CEC, embedding=RunningNormalizer()),
}


@pytest.fixture(params=SPACES.values(), ids=SPACES)
def space(request):
    return request.param


@pytest.fixture(params=METHODS.values(), ids=METHODS)
def method(request):
    return request.param


def observations(n=40):
    return np.random.default_rng(1).uniform(-1.5, 1.5, (n, 2))


def test_training_executes_actions_of_the_space_and_stores_them(method, space):
    env = Keys(space)  # raises for anything that is no action
    agent = method(env, seed=1).learn(1500)
    stored = agent.memory.columns["action"]
    assert len(stored) > 20
    assert (stored == np.floor(stored)).all()
    assert {agent.codec.decode(row).tobytes() for row in stored} <= {
        np.asarray(action, space.dtype).tobytes() for action in env.received
    }


@pytest.mark.parametrize("deterministic", [True, False])
def test_predictions_are_actions_alone_and_stacked(method, space, deterministic):
    agent = method(Keys(space), seed=1).learn(1500)
    stack, _ = agent.predict(observations(), deterministic=deterministic)
    assert stack.shape == (40, *space.shape)
    assert stack.dtype == space.dtype
    assert all(space.contains(action) for action in stack)
    for observation, action in zip(observations(), stack, strict=True):
        one, _ = agent.predict(observation, deterministic=deterministic)
        assert space.contains(one)
        if deterministic:
            np.testing.assert_array_equal(one, action)
    assert agent.predict(np.zeros((0, 2)), deterministic=deterministic)[0].shape == (
        0, *space.shape,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:the memory is empty")
def test_an_empty_memory_gives_the_first_action(method, space):
    agent = method(Keys(space))
    action, _ = agent.predict(np.zeros(2))
    np.testing.assert_array_equal(action, space.start)
    stack, _ = agent.predict(np.zeros((3, 2)))
    assert (stack.shape, stack.dtype) == ((3, *space.shape), space.dtype)


def test_a_saved_agent_predicts_and_learns_on(method, space, tmp_path):
    agent = method(Keys(space), seed=1).learn(1500)
    expected, _ = agent.predict(observations(), deterministic=True)
    agent.save(tmp_path / "agent.scrub")
    loaded = MemoryAgent.load(tmp_path / "agent.scrub", env=Keys(space))
    assert loaded.action_space == space
    np.testing.assert_array_equal(loaded.predict(observations(), deterministic=True)[0], expected)
    assert loaded.learn(500).memory.digest() == agent.learn(500).memory.digest()


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_a_vector_of_one_learns_what_the_single_environment_does(method, space, mode):
    single = method(Keys(space), seed=2).learn(1500)
    env = SyncVectorEnv([partial(Keys, space)], autoreset_mode=AutoresetMode(mode))
    one = method(env, seed=2).learn(1500)
    assert one.memory.digest() == single.memory.digest()


@pytest.mark.parametrize("kind", ["sync", "NextStep", "SameStep", "Disabled"])
def test_vectors_train(method, space, kind):
    makers = [partial(Keys, space, limit) for limit in (40, 25, 7)]
    env = SyncVectorEnv(makers) if kind == "sync" else Handmade(makers, kind)
    agent = method(env, seed=2).learn(2000)
    assert len(agent.memory) > 20
    agent.memory.check_invariants()


def test_noise_between_buttons_is_a_uniform_button():
    agents = [CEC(Keys(), exploration=kind, seed=3).learn(600) for kind in ("noise", "uniform")]
    assert agents[0].memory.digest() == agents[1].memory.digest()


# ---------------------------------------------------------------- CartPole

CART_POLE = {
    "CEC": partial(
        CEC, embedding=FrozenNormalizer(500), epsilon=(0.9, 0.05, 3000), distance_threshold=0.2,
        radius_factor=3.0,
    ),
    "CECPlus": CECPlus,
}  # fmt: skip


@pytest.mark.parametrize("method", CART_POLE.values(), ids=CART_POLE)
def test_cart_pole_from_training_to_evaluation(method, tmp_path):
    pytest.importorskip("stable_baselines3", reason="an extra: scrubjay[deep]")
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    def evaluate(agent, **options):
        vector = DummyVecEnv([lambda: Monitor(gym.make("CartPole-v1"))] * 2)
        vector.seed(5)
        return evaluate_policy(agent, vector, n_eval_episodes=10, **options)

    agent = method("CartPole-v1", seed=0).learn(10_000)
    agent.save(tmp_path / "agent.scrub")
    loaded = MemoryAgent.load(tmp_path / "agent.scrub", env="CartPole-v1")
    assert evaluate(loaded) == evaluate(agent)
    assert evaluate(agent)[0] > 45, "random actions last 22 steps"
    assert evaluate(loaded, deterministic=False)[0] > 15
    observation, _ = gym.make("CartPole-v1").reset(seed=0)
    action, _ = loaded.predict(observation, deterministic=True)
    assert action == agent.predict(observation, deterministic=True)[0]
    assert loaded.learn(500).memory.digest() == agent.learn(500).memory.digest()


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
@pytest.mark.parametrize("method", CART_POLE.values(), ids=CART_POLE)
def test_cart_pole_in_a_vector(method, mode):
    """The second is Gymnasium's own, which steps all poles at once and resets in a dummy step."""
    env = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode=mode)
    agent = method(env, seed=0).learn(5000)
    agent.memory.check_invariants()
    assert len(agent.memory) > 500
    actions, _ = agent.predict(env.reset(seed=1)[0], deterministic=True)
    assert env.action_space.contains(actions)

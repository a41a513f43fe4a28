"""Whole trainings, equal to a naive CEC bit for bit: rows, actions, values, stamps, recency."""

import gymnasium as gym
import numpy as np
import pytest
from naive_cec import NaiveCEC
from neutral import KINDS

import scrubjay.envs  # noqa: F401
from probes import Corridor, Drift, Keys
from scrubjay.agents import CEC, LinearSchedule
from scrubjay.embedding import FrozenNormalizer, RunningNormalizer


def running_normalizer(dim):
    """The published formula, in float64: updated with each observation before it is normalised."""
    mean, variance, count = np.zeros(dim), np.ones(dim), 1e-4

    def embed(x):
        nonlocal mean, variance, count
        delta, total = x - mean, count + 1.0
        squares = variance * count + delta * delta * count / total
        mean, variance, count = mean + delta / total, squares / total, total
        return (x - mean) / np.sqrt(variance + 1e-8)

    return embed


class Frozen:
    """Nothing until the episode in which so many observations were seen has ended."""

    def __init__(self, dim, n_steps):
        self.mean, self.variance, self.count = np.zeros(dim), np.ones(dim), 0.0
        self.n_steps, self.ready = n_steps, False

    def __call__(self, x):
        if self.ready:
            return (x - self.mean) / np.sqrt(self.variance)
        delta, total = x - self.mean, self.count + 1.0
        squares = self.variance * self.count + delta * delta * self.count / total
        self.mean, self.variance, self.count = self.mean + delta / total, squares / total, total
        return None

    def end_episode(self):
        self.ready = self.count >= self.n_steps


EMBEDDINGS = {
    None: (lambda _: None, lambda: None),
    "running": (running_normalizer, RunningNormalizer),
    "frozen": (lambda dim: Frozen(dim, 200), lambda: FrozenNormalizer(200)),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request):
    return request.param


def both(kind, make_env, steps, *, embedding=None, **changes):
    """Train the library and the naive one with the same settings."""
    settings = {
        "k": 3, "tau": 0.5, "sigma": 0.2, "n": 2.0, "d": 0.2, "gamma": 0.95, "capacity": 10_000,
        "seed": 11, "uniform": False, "recency": "write", "epsilon": (0.9, 0.1, 400),
    } | changes  # fmt: skip
    env = make_env()
    dim = env.observation_space.shape[0]
    epsilon = LinearSchedule(*settings.pop("epsilon"))
    naive_embedding, make_embedding = EMBEDDINGS[embedding]
    embed = naive_embedding(dim)
    naive = NaiveCEC(env.action_space, epsilon=epsilon, embed=embed, **settings)
    naive.train(env, steps)
    agent = kind(
        make_env(), n_neighbors=settings["k"], temperature=settings["tau"],
        noise_std=settings["sigma"], radius_factor=settings["n"], gamma=settings["gamma"],
        distance_threshold=settings["d"], capacity=settings["capacity"], seed=settings["seed"],
        exploration="uniform" if settings["uniform"] else "noise", epsilon=epsilon,
        recency=settings["recency"], embedding=make_embedding(),
    )  # fmt: skip
    return agent.learn(steps), naive


def assert_same(agent, naive):
    expected, memory = naive.columns(), agent.memory
    assert agent.num_timesteps == naive.steps
    assert memory.keys.tobytes() == expected["key"].tobytes()
    assert memory.columns["action"].tobytes() == expected["action"].tobytes()
    assert memory.values.tobytes() == expected["value"].tobytes()
    assert memory.stamps.tolist() == expected["stamp"].tolist()
    assert memory.recency_order().tolist() == naive.order
    memory.check_invariants()


SETTINGS = {
    "noise": {},
    "uniform": {"uniform": True},
    "one neighbour": {"k": 1, "tau": 10.0},
    "hardly any temperature": {"tau": 1e-4},
    "narrow radius": {"n": 0.3},
    "no noise": {"sigma": 0.0},
    "undiscounted": {"gamma": 1.0},
    "evictions": {"capacity": 30, "d": 0.05},
    "evictions by visit": {"capacity": 30, "d": 0.05, "recency": "hit"},
    "first in, first out": {"capacity": 30, "d": 0.05, "recency": "never"},
    "normalised": {"embedding": "running", "d": 0.1},
    "frozen": {"embedding": "frozen", "d": 0.1},
    "greedy": {"epsilon": (0.0, 0.0, 1)},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_whole_training_equals_the_naive_one(kind, settings):
    agent, naive = both(kind, Drift, 700, **settings)
    assert_same(agent, naive)
    assert len(agent.memory) >= min(20, settings.get("capacity", 20))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_so_it_is_in_three_dimensions_with_long_episodes(kind, dtype):
    # episodes of more than 64 steps need a second block of draws, of more than 128 longer buffers
    agent, naive = both(kind, lambda: Drift(3, 150, dtype, edge=1e6), 600, d=0.5)
    assert agent.n_episodes == 4
    assert_same(agent, naive)


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("GrowingTree", {"d": 0.01, "n": 1.0, "k": 5, "uniform": True, "gamma": 0.99}),
        ("SparseMountainCar", {"d": 0.3, "n": 3.0, "embedding": "running", "gamma": 0.99}),
    ],
)
def test_so_it_is_on_the_tasks_of_the_paper(kind, task, settings):
    agent, naive = both(kind, lambda: gym.make(f"scrubjay/{task}-v0"), 1000, **settings)
    assert_same(agent, naive)


DISCRETE = {
    "Discrete": gym.spaces.Discrete(5),
    "with a start": gym.spaces.Discrete(5, start=-2),
    "MultiDiscrete": gym.spaces.MultiDiscrete([2, 3]),
    "a matrix with a start": gym.spaces.MultiDiscrete([[2, 3], [4, 1]], start=[[0, 1], [-2, 5]]),
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("space", DISCRETE.values(), ids=DISCRETE)
def test_a_whole_training_with_discrete_actions_equals_the_naive_one(kind, space, settings):
    agent, naive = both(kind, lambda: Keys(space), 500, **settings)
    assert_same(agent, naive)
    assert len(agent.memory) >= min(20, settings.get("capacity", 20))


def test_values_of_a_corridor_are_its_discounted_rewards(kind):
    rewards = [0.0, 1.0, 0.0, -2.0, 4.0]
    agent = kind(Corridor(rewards), gamma=0.5, epsilon=1.0, seed=1).learn(200)
    order = np.argsort(agent.memory.keys[:, 0])
    assert agent.memory.keys[order, 0].tolist() == [0, 1, 2, 3, 4]
    # v = r + v' / 2 from the end: 4, 0, 0, 1, 0.5
    assert agent.memory.values[order].tolist() == [0.5, 1.0, 0.0, 0.0, 4.0]


def test_a_time_out_ends_the_return_like_an_end(kind):
    memories = [
        kind(Corridor([1.0, 1.0, 1.0], truncates), gamma=0.5).learn(30).memory
        for truncates in (False, True)
    ]
    assert memories[0].digest() == memories[1].digest()
    assert sorted(memories[0].values.tolist()) == [1.0, 1.5, 1.75]


def test_the_best_return_of_a_state_is_kept(kind):
    class Lottery(Corridor):
        def step(self, action):
            observation, _, *rest = super().step(action)
            self.paid.append(float(action[0]))
            return observation, float(action[0]), *rest

    env = Lottery([0.0])
    env.paid = []
    agent = kind(env, epsilon=1.0, exploration="uniform").learn(100)
    assert len(agent.memory) == 1
    assert agent.memory.values[0] == max(env.paid)
    assert agent.memory.columns["action"][0, 0] == max(env.paid)


@pytest.mark.parametrize("seeds", [(0, 1)])
def test_another_seed_is_another_training(seeds):
    digests = {CEC(Drift(), seed=seed).learn(300).memory.digest() for seed in seeds}
    assert len(digests) == 2
    assert CEC(Drift(), seed=0).learn(300).memory.digest() in digests

"""CEC finds what is known to be best."""

import gymnasium as gym
import numpy as np
import pytest

import scrubjay.envs  # noqa: F401
from scrubjay import CEC, preset
from scrubjay.runs.config import RunConfig
from scrubjay.training.evaluation import Evaluator


class Echo(gym.Env):
    """One step: the reward is 1 minus the distance between the action and the observation.

    There are a few observations; the best action in each is the observation itself, worth 1.
    """

    POINTS = np.array([[-0.8, 0.1], [0.0, 0.6], [0.3, -0.9], [0.7, 0.7]])

    def __init__(self):
        self.observation_space = gym.spaces.Box(-1, 1, (2,), np.float64)
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.point = self.POINTS[self.np_random.integers(len(self.POINTS))]
        return self.point.copy(), {}

    def step(self, action):
        error = float(np.linalg.norm(action - self.point))
        return self.point.copy(), 1 - error, True, False, {"is_success": error < 0.1}


class Stairs(gym.Env):
    """Nine steps on a line from 0 to 1; to go up from step i is to play the i-th pitch.

    A right pitch earns 1, a wrong one ends the episode: the nine must be discovered one after the
    other, and the best value of every step is known.
    """

    PITCH = np.sin(np.arange(9) * 2.0)
    WIDTH = 0.25

    def __init__(self):
        self.observation_space = gym.spaces.Box(0, 1, (1,), np.float64)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.height = 0
        return np.array([0.0]), {}

    def step(self, action):
        right = abs(float(action[0]) - self.PITCH[self.height]) < self.WIDTH
        self.height += right
        top = self.height == len(self.PITCH)
        return np.array([self.height / 9]), float(right), bool(top or not right), False, {
            "is_success": top
        }  # fmt: skip


@pytest.mark.parametrize("exploration", ["noise", "uniform"])
def test_the_best_action_of_every_observation(exploration):
    agent = CEC(Echo(), exploration=exploration, epsilon=(1.0, 0.5, 4000), noise_std=0.3, seed=1)
    agent.learn(4000)
    for point in Echo.POINTS:
        action, _ = agent.predict(point, deterministic=True)
        # 1,000 uniform actions on each: the nearest of them is 0.03 away in the mean
        assert np.linalg.norm(action - point) < 0.15
    assert len(agent.memory) == len(Echo.POINTS)
    assert agent.memory.values.min() > 0.85


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_of_discoveries(seed):
    agent = CEC(Stairs(), exploration="uniform", epsilon=0.3, distance_threshold=0.05, seed=seed)
    agent.learn(20_000)
    (record,) = Evaluator(Stairs(), 1, seed=0).run(agent, 0)
    assert record.is_success
    # the value of step i is the discounted sum of the 9 - i rewards that follow
    for height in range(9):
        row, distance = agent.memory.nearest([height / 9])
        assert distance == 0
        expected = sum(0.99**i for i in range(9 - height))
        assert agent.memory.values[row] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_growing_tree_with_the_settings_of_the_paper(seed):
    """The optimum is 9 or 10 steps; a greedy episode that never arrives takes 200."""
    config = RunConfig("cec", "GrowingTree", seed=seed)
    agent = CEC(config.make_env(), **preset("GrowingTree"), seed=seed).learn(20_000)
    records = Evaluator(config.make_env(), 10, seed).run(agent, agent.num_timesteps)
    assert all(record.is_success for record in records)
    assert max(record.length for record in records) <= 30

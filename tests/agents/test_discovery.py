"""Going to rare places while nothing has been found."""

import gymnasium as gym
import numpy as np
from test_planning import memory_of

from scrubjay.agents import CECPlus, discovery
from scrubjay.agents.planning import Rule


def test_rare_rows_are_drawn_more_often():
    common, rare = np.full((200, 2), 0.5, np.float32), np.array([[7.5, 0.5]], np.float32)
    keys = np.concatenate([common, rare])
    rng = np.random.default_rng(0)
    drawn = [discovery.rare_row(keys, rng) for _ in range(400)]
    # in one draw of four only the second dimension is looked at, in which it is not rare
    assert 0.65 < np.mean(np.array(drawn) == 200) < 0.85


def test_a_lure_falls_with_the_steps_to_the_target():
    memory = memory_of([0, 1, 2, 9], [0] * 4, [1, 2, 3, 9], [0] * 4, [0, 0, 0, 1])
    found = discovery.lures(memory, 2, Rule(0.9, 0.1, 1e-9, 0.0))
    np.testing.assert_allclose(found, discovery.TARGET * np.array([0.81, 0.9, 1.0, 0.0]), rtol=1e-6)


class Far(gym.Env):
    """A line of places; the reward is at the last one, which is hard to reach in time."""

    def __init__(self, length=150):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Discrete(3)
        self.length = length

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.t = 0, 0
        return np.array([0.0]), {}

    def step(self, action):
        # one step forward, two steps back
        self.x = max(0, self.x + (-2, 0, 1)[int(action)])
        self.t += 1
        done = self.x >= self.length
        return np.array([float(self.x)]), float(done), done, self.t >= 250, {}


def test_rare_places_are_starting_points():
    """Those that a target was drawn from are reached and left by exploring."""
    env = gym.make("scrubjay/PointCorridor-v0", depth=25)
    with_it, without = (
        CECPlus(env, seed=1, discovery=discovery).learn(20_000) for discovery in (True, False)
    )
    assert with_it.memory.value_range[1] > 0
    assert without.memory.value_range[1] == 0


def test_seeking_ends_with_success():
    agent = CECPlus(Far(length=200), seed=0).learn(6_000)
    assert agent.seeks
    assert agent.memory.columns["lure"].max() == discovery.TARGET
    agent = CECPlus(Far(length=10), seed=0).learn(6_000)
    assert agent.memory.value_range[1] > 0
    assert not agent.seeks

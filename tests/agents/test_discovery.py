"""Going to rare places while nothing has been found."""

import gymnasium as gym
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
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


def test_a_lure_falls_with_the_steps_to_the_farthest_row():
    memory = memory_of([0, 1, 2, 9], [0] * 4, [1, 2, 3, 9], [0] * 4, [0, 0, 0, 1])
    rule, rng = Rule(0.9, 0.1, 1e-9, 0.0), np.random.default_rng(0)
    found = discovery.lures(memory, np.zeros(1, np.float32), rule, rng)
    np.testing.assert_allclose(found, discovery.TARGET * np.array([0.81, 0.9, 1.0, 0.0]), rtol=1e-6)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.integers(1, 3), st.data())
def test_reaching_rows_is_the_naive_one(n, n_links, data):
    link = st.integers(-1, n - 1)
    links = np.array([[data.draw(link) for _ in range(n_links)] for _ in range(n)])
    near = np.array([[data.draw(st.floats(0.1, 1)) for _ in range(n_links)] for _ in range(n)])
    start = data.draw(st.integers(0, n - 1))
    expected = np.zeros(n)
    expected[start] = 1.0
    for _ in range(n):  # a way has at most n steps
        for i in range(n):
            for j in range(n_links):
                if links[i, j] < 0:
                    break  # links come first
                row = links[i, j]
                expected[row] = max(expected[row], 0.9 * expected[i] * near[i, j])
    np.testing.assert_allclose(discovery.reach(links, near, start, 0.9), expected)


def test_the_target_is_the_farthest_of_those_that_can_be_reached():
    keys = np.arange(4.0, dtype=np.float32)[:, None]
    rng = np.random.default_rng(0)
    reached = np.array([1.0, 0.9, 0.5, 0.0])
    assert {discovery.far_row(keys, reached, rng) for _ in range(20)} <= {1, 2}
    assert {discovery.far_row(keys, np.zeros(4), rng) for _ in range(20)} == {0, 1, 2, 3}


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

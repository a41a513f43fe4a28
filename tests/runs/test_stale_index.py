"""The published code's memory, against a naive one that says what it does."""

import gymnasium
import numpy as np
import pytest

from scrubjay.agents import CEC
from scrubjay.agents.base import Spaces
from scrubjay.agents.cec_episode import untraced
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent, start
from scrubjay.runs.stale_index import StaleIndexCEC

D, GAMMA = 0.3, 0.9
SPACES = Spaces(
    gymnasium.spaces.Box(-9, 9, (2,), np.float64), gymnasium.spaces.Box(-1, 1, (1,), np.float32)
)


class Naive:
    """Lists; all look-ups of an episode are made in the rows of the episodes before it."""

    def __init__(self):
        self.keys, self.actions, self.values = [], [], []

    def update(self, keys, actions, rewards):
        before = np.array(self.keys, np.float64).reshape(-1, 2)
        value = 0.0
        for i in reversed(range(len(keys))):
            value = rewards[i] + GAMMA * value
            squared = ((before - keys[i].astype(np.float64)) ** 2).sum(axis=1)
            if len(before) and squared.min() <= D * D:
                row = int(squared.argmin())
                if np.float32(value) > self.values[row]:
                    self._set(row, keys[i], actions[i], value)
            else:
                self._set(len(self.keys), keys[i], actions[i], value)

    def _set(self, row, *content):
        for column, entry in zip((self.keys, self.actions, self.values), content, strict=True):
            column[row : row + 1] = [np.float32(entry)]


def episode(rng):
    n = rng.integers(1, 40)
    keys = np.cumsum(rng.normal(0, 0.2, (n, 2)), axis=0).astype(np.float32)
    return keys, rng.uniform(-1, 1, (n, 1)).astype(np.float32), rng.integers(0, 2, n).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_the_memory_is_the_naive_one(seed):
    agent = StaleIndexCEC(SPACES, distance_threshold=D, gamma=GAMMA)
    naive, rng = Naive(), np.random.default_rng(seed)
    for _ in range(30):
        content = episode(rng)
        naive.update(*content)
        agent._learn_from(untraced(*content))
        np.testing.assert_array_equal(agent.memory.keys, naive.keys)
        np.testing.assert_array_equal(agent.memory.columns["action"], naive.actions)
        np.testing.assert_array_equal(agent.memory.values, naive.values)
    agent.memory.check_invariants()


def test_a_first_episode_is_stored_step_by_step():
    keys = np.zeros((5, 2), np.float32)
    content = keys, np.ones((5, 1), np.float32), np.ones(5)
    stale, living = (kind(SPACES, distance_threshold=D) for kind in (StaleIndexCEC, CEC))
    for agent in (stale, living):
        agent._learn_from(untraced(*content))
    assert (len(stale.memory), len(living.memory)) == (5, 1)


def test_a_run_of_it_can_be_loaded(tmp_path):
    config = RunConfig("cec-stale", "GrowingTree", steps=1000, eval_freq=0)
    trained = start(config, tmp_path / "run")
    loaded, _ = load_agent(tmp_path / "run")
    assert isinstance(loaded, StaleIndexCEC)
    assert loaded.memory.digest() == trained.memory.digest()

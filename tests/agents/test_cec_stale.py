"""The published code's memory, against a naive one that says what it does."""

import gymnasium
import numpy as np
import pytest

from scrubjay.agents import CEC, MemoryAgent
from scrubjay.agents.base import Spaces
from scrubjay.agents.cec_stale import StaleIndexCEC
from scrubjay.agents.recorder import Experience

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


def learn(agent, keys, actions, rewards):
    notes = np.zeros((len(rewards), 1), np.int64), np.zeros((len(rewards), 2))
    agent.learn_from(Experience(keys, actions, rewards, *notes, terminated=True, decided=True))


@pytest.mark.parametrize("seed", range(5))
def test_the_memory_is_the_naive_one(seed):
    agent = StaleIndexCEC(SPACES, distance_threshold=D, gamma=GAMMA, seed=0)
    naive, rng = Naive(), np.random.default_rng(seed)
    for _ in range(30):
        content = episode(rng)
        naive.update(*content)
        learn(agent, *content)
        np.testing.assert_array_equal(agent.memory.keys, naive.keys)
        np.testing.assert_array_equal(agent.memory.columns["action"], naive.actions)
        np.testing.assert_array_equal(agent.memory.values, naive.values)
    agent.memory.check_invariants()


def test_a_first_episode_is_stored_step_by_step():
    keys = np.zeros((5, 2), np.float32)
    content = keys, np.ones((5, 1), np.float32), np.ones(5)
    stale, living = (kind(SPACES, distance_threshold=D) for kind in (StaleIndexCEC, CEC))
    for agent in (stale, living):
        learn(agent, *content)
    assert (len(stale.memory), len(living.memory)) == (5, 1)


def test_a_full_memory_gives_its_oldest_rows_away():
    agent = StaleIndexCEC(SPACES, distance_threshold=D, capacity=7, seed=0)
    rng = np.random.default_rng(0)
    for first in (0.0, 100.0):
        keys = first + 10.0 * np.arange(5, dtype=np.float32)[:, None] + np.zeros(2, np.float32)
        learn(agent, keys, rng.uniform(-1, 1, (5, 1)).astype(np.float32), np.ones(5))
    # five rows of the first episode, the last step first, then three of them are overwritten
    assert agent.memory.keys[:, 0].tolist() == [120, 110, 100, 10, 0, 140, 130]
    agent.memory.check_invariants()


def test_a_run_of_it_can_be_loaded(tmp_path):
    """Found by its name, whatever class loads it, in a run folder too."""
    agent = StaleIndexCEC("scrubjay/GrowingTree-v0", distance_threshold=0.01, seed=1)
    agent.learn(1000, run_folder=tmp_path / "run")
    for cls in (StaleIndexCEC, CEC, MemoryAgent):
        loaded = cls.load(tmp_path / "run" / "checkpoints" / "last.scrub")
        assert type(loaded) is StaleIndexCEC
        assert loaded.memory.digest() == agent.memory.digest()
        assert (loaded.memory.rule, loaded.memory.recency) == ("append", "never")

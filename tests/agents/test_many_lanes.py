"""Many lanes in one call: several threads decide as one does, and lanes learn as alone."""

import numpy as np
import pytest

from scrubjay import CEC
from scrubjay.agents import threads
from scrubjay.envs.batched_maze import BatchedPointMaze


def trained(n_lanes, n_steps, **settings):
    env = BatchedPointMaze(n_lanes, max_episode_steps=40, step_reward=-0.01)
    agent = CEC(env, seed=5, distance_threshold=0.2, **settings)
    agent.learn(n_steps)
    return agent


def test_any_number_of_threads_gives_the_same_run(monkeypatch):
    digests = set()
    monkeypatch.setattr(threads, "LANES_PER_THREAD", 1)
    monkeypatch.setattr("scrubjay.agents.cec.LANES_PER_THREAD", 1)
    for cores in (1, 2, 3, 7):
        monkeypatch.setattr(threads, "n_cores", lambda cores=cores: cores)
        threads.pool.cache_clear()
        digests.add(trained(7, 2000).memory.digest())
    threads.pool.cache_clear()
    assert len(digests) == 1


def test_the_first_lane_that_is_not_finite_is_named(monkeypatch):
    monkeypatch.setattr(threads, "LANES_PER_THREAD", 1)
    monkeypatch.setattr("scrubjay.agents.cec.LANES_PER_THREAD", 1)
    monkeypatch.setattr(threads, "n_cores", lambda: 3)
    threads.pool.cache_clear()
    agent = trained(6, 300)
    recorder = agent.recorder(6, True)
    recorder.begin_many(range(6))
    observations = np.zeros((6, 3))
    observations[3, 1], observations[5, 0] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"finite observation.*0\. +nan +0\."):
        recorder.act(observations)
    threads.pool.cache_clear()


def test_beginning_together_or_one_by_one_is_the_same():
    agents = [trained(4, 500) for _ in range(2)]
    recorders = [agent.recorder(4, True) for agent in agents]
    numbers = [recorders[0].begin(lane) for lane in range(4)]
    assert recorders[1].begin_many(range(4)) == numbers
    observations = np.random.default_rng(0).uniform(-1, 1, (100, 4, 3))
    for t in range(100):
        actions = [recorder.act(observations[t]) for recorder in recorders]
        np.testing.assert_array_equal(*actions)
        if t == 70:  # some lanes wait
            for recorder in recorders:
                recorder.record(np.zeros(4))
                recorder.finish(observations[t][1], True, 1)
            continue
        for recorder in recorders:
            recorder.record(np.zeros(4))
    assert recorders[0].longest() == recorders[1].longest() == 100


def test_each_lane_of_many_begins_with_the_seeds_of_its_episodes():
    class Noted(BatchedPointMaze):
        def __init__(self, n):
            super().__init__(n, max_episode_steps=20)
            self.starts = {lane: [] for lane in range(n)}

        def reset(self, *, seed=None, options=None):
            first, info = super().reset(seed=seed, options=options)
            mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
            for lane in np.flatnonzero(mask):
                self.starts[int(lane)].append(first[lane].tolist())
            return first, info

    few, many = Noted(2), Noted(5)
    for env in (few, many):
        CEC(env, seed=8).learn(20 * 3 * env.num_envs)
    for lane in (0, 1):
        assert few.starts[lane][:3] == many.starts[lane][:3]

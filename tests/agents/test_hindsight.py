"""Episodes told again for goals that they reached."""

import gymnasium as gym
import numpy as np
import pytest

from scrubjay.agents import CECPlus
from scrubjay.agents.hindsight import (
    Goals,
    Hindsight,
    find_goals,
    goes_on,
    retell,
    reward_function,
    within,
)
from scrubjay.embedding.flatten import Flattener


class Plane(gym.Env):
    """A point in a square; being within 0.5 of the goal pays 1 and ends the episode."""

    def __init__(self, known=True, ends=True):
        box = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
        names = ("achieved_goal", "desired_goal", "observation")
        self.observation_space = gym.spaces.Dict(dict.fromkeys(names, box))
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.ends = ends
        if not known:
            self.compute_reward = None

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        return (np.linalg.norm(achieved - desired, axis=-1) < 0.5).astype(np.float64)

    def observe(self):
        return {"achieved_goal": self.x, "desired_goal": self.goal, "observation": self.x}

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.goal, self.t = np.zeros(2), self.np_random.uniform(-8, 8, 2), 0
        return self.observe(), {}

    def step(self, action):
        self.x = np.clip(self.x + action, -10, 10)
        self.t += 1
        done = bool(np.linalg.norm(self.x - self.goal) < 0.5)
        ended = done and self.ends
        return self.observe(), float(done), ended, self.t >= 40, {"is_success": done}


GOALS = Goals(slice(0, 1), slice(1, 2), (1,))


def episode(achieved, desired=9.0):
    achieved = np.asarray(achieved, np.float64)
    return np.stack([np.full(len(achieved), desired), achieved], axis=1)


def test_an_episode_is_cut_where_the_other_goal_is_reached():
    vectors = episode([0, 1, 2, 3, 4])
    (half, whole) = retell(vectors, np.zeros(4), GOALS, within(0.5), 2)
    assert half.vectors.tolist() == [[2, 0], [2, 1], [2, 2]]
    assert half.rewards.tolist() == [0, 1]
    assert whole.vectors[:, 0].tolist() == [4] * 5
    assert whole.rewards.tolist() == [0, 0, 0, 1]


def test_rewards_keep_what_does_not_depend_on_the_goal():
    rewards = np.array([-0.1, -0.2, -0.3])
    (told,) = retell(episode([0, 1, 2, 3]), rewards, GOALS, within(0.5), 1)
    np.testing.assert_allclose(told.rewards, [-0.1, -0.2, 0.7])


def test_a_goal_that_was_reached_from_the_start_teaches_nothing():
    assert retell(episode([0, 0.1, 0.2]), np.zeros(2), GOALS, within(0.5), 1) == []


def test_whether_episodes_go_on_at_their_goal():
    assert goes_on(episode([7, 8, 9, 9, 8]), GOALS, within(0.5))
    assert not goes_on(episode([7, 8, 9]), GOALS, within(0.5))


def test_where_goals_are():
    space = Plane().observation_space
    flattener = Flattener(space, ("desired_goal", "observation", "achieved_goal"))
    assert find_goals(flattener) == Goals(slice(0, 2), slice(4, 6), (2,))
    assert find_goals(Flattener(space, ("observation",))) is None


@pytest.mark.parametrize("kind", ["one", "sync", "wrapped"])
def test_rewards_are_asked_of_the_environment(kind):
    env = Plane()
    if kind == "sync":
        env = gym.vector.SyncVectorEnv([Plane, Plane])
    if kind == "wrapped":
        env = gym.wrappers.TimeLimit(env, 7)
    compute = reward_function(env, Goals(slice(0, 2), slice(2, 4), (2,)))
    assert compute(np.zeros((3, 2)), np.array([[0, 0], [0, 2], [0.1, 0]])).tolist() == [1, 0, 1]


def test_without_compute_reward_the_distance_of_successes_counts():
    hindsight = Hindsight(Flattener(Plane().observation_space), 1)
    achieved = np.array([[0.0, 0], [1, 0], [2, 0]])
    vectors = np.hstack([achieved, np.full((3, 2), [2.4, 0.0]), achieved])
    assert hindsight.goals == Goals(slice(2, 4), slice(0, 2), (2,))
    (told,) = hindsight.retell(None, vectors, np.array([0.0, 1.0]), 0.99)
    assert hindsight.distance == pytest.approx(0.4)
    assert told.rewards.tolist() == [0, 1]


@pytest.mark.parametrize("env", [Plane, lambda: gym.vector.SyncVectorEnv([Plane, Plane])])
def test_hindsight_learns_before_any_success(env):
    with_it = CECPlus(env(), seed=0, hindsight=4).learn(1500)
    without = CECPlus(env(), seed=0, hindsight=0).learn(1500)
    assert len(with_it.memory) > len(without.memory)
    assert (with_it.memory.values > 0).mean() > (without.memory.values > 0).mean()


def test_episodes_that_go_on_are_worth_staying():
    agent = CECPlus(Plane(ends=False), seed=0).learn(6000)
    assert agent.counters()["goes_on"]
    assert agent.memory.value_range[1] > 50


def test_a_resumed_agent_continues_bit_for_bit(tmp_path):
    whole = CECPlus(Plane(), seed=3).learn(2500)
    part = CECPlus(Plane(), seed=3).learn(1200)
    part.save(tmp_path / "part")
    resumed = CECPlus.load(tmp_path / "part", env=Plane())
    resumed.learn(2500 - resumed.num_timesteps)
    assert resumed.memory.digest() == whole.memory.digest()
    assert resumed.counters() == whole.counters()

"""Relabelled steps end where the environment would have ended the episode."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("gymnasium_robotics")

from stable_baselines3 import HerReplayBuffer

from scrubjay.deep.hindsight import HindsightBuffer
from scrubjay.deep.sac import SAC
from scrubjay.envs.variants import SparseGoal

TASKS = {
    "reach": ("scrubjay/SparseFetchReach-v0", {}),
    "push": ("scrubjay/SparseFetchPush-v0", {}),
    "maze": ("gymnasium_robotics:PointMaze_UMaze-v3", {"continuing_task": False}),
    "continuing maze": ("gymnasium_robotics:PointMaze_UMaze-v3", {"continuing_task": True}),
}


def filled(name: str) -> HindsightBuffer:
    """The buffer of SAC after 300 steps."""
    task, options = TASKS[name]
    env = gymnasium.make(task, **options, max_episode_steps=50)
    agent = SAC(env, **SAC.preset(task, "her"), buffer_size=500, batch_size=16, seed=0)
    agent.model.learning_starts = 1_000
    agent.learn(300)
    buffer = agent.model.replay_buffer
    assert isinstance(buffer, HindsightBuffer)
    return buffer


@pytest.mark.parametrize("name", ["reach", "push", "maze"])
def test_a_relabelled_step_ends_where_the_goal_is_achieved(name):
    buffer = filled(name)
    batch = buffer.sample(200)
    rewards, dones = batch.rewards.numpy(), batch.dones.numpy()
    assert set(np.unique(rewards)) == {0.0, 1.0}
    assert np.array_equal(rewards, dones)


def test_where_success_ends_nothing_relabelled_steps_go_on():
    batch = filled("continuing maze").sample(200)
    assert batch.rewards.max() == 1
    assert batch.dones.max() == 0


def test_stable_baselines3_would_go_on_after_a_relabelled_success():
    """Should this fail, Stable-Baselines3 does it itself, and the class is no longer needed."""
    buffer = filled("maze")
    batch = HerReplayBuffer._get_virtual_samples(buffer, np.arange(50), np.zeros(50, int))
    assert batch.rewards.max() == 1
    assert batch.dones.max() == 0


def test_training_starts_after_the_first_episode():
    """Nothing can be relabelled before, and Stable-Baselines3 would raise an error."""
    env = gymnasium.make("scrubjay/SparseFetchReach-v0", max_episode_steps=150)
    env.unwrapped.distance_threshold = 0.0  # no success ends an episode
    agent = SAC(env, **SAC.preset("SparseFetchReach", "her"), batch_size=4, seed=0)
    assert agent.model.learning_starts == 150
    agent.learn(152)
    assert agent.model._n_updates == 2


def test_one_and_many_pairs_of_goals_of_a_sparse_task():
    env = gymnasium.make("scrubjay/SparseFetchPush-v0")
    while not isinstance(env, SparseGoal):
        env = env.env
    near, far = np.zeros(3), np.ones(3)
    assert env.compute_terminated(near, near, {})
    ended = env.compute_terminated(np.stack([near, near]), np.stack([near, far]), {})
    assert ended.tolist() == [True, False]

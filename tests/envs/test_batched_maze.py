"""Many mazes in one call: each lane is what the same rules give for it alone."""

import numpy as np
import pytest

from scrubjay.envs.batched_maze import TIMESTEP, BatchedPointMaze
from scrubjay.envs.maze_motion import move, settle

CORRIDOR = ["#####", "#RG #", "#####"]


def naive_step(env, position, velocity, action):
    """One lane by the rules of a single maze."""
    low, high = env.single_action_space.low, env.single_action_space.high
    position = position.copy()
    x, y = move(position, velocity.copy(), *np.clip(action, low, high).astype(float))
    position += TIMESTEP * velocity
    hit, goal = settle(position, x, y, env.maze.wall_lines, np.array([g[:2] for g in env.goals]))
    return position, hit, goal


def test_every_lane_moves_as_if_it_were_alone():
    rng, env = np.random.default_rng(1), BatchedPointMaze(7, max_episode_steps=60)
    positions, _ = env.reset(seed=list(range(7)))
    assert (np.abs(positions) <= 0.1).all()
    assert len(np.unique(positions)) == 21
    velocities = env._velocities.copy()
    for t in range(60):
        actions = rng.normal(size=(7, 2)).astype(np.float32)
        expected = [
            naive_step(env, *each) for each in zip(positions, velocities, actions, strict=True)
        ]
        positions, rewards, ended, truncated, infos = env.step(actions)
        np.testing.assert_array_equal(positions, [position for position, _, _ in expected])
        assert infos["wall_hit"].tolist() == [hit for _, hit, _ in expected]
        assert ended.tolist() == [goal >= 0 for _, _, goal in expected]
        assert truncated.tolist() == [t == 59 and not over for over in ended]
        assert rewards.tolist() == ended.astype(float).tolist()
        assert all(env.observation_space.contains(p) for p in [positions])


def test_a_start_is_a_function_of_its_seed_alone():
    many, one = BatchedPointMaze(5), BatchedPointMaze(1)
    first, _ = many.reset(seed=[4, 5, 6, 7, 8])
    for lane, seed in enumerate([4, 5, 6, 7, 8]):
        assert one.reset(seed=[seed])[0][0].tolist() == first[lane].tolist()
    many.step(np.ones((5, 2)))
    mask = np.array([False, True, False, True, False])
    again, _ = many.reset(seed=[None, 5, None, 7, None], options={"reset_mask": mask})
    np.testing.assert_array_equal(again[mask], first[mask])
    assert (again[~mask] != first[~mask]).any(axis=1).all()
    same, _ = many.reset(seed=9)
    np.testing.assert_array_equal(many.reset(seed=9)[0], same)
    assert (many.reset()[0] != same).any()


def test_goals_pay_and_end():
    env = BatchedPointMaze(3, CORRIDOR, (), step_reward=-0.5)
    env.reset(seed=[1, 2, 3])
    for _ in range(20):
        _, rewards, ended, _, infos = env.step(np.array([[0.5, 0.0], [0.0, 0.0], [-1.0, 0.0]]))
        if ended.any():
            break
    assert ended.tolist() == [True, False, False]
    assert rewards.tolist() == [1.0, -0.5, -0.5]
    assert infos["is_success"].tolist() == [True, False, False]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="expected num_envs to be at least 1, got 0"):
        BatchedPointMaze(0)
    with pytest.raises(ValueError, match="max_episode_steps"):
        BatchedPointMaze(2, max_episode_steps=0)
    env = BatchedPointMaze(2)
    env.reset(seed=1)
    for actions in (np.zeros((3, 2)), np.full((2, 2), np.nan)):
        with pytest.raises(ValueError, match="expected 2 finite actions"):
            env.step(actions)
    with pytest.raises(ValueError, match="expected 2 seeds, got 3"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="expected a reset_mask of 2 bools"):
        env.reset(options={"reset_mask": np.ones(3, bool)})

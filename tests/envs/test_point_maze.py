"""The mazes against recordings of the original, and as Gymnasium environments."""

import copy
import os
import pickle
from functools import cache
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

pytest.importorskip("mujoco")

from scrubjay.envs import PointMaze
from scrubjay.envs.maze_map import FOUR_ROOMS, U_MAZE, MazeMap
from scrubjay.envs.maze_motion import apply_walls

GOLDEN = Path(os.environ.get("SCRUBJAY_GOLDEN", Path(__file__).parent / "golden"))
TASKS = {  # name of the recording: our id
    "PointUMaze-v1": "scrubjay/PointUMaze-v0",
    "Point4Rooms-v1": "scrubjay/Point4RoomsOneGoal-v0",
    "Point4Rooms-v2": "scrubjay/Point4Rooms-v0",
}
IDS = list(TASKS.values())
MAPS = {"PointUMaze": U_MAZE, "Point4Rooms": FOUR_ROOMS}


def recordings(name):
    paths = sorted(GOLDEN.glob(f"{name}*.npz"))
    assert paths, f"no recording of {name} in {GOLDEN}"
    return [np.load(path) for path in paths]


class Replay:
    """Every step of a recording, each from its recorded state."""

    def __init__(self, recording, task):
        env = gym.make(task, full_observation=True, step_reward=-1e-4)
        before, after = [], []
        for start, end in zip(recording["obs_offset"], recording["obs_offset"][1:], strict=False):
            before += range(start, end - 1)
            after += range(start + 1, end)
        results = []
        for row, action in zip(recording["obs"][before], recording["actions"], strict=True):
            env.reset(options={"qpos": row[:3], "qvel": row[3:6]})
            results.append(env.step(action))
        error = np.abs(np.array([r[0] for r in results]) - recording["obs"][after])
        self.position_error = error[:, :3].max(axis=1)
        self.velocity_error = error[:, 3:6].max(axis=1)
        self.rewards = np.array([r[1] for r in results])
        self.terminated = np.array([r[2] for r in results])
        self.wall_hit = np.array([r[4]["wall_hit"] for r in results])


@cache
def replays(name):
    return [(recording, Replay(recording, TASKS[name])) for recording in recordings(name)]


# Fidelity. Tolerances: steps in contact with walls depend on the version of MuJoCo's colliders.


@pytest.mark.parametrize("name", MAPS)
def test_wall_lines_are_the_originals_in_order(name):
    for recording in recordings(f"{name}_collision"):
        np.testing.assert_array_equal(MazeMap(MAPS[name]).wall_lines, recording["wall_lines"])


@pytest.mark.parametrize("name", MAPS)
def test_the_wall_rule_alone_is_exact(name):
    walls = MazeMap(MAPS[name]).wall_lines
    for recording in recordings(f"{name}_collision"):
        moves = zip(recording["old"], recording["new"], strict=True)
        results = [apply_walls(walls, *old, *new) for old, new in moves]
        assert [status for *_, status in results] == recording["status"].tolist()
        ends = [(x, y) for x, y, _ in results]
        np.testing.assert_allclose(ends, recording["result"], rtol=0, atol=1e-12)


def test_a_move_exactly_along_a_wall_line_meets_no_wall():
    walls = np.array([[-1.0, 0.0, 1.0, 0.0]])
    assert apply_walls(walls, -0.5, 0.0, 0.5, 0.0) == (0.5, 0.0, 0)
    assert apply_walls(walls, -0.5, -0.1, 0.5, 0.3)[2] == 1


@pytest.mark.parametrize("name", TASKS)
def test_steps_clear_of_walls_are_exact(name):
    for recording, replay in replays(name):
        clear = recording["clear"].astype(bool)
        assert clear.any()
        assert replay.position_error[clear].max() <= 1e-10
        assert replay.velocity_error[clear].max() <= 1e-10


@pytest.mark.parametrize("name", TASKS)
def test_steps_without_contact_are_nearly_all_exact(name):
    for recording, replay in replays(name):
        free = recording["contact_class"] == 0
        exact = np.maximum(replay.position_error, replay.velocity_error) <= 1e-9
        assert exact[free].mean() >= 0.96


def test_steps_at_walls_are_near():
    pairs = [pair for name in TASKS for pair in replays(name)]
    touching = [recording["contact_class"] > 0 for recording, _ in pairs]
    position, velocity = (
        np.concatenate(
            [getattr(pair[1], key)[at] for pair, at in zip(pairs, touching, strict=True)]
        )
        for key in ("position_error", "velocity_error")
    )
    assert (position <= 0.1).mean() >= 0.99
    assert (velocity <= 7.0).mean() >= 0.99


@pytest.mark.parametrize("name", TASKS)
def test_rewards_and_ends_are_exact(name):
    for recording, replay in replays(name):
        np.testing.assert_array_equal(replay.rewards, recording["rewards"])
        np.testing.assert_array_equal(replay.terminated, recording["done"].astype(bool))
        assert (replay.wall_hit == recording["wall_hit"]).mean() >= 0.995


@pytest.mark.parametrize("name", TASKS)
def test_goals_are_the_originals(name):
    env = gym.make(TASKS[name]).unwrapped
    for recording in recordings(name):
        assert [(g.x, g.y) for g in env.goals] == [tuple(goal) for goal in recording["goals"]]
        assert [g.reward for g in env.goals] == recording["goal_rewards"].tolist()


def test_the_random_policy_is_fast_because_the_floor_does_not_brake():
    env = gym.make("scrubjay/Point4Rooms-v0", full_observation=True)
    env.action_space.seed(0)
    speeds = []
    for episode in range(10):
        env.reset(seed=episode)
        ended = False
        while not ended:
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            speeds.append(np.hypot(observation[3], observation[4]))
            ended = terminated or truncated
    assert np.mean(speeds) > 2  # 3.8 here; 0.7 with floor contact


# The rules of the task.


@pytest.mark.parametrize("task", IDS)
def test_reset_draws_uniform_positions_and_normal_velocities(task):
    env = gym.make(task, full_observation=True)
    starts = np.array([env.reset(seed=seed)[0] for seed in range(2000)])
    assert np.abs(starts[:, :3]).max() <= 0.1
    np.testing.assert_allclose(starts[:, :3].std(axis=0), 0.1 / np.sqrt(3), rtol=0.05)
    np.testing.assert_allclose(starts[:, 3:6].std(axis=0), 0.1, rtol=0.1)
    np.testing.assert_allclose(starts[:, 3:6].mean(axis=0), 0.0, atol=0.01)
    assert np.abs(starts[:, 3:6]).max() > 0.25
    assert not starts[:, 6].any()


def test_only_the_goal_that_pays_most_is_a_success():
    env = gym.make("scrubjay/Point4Rooms-v0")
    expected = [((24, -24), 1.0, True), ((0, -24), 0.5, False), ((24, 0), 0.5, False)]
    for index, ((x, y), reward, success) in enumerate(expected):
        env.reset(seed=0, options={"qpos": [x, y, 0], "qvel": [0, 0, 0]})
        _, paid, terminated, truncated, info = env.step(np.zeros(2))
        assert (paid, terminated, truncated) == (reward, True, False)
        assert info == {
            "is_success": success,
            "goal_index": index,
            "goal_reward": reward,
            "wall_hit": 0,
        }


def test_away_from_goals_nothing_is_paid():
    env = gym.make("scrubjay/PointUMaze-v0")
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(np.zeros(2))
    assert (reward, terminated) == (0.0, False)
    assert info == {"is_success": False, "goal_index": -1, "goal_reward": 0.0, "wall_hit": 0}


def test_the_goal_distance_is_inclusive():
    maze = PointMaze(["#####", "#R  #", "#####"], [(0.6, 0)])
    for x, reached in ((-1e-9, False), (0.0, True)):
        maze.reset(seed=0, options={"qpos": [x, 0, 0], "qvel": [0, 0, 0]})
        assert maze.step(np.zeros(2))[2] is reached


def test_the_observation_is_position_and_heading_or_everything():
    short, full = (gym.make(IDS[0], full_observation=full) for full in (False, True))
    short.reset(seed=1)
    full.reset(seed=1)
    for step in range(1, 50):
        action = short.action_space.sample()
        observation, everything = short.step(action)[0], full.step(action)[0]
        assert observation.shape == (3,)
        np.testing.assert_array_equal(observation, everything[:3])
        np.testing.assert_array_equal(everything[3:6], full.unwrapped.data.qvel)
        assert everything[6] == 0.001 * step


def test_the_heading_is_wrapped_once_before_the_physics():
    maze = gym.make(IDS[0])
    for heading, turn, expected in ((3.1, 0.25, 3.35 - 2 * np.pi), (-3.1, -0.25, 2 * np.pi - 3.35)):
        maze.reset(options={"qpos": [0, 0, heading], "qvel": [0, 0, 0]})
        assert maze.step(np.array([0, turn]))[0][2] == pytest.approx(expected)


def test_the_time_limit_truncates():
    env = gym.make(IDS[0])
    env.reset(seed=0)
    ends = [env.step(np.zeros(2))[2:4] for _ in range(1000)]
    assert ends == [(False, False)] * 999 + [(False, True)]


# As an environment among others.


# Its two warnings are the unbounded heading: no bound would be true.
@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*imum value is")
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("task", IDS)
def test_gymnasium_finds_nothing_to_complain_about(task, full):
    check_env(gym.make(task, full_observation=full).unwrapped, skip_render_check=True)


def trajectory(env, n_steps=300, seed=None):
    env.action_space.seed(7)
    observations = [] if seed is None else [env.reset(seed=seed)[0]]
    observations += [env.step(env.action_space.sample())[0] for _ in range(n_steps)]
    return np.array(observations)


def test_the_seed_decides_everything():
    first, second = gym.make(IDS[0]), gym.make(IDS[0])
    np.testing.assert_array_equal(trajectory(first, seed=3), trajectory(second, seed=3))
    assert not np.array_equal(first.reset()[0], first.reset()[0])
    assert not np.array_equal(first.reset(seed=4)[0], first.reset(seed=3)[0])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_continues_exactly(duplicate):
    env = gym.make("scrubjay/Point4Rooms-v0", full_observation=True)
    trajectory(env, seed=5)
    twin = duplicate(env)
    unmoved = twin.unwrapped.data.qpos.copy()
    np.testing.assert_allclose(twin.unwrapped.data.body("torso").xpos[:2], unmoved[:2])
    expected = trajectory(env)
    np.testing.assert_array_equal(twin.unwrapped.data.qpos, unmoved)  # nothing is shared
    np.testing.assert_array_equal(trajectory(twin), expected)
    np.testing.assert_array_equal(twin.reset()[0], env.reset()[0])


def test_a_copy_continues_exactly_in_contact_with_walls():
    env = gym.make("scrubjay/PointUMaze-v0", full_observation=True)
    env.reset(seed=5)
    env.action_space.seed(0)
    for _ in range(200):  # often in contact, where the solver's warm start matters
        twin, action = copy.deepcopy(env), env.action_space.sample()
        np.testing.assert_array_equal(twin.step(action)[0], env.step(action)[0])


def test_a_copy_keeps_changes_of_the_model():
    env = gym.make(IDS[0])
    env.unwrapped.model.opt.timestep = 0.01
    assert copy.deepcopy(env).unwrapped.model.opt.timestep == 0.01
    assert gym.make(IDS[0]).unwrapped.model.opt.timestep == 0.02


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments(mode):
    vector = gym.make_vec(IDS[0], num_envs=2, vectorization_mode=mode)
    single = [gym.make(IDS[0]) for _ in range(2)]
    observations, _ = vector.reset(seed=[1, 2])
    expected = [env.reset(seed=seed)[0] for env, seed in zip(single, (1, 2), strict=True)]
    np.testing.assert_array_equal(observations, expected)
    for _ in range(20):
        actions = vector.action_space.sample()
        observations, *_, info = vector.step(actions)
        expected = [env.step(a)[0] for env, a in zip(single, actions, strict=True)]
        np.testing.assert_array_equal(observations, expected)
        assert info["is_success"].tolist() == [False, False]
    vector.close()


# One's own mazes.


def test_a_maze_from_text_in_one_line():
    env = PointMaze("#####\n#R G#\n#####")
    env.reset(seed=0, options={"qpos": [0, 0, 0], "qvel": [0, 0, 0]})
    steps = [env.step(np.array([1.0, 0.0])) for _ in range(8)]
    assert [terminated for _, _, terminated, *_ in steps] == [False] * 7 + [True]
    assert steps[-1][1] == 1.0
    assert steps[-1][4]["is_success"]


def test_an_indented_map_is_read_as_drawn():
    indented = """
        #####
        #R G#
        #####
        """
    assert MazeMap(indented.rstrip(" ")).rows == ("#####", "#R G#", "#####")


def test_goals_may_be_given_beside_the_map():
    env = PointMaze(["#####", "#R G#", "#####"], [(4, 0.5, 0.25)])
    assert env.goals == [(4.0, 0.5, 0.25), (8.0, 0.0, 1.0)]


@pytest.mark.parametrize(
    ("map", "goals", "message"),
    [
        (["####", "#  #", "####"], [(0, 0)], "exactly one start"),
        (["####", "#RR#", "####"], [(0, 0)], "exactly one start"),
        (["####", "#R  ", "####"], [(0, 0)], "border"),
        (["## #", "#R #", "####"], [(0, 0)], "border"),
        (["####", "#RX#", "####"], [(0, 0)], "'X'"),
        (["####", "#R #", "###"], [(0, 0)], "same width"),
        ([], [(0, 0)], "same width"),
        ("", [(0, 0)], "border"),
        (["####", "#R #", "####"], [], "maze with a goal"),
        (["####", "#R #", "####"], [(8, 0)], "in a wall"),
        (["####", "#R #", "####"], [(80, 0)], "outside"),
        (["####", "#R #", "####"], [(4,)], "expected a finite goal"),
        (["####", "#R #", "####"], [(4, np.nan)], "expected a finite goal"),
    ],
)
def test_a_bad_map_is_an_error(map, goals, message):
    with pytest.raises(ValueError, match=message):
        PointMaze(map, goals)


def test_an_unreachable_goal_is_warned_of():
    with pytest.warns(UserWarning, match="No way leads"):
        PointMaze(["#####", "#R#G#", "#####"])


# Bad input.


@pytest.mark.parametrize("action", [[1.0], [0.0, 0.0, 0.0], 0.0, [[0.0, 0.0]]])
def test_an_action_of_the_wrong_shape_is_an_error(action):
    env = gym.make(IDS[0])
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        env.step(np.array(action))


@pytest.mark.parametrize("action", [[np.nan, 0.0], [0.0, np.nan]])
def test_a_nan_action_is_an_error_and_changes_nothing(action):
    env = gym.make(IDS[0])
    before, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match="NaN"):
        env.step(np.array(action))
    np.testing.assert_array_equal(env.unwrapped.data.qpos, before)


@pytest.mark.parametrize("action", [[2.0, -3.0], [np.inf, -np.inf], [1.0, -0.25]])
def test_actions_out_of_range_are_clipped(action):
    clipped, bound = gym.make(IDS[0]), gym.make(IDS[0])
    clipped.reset(seed=0)
    bound.reset(seed=0)
    expected = bound.step(np.array([1.0, -0.25]))[0]
    np.testing.assert_array_equal(clipped.step(np.array(action))[0], expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qpos": [0, 0]}, "3 finite numbers"),
        ({"qvel": [0, 0, np.nan]}, "3 finite numbers"),
        ({"position": [0, 0, 0]}, "'position'"),
    ],
)
def test_a_bad_start_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        gym.make(IDS[0]).reset(seed=0, options=options)


def test_an_unknown_render_mode_is_an_error():
    with pytest.raises(ValueError, match="rgb_array"):
        PointMaze(U_MAZE, [(0, 8)], render_mode="ansi")

"""The tasks beyond the paper's: extra sensors, sticky actions, deep mazes, sparse goals, pixels."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import scrubjay.envs  # noqa: F401
from scrubjay.envs.four_rooms_grid import FREE, GOAL, MAP, MOVES, FourRoomsGrid
from scrubjay.envs.maze_map import MazeMap
from scrubjay.envs.mazes import corridor_map, t_maze_map
from scrubjay.envs.mountain_car import SparseMountainCar
from scrubjay.envs.variants import NoiseSensors, StickyActions

NAMES = (
    "SensorMountainCar", "StickyPointUMaze", "RandomStartPointUMaze", "PointCorridor",
    "PointTMaze", "SparseReacher", "SparseFetchPush", "FourRoomsGrid",
)  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:.*A Box observation space m:UserWarning")


def make(name, **options):
    return gym.make(f"scrubjay/{name}-v0", **options)


def rollout(env, seed, n_steps=20):
    env.action_space.seed(0)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(n_steps):
        seen.append(env.step(env.action_space.sample())[0])
    return [gym.spaces.flatten(env.observation_space, each) for each in seen]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_determines_an_episode(name):
    env = make(name)
    np.testing.assert_array_equal(rollout(env, 1), rollout(env, 1))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "SparseFetchPush"])
def test_it_passes_the_environment_checker(name):
    check_env(make(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_step_says_whether_it_succeeded(name):
    env = make(name)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(env.action_space.sample())
    assert bool(info["is_success"]) is False
    assert reward == 0.0
    assert not terminated


def test_noise_sensors_follow_the_observation():
    env = NoiseSensors(SparseMountainCar(), 3)
    plain = SparseMountainCar()
    observation, first = env.reset(seed=5)[0], plain.reset(seed=5)[0]
    np.testing.assert_array_equal(observation[:2], first)
    noise = np.array([env.observation(first)[2:] for _ in range(2000)])
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.1)
    np.testing.assert_allclose(noise.std(axis=0), 1.0, atol=0.1)
    with pytest.raises(TypeError, match="one axis"):
        NoiseSensors(make("SparseFetchReach"))
    with pytest.raises(ValueError, match="at least 1"):
        NoiseSensors(SparseMountainCar(), 0)


def test_sticky_actions_repeat_as_often_as_asked():
    class Counter(gym.Env):
        observation_space = gym.spaces.Box(0, 1, (1,))
        action_space = gym.spaces.Discrete(10_000)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed, options=options)
            return np.zeros(1, np.float32), {}

        def step(self, action):
            return np.zeros(1, np.float32), float(action), False, False, {}

    env = StickyActions(Counter(), 0.25)
    env.reset(seed=0)
    executed = [env.step(i)[1] for i in range(4000)]
    assert executed[0] == 0.0  # there is nothing to repeat yet
    repeated = np.mean([done != asked for asked, done in enumerate(executed)])
    assert repeated == pytest.approx(0.25, abs=0.03)
    with pytest.raises(ValueError, match="between 0 and 1"):
        StickyActions(Counter(), 1.5)


def test_the_depth_of_a_maze_is_the_length_of_the_shortest_way():
    for rows, depth in ((corridor_map(7), 7), (t_maze_map(9, 3), 9), (t_maze_map(30, 4), 30)):
        maze = MazeMap(rows)
        ways, distance = {maze.start}, 0
        (goal,) = maze.cells("G")
        while goal not in ways:
            ways |= {
                (i + di, j + dj)
                for i, j in ways
                for di, dj in MOVES
                if maze.is_free((i + di, j + dj))
            }
            distance += 1
        assert distance == depth
    for wrong in ({"depth": 3, "arm": 3}, {"arm": 0}):
        with pytest.raises(ValueError, match="arm"):
            make("PointTMaze", **wrong)
    with pytest.raises(ValueError, match="depth"):
        make("PointCorridor", depth=0)


def test_random_starts_are_free_and_everywhere():
    env = make("RandomStartPointUMaze").unwrapped
    cells = set()
    for seed in range(60):
        env.reset(seed=seed)
        cells.add(env.maze.cell_at(*env.position))
    assert cells <= env.maze.reachable
    assert len(cells) == len(env.maze.reachable) - 1  # all but the goal's


def test_reaching_the_target_ends_an_episode_of_the_reacher():
    env = make("SparseReacher")
    env.reset(seed=0)
    data = env.unwrapped.data
    fingertip = env.unwrapped.get_body_com("fingertip")
    qpos = data.qpos.copy()
    qpos[2:4] = fingertip[:2]
    env.unwrapped.set_state(qpos, np.zeros(4))
    _, reward, terminated, _, info = env.step(np.zeros(2, np.float32))
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)


def test_pushing_the_box_to_the_target_ends_the_episode():
    env = make("SparseFetchPush")
    observation, _ = env.reset(seed=0)
    goals = np.stack([observation["desired_goal"], observation["desired_goal"] + 1.0])
    rewards = env.get_wrapper_attr("compute_reward")(goals, goals[[0, 0]], {})
    np.testing.assert_array_equal(rewards, [1.0, 0.0])
    env.unwrapped.goal = observation["achieved_goal"].copy()
    _, reward, terminated, _, info = env.step(np.zeros(4, np.float32))
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)


def test_the_grid_has_a_way_from_every_cell_to_the_goal():
    found = {GOAL}
    while True:
        around = {(i + di, j + dj) for i, j in found for di, dj in MOVES}
        more = {cell for cell in around - found if MAP[cell[0]][cell[1]] != "#"}
        if not more:
            break
        found |= more
    assert found == set(FREE)


def test_moves_on_the_grid():
    env = FourRoomsGrid(render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    np.testing.assert_allclose(observation, [1 / 12, 1 / 12])
    np.testing.assert_allclose(env.step(0)[0], [1 / 12, 1 / 12])  # a wall
    np.testing.assert_allclose(env.step(1)[0], [1 / 12, 2 / 12])
    assert env.render().shape == (312, 312, 3)
    env._cell = (GOAL[0] - 1, GOAL[1])
    assert env.step(2)[1:] == (1.0, True, False, {"is_success": True})
    for wrong in ({"slip": 2.0}, {"render_mode": "human"}):
        with pytest.raises(ValueError, match="expected"):
            FourRoomsGrid(**wrong)


def test_the_place_on_the_grid_and_its_walls():
    env = FourRoomsGrid()
    observation, _ = env.reset(seed=0)
    assert env.position == (1.0, -1.0)
    found = [factor * observation[i] for i, factor in env.position_in_observation]
    np.testing.assert_allclose(found, env.position, atol=1e-6)
    walls = env.outline
    assert len(walls) == sum(MAP[i + di][j + dj] == "#" for i, j in FREE for di, dj in MOVES)
    around = [line for line in walls if max(abs(line[0] - 1), abs(line[1] + 1)) == 0.5]
    # above and to the left of the corner, as (x, y) with y upwards
    assert {tuple(sorted(((a, b), (c, d)))) for a, b, c, d in around} >= {
        ((0.5, -0.5), (1.5, -0.5)), ((0.5, -1.5), (0.5, -0.5)),
    }  # fmt: skip


def test_a_maze_seen_in_pixels():
    env = make("PointUMaze", pixels=32)
    check_env(env.unwrapped, skip_render_check=True)
    first, _ = env.reset(seed=0)
    assert (first.shape, first.dtype) == ((32, 32, 3), np.uint8)
    env.unwrapped.qpos[:] = 0.0, 0.0, 0.0
    here = env.unwrapped.observe()
    env.unwrapped.qpos[0] = 0.05  # a fifth of a pixel
    assert (env.unwrapped.observe() != here).any()
    copy = pickle.loads(pickle.dumps(env.unwrapped))
    np.testing.assert_array_equal(copy.observe(), env.unwrapped.observe())
    with pytest.raises(ValueError, match="at least 8"):
        make("PointUMaze", pixels=4)

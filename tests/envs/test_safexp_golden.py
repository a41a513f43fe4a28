"""Safexp against recordings of the original engine (Safety Gym on MuJoCo 2.3.7).

Each row is tried alone: write the recorded state, apply the recorded action, compare with the next
recorded row. Steps without a touch of a wall must agree to rounding; with one, MuJoCo's colliders
have changed since and only most of the numbers can be close.
"""

from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from scrubjay.envs.safexp import GOAL, ROBOT, WALLS, SafexpCarGoal, SafexpPointGoal, look

GOLDEN = Path(__file__).parent / "golden"
VERSION = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
TASKS = {"point": SafexpPointGoal, "car": SafexpCarGoal}


def recorded_layout(recording):
    return {
        "walls": recording["layout_walls"][:, :2],
        "goal": recording["layout_goal"][:2],
        "robot": recording["layout_robot"][[0, 1, 3]],
    }


def replay(env, recording):
    """One step from every recorded state: observations, rewards, ends, and the rows' labels."""
    rows = SimpleNamespace(got=[], expected=[], reward=[], terminated=[], settled=[])
    steps, states = recording["step_offset"], recording["obs_offset"]
    for episode, start in enumerate(recording["start_kind"]):
        for t in range(steps[episode + 1] - steps[episode]):
            state = states[episode] + t
            env.reset(options={"qpos": recording["qpos"][state], "qvel": recording["qvel"][state]})
            observation, reward, terminated, truncated, info = env.step(
                recording["actions"][steps[episode] + t]
            )
            assert not truncated
            assert info == {"is_success": terminated, "goal_met": terminated, "cost": 0.0}
            rows.got.append(observation)
            rows.expected.append(recording["obs"][state + 1])
            rows.reward.append(reward)
            rows.terminated.append(terminated)
            # The car's wheels start at distance 0 +- 1e-17 from the floor: two steps of luck.
            rows.settled.append(start == 1 or t >= 2 or env.size == 24)
    return SimpleNamespace(**{name: np.array(values) for name, values in vars(rows).items()})


@pytest.fixture(scope="module", params=TASKS)
def case(request):
    with np.load(GOLDEN / f"safexp_{request.param}.npz") as file:
        recording = dict(file)
    env = TASKS[request.param](**recorded_layout(recording))
    rows = replay(env, recording)
    touched = (recording["wall_substeps"] > 0) | (recording["wall_contacts"] > 0)
    return SimpleNamespace(
        name=request.param,
        recording=recording,
        env=env,
        rows=rows,
        error=np.abs(rows.got - rows.expected),
        clean=~touched & rows.settled,
        touched=touched,
    )


def columns(recording, *names):
    return np.array([name.split("[")[0] in names for name in recording["obs_names"]])


def test_the_layout_is_the_recorded_one(case):
    assert np.array_equal(WALLS, case.recording["walls"])
    assert np.array_equal(GOAL, case.recording["goal"])
    assert np.array_equal(ROBOT, case.recording["robot_start"])


def test_steps_without_walls_agree_to_rounding(case):
    accelerometer = columns(case.recording, "accelerometer")
    limit = 1e-3 if case.name == "car" and VERSION >= (3, 11) else 1e-7
    assert case.clean.sum() > 250
    assert case.error[case.clean][:, ~accelerometer].max() < limit
    assert case.error[case.clean][:, accelerometer].max() < max(
        limit, 1e-6 if case.name == "point" else 0.0
    )


def test_nine_of_ten_numbers_are_close_in_steps_along_walls(case):
    seen = columns(case.recording, "walls_lidar", "goal_compass", "magnetometer")
    assert case.touched.sum() > 40
    assert np.mean(case.error[case.touched][:, seen] < 0.01) >= 0.9


def test_rewards_and_ends_are_exact(case):
    assert case.recording["goal_met"].sum() >= 3
    assert np.array_equal(case.rows.reward, case.recording["rewards"])
    assert np.array_equal(case.rows.terminated, case.recording["goal_met"])


@pytest.mark.parametrize(("layout", "limit"), [("exact", 1e-12), ("nominal", 2e-8)])
def test_lidar_and_compass_follow_from_the_recorded_pose(case, layout, limit):
    env = case.env if layout == "exact" else TASKS[case.name]()
    seen = columns(case.recording, "walls_lidar", "goal_compass")
    observation = np.empty(env.size)
    pose = zip(case.recording["robot_pos"], case.recording["robot_mat"], strict=True)
    for (position, rotation), expected in zip(pose, case.recording["obs"], strict=True):
        look(env.data.sensordata, position, rotation, env.walls, env.goal, observation)
        assert np.abs(observation - expected)[seen].max() < limit


def test_the_first_observation_is_the_recorded_one(case):
    first = case.recording["obs"][0]
    calm = ~columns(case.recording, "accelerometer")
    assert np.abs(case.env.reset()[0] - first)[calm].max() < 1e-12
    assert np.abs(TASKS[case.name]().reset()[0] - first)[calm].max() < 1e-8
    gravity = (0.0, 0.0, 9.81) if case.name == "point" else (-0.035929, -0.63896, 4.289226)
    np.testing.assert_allclose(case.env.reset()[0][:3], gravity, atol=1e-6)

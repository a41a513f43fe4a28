"""The ids of all tasks, and what importing them costs."""

import subprocess
import sys

import gymnasium as gym
import pytest

from scrubjay.envs import TASK_IDS

HORIZONS = {
    "scrubjay/GrowingTree-v0": 200,
    "scrubjay/SparseMountainCar-v0": 999,
    "scrubjay/PointUMaze-v0": 1000,
    "scrubjay/Point4Rooms-v0": 1000,
    "scrubjay/Point4RoomsOneGoal-v0": 1000,
    "scrubjay/SafexpPointGoal-v0": 1000,
    "scrubjay/SafexpCarGoal-v0": 1000,
    "scrubjay/SparseFetchReach-v0": 50,
    "scrubjay/NoisyPointUMaze-v0": 1000,
    "scrubjay/NoisySparseMountainCar-v0": 999,
    "scrubjay/SensorMountainCar-v0": 999,
    "scrubjay/StickyPointUMaze-v0": 1000,
    "scrubjay/RandomStartPointUMaze-v0": 1000,
    "scrubjay/PointCorridor-v0": 1000,
    "scrubjay/PointTMaze-v0": 1000,
    "scrubjay/SparseReacher-v0": 50,
    "scrubjay/SparseFetchPush-v0": 50,
    "scrubjay/FourRoomsGrid-v0": 200,
    "scrubjay/MsPacman-v0": 27_000,
    "scrubjay/Qbert-v0": 27_000,
    "scrubjay/Frostbite-v0": 27_000,
    "scrubjay/Hero-v0": 27_000,
    "scrubjay/Riverraid-v0": 27_000,
    "scrubjay/SpaceInvaders-v0": 27_000,
    "scrubjay/MinAtarAsterix-v0": 5_000,
    "scrubjay/MinAtarBreakout-v0": 5_000,
    "scrubjay/MinAtarFreeway-v0": 5_000,
    "scrubjay/MinAtarSeaquest-v0": 5_000,
    "scrubjay/MinAtarSpaceInvaders-v0": 5_000,
}


def test_every_task_has_its_id_and_horizon():
    assert {task: gym.spec(task).max_episode_steps for task in TASK_IDS} == HORIZONS


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_registering_imports_no_simulator():
    heavy = "{'mujoco', 'numba', 'torch', 'ale_py', 'minatar', 'pygame', 'gymnasium_robotics'}"
    result = run(f"import sys, scrubjay.envs; print(sorted({heavy} & set(sys.modules)))")
    assert result.stdout == "[]\n", result.stderr


@pytest.mark.parametrize("task", ["PointUMaze", "SafexpPointGoal"])
def test_without_mujoco_the_message_names_the_extra(task):
    result = run(
        "import sys; sys.modules['mujoco'] = None\n"
        "import gymnasium, scrubjay.envs\n"
        f"gymnasium.make('scrubjay/{task}-v0')"
    )
    assert 'pip install "scrubjay[mujoco]"' in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("task", ["GrowingTree", "SparseMountainCar"])
def test_the_toy_tasks_need_no_mujoco(task):
    result = run(
        "import sys; sys.modules['mujoco'] = None\n"
        "import gymnasium, scrubjay.envs\n"
        f"gymnasium.make('scrubjay/{task}-v0').reset(seed=0)"
    )
    assert result.returncode == 0, result.stderr

"""The settings of the paper, typed in by hand from the table of its tasks, against `preset`."""

import gymnasium
import numpy as np
import pytest

import scrubjay.envs  # noqa: F401
from scrubjay import CEC, preset
from scrubjay.envs.catalog import TASKS

ALL = [task.name for task in TASKS if task.paper_name]
MUJOCO = {task.name for task in TASKS if task.extra == "mujoco"}

# task: (k, tau, sigma, n, d)
NUMBERS = {
    "GrowingTree": (5, 1, 0.1, 1, 0.01),
    "SparseMountainCar": (3, 10, 0.1, 3, 0.1),
    "PointUMaze": (5, 0.1, 0.3, 1, 0.1),
    "Point4Rooms": (5, 1, 0.3, 3, 0.1),
    "Point4RoomsOneGoal": (5, 1, 0.3, 3, 0.1),
    "SafexpPointGoal": (5, 0.1, 0.1, 1, 0.1),
    "SafexpCarGoal": (1, 10, 0.1, 3, 0.1),
    "SparseFetchReach": (5, 1, 0.1, 3, 0.5),
}
EXPLORATION = {
    "GrowingTree": "uniform",
    "SparseMountainCar": "noise",
    "PointUMaze": "noise",
    "Point4Rooms": "noise",
    "Point4RoomsOneGoal": "noise",
    "SafexpPointGoal": "uniform",
    "SafexpCarGoal": "uniform",
    "SparseFetchReach": "noise",
}
IDENTITY = {"name": "identity"}
RUNNING = {"name": "running_normalizer"}
PROJECTION = {"name": "projection", "dim": 8}
SELECTION = {"name": "select", "keys": ["observation", "desired_goal"]}
# (task, preset): stages from observation to key; `published` is `paper` where it is not said
STAGES = {
    ("GrowingTree", "paper"): [IDENTITY],
    ("GrowingTree", "literal"): [IDENTITY],
    ("SparseMountainCar", "paper"): [RUNNING],
    ("SparseMountainCar", "literal"): [IDENTITY],
    ("PointUMaze", "paper"): [RUNNING],
    ("PointUMaze", "literal"): [IDENTITY],
    ("Point4Rooms", "paper"): [RUNNING],
    ("Point4Rooms", "literal"): [IDENTITY],
    ("Point4RoomsOneGoal", "paper"): [RUNNING],
    ("Point4RoomsOneGoal", "literal"): [IDENTITY],
    ("SafexpPointGoal", "paper"): [IDENTITY],
    ("SafexpPointGoal", "published"): [PROJECTION],
    ("SafexpPointGoal", "literal"): [IDENTITY],
    ("SafexpCarGoal", "paper"): [PROJECTION],
    ("SafexpCarGoal", "literal"): [PROJECTION],
    ("SparseFetchReach", "paper"): [SELECTION, PROJECTION, RUNNING],
    ("SparseFetchReach", "literal"): [SELECTION, PROJECTION],
}
# dimensions of observation and key in `paper`
KEYS = {
    "GrowingTree": (1, 1),
    "SparseMountainCar": (2, 2),
    "PointUMaze": (3, 3),
    "Point4Rooms": (3, 3),
    "Point4RoomsOneGoal": (3, 3),
    "SafexpPointGoal": (24, 24),
    "SafexpCarGoal": (36, 8),
    "SparseFetchReach": (13, 8),
}
COMBINATIONS = [(task, name) for task in ALL for name in ("paper", "published", "literal")]


def test_every_task_is_in_the_table():
    assert set(NUMBERS) == set(ALL)
    assert preset("NoisyPointUMaze").keys() == preset("PointUMaze").keys()
    assert preset("NoisyPointUMaze")["noise_std"] == 0.3


@pytest.mark.parametrize(("task", "name"), COMBINATIONS)
def test_numbers(task, name):
    given = preset(task, name)
    symbols = ("n_neighbors", "temperature", "noise_std", "radius_factor", "distance_threshold")
    assert tuple(given[symbol] for symbol in symbols) == NUMBERS[task]
    assert given["gamma"] == 0.99
    assert given["epsilon"] == (0.9, 0.05, 100_000)
    assert given["capacity"] == (10_000 if task == "GrowingTree" else 1_000_000)


@pytest.mark.parametrize(("task", "name"), COMBINATIONS)
def test_what_the_paper_leaves_open(task, name):
    given = preset(task, name)
    assert given["exploration"] == {"published": "uniform", "literal": "noise"}.get(
        name, EXPLORATION[task]
    )
    assert given["recency"] == ("hit" if name == "published" else "write")
    stages = STAGES.get((task, name), STAGES[task, "paper"])
    whole = stages[0] if len(stages) == 1 else {"name": "chain", "stages": stages}
    assert given["embedding"].config() == whole


@pytest.mark.parametrize(("task", "name"), COMBINATIONS)
def test_every_preset_trains_on_its_task(task, name):
    if task in MUJOCO:
        pytest.importorskip("mujoco")
    env = gymnasium.make(f"scrubjay/{task}-v0", max_episode_steps=20)
    agent = CEC(env, **preset(task, name), seed=0).learn(20)
    assert agent.num_timesteps >= 20
    assert len(agent.memory) > 0
    if name == "paper":
        assert (agent.embedding.input_dim, agent.embedding.key_dim) == KEYS[task]
    action, _ = agent.predict(env.reset(seed=1)[0], deterministic=True)
    assert env.action_space.contains(action)
    env.close()


def test_two_agents_never_share_an_embedding():
    assert preset("PointUMaze")["embedding"] is not preset("PointUMaze")["embedding"]


def as_json(given):
    return {**given, "embedding": given["embedding"].config()}


@pytest.mark.parametrize("name", ["paper", "published", "literal"])
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_names_of_tasks_are_those_of_the_catalogue(task, name):
    plain = task.name.removeprefix("Noisy")
    aliases = [task.name, task.name.lower(), task.id, task.paper_name or plain]
    for alias in aliases:
        assert as_json(preset(alias, name)) == as_json(preset(plain, name))


def test_misspelt_names_are_refused():
    for wrong in ("PointUMaz", "scrubjay/PointUMaz-v0", "NoisyPointUMazee"):
        with pytest.raises(ValueError, match=r"there is no task .*did you mean PointUMaze\?"):
            preset(wrong)
    with pytest.raises(ValueError, match="got 'papre'"):
        preset("PointUMaze", "papre")


def test_a_task_that_the_paper_does_not_have():
    given = preset("Pendulum-v1")
    assert given["embedding"].config() == RUNNING
    agent = CEC(gymnasium.make("Pendulum-v1"), **given).learn(1)
    assert np.isfinite(agent.memory.values).all()

"""How fast the mazes step through `gym.make`, what they cost to create, and their memory.

    python -m benchmarks.envs.maze

The pure physics is one `mj_step` from each state that the random policy passes through, so that it
meets the same contacts with walls. Both runs alternate and the least time of each counts: what
other programs take in between belongs to neither.
"""

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
import numpy.typing as npt

import scrubjay.envs.point_maze  # noqa: F401  imported here: creating a task shall not count it
from benchmarks.common import write_results
from benchmarks.envs.measure import env_run, least_seconds, memory_mb

STEPS = 5000
TARGETS = {"PointUMaze_steps_per_second": 25_000, "creation_ms": 100.0, "rss_of_64_mb": 80.0}


def random_actions(env: gym.Env[Any, Any]) -> list[npt.NDArray[np.float32]]:
    low, high = env.action_space.low, env.action_space.high  # type: ignore[attr-defined]
    actions = np.random.default_rng(0).uniform(low, high, (STEPS, len(low)))
    return list(actions.astype(np.float32))


def visited_states(env: gym.Env[Any, Any], actions: list[Any]) -> list[Any]:
    """Position and velocity before each step's physics, near enough: after the step before."""
    task: Any = env.unwrapped
    states = []
    env.reset(seed=0)
    for action in actions:
        states.append((task.data.qpos.copy(), task.data.qvel.copy()))
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return states


def physics_run(task: Any, states: list[Any]) -> Callable[[], None]:
    model, data = task.model, mujoco.MjData(task.model)
    qpos, qvel, step = data.qpos, data.qvel, mujoco.mj_step

    def run() -> None:
        for position, velocity in states:
            qpos[:] = position
            qvel[:] = velocity
            step(model, data)

    return run


def step_costs(task_id: str) -> dict[str, float]:
    env = gym.make(task_id)
    actions = random_actions(env)
    states = visited_states(env, actions)  # also compiles what is to be compiled
    runs = {"physics": physics_run(env.unwrapped, states), "made": env_run(env, actions)}
    seconds = least_seconds(runs)
    return {
        "physics_us": 1e6 * seconds["physics"] / STEPS,
        "gym_make_us": 1e6 * seconds["made"] / STEPS,
        "steps_per_second": STEPS / seconds["made"],
    }


def creation_ms(task_id: str) -> dict[str, float]:
    times = []
    for i in range(6):
        start = time.perf_counter()
        # A picture of another shape makes a model that has not been compiled before.
        gym.make(task_id, width=300 + i)
        times.append(1e3 * (time.perf_counter() - start))
    start = time.perf_counter()
    gym.make(task_id, width=300)
    return {"creation_ms": max(times), "creation_again_ms": 1e3 * (time.perf_counter() - start)}


def main() -> None:
    fresh = multiprocessing.get_context("spawn")
    results: dict[str, Any] = {"targets": TARGETS}
    for name in ("PointUMaze", "Point4Rooms", "Point4RoomsOneGoal"):
        task_id = f"scrubjay/{name}-v0"
        with fresh.Pool(1) as pool:  # memory that an earlier task gave back would count as none
            memory = pool.apply(memory_mb, (task_id, random_actions(gym.make(task_id))[:500]))
        results[name] = {**creation_ms(task_id), **step_costs(task_id), **memory}
        print(name, *(f"{key} {value:.5g}" for key, value in results[name].items()), sep="\n  ")
    write_results("envs_maze", results)


if __name__ == "__main__":
    main()

"""How much the Safexp tasks cost beyond their physics, to create, and in memory.

    python -m benchmarks.envs.safexp

The pure cost of a step is ten `mj_step` and one `mj_forward` on the same model, with the same
actions from the same start, so that both runs pass through the same states. The two alternate and
the least time of each counts: what other programs take in between belongs to neither.
"""

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np

import scrubjay.envs.safexp  # noqa: F401  imported here: creating a task shall not count it
from benchmarks.common import write_results
from benchmarks.envs.measure import env_run, least_seconds, memory_mb

STEPS = 500
TARGETS = {"ratio": 1.15, "creation_ms": 100.0, "rss_of_64_mb": 80.0}


def physics_run(task: Any, actions: list[Any]) -> Callable[[], None]:
    model, data = task.model, mujoco.MjData(task.model)

    def run() -> None:
        mujoco.mj_resetData(model, data)
        mujoco.mj_forward(model, data)
        for action in actions:
            data.ctrl[:] = action
            mujoco.mj_step(model, data, nstep=10)
            mujoco.mj_forward(model, data)

    return run


def step_costs(task_id: str) -> dict[str, float]:
    env = gym.make(task_id)
    actions = list(np.random.default_rng(0).uniform(-1, 1, (STEPS, 2)).astype(np.float32))
    runs = {
        "physics": physics_run(env.unwrapped, actions),
        "step": env_run(env.unwrapped, actions),
        "made": env_run(env, actions),
    }
    seconds = least_seconds(runs)
    return {
        "physics_us": 1e6 * seconds["physics"] / STEPS,
        "step_us": 1e6 * seconds["step"] / STEPS,
        "gym_make_us": 1e6 * seconds["made"] / STEPS,
        "ratio": seconds["step"] / seconds["physics"],
        "gym_make_ratio": seconds["made"] / seconds["physics"],
        "steps_per_second": STEPS / seconds["made"],
    }


def creation_ms(task_id: str) -> dict[str, float]:
    times = []
    for i in range(6):
        start = time.perf_counter()
        # A wall moved by a hair makes a model that has not been compiled before.
        gym.make(task_id, walls=[(0.5, 0.5 + 1e-6 * i)] + [(0.5, 2.0 + 0.1 * j) for j in range(43)])
        times.append(1e3 * (time.perf_counter() - start))
    start = time.perf_counter()
    gym.make(task_id)
    return {"creation_ms": max(times), "creation_again_ms": 1e3 * (time.perf_counter() - start)}


def main() -> None:
    fresh = multiprocessing.get_context("spawn")
    results: dict[str, Any] = {"targets": TARGETS}
    for name in ("SafexpPointGoal", "SafexpCarGoal"):
        task_id = f"scrubjay/{name}-v0"
        with fresh.Pool(1) as pool:  # memory that an earlier task gave back would count as none
            memory = pool.apply(memory_mb, (task_id, list(np.ones((20, 2), np.float32))))
        results[name] = {**creation_ms(task_id), **step_costs(task_id), **memory}
        print(name, *(f"{key} {value:.3g}" for key, value in results[name].items()), sep="\n  ")
    write_results("envs_safexp", results)


if __name__ == "__main__":
    main()

"""How the time of a step of `cec-plus` grows with the rows of its memory, with and without goals.

    python -m benchmarks.agent.growth

Trains one agent for each task and stops the time between numbers of steps: agent and loop, the
environment's own step taken off, and what of it are sweeps and links (`planning`) and plans for
goals (`plans`). Medians of three seeds. Writes results/agent_growth.json.
"""

import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import gymnasium
import numpy as np

from benchmarks.agent.plus_overhead import Timed
from benchmarks.common import write_results
from scrubjay import CECPlus
from scrubjay.agents.goals import GoalMap

MAZE = "gymnasium_robotics:PointMaze_{}-v3"
TASKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("scrubjay/PointUMaze-v0", {}),
    ("scrubjay/Point4Rooms-v0", {}),
    (MAZE.format("UMaze"), {"continuing_task": False}),
    (MAZE.format("Medium"), {"continuing_task": False}),
)
STOPS = (10_000, 20_000, 40_000, 70_000, 100_000)
SEEDS = (0, 1, 2)


class Watch:
    """Adds up the time that some methods take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """The same method, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


def measure(task: str, options: dict[str, Any], seed: int) -> list[dict[str, float]]:
    """One row for each part of a training."""
    env = Timed(gymnasium.make(task, **options))
    agent = CECPlus(env, seed=seed)
    agent.warm_up()
    sweeps, plans, rows = Watch(), Watch(), []
    with (
        mock.patch.object(CECPlus, "_plan", sweeps.around(CECPlus._plan)),
        mock.patch.object(CECPlus, "_link", sweeps.around(CECPlus._link)),
        mock.patch.object(GoalMap, "plan", plans.around(GoalMap.plan)),
    ):
        for stop in STOPS:
            watches = [env.seconds, sweeps.seconds, plans.seconds]
            begin, start = agent.num_timesteps, time.perf_counter()
            agent.learn(stop - begin)
            whole = time.perf_counter() - start
            spent = np.array([env.seconds, sweeps.seconds, plans.seconds]) - watches
            per_step = 1e6 / (agent.num_timesteps - begin)
            rows.append(
                {
                    "rows": len(agent.memory),
                    "microseconds": (whole - spent[0]) * per_step,
                    "planning": spent[1] * per_step,
                    "plans": spent[2] * per_step,
                }
            )
    return rows


def main() -> None:
    results = []
    for task, options in TASKS:
        measure(task, options, SEEDS[0])  # fills caches
        found = [measure(task, options, seed) for seed in SEEDS]
        for i, stop in enumerate(STOPS):
            row = {name: float(np.median([f[i][name] for f in found])) for name in found[0][i]}
            results.append({"task": task.split(":")[-1], "steps": stop, **row})
            print(results[-1], flush=True)
    write_results("agent_growth", results)


if __name__ == "__main__":
    main()

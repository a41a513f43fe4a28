"""What `cec-plus` costs beside the paper's rule: agent and loop, the environment's step taken off.

    python -m benchmarks.agent.plus_overhead [--steps 30000]

Both train on the same tasks, in turns, in one process; times are minima of several seeds. Writes
results/agent_plus_overhead.json.
"""

import argparse
import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks.common import write_results
from scrubjay import CEC, CECPlus, MemoryAgent, preset

TASKS = ("PointUMaze", "SparseMountainCar", "SafexpPointGoal")


class Timed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts the time that the environment takes itself."""

    seconds = 0.0

    def step(self, action: Any) -> Any:
        start = time.perf_counter()
        result = self.env.step(action)
        self.seconds += time.perf_counter() - start
        return result


def overhead(
    kind: type[MemoryAgent], task: str, settings: dict[str, Any], seed: int, steps: int
) -> float:
    """Microseconds a step of a whole training, its environment taken off."""
    env = Timed(gymnasium.make(f"scrubjay/{task}-v0"))
    agent = kind(env, **settings, seed=seed)
    agent.warm_up()
    start = time.perf_counter()
    agent.learn(steps)
    return 1e6 * (time.perf_counter() - start - env.seconds) / agent.num_timesteps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    results = []
    for task in TASKS:
        pairs = [
            (
                overhead(CEC, task, preset(task), seed, arguments.steps),
                overhead(CECPlus, task, {}, seed, arguments.steps),
            )
            for seed in range(arguments.repeats)
        ]
        paper, plus = np.min(pairs, axis=0)
        row = {"task": task, "paper_us": paper, "plus_us": plus, "ratio": plus / paper}
        results.append(row)
        print({key: round(v, 2) if isinstance(v, float) else v for key, v in row.items()})
    write_results("agent_plus_overhead", results)


if __name__ == "__main__":
    main()

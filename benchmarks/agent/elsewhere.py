"""`cec-plus` and `CEC` on tasks that neither was made for: Gymnasium's own, dense rewards too.

    python -m benchmarks.agent.elsewhere [--seeds 5]

No setting is chosen for them: CECPlus as it is, CEC with its defaults and a running normaliser.
Writes results/agent_elsewhere.json: the mean return of 10 greedy episodes of each seed.
"""

import argparse
import warnings
from typing import Any

import gymnasium
import gymnasium_robotics
import numpy as np

from benchmarks.common import write_results
from scrubjay import CEC, CECPlus, MemoryAgent, RunningNormalizer

# task: steps
TASKS = {
    "Pendulum-v1": 20_000,
    "MountainCarContinuous-v0": 20_000,
    "InvertedPendulum-v5": 20_000,
    "Reacher-v5": 10_000,
    "FetchReach-v4": 6_000,
    "PointMaze_UMaze-v3": 20_000,
}


def make_agent(name: str, env: Any, seed: int) -> MemoryAgent:
    if name == "cec-plus":
        return CECPlus(env, seed=seed)
    return CEC(env, embedding=RunningNormalizer(), seed=seed)


def greedy_return(agent: MemoryAgent, env: Any, seed: int) -> float:
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action = agent.predict(observation, deterministic=True)[0]
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="on every task, in place of its own number")
    arguments = parser.parse_args()
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    gymnasium.register_envs(gymnasium_robotics)
    warnings.simplefilter("ignore", UserWarning)  # CEC's own, of wrong scales: they are the point
    results = []
    for task, own_steps in TASKS.items():
        steps = arguments.steps or own_steps
        for name in ("cec-plus", "cec"):
            returns = []
            for seed in range(arguments.seeds):
                agent = make_agent(name, gymnasium.make(task), seed).learn(steps)
                env = gymnasium.make(task)
                returns.append(np.mean([greedy_return(agent, env, 1000 + i) for i in range(10)]))
            row = {
                "task": task,
                "steps": steps,
                "agent": name,
                "mean": float(np.mean(returns)),
                "returns": [round(float(value), 2) for value in returns],
            }
            results.append(row)
            print(row, flush=True)
    write_results("agent_elsewhere", results)


if __name__ == "__main__":
    main()

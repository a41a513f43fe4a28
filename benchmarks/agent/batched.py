"""Thousands of lanes in one call: what deciding costs, and steps a second with everything.

    python -m benchmarks.agent.batched [--lanes 1024] [--rows 100000] [--steps 1000000]

CEC on `BatchedPointMaze`, identity keys, at a memory filled to that many rows. Deciding is
`decide` alone; "all" is training as it is: environment, recording, learning, writing, the log.
Writes results/agent_batched.json.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.common import write_results
from scrubjay import CEC
from scrubjay.agents.threads import n_threads
from scrubjay.envs.batched_maze import BatchedPointMaze

TARGETS = {"deciding_us": 1.0, "lane_steps_per_second": 200_000}


def filled(env: BatchedPointMaze, n_rows: int) -> CEC:
    """An agent whose rows are all over the maze."""
    agent = CEC(
        env, seed=0, distance_threshold=0.05, n_neighbors=5, temperature=0.1, noise_std=0.3,
        capacity=n_rows,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    (left, low), (right, high) = env.maze.corners()
    while len(agent.memory) < n_rows:
        keys = rng.uniform([left, low, -np.pi], [right, high, np.pi], (20_000, 3))
        keys = keys[[env.maze.is_free(env.maze.cell_at(x, y)) for x, y, _ in keys]]
        actions = rng.uniform([-1, -0.25], [1, 0.25], (len(keys), 2)).astype(np.float32)
        values = 0.99 ** rng.uniform(0, 500, len(keys))
        agent.memory.write_many(keys, values, action=actions)
    agent.memory_changed()
    return agent


def deciding(agent: CEC, env: BatchedPointMaze, n_steps: int = 200) -> float:
    """Microseconds of one decision of one lane."""
    recorder, spent = agent.recorder(env.num_envs, True), []
    observations, _ = env.reset(seed=1)
    for lane in range(env.num_envs):
        recorder.begin(lane)
    inner = agent.decide

    def decide(*arguments: Any) -> int:
        start = time.perf_counter()
        bad = inner(*arguments)
        spent.append(time.perf_counter() - start)
        return bad

    agent.decide = decide  # type: ignore[method-assign]
    for _ in range(n_steps):
        observations, rewards, *_ = env.step(recorder.act(observations))
        recorder.record(rewards)
    del agent.decide
    agent.rewind()
    return 1e6 * float(np.median(spent)) / env.num_envs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()
    env = BatchedPointMaze(options.lanes)
    agent = filled(env, options.rows)
    agent.warm_up()
    agent.learn(20 * options.lanes)  # compiles what the warm-up does not
    rows = len(agent.memory)
    result: dict[str, Any] = {
        "lanes": options.lanes, "threads": n_threads(options.lanes), "rows": rows,
        "deciding_us": deciding(agent, env),
    }  # fmt: skip
    before, start = agent.num_timesteps, time.perf_counter()
    episodes = agent.n_episodes
    agent.learn(options.steps)
    seconds, steps = time.perf_counter() - start, agent.num_timesteps - before
    result |= {
        "lane_steps_per_second": steps / seconds, "us_per_lane_step": 1e6 * seconds / steps,
        "steps": steps, "episodes": agent.n_episodes - episodes,
        "rows_at_the_end": len(agent.memory),
    }  # fmt: skip
    print(result)
    write_results("agent_batched", {"targets": TARGETS, "rows": [result]})


if __name__ == "__main__":
    main()

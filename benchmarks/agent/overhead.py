"""What agent and loop add to the environment's own step, at 10^4, 10^5 and 10^6 rows.

    python benchmarks/agent/overhead.py [--rows 10000 100000 1000000]

The environment replays a recorded random walk and costs next to nothing; its own cost is measured
beside it and taken off. Times are minima of several repeats. Writes results/agent_overhead.json.
"""

import argparse
import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks.common import random_walk, write_results
from scrubjay import CEC, Identity, RunningNormalizer

EPISODE = 500
STEPS = 20_000


class Replay(gymnasium.Env[np.ndarray, np.ndarray]):
    """Plays a recorded walk back, whatever the action."""

    def __init__(self, walk: np.ndarray) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (walk.shape[1],), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self._walk = list(walk)
        self._at = 0
        self._left = EPISODE

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:  # noqa: ARG002
        self._left = EPISODE
        return self._walk[self._at], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict]:  # noqa: ARG002
        self._at = (self._at + 1) % len(self._walk)
        self._left -= 1
        return self._walk[self._at], 0.0, False, self._left == 0, {}


def filled_agent(n_rows: int, embedding: Any) -> CEC:
    """An agent whose memory holds about that many rows, as many as the box has room for.

    So the steps that are measured find neighbours and hit rows, as in the middle of a training.
    """
    walk = random_walk(STEPS, 3, seed=n_rows)
    # a box of side 2, or of that many standard deviations, with room for that many rows
    side = 2.0 if isinstance(embedding, Identity) else 2.0 * np.sqrt(3.0)
    room = side * (0.43 / n_rows) ** (1 / 3)
    agent = CEC(Replay(walk), embedding=embedding, distance_threshold=room, seed=0)
    embedding = agent.embedding
    rng = np.random.default_rng(0)
    key = np.empty(embedding.key_dim)
    for row in walk[::7]:
        embedding.observe(row, key)
    for _ in range(3):
        # every place of the box, rather than a walk that would take for ever to see them all
        keys = embedding.embed_batch(rng.uniform(-1, 1, (n_rows, 3)))
        agent.memory.write_many(keys, np.zeros(n_rows), action=rng.uniform(-1, 1, (n_rows, 2)))
    agent.memory_changed()
    return agent


def seconds_per_step(agent: CEC) -> float:
    start = time.process_time()
    agent.learn(STEPS)
    return (time.process_time() - start) / STEPS


def environment_alone(env: Any, action: np.ndarray) -> float:
    start = time.process_time()
    for _ in range(STEPS // EPISODE):
        env.reset(seed=1)
        over = False
        while not over:
            _, _, _, over, _ = env.step(action)
    return (time.process_time() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    results = []
    for n_rows in arguments.rows:
        for name, embedding in (("identity", Identity()), ("running", RunningNormalizer())):
            agent = filled_agent(n_rows, embedding)
            agent.warm_up()
            whole = min(seconds_per_step(agent) for _ in range(arguments.repeats))
            alone = min(environment_alone(agent.env, np.zeros(2)) for _ in range(arguments.repeats))
            row = {
                "rows": n_rows,
                "embedding": name,
                "rows_in_memory": len(agent.memory),
                "overhead_us": 1e6 * (whole - alone),
                "environment_us": 1e6 * alone,
                "steps_per_second": 1 / whole,
            }
            results.append(row)
            print({key: round(v, 2) if isinstance(v, float) else v for key, v in row.items()})
    write_results("agent_overhead", results)


if __name__ == "__main__":
    main()

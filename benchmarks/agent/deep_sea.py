"""MFEC on DeepSea (Osband et al., bsuite): a task of exploration, which MFEC does not do.

    python -m benchmarks.agent.deep_sea [--steps 50000] [--seeds 20 21 22]

A grid of N by N cells: every step goes down one row, to the left or to the right, and which action
does which differs from cell to cell. A step to the right costs 0.01 / N; only the sequence of N
steps to the right ends with a reward of 1. Random actions find it once in 2^N episodes.
"""

import argparse
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from benchmarks.common import write_results
from scrubjay import MFEC

SIZES = (6, 10, 14, 20)


class DeepSea(gymnasium.Env[Any, Any]):
    """The task; observations are row and column, divided by the size."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._right = np.random.default_rng(size).integers(2, size=(size, size))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self._row = self._column = 0
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        right = int(action) == self._right[self._row, self._column]
        found = bool(right and self._column == self.size - 1)
        self._column = min(max(self._column + (1 if right else -1), 0), self.size - 1)
        self._row += 1
        over = self._row == self.size
        return (
            self._observation(),
            float(over and found) - 0.01 / self.size * right,
            over,
            False,
            {},
        )

    def _observation(self) -> Any:
        return np.array([self._row, self._column], np.float32) / np.float32(self.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[20, 21, 22])
    options = parser.parse_args()
    results = []
    for size in SIZES:
        env = gymnasium.wrappers.RecordEpisodeStatistics(DeepSea(size), options.steps)
        solved, greedy = [], []
        for seed in options.seeds:
            env.return_queue.clear()
            agent = MFEC(env, seed=seed).learn(options.steps)
            solved.append(int((np.array(env.return_queue) > 0.5).sum()))
            observation, _ = env.reset(seed=0)
            total, over = 0.0, False
            while not over:
                action = agent.predict(observation, deterministic=True)[0]
                observation, reward, over, _, _ = env.step(action)
                total += float(reward)
            greedy.append(round(total, 3))
        row = {"size": size, "steps": options.steps, "episodes solved": solved, "greedy": greedy}
        results.append(row)
        print(row, flush=True)
    write_results("agent_deep_sea", results)


if __name__ == "__main__":
    main()

"""What MFEC adds to the emulator: a whole training on MsPacman, against its emulator alone.

    python -m benchmarks.agent.atari_overhead [--steps 100000] [--preset default]

All times are CPU seconds of one thread, in one run: the whole training (embedding, decisions,
writes, the loop, logging; compilation and evaluation not), and in it the task (four frames of the
emulator, its screen in grey, resized to 84 by 84). The quarters show how the search grows with the
memory.
"""

import argparse
import time
from typing import Any

import gymnasium
import numpy as np

import scrubjay.envs  # noqa: F401  registers the tasks
from benchmarks.common import write_results
from scrubjay import MFEC
from scrubjay.agents.mfec import preset


class Timed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds up the CPU seconds of the environment, and notes them at every quarter."""

    def __init__(self, env: Any, steps: int) -> None:
        super().__init__(env)
        self.seconds, self.n_steps, self.quarter = 0.0, 0, max(steps // 4, 1)
        self.marks: list[tuple[float, float]] = []

    def step(self, action: Any) -> Any:
        if self.n_steps % self.quarter == 0:
            self.marks.append((time.thread_time(), self.seconds))
        self.n_steps += 1
        start = time.thread_time()
        result = self.env.step(action)
        self.seconds += time.thread_time() - start
        return result

    def reset(self, **options: Any) -> Any:
        start = time.thread_time()
        result = self.env.reset(**options)
        self.seconds += time.thread_time() - start
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--game", default="MsPacman")
    parser.add_argument("--preset", default="default")
    parser.add_argument("--seed", type=int, default=100)
    options = parser.parse_args()
    env = Timed(gymnasium.make(f"scrubjay/{options.game}-v0"), options.steps)
    agent = MFEC(env, **preset(options.game, options.preset), seed=options.seed)
    agent.warm_up()
    agent.learn(options.steps)
    env.marks.append((time.thread_time(), env.seconds))
    whole, task = np.diff(np.array(env.marks), axis=0).T
    result = {
        "game": options.game,
        "preset": options.preset,
        "steps": agent.num_timesteps,
        "rows": sum(map(len, agent.memories.values())),
        "emulator_us": round(1e6 * task.sum() / env.n_steps, 1),
        "whole_us": round(1e6 * whole.sum() / env.n_steps, 1),
        "ratio": round(float(whole.sum() / task.sum()), 3),
        "ratio_by_quarter": (whole / task).round(2).tolist(),
    }
    print(result)
    write_results("agent_atari_overhead", result)


if __name__ == "__main__":
    main()

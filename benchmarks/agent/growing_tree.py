"""GrowingTree with the paper preset: is it solved at 10,000 steps, and how fast at 100,000?

    python -m benchmarks.agent.growing_tree [--seeds 10] [--more 90]

The first seeds are trained for 100,000 steps; `--more` further ones for 10,000 only, because ten
seeds say little about a rate near one. Writes results/agent_growing_tree.json.
"""

import argparse

import gymnasium
from tqdm import tqdm

from benchmarks.common import write_results
from scrubjay import CEC, preset
from scrubjay.training import Evaluator

TASK = "scrubjay/GrowingTree-v0"


def greedy_lengths(seed: int, steps: tuple[int, ...]) -> list[int]:
    """The length of the greedy episode at each of these steps; 200 is not solved."""
    lengths: dict[int, int] = {}
    evaluator = Evaluator(gymnasium.make(TASK), 1, seed)
    agent = CEC(TASK, **preset(TASK), seed=seed)

    def look(local: dict, _: dict) -> bool:
        if local["self"].num_timesteps in steps:
            step = local["self"].num_timesteps
            lengths[step] = evaluator.run(agent, step)[0].length
        return True

    agent.learn(steps[-1], callback=look)
    return [lengths[step] for step in steps]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--more", type=int, default=90)
    arguments = parser.parse_args()
    first = range(arguments.seeds)
    more = range(arguments.seeds, arguments.seeds + arguments.more)
    runs = [greedy_lengths(seed, (10_000, 100_000)) for seed in tqdm(first)]
    short = [greedy_lengths(seed, (10_000,))[0] for seed in tqdm(more)]
    at_10k = [run[0] for run in runs] + short
    result = {
        "lengths_at_10000": at_10k,
        "lengths_at_100000": [run[1] for run in runs],
        "solved_at_10000_of_first_seeds": sum(run[0] < 200 for run in runs),
        "share_solved_at_10000_of_all_seeds": sum(length < 200 for length in at_10k) / len(at_10k),
        "longest_at_100000": max(run[1] for run in runs),
    }
    print(result)
    write_results("agent_growing_tree", result)


if __name__ == "__main__":
    main()

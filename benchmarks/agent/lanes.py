"""What deciding and recording cost in each lane of a vector environment, writes apart.

    python -m benchmarks.agent.lanes [--rows 100000] [--lanes 1 16 64]

Replayed observations, identity keys for CEC and the default keys for CECPlus; processor time,
minima of several repeats. Writes results/agent_lanes.json.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.common import write_results
from benchmarks.compare import EPISODE, VectorReplay, filled
from scrubjay import CEC, CECPlus

DIM = 3


def microseconds(kind: Any, n_rows: int, n_lanes: int, repeats: int) -> float:
    """Of `act` and `record`, for each lane and step."""
    settings = {"distance_threshold": 2.0 * (0.43 / n_rows) ** (1 / DIM)} if kind is CEC else {}
    env = VectorReplay(DIM, n_lanes)
    agent = filled(kind, env, n_rows, DIM, **settings)
    observations, rewards = env.observations(EPISODE), np.zeros(n_lanes)
    best = np.inf
    for _ in range(repeats):
        recorder = agent.recorder(n_lanes, batched=True)
        for lane in range(n_lanes):
            recorder.begin(lane)
        start = time.process_time()
        for observation in observations:
            recorder.act(observation)
            recorder.record(rewards)
        best = min(best, time.process_time() - start)
        agent.rewind()
    return 1e6 * best / (n_lanes * EPISODE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    rows = [
        {
            "method": kind.__name__,
            "rows": options.rows,
            "lanes": lanes,
            "microseconds": microseconds(kind, options.rows, lanes, options.repeats),
        }
        for kind in (CEC, CECPlus)
        for lanes in options.lanes
    ]
    for row in rows:
        print(row, flush=True)
    write_results("agent_lanes", rows)


if __name__ == "__main__":
    main()

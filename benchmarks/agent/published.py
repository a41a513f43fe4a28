"""CEC against the published design on the same stream of states: seconds spent in the agent.

    python -m benchmarks.agent.published [--steps 100000]

The stream is what a CEC agent saw while it learned PointUMaze (observations, rewards, ends of
episodes). Both agents walk through it: decide at every step, learn at every end; what they decide
is timed and thrown away. Writes results/agent_published.json.
"""

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
from tqdm import tqdm

from benchmarks.common import write_results
from benchmarks.peers.published_design import PublishedCEC
from scrubjay import CEC, preset
from scrubjay.agents.base import Spaces

TASK = "scrubjay/PointUMaze-v0"
Stream = list[tuple[list[np.ndarray], list[float]]]


class Recorder(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Keeps every episode that passes through."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.stream: Stream = []

    def reset(self, **arguments: Any) -> Any:
        observation, info = self.env.reset(**arguments)
        self.stream.append(([observation], []))
        return observation, info

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.stream[-1][0].append(observation)
        self.stream[-1][1].append(float(reward))
        return observation, reward, terminated, truncated, info


def record_stream(steps: int) -> Stream:
    env = Recorder(gymnasium.make(TASK))
    CEC(env, **preset(TASK), seed=0).learn(steps)
    return env.stream


def seconds_in(agent: Any, stream: Stream) -> float:
    recorder = agent.recorder(1, batched=False)
    start = time.perf_counter()
    for observations, rewards in tqdm(stream, desc=agent.name, unit=" episodes"):
        recorder.begin()
        for observation, reward in zip(observations, rewards, strict=False):
            recorder.act(observation)
            recorder.record(reward)
        recorder.finish(observations[-1])
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()
    stream = record_stream(arguments.steps)
    env = gymnasium.make(TASK)
    ours = CEC(Spaces(env.observation_space, env.action_space), **preset(TASK), seed=1)
    ours.warm_up()
    peer = PublishedCEC(env, **preset(TASK), seed=1)
    result = {
        "steps": sum(len(rewards) for _, rewards in stream),
        "episodes": len(stream),
        "scrubjay_seconds": seconds_in(ours, stream),
        "published_design_seconds": seconds_in(peer, stream),
        "scrubjay_rows": len(ours.memory),
        "published_design_rows": len(peer.states),
    }
    result["ratio"] = result["published_design_seconds"] / result["scrubjay_seconds"]
    print(result)
    write_results("agent_published", result)


if __name__ == "__main__":
    main()

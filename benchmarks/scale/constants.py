"""What one writer can feed: the cost of a row for the writer, and of a step for a collector.

`python -m benchmarks.scale.constants` on an idle machine. A step is one row at most. The writer
receives it, writes it and brings one of the two shared sides up to date; on Ray it sends it to
every collector instead.
"""

import pickle
import time
from typing import Any

import gymnasium
import numpy as np

from benchmarks.common import random_walk, write_results
from scrubjay.agents.recorder import Experience
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.shared import Publisher, empty_copy
from scrubjay.training.collector import Collected

ROWS, EPISODE, EPISODES = 100_000, 200, 40
# task: dimension of keys, numbers of an action, environment (None: measured apart), us a step with
# decision where the environment is not stepped here
CASES: dict[str, tuple[int, int, str]] = {
    "PointUMaze": (3, 2, "scrubjay/PointUMaze-v0"),
    "SafexpCarGoal": (36, 2, "scrubjay/SafexpCarGoal-v0"),
    "Atari, 64 numbers": (64, 1, "scrubjay/MsPacman-v0"),
}


def best_of(function: Any, repeats: int) -> float:
    """The shortest time, in microseconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times)


def filled(dim: int, n_actions: int) -> tuple[EpisodicMemory, Any]:
    keys = random_walk(ROWS + EPISODE * EPISODES, dim, 0)
    memory = EpisodicMemory(
        dim, capacity=10**6, distance_threshold=0.0 if dim > 36 else 1e-4,
        columns={"action": n_actions},
    )  # fmt: skip
    memory.write_many(keys[:ROWS], np.zeros(ROWS), action=np.zeros((ROWS, n_actions)))
    return memory, keys[ROWS:].reshape(EPISODES, EPISODE, dim)


def experience(keys: Any, n_actions: int) -> Collected:
    n = len(keys)
    content = Experience(
        keys.astype(np.float32), np.zeros((n, n_actions), np.float32), np.zeros(n),
        np.zeros((n, 5), np.int64), np.zeros((n, 3)), True, True,
    )  # fmt: skip
    return Collected(content, None, 0.0, True, False, True)


def writer(dim: int, n_actions: int) -> dict[str, float]:
    """Microseconds a row of receiving, writing, publishing and sending; bytes of a row."""
    memory, episodes = filled(dim, n_actions)
    publisher = Publisher({"memory": memory}, 1)
    publisher.publish()
    spent = {"write": [], "publish": [], "send": []}  # type: dict[str, list[float]]
    actions = np.zeros((EPISODE, n_actions))
    for keys in episodes:
        clock = memory.clock
        begin = time.perf_counter()
        memory.write_many(keys, np.ones(EPISODE), action=actions)
        spent["write"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        publisher.publish()
        spent["publish"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        changes = memory.changes(clock)
        packed = pickle.dumps(changes, 5)
        spent["send"].append(time.perf_counter() - begin)
    message = pickle.dumps(experience(episodes[0], n_actions), 5)
    copy = empty_copy(memory)
    copy.apply(memory.changes(0))
    publisher.close()
    per_row = {name: 1e6 * float(np.median(each)) / EPISODE for name, each in spent.items()}
    return {
        **{f"{name}_us": value for name, value in per_row.items()},
        "receive_us": best_of(lambda: pickle.loads(message), 20) / EPISODE,
        "change_bytes": len(packed) / len(changes.rows),
        "episode_bytes": len(message) / EPISODE,
        "shared_bytes": memory.nbytes / len(memory),
    }


def step_us(task: str) -> float:
    """A step of the environment alone, uniform actions."""
    env = gymnasium.make(task)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(2000)]

    def steps() -> None:
        env.reset(seed=0)
        for action in actions:
            if any(env.step(action)[2:4]):
                env.reset()

    return best_of(steps, 2) / len(actions)


def stamps_ms(n_rows: int = 10**7) -> float:
    """Milliseconds to find that none of so many rows has changed, as `changed_rows` looks."""
    stamps = np.arange(n_rows)
    return best_of(lambda: np.flatnonzero(stamps > n_rows), 5) / 1e3


def limit(step: float, writer_us: float, send_us: float = 0.0) -> float:
    """Most collectors N: N / step rows a second, each of which costs writer + N send."""
    if send_us == 0.0:
        return step / writer_us
    return float((np.sqrt(writer_us**2 + 4 * send_us * step) - writer_us) / (2 * send_us))


def main() -> None:
    results, stamps = [], stamps_ms()
    for name, (dim, n_actions, task) in CASES.items():
        found = {"task": name, "dim": dim, "step_us": step_us(task), **writer(dim, n_actions)}
        found["stamps_ms_10_7"] = stamps
        own = found["write_us"] + found["receive_us"]
        found["collectors"] = limit(found["step_us"], own + found["publish_us"])
        found["collectors_on_ray"] = limit(found["step_us"], own, found["send_us"])
        results.append(found)
        print(found, flush=True)
    write_results("scale_constants", results)


if __name__ == "__main__":
    main()

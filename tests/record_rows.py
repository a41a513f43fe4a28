"""The rows that CEC and CECPlus end with after a seeded run, as hashes in a file.

    python tests/record_rows.py CECPlus           # record anew, and show what differs
    python tests/record_rows.py CECPlus --check   # only show what differs from the file

`test_recorded_rows.py` compares the present code with the files. A run also depends on the machine:
MuJoCo's physics, the C library's exp and log, and the order of sums in a matrix product may differ
in the last bit. Controls that contain no agent are therefore recorded too: where a control differs
on some machine, the rows of that task say nothing about the agent.
"""

import argparse
import hashlib
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from scrubjay import CEC, CECPlus, preset

DATA = Path(__file__).parent / "data"
# the rows of CEC are those of 0.1.0; CECPlus has changed since, and was recorded anew
FILES = {
    "CEC": DATA / "0.1.0" / "recorded_rows.json",
    "CECPlus": DATA / "recorded_rows_plus.json",
}
TASKS = {
    "GrowingTree": 20_000,
    "SparseMountainCar": 20_000,
    "PointUMaze": 20_000,
    "Point4Rooms": 20_000,
    "SafexpPointGoal": 5_000,
    "SafexpCarGoal": 5_000,
    "SparseFetchReach": 5_000,
}  # and the number of steps
METHODS = ("CEC", "CECPlus")
SEEDS = (0, 1, 2)
CONTROL_STEPS = 300


class Case(NamedTuple):
    """One recorded run."""

    method: str
    task: str
    seed: int


CASES = [Case(method, task, seed) for task in TASKS for method in METHODS for seed in SEEDS]


def make_env(task: str) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(f"scrubjay/{task}-v0")


def run(case: Case) -> dict[str, Any]:
    """Train an agent; its counters, and a hash of the rows that its memory ends with."""
    env = make_env(case.task)
    if case.method == "CEC":
        agent = CEC(env, **preset(case.task, "paper"), seed=case.seed)
    else:
        agent = CECPlus(env, seed=case.seed)
    with warnings.catch_warnings():
        # CEC says that the scale of SafexpCarGoal's observations does not suit its threshold
        warnings.simplefilter("ignore", UserWarning)
        agent.learn(total_timesteps=TASKS[case.task])
    env.close()
    memory = agent.memory
    return {
        "rows": len(memory),
        "num_timesteps": agent.num_timesteps,
        "n_episodes": agent.n_episodes,
        "sha256": digest(
            keys=memory.keys, values=memory.values, action=memory.columns["action"]
        ),
    }  # fmt: skip


def control(task: str) -> str:
    """A hash of what the environment answers to seeded random actions."""
    env = make_env(task)
    rng = np.random.default_rng(0)
    low, high = env.action_space.low, env.action_space.high
    seen = [env.reset(seed=0)[0]]
    rewards = []
    for _ in range(CONTROL_STEPS):
        action = rng.uniform(low, high).astype(env.action_space.dtype)
        observation, reward, terminated, truncated, _ = env.step(action)
        seen.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            seen.append(env.reset()[0])
    env.close()
    parts = seen[0].keys() if isinstance(seen[0], dict) else [""]
    observations = {
        f"observation {part}": np.array([entry[part] if part else entry for entry in seen])
        for part in parts
    }
    return digest(**observations, reward=np.array(rewards, np.float64))


def arithmetic() -> str:
    """A hash of what the C library and numpy compute: normals, exp, matrix products."""
    normals = np.random.default_rng(0).standard_normal((44, 36))
    vectors, matrix = normals[:36], np.ascontiguousarray(normals[36:].T)
    return digest(
        normals=normals,
        powers=np.array([math.exp(x) for x in normals.ravel()]),
        products=np.array([vector @ matrix for vector in vectors]),
        batch=vectors @ matrix,
    )


def digest(**arrays: np.ndarray[Any, Any]) -> str:
    """SHA-256 of arrays, each as its name, type and shape, then its little-endian bytes."""
    result = hashlib.sha256()
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        result.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        result.update(array.tobytes())
    return result.hexdigest()


def read(method: str) -> dict[str, Any]:
    """What was recorded of a method."""
    content: dict[str, Any] = json.loads(FILES[method].read_text(encoding="utf-8"))
    return {**content, "runs": {method: content["runs"][method]}}


def record(method: str) -> dict[str, Any]:
    """Everything anew, with the seconds of each case on the terminal."""
    runs: dict[str, Any] = {}
    run(Case(method, "GrowingTree", 0))  # compiles, so that the seconds are those of the runs
    for case in CASES:
        if case.method != method:
            continue
        start = time.process_time()
        entry = run(case)
        runs.setdefault(case.method, {}).setdefault(case.task, {})[str(case.seed)] = entry
        print(f"{' '.join(map(str, case)):35s} {time.process_time() - start:6.2f} s", flush=True)
    return {
        "arithmetic": arithmetic(),
        "controls": {task: control(task) for task in TASKS},
        "runs": runs,
    }


def differences(old: Any, new: Any, name: str = "") -> list[str]:
    """Where two records differ, a line each."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [] if old == new else [f"{name}: recorded {old}, now {new}"]
    lines = []
    for key in sorted(old.keys() | new.keys()):
        lines += differences(old.get(key), new.get(key), f"{name}/{key}" if name else key)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--check", action="store_true", help="leave the file as it is")
    arguments = parser.parse_args()
    file, new = FILES[arguments.method], record(arguments.method)
    lines = differences(read(arguments.method) if file.exists() else {}, new)
    print("\n".join(lines) or f"nothing differs from {file}")
    if not arguments.check:
        file.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if lines and arguments.check else 0


if __name__ == "__main__":
    raise SystemExit(main())

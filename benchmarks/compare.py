"""Two versions of scrubjay side by side in one run: which is faster, and how sure is that?

    git worktree add ../scrubjay-0.1.0 v0.1.0        # or any other commit
    python -m benchmarks.compare ../scrubjay-0.1.0/src [--name against_0_1_0] [--rounds 5]

Each version runs in a process of its own, and the two take turns, so that whatever else the machine
does disturbs both alike. Times are those of the processor. A ratio below 1 means that this version
is faster; its interval is a 95% bootstrap interval of the median over the rounds. The scenarios
use public names only, so that they run on both versions. Writes results/<name>.json; scenarios that
`--only` leaves out keep their stored rows. Each row has the time at which it was measured.
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

EPISODE, STEPS = 500, 5_000
LANES = 16
Repeat = Callable[[], float]  # runs once, returns microseconds per unit of work


# ---------------------------------------------------------------- scenarios


class Replay(gymnasium.Env[Any, Any]):
    """Plays a recorded walk back, whatever the action; a reward ends every episode."""

    def __init__(self, dim: int, seed: int = 0, walk: Any = None) -> None:
        from benchmarks.common import random_walk

        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (dim,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self._walk = list(random_walk(20_000, dim, seed) if walk is None else walk)
        self._at, self._left = 0, EPISODE

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:  # noqa: ARG002
        self._left = EPISODE
        return self._walk[self._at], {}

    def step(self, action: Any) -> Any:  # noqa: ARG002
        self._at = (self._at + 1) % len(self._walk)
        self._left -= 1
        over = self._left == 0
        return self._walk[self._at], float(over), over, False, {}


class VectorReplay(VectorEnv[Any, Any, Any]):
    """Many lanes of a recorded walk, stepped by one cheap call."""

    def __init__(self, dim: int, n_lanes: int) -> None:
        from benchmarks.common import random_walk

        self.num_envs = n_lanes
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (dim,), np.float64)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, n_lanes)
        self.action_space = batch_space(self.single_action_space, n_lanes)
        self.metadata = {"autoreset_mode": AutoresetMode.DISABLED}
        walks = [random_walk(20_000, dim, lane) for lane in range(n_lanes)]
        self._walk = np.ascontiguousarray(np.stack(walks, axis=1))
        self._at, self._left = 0, EPISODE
        self._no, self._yes = np.zeros(n_lanes, np.bool_), np.ones(n_lanes, np.bool_)

    def observations(self, n_steps: int) -> Any:
        """The first stacks of observations."""
        return self._walk[:n_steps]

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:  # noqa: ARG002
        self._left = EPISODE
        return self._walk[self._at], {}

    def step(self, actions: Any) -> Any:  # noqa: ARG002
        self._at = (self._at + 1) % len(self._walk)
        self._left -= 1
        over = self._yes if self._left == 0 else self._no
        return self._walk[self._at], over.astype(np.float64), over, self._no, {}


def filled(kind: Any, env: Any, n_rows: int, dim: int, **settings: Any) -> Any:
    """An agent with about that many rows all over the box, through a file: the public way in."""
    agent = kind(env, seed=0, **settings)
    if agent.memory.distance_threshold == 0:  # measured on the first episodes
        agent.learn(3 * EPISODE)
    rng = np.random.default_rng(0)
    for _ in range(3):
        keys = agent.embedding.embed_batch(rng.uniform(-1, 1, (n_rows, dim)))
        values = rng.uniform(0, 1, n_rows)
        actions = rng.uniform(-1, 1, (n_rows, 2)).astype(np.float32)
        agent.memory.write_many(keys, values, **with_ends(agent, keys, values, actions))
    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder) / "agent.scrub")
        agent = kind.load(Path(folder) / "agent.scrub", env)
    agent.warm_up()
    return agent


def with_ends(agent: Any, keys: Any, values: Any, actions: Any) -> dict[str, Any]:
    """The columns of rows of which only the actions are known: each is the end of an episode."""
    known = {
        "action": actions,
        "next": keys,
        "reward": values[:, None],
        "ended": np.ones((len(keys), 1), np.bool_),
        "followed": np.zeros((len(keys), 1), np.bool_),
        "lure": np.zeros((len(keys), 1), np.float32),
    }
    return {name: known[name] for name in agent.memory.columns}


def training(agent: Any, steps: int = STEPS) -> Repeat:
    """Microseconds per step of agent, loop and the replayed environment."""

    def repeat() -> float:
        before, start = agent.num_timesteps, time.process_time()
        agent.learn(steps)
        return 1e6 * (time.process_time() - start) / (agent.num_timesteps - before)

    return repeat


def cec(n_rows: int, embedding: str, dim: int = 3) -> Repeat:
    import scrubjay

    side = 2.0 if embedding == "Identity" else 2.0 * np.sqrt(3.0)
    room = side * (0.43 / n_rows) ** (1 / dim)
    made = getattr(scrubjay, embedding)()
    env = Replay(dim)
    return training(filled(scrubjay.CEC, env, n_rows, dim, embedding=made, distance_threshold=room))


def cec_plus(n_rows: int, dim: int, *, alike: bool = False) -> Repeat:
    import scrubjay

    settings = same_parts(scrubjay.CECPlus) if alike else {}
    return training(filled(scrubjay.CECPlus, Replay(dim), n_rows, dim, **settings))


class Timed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Adds up the time that the environment takes itself."""

    seconds = 0.0

    def step(self, action: Any) -> Any:
        start = time.process_time()
        result = self.env.step(action)
        self.seconds += time.process_time() - start
        return result


def same_parts(kind: Any) -> dict[str, Any]:
    """The settings that switch off what CECPlus did not have in 0.1.0, as far as it has them."""
    off = {"measure_keys": False, "planning": 0.0, "discovery": False, "goal_planning": False}
    known = inspect.signature(kind).parameters
    return {name: value for name, value in off.items() if name in known}


def whole_training(task: str, n_steps: int, *, alike: bool = False) -> Repeat:
    """A whole training of CECPlus from an empty memory on, the environment's steps taken off."""
    import scrubjay

    seeds = iter(range(1000))
    settings = same_parts(scrubjay.CECPlus) if alike else {}

    def repeat() -> float:
        env = Timed(gymnasium.make(f"scrubjay/{task}-v0"))
        agent = scrubjay.CECPlus(env, seed=next(seeds), **settings)
        agent.warm_up()
        start = time.process_time()
        agent.learn(n_steps)
        return 1e6 * (time.process_time() - start - env.seconds) / agent.num_timesteps

    return repeat


def lanes(kind: str, n_rows: int, dim: int = 3) -> Repeat:
    import scrubjay

    settings = {"distance_threshold": 2.0 * (0.43 / n_rows) ** (1 / dim)} if kind == "CEC" else {}
    env = VectorReplay(dim, LANES)
    agent = filled(getattr(scrubjay, kind), env, n_rows, dim, **settings)
    return training(agent, LANES * EPISODE)


def predict(n_rows: int, dim: int = 3) -> Repeat:
    import scrubjay

    room = 2.0 * (0.43 / n_rows) ** (1 / dim)
    agent = filled(scrubjay.CEC, Replay(dim), n_rows, dim, distance_threshold=room)
    queries = list(np.random.default_rng(1).uniform(-1, 1, (2000, dim)))

    def repeat() -> float:
        start = time.process_time()
        for query in queries:
            agent.predict(query, deterministic=True)
        return 1e6 * (time.process_time() - start) / len(queries)

    return repeat


def memory(call: str, n_rows: int, dim: int) -> Repeat:
    from benchmarks.memory.workload import RADIUS, filled_memory, stream

    full = filled_memory(n_rows, dim)
    queries, action = stream(full, 2000, seed=1001), np.zeros(2)
    zeros, actions = np.zeros(2000), np.zeros((2000, 2))
    calls: dict[str, Callable[[], Any]] = {
        "neighbors": lambda: [full.neighbors(query, 5, RADIUS) for query in queries],
        "neighbors_batch": lambda: full.neighbors(queries, 5, RADIUS),
        "write": lambda: [full.write(query, 0.0, action=action) for query in queries],
        "write_many": lambda: full.write_many(queries, zeros, action=actions),
    }

    def repeat() -> float:
        start = time.process_time()
        calls[call]()
        return 1e6 * (time.process_time() - start) / len(queries)

    return repeat


def checkpoint(n_rows: int) -> Repeat:
    import scrubjay

    agent = filled(scrubjay.CEC, Replay(3), n_rows, 3, distance_threshold=0.02)

    def repeat() -> float:
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            agent.save(Path(folder) / "agent.scrub")
            scrubjay.CEC.load(Path(folder) / "agent.scrub")
            return 1e6 * (time.process_time() - start) / n_rows

    return repeat


def episodes(n_rows: int, *, alike: bool = False) -> Repeat:
    """What a short episode costs: all that is done once an episode."""
    import scrubjay

    settings = same_parts(scrubjay.CECPlus) if alike else {}

    class Short(Replay):
        def reset(self, **kwargs: Any) -> Any:
            result = super().reset(**kwargs)
            self._left = 5
            return result

    agent = filled(scrubjay.CECPlus, Short(3), n_rows, 3, **settings)
    return training(agent, 2000)


def task(name: str) -> Repeat:
    import scrubjay  # noqa: F401

    env = gymnasium.make(f"scrubjay/{name}-v0")
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(1000)]

    def repeat() -> float:
        start = time.process_time()
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return 1e6 * (time.process_time() - start) / len(actions)

    return repeat


SCENARIOS: dict[str, Callable[[], Repeat]] = {
    "agent and loop, identity keys, 10^4 rows": lambda: cec(10_000, "Identity"),
    "agent and loop, identity keys, 10^5 rows": lambda: cec(100_000, "Identity"),
    "agent and loop, running normaliser, 10^5 rows": lambda: cec(100_000, "RunningNormalizer"),
    "CECPlus, 3 dimensions, 10^4 rows": lambda: cec_plus(10_000, 3),
    "CECPlus, 3 dimensions, 10^5 rows": lambda: cec_plus(100_000, 3),
    "CECPlus, 3 dimensions, 10^5 rows, the parts of 0.1.0": lambda: cec_plus(
        100_000, 3, alike=True
    ),
    "CECPlus, 24 dimensions: PointGoal, 20,000 steps": lambda: whole_training(
        "SafexpPointGoal", 20_000
    ),
    "CECPlus, 24 dimensions: PointGoal, the parts of 0.1.0": lambda: whole_training(
        "SafexpPointGoal", 20_000, alike=True
    ),
    "CECPlus, PointUMaze, 15,000 steps": lambda: whole_training("PointUMaze", 15_000),
    "CECPlus, MountainCar, 15,000 steps": lambda: whole_training("SparseMountainCar", 15_000),
    "CECPlus, episodes of 5 steps, 10^4 rows": lambda: episodes(10_000),
    "CECPlus, episodes of 5 steps, 10^5 rows": lambda: episodes(100_000),
    "CECPlus, episodes of 5 steps, 10^5 rows, the parts of 0.1.0": lambda: episodes(
        100_000, alike=True
    ),
    "16 lanes, CEC, 10^5 rows": lambda: lanes("CEC", 100_000),
    "16 lanes, CECPlus, 10^5 rows": lambda: lanes("CECPlus", 100_000),
    "predict, 10^5 rows": lambda: predict(100_000),
    "memory.neighbors, 10^5 x 3": lambda: memory("neighbors", 100_000, 3),
    "memory.neighbors batch, 10^5 x 3": lambda: memory("neighbors_batch", 100_000, 3),
    "memory.neighbors, 10^4 x 24": lambda: memory("neighbors", 10_000, 24),
    "memory.write, 10^5 x 3": lambda: memory("write", 100_000, 3),
    "memory.write_many, 10^5 x 3": lambda: memory("write_many", 100_000, 3),
    "save and load, 10^5 rows": lambda: checkpoint(100_000),
    "PointUMaze, a step": lambda: task("PointUMaze"),
    "SafexpPointGoal, a step": lambda: task("SafexpPointGoal"),
}


# ---------------------------------------------------------------- two processes in turns


def serve() -> None:
    """The child's side: sets up one scenario, then runs it once for each line that comes in."""
    name = json.loads(sys.stdin.readline())
    repeat = SCENARIOS[name]()
    repeat()  # compiles, fills caches
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        print(json.dumps(repeat()), flush=True)


class Version:
    """A process that runs one scenario with one version of the sources."""

    def __init__(self, source: Path, scenario: str) -> None:
        path = os.pathsep.join([str(source), str(Path(__file__).resolve().parent.parent)])
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.compare", "--serve"],
            env={**os.environ, "PYTHONPATH": path}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._ask(scenario)

    def _ask(self, question: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the scenario failed; its error is above")
        return json.loads(line)

    def microseconds(self) -> float:
        return float(self._ask("once more"))

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(base: Path, this: Path, scenario: str, rounds: int, repeats: int) -> dict[str, Any]:
    """Both versions in turns; the ratio is this version's time over the base's.

    Two processes of the same code can differ by a third for as long as they live, so each round
    has new ones, and it is the rounds that are drawn for the interval.
    """
    times = np.array([one_round(base, this, scenario, repeats) for _ in range(rounds)])
    ratios = np.median(times[:, :, 1], axis=1) / np.median(times[:, :, 0], axis=1)
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(ratios, (2000, rounds)), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return {
        "scenario": scenario,
        "base_us": float(np.median(times[:, :, 0])),
        "this_us": float(np.median(times[:, :, 1])),
        "ratio": float(np.median(ratios)),
        "interval": [float(low), float(high)],
        "ratio_of_each_round": ratios.tolist(),
    }


def one_round(base: Path, this: Path, scenario: str, repeats: int) -> Any:
    versions = [Version(base, scenario), Version(this, scenario)]
    times = np.zeros((repeats, 2))
    for i in range(repeats):
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            times[i, which] = versions[which].microseconds()
    for version in versions:
        version.close()
    return times


def merged(path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stored rows, each replaced by a new one of the same scenario if there is one."""
    stored = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
    by_name = {row["scenario"]: row for row in (*stored, *rows)}
    return [by_name[name] for name in SCENARIOS if name in by_name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?", type=Path, help="the other version's src folder")
    parser.add_argument("--name", default="against_base", help="of the file in results/")
    parser.add_argument("--rounds", type=int, default=5, help="each with new processes")
    parser.add_argument("--repeats", type=int, default=5, help="of each round")
    parser.add_argument("--only", default="", help="scenarios that contain this text")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.base is None or not (options.base / "scrubjay").is_dir():
        parser.error(f"expected a folder that contains the package scrubjay, got {options.base}")
    from benchmarks.common import RESULTS, now, write_results

    this, rows = Path(__file__).resolve().parent.parent / "src", []
    for scenario in SCENARIOS:
        if options.only in scenario:
            rows.append(
                compare(options.base.resolve(), this, scenario, options.rounds, options.repeats)
            )
            row = rows[-1]
            row["when"] = now()
            # written after every scenario, so that a failure loses nothing
            write_results(options.name, merged(RESULTS / f"{options.name}.json", rows))
            print(
                f"{scenario:48} {row['base_us']:8.2f} -> {row['this_us']:8.2f} us  "
                f"x {row['ratio']:.3f} [{row['interval'][0]:.3f}, {row['interval'][1]:.3f}]",
                flush=True,
            )


if __name__ == "__main__":
    main()

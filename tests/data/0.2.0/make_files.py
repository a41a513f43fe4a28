"""Makes the files of version 0.2.0 in this folder; it runs with that version only.

    python tests/data/0.2.0/make_files.py

`tests/test_released_files.py` checks that later versions can read them.
"""

import contextlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))  # for probes

from probes import Mixed  # noqa: E402
from scrubjay import (  # noqa: E402
    CEC,
    CECPlus,
    Chain,
    EpisodicMemory,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
    __version__,
    make,
    preset,
)
from scrubjay.cli.main import main as scrubjay  # noqa: E402
from scrubjay.runs.config import RunConfig  # noqa: E402
from scrubjay.runs.launch import load_agent, start  # noqa: E402

VERSION = "0.2.0"
TREE, CAR, POLE = "scrubjay/GrowingTree-v0", "scrubjay/SparseMountainCar-v0", "CartPole-v1"
EVERY = ["--eval-freq", "1000", "--log-freq", "500", "--checkpoint-freq", "1000", "--quiet"]
SUCCESS = ["--success-key", "is_success"]
RUNS = {
    "cec": ["GrowingTree", "--steps", "5000", "--seed", "3"],
    "cec-plus": ["SparseMountainCar", "--steps", "3000", "--seed", "3", *SUCCESS],
    "cec-stale": ["GrowingTree", "--steps", "3000", "--seed", "3"],
}
# small networks, because those of the preset take megabytes
NETWORK = {"policy_kwargs": {"net_arch": [8, 8]}, "learning_starts": 100, "buffer_size": 2000}


def make_runs() -> None:
    for agent, words in RUNS.items():
        assert scrubjay(["train", agent, *words, *EVERY, "--out", f"runs/{agent}"]) == 0
    for agent in ("sac", "emac"):
        config = RunConfig(
            agent, TREE, options=NETWORK, seed=3, steps=600, eval_freq=200, n_eval_episodes=3,
            log_freq=200, checkpoint_freq=300,
        )  # fmt: skip
        start(config, f"runs/{agent}", "python make_files.py")
        (Path("runs") / agent / "checkpoints" / "best.zip").unlink()


def make_killed_run() -> None:
    """The run `cec` once more, killed after a checkpoint; repeated if it was faster."""
    words = ["train", "cec", *RUNS["cec"], *EVERY, "--out", "killed/cec"]
    status = ""
    while status != "running":
        shutil.rmtree("killed/cec", ignore_errors=True)
        process = subprocess.Popen([sys.executable, "-m", "scrubjay", *words])
        while not Path("killed/cec/checkpoints/last.scrub").exists():
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        status = json.loads(Path("killed/cec/manifest.json").read_text(encoding="utf-8"))["status"]


def make_memory() -> None:
    """A small memory with two columns, some of its rows replaced and evicted."""
    columns = {"action": 2, "count": ((1,), np.int16)}
    memory = EpisodicMemory(3, capacity=40, distance_threshold=0.2, columns=columns)
    random = np.random.default_rng(5)
    for i in range(200):
        memory.write(random.random(3), float(i % 7), action=random.random(2), count=[i])
    memory.save("memory.scrub")


def make_agents() -> dict[str, Any]:
    """Save an agent of each kind; returns them by the names of their files."""
    mixed = Chain([SelectKeys(["goal", "body"]), RandomProjection(3), RunningNormalizer()])
    agents = {
        "cec": (CEC(TREE, **preset(TREE), seed=4), 5000),
        "cec-running": (CEC(CAR, **preset(CAR), seed=4), 5000),
        "cec-chain": (CEC(Mixed(), embedding=mixed, seed=4), 500),
        "cec-discrete": (CEC(POLE, seed=4), 500),
        "cec-plus": (CECPlus(TREE, seed=4), 4000),
        "cec-plus-held": (CECPlus(TREE, seed=4), 300),
        "cec-plus-discrete": (CECPlus(POLE, seed=4), 1500),
        "cec-plus-periodic": (CECPlus(CAR, periodic=[0], seed=4), 2000),
        "cec-stale": (make("cec-stale", TREE, **preset(TREE), seed=4), 3000),
    }
    for name, (agent, steps) in agents.items():
        agent.learn(steps).save(f"agents/{name}.scrub")
    assert len(agents["cec-plus-held"][0].memory) == 0
    return {name: agent for name, (agent, _) in agents.items()}


def observations(env: gymnasium.Env[Any, Any], n: int = 6) -> list[Any]:
    """Observations after some random actions."""
    env.action_space.seed(0)
    found = []
    for i in range(n):
        observation, _ = env.reset(seed=i)
        for _ in range(3 * i):
            observation, *_ = env.step(env.action_space.sample())
        found.append(observation)
    return found


def as_json(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: part.tolist() for name, part in observation.items()}
    return observation.tolist()


def prediction(agent: Any, env: Any) -> dict[str, Any]:
    """Observations and the greedy actions for them."""
    seen = observations(env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # predict warns about an empty memory
        actions = [agent.predict(observation, deterministic=True)[0] for observation in seen]
    return {
        "observations": [as_json(observation) for observation in seen],
        "actions": [np.asarray(action).tolist() for action in actions],
    }


def evaluation(run: Path) -> str:
    """The mean return that `scrubjay evaluate` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert scrubjay(["evaluate", str(run), "--episodes", "5"]) == 0
    found = re.search(r"return +(\S+)", out.getvalue())
    assert found is not None
    return found[1]


def main() -> None:
    for found in (__version__, importlib.metadata.version("scrubjay")):
        if found != VERSION:
            raise SystemExit(f"expected scrubjay {VERSION}, got {found}; run pip install -e .")
    os.chdir(HERE)  # so that files contain relative paths only
    for name in ("runs", "killed", "agents"):
        shutil.rmtree(name, ignore_errors=True)
        Path(name).mkdir()
    make_runs()
    make_killed_run()
    for name in ("run.lock", "owner.json"):  # of processes that have ended
        for path in Path.cwd().rglob(name):
            path.unlink()
    make_memory()
    expected: dict[str, Any] = {"agents": {}, "runs": {}}
    for name, agent in make_agents().items():
        expected["agents"][name] = {
            "class": type(agent).__name__,
            "env": agent.env.spec.id if agent.env.spec else type(agent.env).__name__,
            "num_timesteps": agent.num_timesteps,
            "n_episodes": agent.n_episodes,
            "rows": len(agent.memory),
            **prediction(agent, agent.env),
        }
    for run in sorted(Path("runs").iterdir()):
        agent, config = load_agent(run)
        expected["runs"][run.name] = {
            "num_timesteps": agent.num_timesteps,
            "mean_return": evaluation(run),
            **prediction(agent, config.make_env()),
        }
    Path("expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

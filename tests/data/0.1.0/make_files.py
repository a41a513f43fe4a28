"""How the files of version 0.1.0 in this folder were made; it runs with that version only.

    python tests/data/0.1.0/make_files.py

`recorded_rows.json` is made by `tests/record_rows.py`; `memory.scrub` is the memory that
`small_memory` of `tests/memory/test_archive.py` builds.
"""

import contextlib
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
    FrozenNormalizer,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
    __version__,
    preset,
)
from scrubjay.agents.cec_plus import DEFAULTS  # noqa: E402
from scrubjay.cli.main import main as scrubjay  # noqa: E402
from scrubjay.experiments.launch import RunConfig, load_agent, start  # noqa: E402
from scrubjay.experiments.stale_index import StaleIndexCEC  # noqa: E402

TREE, CAR = "scrubjay/GrowingTree-v0", "scrubjay/SparseMountainCar-v0"
EVERY = ["--eval-freq", "1000", "--log-freq", "500", "--checkpoint-freq", "1000", "--quiet"]
RUNS = {
    "cec": ["GrowingTree", "--steps", "5000", "--seed", "3"],
    "cec-plus": ["SparseMountainCar", "--steps", "3000", "--seed", "3"],
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
    """The run `cec` once more, killed after a checkpoint."""
    words = ["train", "cec", *RUNS["cec"], *EVERY, "--out", "killed/cec"]
    process = subprocess.Popen([sys.executable, "-m", "scrubjay", *words])
    while not Path("killed/cec/checkpoints/last.scrub").exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    manifest = json.loads(Path("killed/cec/manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "running", "the run was faster than the kill: try again"


def make_agents() -> dict[str, Any]:
    """Save an agent of each kind; returns them by the names of their files."""
    mixed = Chain([SelectKeys(["goal", "body"]), RandomProjection(3), RunningNormalizer()])
    agents = {
        "cec": (CEC(TREE, **preset(TREE), seed=4), 5000),
        "cec-running": (CEC(CAR, **preset(CAR), seed=4), 5000),
        "cec-chain": (CEC(Mixed(), embedding=mixed, seed=4), 500),
        "cec-with-options-of-plus": (
            CEC(CAR, **DEFAULTS, embedding=FrozenNormalizer(1000), seed=4),
            3000,
        ),
        "cec-plus": (CECPlus(TREE, seed=4), 4000),
        "cec-plus-held": (CECPlus(TREE, seed=4), 300),
        "cec-stale": (StaleIndexCEC(TREE, **preset(TREE), seed=4), 3000),
    }
    for name, (agent, steps) in agents.items():
        agent.learn(steps).save(f"agents/{name}.scrub")
    assert len(agents["cec-plus-held"][0].memory) == 0
    return {name: agent for name, (agent, _) in agents.items()}


def observations(env: gymnasium.Env[Any, Any], n: int = 6) -> list[Any]:
    """What random actions lead to."""
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
        warnings.simplefilter("ignore", UserWarning)  # an empty memory says so
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
    assert __version__ == "0.1.0", "these are the files of 0.1.0"
    os.chdir(HERE)  # so that files contain relative paths only
    for name in ("runs", "killed", "agents"):
        shutil.rmtree(name, ignore_errors=True)
        Path(name).mkdir()
    make_runs()
    make_killed_run()
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

"""Real run folders and files, made once and copied for each test."""

import pytest

from probes import Corridor
from scrubjay.agents import CEC, CECPlus
from scrubjay.embedding import Chain, RandomProjection, RunningNormalizer
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start

REWARDS = [0.0, 0.0, 1.0]


@pytest.fixture(scope="session")
def agent_files(tmp_path_factory):
    """Saved agents: with an embedding that learns, with episodes that wait, and CECPlus's."""
    folder = tmp_path_factory.mktemp("agents")
    chain = Chain([RandomProjection(2), RunningNormalizer()])
    CEC(Corridor(REWARDS), embedding=chain, seed=0).learn(60).save(folder / "cec")
    CECPlus(Corridor(REWARDS), seed=0).learn(60).save(folder / "plus")
    CECPlus("scrubjay/GrowingTree-v0", seed=0).learn(300).save(folder / "waiting")
    return sorted(folder.glob("*.scrub"))


@pytest.fixture(scope="session")
def memory_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "memory.scrub"
    CEC(Corridor(REWARDS), seed=0).learn(60).memory.save(path)
    return path


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A finished run on a task of ours, with every file that a run can have."""
    path = tmp_path_factory.mktemp("runs") / "run"
    config = RunConfig(
        "cec", "GrowingTree", steps=400, eval_freq=200, n_eval_episodes=2, log_freq=100
    )

    def note(locals_, _):
        if locals_["self"].num_timesteps % 100 == 0:
            locals_["self"].logger.record("my/metric", 1.0)

    start(config, path, "scrubjay train cec GrowingTree", callback=note)
    return path

"""Weights & Biases, offline: what it has stored is read back from its own file."""

import json
import struct

import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.training.wandb_output import WandbOutput

wandb = pytest.importorskip("wandb", reason="Weights & Biases is an extra: scrubjay[wandb]")

BLOCK = 32_768


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    for name, value in (("MODE", "offline"), ("DIR", tmp_path), ("SILENT", "true")):
        monkeypatch.setenv(f"WANDB_{name}", str(value))
    for name in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / name.lower()))
    wandb.teardown()  # it reads its settings once in a process
    yield
    wandb.teardown()


def records(data):
    """The records of a log file of LevelDB: blocks of 32 kB, parts of records in them."""
    place, parts = 7, []  # after the name and the version of the format
    while place + 7 <= len(data):
        if BLOCK - place % BLOCK < 7:  # too little room for another header
            place += BLOCK - place % BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        parts.append(data[place + 7 : place + 7 + length])
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            yield b"".join(parts)
            parts = []


def stored(folder):
    """The history rows and the settings in the file of an offline run."""
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # its process writes the end of the file when it ends
    rows, settings = [], {}
    for data in records(next(folder.glob("wandb/offline-run-*/*.wandb")).read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.HasField("history"):
            items = record.history.item
            rows.append({i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items})
        if record.HasField("run"):
            settings |= {i.key: json.loads(i.value_json) for i in record.run.config.update}
    return rows, settings


@pytest.mark.filterwarnings("ignore")  # its own
def test_a_run_is_stored_with_its_numbers_and_settings(tmp_path):
    agent = CEC(Corridor([0.0, 1.0]), seed=0)
    agent.logger.add(WandbOutput("probes", "corridor", agent.config()))
    settings = {"eval_env": Corridor([0.0, 1.0]), "eval_freq": 50, "n_eval_episodes": 2}
    agent.learn(100, log_freq=20, **settings)
    rows, config = stored(tmp_path)
    sizes = [(row["timestep"], row["memory/size"]) for row in rows if "memory/size" in row]
    assert sizes == [(20, 2.0), (40, 2.0), (60, 2.0), (80, 2.0), (100, 2.0)]
    rewards = [
        (row["timestep"], row["eval/mean_reward"]) for row in rows if "eval/mean_reward" in row
    ]
    assert rewards == [(50, 1.0), (100, 1.0)]
    assert config["n_neighbors"] == 5
    assert agent.logger.outputs == []  # finished and gone


@pytest.mark.filterwarnings("ignore")
def test_the_command_line(tmp_path, monkeypatch):
    from scrubjay.cli.main import main

    monkeypatch.chdir(tmp_path)
    words = ["train", "cec", "GrowingTree", "--steps", "100", "--eval-freq", "0", "--quiet"]
    assert main([*words, "--log-freq", "50", "--wandb", "my-project"]) == 0
    rows, config = stored(tmp_path)
    assert rows[-1]["timestep"] >= 100
    assert (config["agent"], config["seed"]) == ("cec", 0)

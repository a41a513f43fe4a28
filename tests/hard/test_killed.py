"""kill -9 at random moments: whatever was under way goes on, and the result is what it would be.

`make test` kills each a few times, `make test-hard` 50 times over all.
"""

import json
import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from mutations import HARD

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.memory import EpisodicMemory
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import resume, start
from scrubjay.runs.sweep import sweep

KILLS = (
    {"train": 20, "save": 15, "sweep": 8, "tune": 7}
    if HARD
    else dict.fromkeys(("train", "save", "sweep", "tune"), 2)
)
TABLES = ("progress.csv", "episodes.csv", "eval.csv", "evaluations.npz")
FORK = multiprocessing.get_context("fork")


def killed(function, *arguments, after):
    """Run a function in another process and kill it; True if it was killed before its end."""
    process = FORK.Process(target=function, args=arguments)
    process.start()
    process.join(after)
    if process.exitcode is None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def killed_often(function, *arguments, kills, seconds, seed=0):
    """Kill it at random moments, until it has been killed often enough or has come to its end."""
    rng, count = np.random.default_rng(seed), 0
    while count < kills:
        if not killed(function, *arguments, after=rng.uniform(0.02, seconds)):
            break
        count += 1
    function(*arguments)
    return count


def config(seed=3, steps=3000):
    return RunConfig(
        "cec", "GrowingTree", seed=seed, steps=steps, eval_freq=500, n_eval_episodes=2,
        log_freq=100, checkpoint_freq=100,
    )  # fmt: skip


def train(folder):
    if (folder / "manifest.json").exists():
        resume(folder)
    else:
        start(config(), folder)


def assert_same_run(found: Path, expected: Path) -> None:
    for name in TABLES:
        assert (found / name).read_bytes() == (expected / name).read_bytes(), name
    for name in ("last", "best"):
        file = f"checkpoints/{name}.scrub"
        assert (found / file).read_bytes() == (expected / file).read_bytes(), name
    assert json.loads((found / "manifest.json").read_text())["status"] == "finished"
    assert not list(found.rglob("*.tmp*"))


def test_check_05_training(tmp_path):
    began = time.monotonic()
    train(tmp_path / "whole")
    seconds, total = time.monotonic() - began, 0
    for attempt in range(100):
        folder = tmp_path / f"killed-{attempt}"
        total += killed_often(
            train, folder, kills=KILLS["train"] - total, seconds=0.7 * seconds, seed=attempt
        )
        assert_same_run(folder, tmp_path / "whole")
        if total >= KILLS["train"]:
            break
    assert total >= KILLS["train"]


def save_for_ever(path):
    agent = CEC(Corridor([0.0] * 30 + [1.0]), seed=0).learn(100)
    memory = EpisodicMemory(3, capacity=20_000, columns={})
    keys = np.random.default_rng(0).normal(size=(20_000, 3))
    memory.write_many(keys, np.zeros(len(keys)))
    while True:
        agent.learn(31)
        agent.save(path / "agent")
        memory.save(path / "memory.scrub")


def test_saving(tmp_path):
    rng = np.random.default_rng(1)
    for _ in range(KILLS["save"]):
        assert killed(save_for_ever, tmp_path, after=rng.uniform(0.3, 1.5))
        if (tmp_path / "agent.scrub").exists():
            CEC.load(tmp_path / "agent.scrub").memory.check_invariants()
        if (tmp_path / "memory.scrub").exists():
            assert len(EpisodicMemory.load(tmp_path / "memory.scrub")) == 20_000
    assert (tmp_path / "agent.scrub").exists()


def sweep_two(root):
    result = sweep([config(seed, 600) for seed in (0, 1)], root, jobs=2)
    assert result.failed == {}


def wait_until_free(root):
    """Workers stop when their sweep is gone, after their last checkpoint."""
    from scrubjay.training.lock import is_held

    deadline = time.monotonic() + 60
    while any(is_held(lock.parent) for lock in root.rglob("run.lock")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.skipif(
    not HARD, reason="tests/runs/test_sweep.py kills a sweep; more by make test-hard"
)
def test_sweeping(tmp_path):
    sweep_two(tmp_path / "whole")
    rng, total = np.random.default_rng(2), 0
    while total < KILLS["sweep"]:
        total += killed(sweep_two, tmp_path / "killed", after=rng.uniform(1.0, 8.0))
        wait_until_free(tmp_path / "killed")
        done = list((tmp_path / "killed").rglob("manifest.json"))
        if len(done) == 2 and all('"finished"' in path.read_text() for path in done):
            sweep_two(tmp_path / "killed")
            for manifest in done:
                place = manifest.parent.relative_to(tmp_path / "killed")
                assert_same_run(manifest.parent, tmp_path / "whole" / place)
            if total < KILLS["sweep"]:
                shutil.rmtree(tmp_path / "killed")
    sweep_two(tmp_path / "killed")


def tune(folder):
    from scrubjay.runs.tuning import Study, TuneConfig

    study = Study(TuneConfig(config(0, 600), ("n_neighbors", "temperature"), 1), folder)
    study.run(4)


def test_tuning(tmp_path):
    pytest.importorskip("optuna")
    from scrubjay.runs.tuning import Study, TuneConfig

    total = 0
    for attempt in range(20):
        folder = tmp_path / f"study-{attempt}"
        total += killed_often(
            tune, folder, kills=KILLS["tune"] - total, seconds=1.0, seed=10 + attempt
        )
        study = Study(TuneConfig(config(0, 600), ("n_neighbors", "temperature"), 1), folder)
        rows = [row for row in study.rows() if row["state"] != "failed"]
        assert len(rows) == 4
        assert sum(row["preset"] for row in rows) == 1
        for row in rows:
            manifest = next((folder / row["runs"]).glob("seed-*/manifest.json"))
            expected = "finished" if row["state"] == "complete" else "stopped"
            assert json.loads(manifest.read_text())["status"] in (expected, "finished")
        if total >= KILLS["tune"]:
            break
    assert total >= KILLS["tune"]

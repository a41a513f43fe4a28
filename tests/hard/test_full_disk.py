"""A disk that is full at every write in turn: a real one, a small tmpfs, which needs root.

The failed training says which file could not be written. With space again it is resumed, or begun
again if it had not begun, and has the same files as one that was never disturbed.
"""

import os
import shutil
import subprocess

import numpy as np
import pytest
from mutations import HARD

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.memory import EpisodicMemory
from scrubjay.report.page import write_report
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import resume, start
from scrubjay.training import RunFolderError

PAGE = 4096
SIZE = 4 << 20
WORDS = ("could not write", "cannot be written")
TABLES = ("progress.csv", "episodes.csv", "eval.csv", "evaluations.npz", "checkpoints/last.scrub")


@pytest.fixture
def disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    done = None
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("mount"):
        done = subprocess.run(mount, capture_output=True, check=False)
    if done is None or done.returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)  # a database may still be open


def leave(disk, n_bytes):
    """Fill a disk up to its last `n_bytes`."""
    (disk / "ballast").unlink(missing_ok=True)
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with (disk / "ballast").open("wb") as file:
        file.write(bytes(max(free - n_bytes, 0)))


def free_again(disk):
    (disk / "ballast").unlink()


def config():
    return RunConfig(
        "cec", "GrowingTree", seed=1, steps=600, eval_freq=200, n_eval_episodes=2, log_freq=50,
        checkpoint_freq=100,
    )  # fmt: skip


def test_training_on_a_disk_that_fills_up_at_every_write(disk, tmp_path):
    start(config(), tmp_path / "whole")
    need = sum(
        -(-file.stat().st_size // PAGE)
        for file in (tmp_path / "whole").rglob("*")
        if file.is_file()
    )
    failures = []
    for pages in range(0, need + 4, 1 if HARD else 3):
        folder = disk / "run"
        leave(disk, pages * PAGE)
        try:
            start(config(), folder)
        except (OSError, RunFolderError) as error:
            failures.append(str(error))
        free_again(disk)
        if (folder / "manifest.json").exists():
            resume(folder)
        else:
            start(config(), folder)
        for name in TABLES:
            assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
        shutil.rmtree(folder)
    assert len(failures) >= 3
    assert [text for text in failures if not any(word in text for word in WORDS)] == []


@pytest.mark.parametrize("what", ["agent", "memory", "report"])
def test_saving_on_a_full_disk_keeps_the_older_file(disk, tmp_path, what):
    agent = CEC(Corridor([0.0] * 50 + [1.0]), seed=0).learn(200)
    memory = EpisodicMemory(3, capacity=5000, columns={})
    memory.write_many(np.random.default_rng(0).normal(size=(5000, 3)), np.zeros(5000))
    start(config(), tmp_path / "run")
    save, path = {
        "agent": (agent.save, disk / "agent.scrub"),
        "memory": (memory.save, disk / "memory.scrub"),
        "report": (lambda path: write_report(tmp_path / "run", path), disk / "report.html"),
    }[what]
    save(path)
    before = path.read_bytes()
    for pages in range(0, -(-len(before) // PAGE), 1 if HARD else 7):
        leave(disk, pages * PAGE)
        with pytest.raises(OSError, match="|".join(WORDS)):
            save(path)
        free_again(disk)
        assert path.read_bytes() == before
        assert [file.name for file in disk.iterdir()] == [path.name]


def test_tuning_on_a_full_disk_goes_on_with_space_again(disk):
    pytest.importorskip("optuna")
    from scrubjay.runs.tuning import Study, TuneConfig

    tuned = TuneConfig(config(), ("n_neighbors",), 1)
    failures = []
    for pages in (0, 50) if not HARD else range(0, 160, 8):
        folder = disk / "study"
        leave(disk, pages * PAGE)
        try:
            Study(tuned, folder).run(3)
        except Exception as error:  # Optuna's storage has errors of its own
            failures.append(f"{error!r} {error.__cause__!r}")
        free_again(disk)
        study = Study(tuned, folder)
        study.run(3)
        assert sum(row["state"] in ("complete", "pruned") for row in study.rows()) == 3
        shutil.rmtree(folder)
    words = (*WORDS, "disk is full", "disk I/O")
    assert failures
    assert [text for text in failures if not any(word in text for word in words)] == []

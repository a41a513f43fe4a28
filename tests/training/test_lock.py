"""The lock of a run folder, within one process and across the ways to train."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict

import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.runs.worker import BUSY
from scrubjay.training import RunFolder, RunFolderError, train
from scrubjay.training.errors import LockedError
from scrubjay.training.lock import is_held
from scrubjay.training.run_folder import write_text

THIS_PROCESS = f"in use by process {os.getpid()} on "


def test_defect_4_a_new_run_holds_its_folder_until_it_is_closed(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"agent": "cec"})
    assert is_held(folder.path)
    with pytest.raises(LockedError, match=THIS_PROCESS):
        RunFolder.create(tmp_path / "run", {"agent": "cec"})
    with pytest.raises(LockedError, match=THIS_PROCESS):
        RunFolder.open(tmp_path / "run", for_writing=True)
    assert RunFolder.open(tmp_path / "run").config["agent"] == "cec", "readers need no lock"
    folder.close()
    assert not is_held(folder.path)
    RunFolder.open(tmp_path / "run", for_writing=True).close()


def test_defect_4_learn_takes_the_lock_and_releases_it(tmp_path):
    path, agent, seen = tmp_path / "run", CEC(Corridor(), seed=0), []
    agent.learn(20, callback=lambda *_: seen.append(is_held(path)), run_folder=path)
    assert seen
    assert all(seen)
    assert not is_held(path)


def test_defect_4_training_in_a_folder_that_another_writes_is_refused(tmp_path):
    path, agent = tmp_path / "run", CEC(Corridor(), seed=0)
    agent.learn(20, run_folder=path)
    with RunFolder.open(path, for_writing=True):
        before = (path / "episodes.csv").read_bytes()
        with pytest.raises(LockedError, match=THIS_PROCESS):
            train(agent, Corridor(), total_timesteps=20, run_folder=RunFolder.open(path))
        with pytest.raises(LockedError, match=THIS_PROCESS):
            RunFolder.open(path).cut(0)
        assert (path / "episodes.csv").read_bytes() == before


def test_defect_4_a_folder_that_has_changed_since_it_was_read_is_not_written(tmp_path):
    path = tmp_path / "run"
    CEC(Corridor(), seed=0).learn(20, run_folder=path)
    reader = RunFolder.open(path)
    with RunFolder.open(path, for_writing=True) as other:
        other.update(timesteps=99)
    with pytest.raises(RunFolderError, match="has changed since it was opened"):
        reader.cut(0)
    assert not is_held(path)


def test_defect_4_a_worker_of_a_sweep_takes_the_same_lock(tmp_path):
    config = RunConfig("cec", "GrowingTree", steps=300, eval_freq=0)
    start(config, tmp_path / "run")
    RunFolder.open(tmp_path / "run").update(status="interrupted")
    order = {"config": asdict(config), "command": "", "agent": asdict(config.spec), "path": []}
    command = [sys.executable, "-m", "scrubjay.runs.worker", str(tmp_path / "run")]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        RunFolder.open(tmp_path / "run", for_writing=True),
        subprocess.Popen(command, text=True, **pipes) as worker,
    ):
        worker.stdin.write(json.dumps(order) + "\n")
        worker.stdin.flush()  # left open: a worker whose sweep has ended stops
        assert THIS_PROCESS in worker.stderr.readline()
        assert worker.wait() == BUSY


def test_defect_4_writers_of_one_file_do_not_take_each_others_temporary_files(tmp_path):
    path, errors = tmp_path / "file.json", []

    def write(text):
        try:
            for _ in range(100):
                write_text(path, text)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(letter * 999,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(path.read_text())) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_the_next_writer_removes_what_a_killed_one_had_begun(tmp_path):
    CEC(Corridor(), seed=0).learn(20, run_folder=tmp_path / "run")
    for folder in (tmp_path / "run", tmp_path / "run" / "checkpoints"):
        (folder / ".manifest.0123abcd.tmp.json").write_text("{")
        (folder / ".last.scrub.0123abcd.tmp").write_text("PK")
    RunFolder.open(tmp_path / "run", for_writing=True).close()
    assert not list((tmp_path / "run").rglob(".*"))

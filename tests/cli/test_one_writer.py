"""Several processes on one run folder: one works, the others are refused and change nothing."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from console import TABLES

START = [
    "train", "cec", "SlowTree-v0", "--steps", "3000", "--seed", "2", "--eval-freq", "500",
    "--eval-episodes", "2", "--log-freq", "300", "--checkpoint-freq", "200",
    "--distance-threshold", "0.01", "--quiet", "--out",
]  # fmt: skip
PROGRAM = Path(__file__).with_name("slow_task.py")


class Folder:
    """A run folder, and processes that work on it; episodes go on only while `release` exists."""

    def __init__(self, path):
        self.run, self.release = path / "run", path / "release"
        self.processes = []

    def open(self, *words):
        command = [sys.executable, str(PROGRAM), str(self.release), *map(str, words)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def train(self):
        return self.open(*START, self.run)

    def resume(self):
        return self.open("train", "--quiet", "--resume", self.run)

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stderr.close()


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    found = Folder(tmp_path_factory.mktemp("undisturbed"))
    found.release.touch()
    process = found.train()
    process.communicate()
    assert process.returncode == 0
    return found.run


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def kill_in_the_middle(folder):
    """Start the run and kill it -9 after a checkpoint."""
    folder.release.touch()
    process = folder.train()
    wait_for((folder.run / "checkpoints" / "last.scrub").exists)
    time.sleep(0.2)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    folder.release.unlink()


def assert_one_wins(folder, processes):
    """All but one end at once and say who works there; then the one comes to its end."""
    others = len(processes) - 1
    wait_for(lambda: sum(process.poll() is not None for process in processes) >= others)
    time.sleep(0.1)
    (winner,) = [process for process in processes if process.poll() is None]
    for process in processes:
        if process is not winner:
            said = process.communicate()[1].splitlines()[-1]
            assert process.returncode == 1
            assert f"{folder.run} is in use by process {winner.pid} on " in said
    folder.release.touch()
    winner.communicate()
    assert winner.returncode == 0


def assert_same_run(folder, undisturbed):
    for name in (*TABLES, "config.json"):
        assert (folder.run / name).read_bytes() == (undisturbed / name).read_bytes(), name
    assert json.loads((folder.run / "manifest.json").read_text())["status"] == "finished"
    names = {path.name for path in folder.run.iterdir()}
    assert names == {path.name for path in undisturbed.iterdir()}, "nothing is left behind"


@pytest.mark.parametrize("n_processes", [2, 3])
def test_defect_4_of_several_that_resume_a_killed_run_one_works(n_processes, folder, undisturbed):
    kill_in_the_middle(folder)
    assert_one_wins(folder, [folder.resume() for _ in range(n_processes)])
    assert_same_run(folder, undisturbed)


def test_defect_4_two_that_start_a_run_work_in_two_folders(folder, undisturbed):
    processes = [folder.train() for _ in range(2)]
    wait_for((folder.run.with_name("run-2") / "manifest.json").exists)
    folder.release.touch()
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sum(f"{folder.run} exists; --overwrite" in text for text in said) == 1
    assert_same_run(folder, undisturbed)
    folder.run = folder.run.with_name("run-2")
    assert_same_run(folder, undisturbed)


def test_a_run_that_is_still_trained_is_not_overwritten(folder, undisturbed):
    first = folder.train()
    wait_for((folder.run / "manifest.json").exists)
    assert_one_wins(folder, [first, folder.open(*START, folder.run, "--overwrite")])
    assert_same_run(folder, undisturbed)


def test_defect_4_a_run_that_is_still_trained_cannot_be_resumed(folder, undisturbed):
    first = folder.train()
    wait_for((folder.run / "manifest.json").exists)
    assert_one_wins(folder, [first, folder.resume()])
    assert_same_run(folder, undisturbed)

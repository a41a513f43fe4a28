"""Killed at random moments and resumed, a run is the run that was never killed, byte for byte."""

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import gymnasium as gym
import pandas as pd
import pytest
from resumable import evaluation_env, go

from scrubjay.agents import CEC
from scrubjay.memory.archive import read_archive

TABLES = ("progress.csv", "episodes.csv", "eval.csv", "evaluations.npz")
# Python 3.12 warns of forks from processes with threads; these children only train.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


# Every checkpoint is synced to the disk, which takes longer than these trainings themselves.
QUICK_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@pytest.fixture(scope="module")
def long_lived():
    with tempfile.TemporaryDirectory(dir=QUICK_DISK) as name:
        yield Path(name)


@pytest.fixture
def tmp_path():
    with tempfile.TemporaryDirectory(dir=QUICK_DISK) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def whole(long_lived):
    """The runs that nobody disturbs, made when asked for: their folder and how long they took."""
    go("corridor", long_lived / "to compile everything first")
    made = {}

    def folder(case):
        if case not in made:
            start = time.monotonic()
            go(case, long_lived / case)
            made[case] = long_lived / case, time.monotonic() - start
        return made[case]

    return folder


def child(function, *arguments):
    """Another process, forked so that nothing is compiled or imported again."""
    process = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    process.start()
    return process


def assert_same_run(folder, whole):
    manifest = json.loads((folder / "manifest.json").read_text())
    expected = json.loads((whole / "manifest.json").read_text())
    for name in ("status", "timesteps", "episodes", "first_success_step",
                 "first_greedy_success_step"):  # fmt: skip
        assert manifest[name] == expected[name], name
    for name in TABLES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name
    checkpoints = sorted(path.name for path in (whole / "checkpoints").glob("*.scrub"))
    assert sorted(path.name for path in (folder / "checkpoints").glob("*.scrub")) == checkpoints
    for name in checkpoints:
        mine, theirs = folder / "checkpoints" / name, whole / "checkpoints" / name
        assert CEC.load(mine).memory.digest() == CEC.load(theirs).memory.digest(), name
        assert mine.read_bytes() == theirs.read_bytes(), name


def kill_and_resume(case, folder, seconds, rng, kills):
    """Kill it that often, sometimes at once, sometimes late; returns the steps it stood at."""
    stood = []
    while len(stood) < kills:
        process = child(go, case, folder)
        process.join(rng.uniform(0.0, rng.choice([0.2, 0.6, 1.0]) * seconds))
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        if process.exitcode == 0 and stood:
            break
        if process.exitcode == 0:
            # it was faster than measured: once more from the beginning, and kill it earlier
            shutil.rmtree(folder)
            seconds /= 2
            continue
        assert process.exitcode == -signal.SIGKILL
        last = folder / "checkpoints" / "last.scrub"
        stood.append(CEC.load(last).num_timesteps if last.exists() else 0)
    process = child(go, case, folder)
    process.join()
    assert process.exitcode == 0
    return stood


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.hard) for s in (1, 2, 3))])
@pytest.mark.parametrize("case", ["tree", "car", "frozen", "evicting"])
def test_killed_at_random_moments(case, seed, whole, tmp_path):
    expected, seconds = whole(case)
    stood = kill_and_resume(case, tmp_path / "run", seconds, random.Random(seed), kills=6)
    assert stood, "it must have been killed"
    assert_same_run(tmp_path / "run", expected)


def test_killed_as_a_program_of_its_own(whole, tmp_path):
    """In fresh interpreters, with other hash seeds and other addresses."""
    (expected, _), folder, rng = whole("tree"), tmp_path / "run", random.Random(7)
    program = [sys.executable, str(Path(__file__).with_name("resumable.py")), "tree", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = 0
    for attempt in range(3):
        process = subprocess.Popen(program, env={**environment, "PYTHONHASHSEED": str(attempt)})
        last, before = folder / "checkpoints" / "last.scrub", time.time()
        while attempt < 2 and process.poll() is None:
            if last.exists() and last.stat().st_mtime > before:
                time.sleep(rng.uniform(0.0, 0.1))
                process.kill()
                break
            time.sleep(0.001)
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL
        killed += 1
    assert killed
    assert process.returncode == 0
    assert_same_run(folder, expected)


# ---------------------------------------------------------------- Ctrl-C, at every single step


class InterruptAt:
    """Presses Ctrl-C at the given training step."""

    def __init__(self, step):
        self.step = step

    def __call__(self, inner, _):
        if inner["self"].num_timesteps == self.step:
            os.kill(os.getpid(), signal.SIGINT)
        return True


class InterruptingEnv(gym.Wrapper):
    """Presses Ctrl-C at the given step of evaluation."""

    def __init__(self, env, at):
        super().__init__(env)
        self.left = at

    def step(self, action):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return self.env.step(action)


SHORT = {"eval_freq": 10, "log_freq": 15, "checkpoint_freq": 7, "checkpoint_steps": (12, 20)}


@pytest.fixture(scope="module")
def short(long_lived):
    folder = long_lived / "short"
    go("corridor", folder, **SHORT)
    return folder


@pytest.mark.parametrize("step", range(1, 60, 2))
def test_interrupted_at_a_step(step, short, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        go("corridor", tmp_path / "run", callback=InterruptAt(step), **SHORT)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["status"] == "interrupted"
    assert manifest["timesteps"] == step // 5 * 5
    go("corridor", tmp_path / "run", **SHORT)
    assert_same_run(tmp_path / "run", short)


@pytest.mark.parametrize("at", [1, 6, 7, 14, 15, 21, 31, 40, 49, 65])
def test_interrupted_in_an_evaluation(at, short, tmp_path):
    # evaluations are due at steps 10, 20, ..., which are ends of episodes too
    env = InterruptingEnv(evaluation_env("corridor"), at)
    with pytest.raises(KeyboardInterrupt):
        go("corridor", tmp_path / "run", eval_env=env, **SHORT)
    go("corridor", tmp_path / "run", **SHORT)
    assert_same_run(tmp_path / "run", short)


def interrupted(folder):
    """In a child: 130 if the interrupt came through as it should."""
    try:
        go("frozen", folder)
    except KeyboardInterrupt:
        os._exit(130)
    os._exit(0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_says_so_and_can_be_resumed(number, whole, tmp_path):
    (expected, _), folder = whole("frozen"), tmp_path / "run"
    process = child(interrupted, folder)
    last = folder / "checkpoints" / "last.scrub"
    while not last.exists() and process.is_alive():
        time.sleep(0.001)
    os.kill(process.pid, number)
    process.join()
    assert process.exitcode == 130
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "interrupted"
    assert manifest["timesteps"] == CEC.load(last).num_timesteps
    go("frozen", folder)
    assert_same_run(folder, expected)


def test_resuming_a_finished_run_changes_nothing(short, tmp_path):
    go("corridor", tmp_path / "run", **SHORT)
    go("corridor", tmp_path / "run", **SHORT)
    assert_same_run(tmp_path / "run", short)


def test_the_status_is_running_while_it_runs_again(tmp_path):
    folder, seen = tmp_path / "run", []
    with pytest.raises(KeyboardInterrupt):
        go("corridor", folder, callback=InterruptAt(20))

    def look(*_):
        seen.append(json.loads((folder / "manifest.json").read_text())["status"])

    go("corridor", folder, callback=look)
    assert set(seen) == {"running"}


def test_time_goes_on_where_it_stood(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        go("frozen", folder, callback=InterruptAt(3000))
    before = pd.read_csv(folder / "time.csv")["time/time_elapsed"].iloc[-1]
    time.sleep(0.3)
    start = time.monotonic()
    go("frozen", folder)
    spent = time.monotonic() - start
    after = pd.read_csv(folder / "time.csv")["time/time_elapsed"]
    assert after.is_monotonic_increasing
    assert after.iloc[-1] <= before + spent + 0.2


def test_a_vector_run_drops_open_episodes_and_records_how_many(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        go("vector", folder, callback=InterruptAt(1500))
    stopped = read_archive(folder / "checkpoints" / "last.scrub", "agent")[0]["counters"]
    assert stopped["num_timesteps"] == 1500
    assert 0 < stopped["n_dropped_episodes"] <= 3
    agent = go("vector", folder)
    assert agent.n_dropped_episodes == stopped["n_dropped_episodes"]
    table = pd.read_csv(folder / "episodes.csv")
    assert table.episode.tolist() == list(range(agent.n_episodes))
    assert table.timestep.is_monotonic_increasing
    assert agent.num_timesteps >= table.length.sum() > agent.num_timesteps - 3 * 40


def test_a_vector_run_can_be_killed_and_gone_on_with(tmp_path):
    stood = kill_and_resume("vector", tmp_path / "run", 1.0, random.Random(1), kills=3)
    assert stood
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["status"] == "finished"
    table = pd.read_csv(tmp_path / "run" / "episodes.csv")
    assert table.episode.tolist() == list(range(len(table)))


# ---------------------------------------------------------------- a full disk


def with_little_space(folder, size, report):
    """In a child: files cannot grow beyond `size` bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        go("evicting", folder)
    except OSError:
        report.send(traceback.format_exc())
        os._exit(3)
    os._exit(0)


@pytest.mark.parametrize("size", [12_000, 15_000])
def test_a_full_disk_is_a_clear_error_and_the_older_checkpoint_is_whole(size, whole, tmp_path):
    (expected, _), folder = whole("evicting"), tmp_path / "run"
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = child(with_little_space, folder, size, sender)
    sender.close()
    assert receiver.poll(60)
    text = receiver.recv()
    process.join()
    assert process.exitcode == 3
    assert "could not write" in text
    assert str(folder) in text
    assert json.loads((folder / "manifest.json").read_text())["status"] == "failed"
    assert not list((folder / "checkpoints").glob("*.tmp"))
    assert 0 < CEC.load(folder / "checkpoints" / "last.scrub").num_timesteps < 5000
    # with space again, it goes on as if nothing had been
    go("evicting", folder)
    assert_same_run(folder, expected)

"""A run that fails before it begins leaves its folder free for the same command (defect 16)."""

import json
import sys

import gymnasium
import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.envs.growing_tree import GrowingTree
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import resume, start
from scrubjay.training import BaseCallback, RunFolder
from scrubjay.training.lock import is_held


class BrokenCompiler(CEC):
    name = "broken-compiler"

    def warm_up(self):
        raise RuntimeError("cannot compile")


class BrokenCallback(BaseCallback):
    def _on_training_start(self):
        raise RuntimeError("cannot start")


def assert_free(path):
    """Nothing is held there, and a run can be made."""
    assert not is_held(path)
    assert not (path / "manifest.json").exists()
    CEC(Corridor(), seed=0).learn(20, run_folder=path)
    assert json.loads((path / "manifest.json").read_text())["status"] == "finished"


def test_defect_16_after_a_failed_warm_up(tmp_path):
    with pytest.raises(RuntimeError, match="cannot compile"):
        BrokenCompiler(Corridor()).learn(20, run_folder=tmp_path / "run")
    assert_free(tmp_path / "run")


def test_defect_16_after_a_callback_that_fails_when_training_starts(tmp_path):
    with pytest.raises(RuntimeError, match="cannot start"):
        CEC(Corridor(), seed=0).learn(20, callback=BrokenCallback(), run_folder=tmp_path / "run")
    assert_free(tmp_path / "run")


def test_defect_16_after_a_missing_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.event_file_writer", None)
    with pytest.raises(ImportError, match=r"scrubjay\[tensorboard\]"):
        CEC(Corridor(), seed=0).learn(20, run_folder=tmp_path / "run", tensorboard=True)
    assert_free(tmp_path / "run")


@pytest.fixture
def fragile():
    """A task that can be made so many times, as a simulator with few licences."""
    left = []

    def make(**settings):
        if not left:
            raise RuntimeError("no licence left")
        left.pop()
        return GrowingTree(**settings)

    gymnasium.register("Fragile-v0", make, max_episode_steps=200)
    yield left
    del gymnasium.registry["Fragile-v0"]


def test_defect_16_after_an_evaluation_environment_that_cannot_be_made(tmp_path, fragile):
    config = RunConfig("cec", "Fragile-v0", steps=300, options={"distance_threshold": 0.01})
    fragile += [1]
    with pytest.raises(RuntimeError, match="no licence left"):
        start(config, tmp_path / "run")
    fragile += [1, 1]
    start(config, tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").manifest["status"] == "finished"


def test_defect_16_a_run_that_cannot_be_resumed_is_left_as_it_was(tmp_path, fragile):
    config = RunConfig("cec", "Fragile-v0", steps=300, options={"distance_threshold": 0.01})
    fragile += [1, 1]
    start(config, tmp_path / "run")
    with RunFolder.open(tmp_path / "run", for_writing=True) as folder:
        folder.update(status="interrupted")
    with pytest.raises(RuntimeError, match="no licence left"):
        resume(tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").manifest["status"] == "interrupted"
    assert not is_held(tmp_path / "run")
    fragile += [1, 1]
    resume(tmp_path / "run")


def test_defect_16_a_resumed_run_that_fails_to_start_is_marked_as_failed(tmp_path):
    path = tmp_path / "run"
    CEC(Corridor(), seed=0).learn(20, run_folder=path)
    with pytest.raises(RuntimeError, match="cannot compile"):
        BrokenCompiler(Corridor()).learn(
            20, run_folder=RunFolder.open(path, for_writing=True), eval_env=Corridor()
        )
    assert RunFolder.open(path).manifest["status"] == "failed"
    assert not is_held(path)
    assert len(RunFolder.open(path).tables["episodes"].rows()) == 7

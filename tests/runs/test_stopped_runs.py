"""Runs that a callback has stopped: not finished, and gone on with like interrupted ones."""

from scrubjay.report.page import write_report
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import resume, start
from scrubjay.runs.sweep import folder_of, sweep
from scrubjay.runs.worker import UNFINISHED, run_status
from scrubjay.training import RunFolder

CONFIG = RunConfig("cec", "GrowingTree", steps=2_000, eval_freq=500, n_eval_episodes=1)
TABLES = ("episodes.csv", "eval.csv", "progress.csv")


class Stop:
    """Stops the training after so many steps."""

    def __init__(self, n_steps):
        self.left = n_steps

    def __call__(self, *_):
        self.left -= 1
        return self.left > 0


def status(folder):
    return RunFolder.open(folder).manifest["status"]


def test_defect_9_a_stopped_run_can_be_resumed(tmp_path):
    start(CONFIG, tmp_path / "stopped", callback=Stop(700))
    assert status(tmp_path / "stopped") == "stopped"
    resume(tmp_path / "stopped")
    assert status(tmp_path / "stopped") == "finished"
    start(CONFIG, tmp_path / "whole")
    for name in TABLES:
        mine, whole = (tmp_path / run / name for run in ("stopped", "whole"))
        assert mine.read_bytes() == whole.read_bytes(), name


def test_defect_9_a_stopped_run_is_not_finished_for_a_sweep(tmp_path):
    folder = folder_of(tmp_path, CONFIG)
    start(CONFIG, folder, callback=Stop(700))
    assert run_status(folder, CONFIG) == UNFINISHED
    assert sweep([CONFIG], tmp_path, jobs=1).n_done == 1
    assert status(folder) == "finished"


def test_defect_9_the_report_says_that_a_run_was_stopped(tmp_path):
    start(CONFIG, tmp_path / "run", callback=Stop(700))
    report = write_report(tmp_path / "run", tmp_path / "report.html")
    assert any("not finished (status 'stopped')" in note for note in report.notes)

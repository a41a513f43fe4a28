"""`scrubjay tune`: the search, resuming it, and what it reports."""

import json
import signal
import subprocess
import sys
import time

import pytest

from scrubjay.cli.main import main
from scrubjay.runs.config import RunConfig
from scrubjay.runs.tuning import FIRST_SEED, Study, TuneConfig, tunable
from scrubjay.training.errors import RunFolderError

optuna = pytest.importorskip("optuna", reason="Optuna is an extra: scrubjay[tune]")


def config(**changes):
    run = RunConfig("cec", "GrowingTree", steps=200, eval_freq=100, n_eval_episodes=2)
    return TuneConfig(run, **{"names": ("n_neighbors", "temperature"), "n_seeds": 1, **changes})


def test_ranges_come_from_the_constructor():
    run = RunConfig("cec", "GrowingTree")
    assert {"n_neighbors", "temperature", "gamma"} <= set(tunable(run))
    assert "seed" not in tunable(run)
    assert TuneConfig(run).names == tuple(tunable(run))
    fixed = RunConfig("cec", "GrowingTree", options={"gamma": 0.9})
    assert "gamma" not in TuneConfig(fixed).names


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"names": ("capacity",)}, "no range for tuning 'capacity'"),
        ({"n_seeds": 0}, "at least 1 seed"),
    ],
)
def test_what_cannot_be_tuned_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        config(**changes)


def test_trials_stay_in_their_ranges_and_use_seeds_of_their_own(tmp_path):
    study = Study(config(n_seeds=2), tmp_path)
    study.run(4)
    rows = study.rows()
    assert [row["trial"] for row in rows] == [0, 1, 2, 3]
    assert [row["preset"] for row in rows] == [True, False, False, False]
    for row in rows:
        assert 1 <= row["n_neighbors"] <= 10
        assert 0.01 <= row["temperature"] <= 10
        folders = sorted((tmp_path / row["runs"]).glob("seed-*"))
        seeds = [int(folder.name.removeprefix("seed-")) for folder in folders]
        assert seeds == [FIRST_SEED, FIRST_SEED + 1]
        settings = json.loads((folders[0] / "config.json").read_text())["options"]
        assert settings["n_neighbors"] == row["n_neighbors"]
        assert settings["temperature"] == row["temperature"]
    assert study.best()["value"] == max(row["value"] for row in rows)


def test_a_study_in_two_pieces_is_the_study_in_one(tmp_path):
    Study(config(), tmp_path / "whole").run(4)
    Study(config(), tmp_path / "pieces").run(2)
    Study(config(), tmp_path / "pieces").run(4)
    whole, pieces = (
        [{**row, "seconds": 0} for row in Study(config(), tmp_path / name).rows()]
        for name in ("whole", "pieces")
    )
    assert pieces == whole


def test_another_study_in_the_folder_is_refused(tmp_path):
    Study(config(), tmp_path)
    with pytest.raises(RunFolderError, match="holds another study"):
        Study(config(n_seeds=2), tmp_path)


def test_a_trial_worse_than_the_median_is_ended_early(tmp_path):
    study = Study(config(), tmp_path)
    for _ in range(6):  # trials that were perfect from the start
        trial = study.study.ask()
        trial.suggest_int("n_neighbors", 1, 10)
        trial.suggest_float("temperature", 0.01, 10, log=True)
        for step in (1, 2):
            trial.report(2.0, step)
        study.study.tell(trial, 2.0)
    study.run(7)
    last = study.rows()[-1]
    assert (last["state"], last["value"]) == ("pruned", None)
    manifest = next((tmp_path / last["runs"]).glob("seed-*/manifest.json"))
    assert json.loads(manifest.read_text())["status"] == "stopped"


def test_failing_trials_end_the_study_with_their_reason(tmp_path, monkeypatch):
    study = Study(config(), tmp_path)
    monkeypatch.setattr("scrubjay.runs.tuning.start", lambda *_, **__: 1 / 0)
    with pytest.raises(RunFolderError, match=r"3 trials in a row have failed.*division by zero"):
        study.run(5)
    assert [row["error"] for row in study.rows()] == ["division by zero"] * 3


def test_a_damaged_storage_is_named(tmp_path):
    Study(config(), tmp_path)
    (tmp_path / "study.db").write_bytes(b"no database at all, but long enough to be read" * 50)
    with pytest.raises(RunFolderError, match=r"study.db cannot be read"):
        Study(config(), tmp_path)


COMMAND = ["tune", "cec", "GrowingTree", "--steps", "300", "--seeds", "1", "--eval-episodes", "2"]


def test_a_killed_study_goes_on_in_its_runs(tmp_path):
    words = [*COMMAND, "--trials", "3", "--out", str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-m", "scrubjay.cli.main", *words])
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("runs/*/seed-*/eval.csv")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert main([*words, "--quiet"]) == 0
    assert len(list(tmp_path.glob("runs/*"))) == 3
    assert (tmp_path / "trials.csv").exists()


def test_the_command_reports_a_table_a_figure_and_the_best_command(tmp_path, capsys):
    words = [*COMMAND, "--trials", "2", "--tune", "n-neighbors", "--out", str(tmp_path)]
    assert main([*words, "--gamma", "0.9"]) == 0
    answer = capsys.readouterr()
    assert "2 of 2 trials, best" in answer.err
    assert "0 (preset)" in answer.out
    command = answer.out.partition("next: ")[2].split()
    assert command[:4] == ["scrubjay", "train", "cec", "GrowingTree"]
    assert command[command.index("--gamma") + 1] == "0.9"
    assert int(command[command.index("--n-neighbors") + 1]) in range(1, 11)
    assert command[command.index("--seed") + 1] == "0"
    assert {path.name for path in tmp_path.glob("trials.*")} == {
        "trials.csv", "trials.json", "trials.png", "trials.svg",
    }  # fmt: skip
    assert main([*command[1:], "--steps", "100", "--out", str(tmp_path / "run"), "--quiet"]) == 0


def test_several_workers_share_a_study(tmp_path, capsys):
    command = (
        "tune cec GrowingTree --steps 200 --eval-freq 100 --eval-episodes 2 --seeds 1 --trials 4 "
        "--tune n_neighbors temperature --no-pruning"
    )
    words = command.split()
    assert main([*words, "--jobs", "2", "--out", str(tmp_path / "two")]) == 0
    assert "4 of 4 trials" in capsys.readouterr().err
    study = Study(config(prune=False), tmp_path / "two")
    assert sorted(row["trial"] for row in study.rows()) == [0, 1, 2, 3]
    assert all(row["state"] == "complete" for row in study.rows())
    assert len(list((tmp_path / "two" / "logs").glob("worker-*.log"))) == 2
    # a run is the one that a single process makes of the same settings
    assert main([*words, "--trials", "1", "--out", str(tmp_path / "one")]) == 0
    (first,) = (tmp_path / "one").glob("runs/*/seed-*/eval.csv")
    there = tmp_path / "two" / first.relative_to(tmp_path / "one")
    assert there.read_bytes() == first.read_bytes()
    assert main([*words, "--address", "here:1"]) == 2
    assert main([*words, "--jobs", "0"]) == 2

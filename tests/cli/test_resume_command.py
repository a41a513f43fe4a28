"""`scrubjay train --resume`: after kill -9, after Ctrl-C, and of folders that cannot be resumed."""

import json
import os
import random
import signal
import subprocess
import time

import pytest
from console import PROGRAM, TABLES, content, in_process

from scrubjay.agents import CEC
from scrubjay.memory import archive

START = [
    "train", "cec", "SparseMountainCar", "--steps", "8000", "--seed", "2", "--eval-freq", "2000",
    "--eval-episodes", "2", "--log-freq", "2500", "--checkpoint-freq", "1000",
    "--checkpoint-steps", "3000", "--quiet", "--out",
]  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert subprocess.run([*PROGRAM, *START, folder], capture_output=True).returncode == 0
    return folder


def open_process(folder):
    """The command that starts the run or goes on with it."""
    known = (folder / "manifest.json").exists()
    words = ["train", "--quiet", "--resume", folder] if known else [*START, folder]
    return subprocess.Popen([*PROGRAM, *words], stderr=subprocess.PIPE, text=True)


def wait_until_it_writes(file, process):
    """Interpreters take a second to start; moments before that are not worth killing at."""
    before = time.time()
    while process.poll() is None and not (file.exists() and file.stat().st_mtime >= before):
        time.sleep(0.002)


def finish(folder):
    with open_process(folder) as process:
        process.communicate()
    assert process.returncode == 0


def assert_same_run(folder, undisturbed, capsys):
    for name in TABLES:
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes(), name
    for name in ("last", "best", "step-3000"):
        mine = in_process(capsys, "inspect", folder, "--checkpoint", name)
        assert mine.code == 0
        assert mine == in_process(capsys, "inspect", undisturbed, "--checkpoint", name)
    assert (folder / "config.json").read_bytes() == (undisturbed / "config.json").read_bytes()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "finished"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.hard)])
def test_killed_at_random_moments_and_resumed(seed, undisturbed, tmp_path, capsys):
    folder, rng, stood = tmp_path / "run", random.Random(seed), []
    last = folder / "checkpoints" / "last.scrub"
    # one kill while it still starts, then some while it trains
    for file in (folder / "manifest.json", last, last, last):
        with open_process(folder) as process:
            wait_until_it_writes(file, process)
            time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        stood.append(CEC.load(last).num_timesteps if last.exists() else 0)
    assert len(set(stood)) > 1, "killed at different steps"
    finish(folder)
    assert_same_run(folder, undisturbed, capsys)


def test_interrupted_it_says_how_to_go_on(undisturbed, tmp_path, capsys):
    folder = tmp_path / "a run"  # the words to resume it must be quoted
    process = open_process(folder)
    wait_until_it_writes(folder / "checkpoints" / "last.scrub", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.endswith(f"interrupted; continue with: scrubjay train --resume '{folder}'\n")
    assert "Traceback" not in said
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"
    finish(folder)
    assert_same_run(folder, undisturbed, capsys)


def test_resuming_a_finished_run_changes_no_result(run, finished, scrubjay):
    answer = scrubjay("train", "--resume", run)
    assert answer.code == 0
    assert "done: " in answer.out
    mine, theirs = content(run), content(finished)
    assert mine.keys() == theirs.keys()
    for name in mine.keys() - {"manifest.json", "time.csv"}:
        assert mine[name] == theirs[name], name
    assert json.loads(mine["manifest.json"])["status"] == "finished"


def test_a_run_killed_before_its_first_checkpoint_begins_again(run, finished, scrubjay):
    for file in (run / "checkpoints").iterdir():
        file.unlink()
    for name in TABLES:
        (run / name).write_text((run / name).read_text()[:-9])
    assert scrubjay("train", "--quiet", "--resume", run).code == 0
    for name in (*TABLES, "checkpoints/last.scrub"):
        assert (run / name).read_bytes() == (finished / name).read_bytes(), name


@pytest.mark.parametrize(
    "words", ["--seed 5", "--n-neighbors 3", "cec GrowingTree", "--out x", "--overwrite"]
)
def test_a_resumed_run_takes_no_other_settings(words, run, scrubjay):
    before = content(run)
    answer = scrubjay("train", "--resume", run, *words.split())
    assert answer.code == 2
    assert "--resume takes everything but --steps from the run itself" in answer.err
    assert content(run) == before


# ---------------------------------------------------------------- extending


def test_an_extended_run_learns_what_one_long_run_learns(tmp_path, scrubjay):
    words = ["train", "cec", "GrowingTree", "--quiet", "--eval-freq", 500, "--log-freq", 9000]
    assert scrubjay(*words, "--steps", 2500, "--out", "long").code == 0
    assert scrubjay(*words, "--steps", 1000, "--out", "short").code == 0
    answer = scrubjay("train", "--quiet", "--resume", "short", "--steps", 2500)
    assert answer.code == 0
    assert " to 2,500" in answer.err
    long, short = content(tmp_path / "long"), content(tmp_path / "short")
    for name in ("episodes.csv", "eval.csv", "config.json", "checkpoints/best.scrub"):
        assert long[name] == short[name], name
    digests = [scrubjay("inspect", name).out for name in ("long", "short")]
    assert digests[0] == digests[1]
    rows = [set(files["progress.csv"].split(b"\n")) for files in (long, short)]
    assert len(rows[1]) == len(rows[0]) + 1, "the row of the former end"


@pytest.mark.parametrize("steps", [0, 500, 1000])
def test_a_run_is_not_made_shorter(steps, run, scrubjay):
    before = content(run)
    answer = scrubjay("train", "--resume", run, "--steps", steps)
    assert answer.code == 1
    assert f"expected more than that, got {steps}" in answer.err
    after = content(run)
    assert {name: after[name] for name in before.keys() - {"manifest.json"}} == {
        name: before[name] for name in before.keys() - {"manifest.json"}
    }


def test_a_finished_run_says_how_it_is_extended(run, scrubjay):
    assert " steps; --steps 2000 extends it" in (scrubjay("train", "--quiet", "--resume", run).err)


# ---------------------------------------------------------------- what cannot be resumed


def edit(path, **entries):
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


def truncated(run):
    os.truncate(run / "checkpoints" / "last.scrub", 2000)


def flipped(run):
    file = run / "checkpoints" / "last.scrub"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def foreign(run):
    (run / "checkpoints" / "last.scrub").write_bytes(b"MZ" + bytes(5000))


def of_newer_schema(run):
    agent, file = CEC.load(run / "checkpoints" / "last.scrub"), run / "checkpoints" / "last.scrub"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(archive.SCHEMAS, "agent", 99)
        agent.save(file)


DAMAGES = {
    "truncated": (truncated, "last.scrub: it is not a file written by scrubjay, or it is damaged"),
    "flipped": (flipped, "last.scrub"),
    "foreign": (foreign, "last.scrub: it is not a file written by scrubjay, or it is damaged"),
    "newer file": (of_newer_schema, "99"),
    "newer run": (lambda run: edit(run / "manifest.json", schema=99), "by a newer scrubjay"),
    "no manifest": (lambda run: (run / "manifest.json").unlink(), "it has no manifest.json"),
    "no config": (lambda run: (run / "config.json").unlink(), "it has no config.json"),
    "half a manifest": (lambda run: (run / "manifest.json").write_text('{"sch'), "is damaged"),
    "a list": (lambda run: (run / "config.json").write_text("[]"), "expected an object, got list"),
    "unknown task": (lambda run: edit(run / "config.json", task="Nowhere"), "'Nowhere'"),
    "unknown agent": (lambda run: edit(run / "config.json", agent="nec"), "no method 'nec'"),
    "a wrong number": (lambda run: edit(run / "config.json", steps="many"), "config.json"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_resumed_is_left_as_it_was(name, run, scrubjay):
    damage, said = DAMAGES[name]
    damage(run)
    before = content(run)
    answer = scrubjay("train", "--resume", run)
    assert answer.code == 1
    assert answer.err.startswith("scrubjay train: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    assert content(run) == before


def test_a_folder_that_does_not_exist(scrubjay, tmp_path):
    answer = scrubjay("train", "--resume", "nowhere")
    assert answer.code == 1
    assert "nowhere is not a run folder" in answer.err
    assert not list(tmp_path.iterdir())

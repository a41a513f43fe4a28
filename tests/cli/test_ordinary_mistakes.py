"""What used to be a traceback, or to go wrong silently, is one line (defects 8, 13, 16, 18)."""

import json
import shutil
import subprocess
import sys

import pytest
from console import content, in_shell

from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.runs.worker import run_status
from scrubjay.training import RunFolderError


def assert_one_line(answer, *said, code=1):
    assert answer.code == code
    assert "Traceback" not in answer.err
    last = answer.err.splitlines()[-1]
    for part in said:
        assert part in last


# ---------------------------------------------------------------- one environment


def test_defect_8_sac_on_several_environments_is_refused(scrubjay, tmp_path):
    answer = scrubjay("train", "sac", "GrowingTree", "--n-envs", 4, "--out", "run")
    assert_one_line(answer, "sac trains on one environment here: expected n_envs=1, got 4", code=2)
    assert not list(tmp_path.iterdir())


def test_defect_8_older_runs_that_recorded_several_can_be_read():
    content = {"agent": "sac", "task": "GrowingTree", "n_envs": 4}
    assert RunConfig.from_json(content).n_envs == 1


# ---------------------------------------------------------------- environments


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("json:NoSuchEnv-v0", "NoSuchEnv"),
        ("json:nowhere/Pong-v5", "nowhere"),
        ("json:Pendulum-v77", "Pendulum"),
    ],
)
def test_defect_13_environments_that_are_not_registered(task, said, scrubjay, tmp_path):
    answer = scrubjay("train", "cec", task, "--quiet", "--out", "run")
    assert_one_line(answer, "scrubjay train: ", said)
    assert not (tmp_path / "run").exists()


def test_defect_13_an_old_version_of_an_environment(tmp_path):
    answer = in_shell("train", "cec", "json:Pendulum-v0", "--quiet", "--out", "run", cwd=tmp_path)
    assert_one_line(answer, "scrubjay train: ", "Pendulum")
    assert not list(tmp_path.iterdir())


def test_defect_13_a_namespace_that_is_not_installed_is_named(scrubjay):
    answer = scrubjay("train", "cec", "Nowhere/Pong-v5")
    assert_one_line(answer, "Nowhere/", "install", "module:Nowhere/Pong-v5", code=2)
    answer = scrubjay("watch", "Nowhere/Pong-v5", "--random")
    assert_one_line(answer, "module:Nowhere/Pong-v5", code=2)


def test_defect_13_an_environment_whose_package_is_missing(scrubjay, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    answer = scrubjay("train", "cec", "LunarLanderContinuous-v3", "--quiet", "--out", "run")
    assert_one_line(answer, "Box2D is not installed", "pip install")
    assert not (tmp_path / "run").exists()


# ---------------------------------------------------------------- inspect


def test_defect_13_inspecting_a_run_of_sac_says_that_it_has_no_memory(scrubjay):
    pytest.importorskip("stable_baselines3")
    start(RunConfig("sac", "GrowingTree", steps=1, eval_freq=0), "run")
    answer = scrubjay("inspect", "run")
    assert answer.code == 0
    assert "memory      none: sac keeps no episodic memory\n" in answer.out


def test_defect_13_runs_and_files_of_the_stale_index_can_be_inspected(tmp_path):
    config = RunConfig("cec-stale", "GrowingTree", steps=300, eval_freq=0)
    agent = start(config, tmp_path / "run")
    for subject in ("run", "run/checkpoints/last.scrub"):
        # in a process that has not seen this kind of agent yet
        answer = in_shell("inspect", subject, cwd=tmp_path)
        assert answer.code == 0, answer.err
        assert agent.memory.digest() in answer.out


# ---------------------------------------------------------------- tables


def go_back(run):
    """Let the run stand at its first checkpoint, so that resuming it writes again."""
    shutil.copy(run / "checkpoints" / "step-300.scrub", run / "checkpoints" / "last.scrub")


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def first_field(path, line, value):
    lines = path.read_text().splitlines(keepends=True)
    lines[line] = value + lines[line][lines[line].index(",") :]
    path.write_text("".join(lines))


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("episodes", lambda p: replace(p, "length", "steps"), "'steps'"),
        ("eval", lambda p: replace(p, "timestep", "time"), "'timestep'"),
        ("eval", lambda p: first_field(p, 1, "soon"), "'timestep', got 'soon'"),
        ("progress", lambda p: first_field(p, 1, "1.5e"), "'timestep', got '1.5e'"),
        ("episodes", lambda p: p.write_bytes(b"\xff\xfe" + p.read_bytes()), "is damaged"),
    ],
)
def test_defect_13_a_damaged_table_is_named_when_a_run_is_resumed(
    name, damage, said, run, scrubjay
):
    go_back(run)
    damage(run / f"{name}.csv")
    answer = scrubjay("train", "--quiet", "--resume", run)
    assert_one_line(answer, str(run / f"{name}.csv"), said)


@pytest.mark.parametrize(
    ("name", "column"), [("eval", "is_success"), ("time", "time/compile_seconds")]
)
def test_defect_13_the_column_of_a_damaged_entry_is_named(name, column, run, scrubjay):
    path = run / f"{name}.csv"
    header, *lines = path.read_text().splitlines()
    lines = [line.rpartition(",")[0] + ",maybe" for line in lines]
    assert header.endswith(column)
    path.write_text("\n".join([header, *lines, ""]))
    answer = scrubjay("train", "--quiet", "--resume", run)
    assert_one_line(answer, str(path), f"{column!r}, got 'maybe'")


def test_defect_13_deeply_nested_json_is_damage(run, scrubjay):
    (run / "config.json").write_text("[" * 100_000)
    assert_one_line(scrubjay("train", "--resume", run), "config.json is damaged")
    assert_one_line(scrubjay("report", run, "--out", "page.html"), "config.json is damaged")


def test_a_damaged_table_leaves_the_others_as_they_were(run, scrubjay):
    go_back(run)
    replace(run / "time.csv", "timestep", "time")
    before = content(run)
    assert scrubjay("train", "--quiet", "--resume", run).code == 1
    assert content(run) == before


# ---------------------------------------------------------------- extras


def without(module, *words, cwd):
    """The command line where a package is not installed."""
    script = f"import sys; sys.modules[{module!r}] = None\n"
    script += "from scrubjay.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", ["toy", "plus", "latch", "capacity", "all"])
def test_defect_16_reproduce_asks_for_matplotlib_before_it_trains(name, tmp_path):
    done = without("matplotlib", "reproduce", name, "--quick", cwd=tmp_path)
    assert done.returncode == 2
    assert 'pip install "scrubjay[plots]"' in done.stderr
    assert not list(tmp_path.iterdir())


def test_defect_16_tables_and_the_report_need_no_matplotlib(run, tmp_path):
    done = without("matplotlib", "reproduce", "comparison", "--agents", cwd=tmp_path)
    assert "nothing to draw" in done.stderr
    assert without("matplotlib", "report", run, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("agent", ["cec", "sac"])
def test_defect_16_tensorboard_is_asked_for_before_anything_is_created(agent, tmp_path):
    words = ["train", agent, "GrowingTree", "--tensorboard", "--steps", 10, "--out", "run"]
    done = without("tensorboard", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert 'pip install "scrubjay[tensorboard]"' in done.stderr
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- foreign modules

MODULE = """
from pathlib import Path
import gymnasium
Path(__file__).with_name("executed").touch()
gymnasium.register("Foreign-v0", "scrubjay.envs.growing_tree:GrowingTree", max_episode_steps=200)
"""


@pytest.fixture
def foreign(run, tmp_path):
    """A run whose configuration names a module, and a module of that name that says if it ran."""
    (tmp_path / "foreign_task.py").write_text(MODULE)
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "task": "foreign_task:Foreign-v0"}))
    return run


@pytest.mark.parametrize("command", ["evaluate RUN", "watch RUN", "train --resume RUN"])
def test_defect_18_a_module_that_a_run_names_is_not_imported_unasked(command, foreign, tmp_path):
    words = command.replace("RUN", foreign.name).split()
    answer = in_shell(*words, cwd=tmp_path)
    assert_one_line(answer, "imports the module 'foreign_task'", "--trust-module")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("command", ["evaluate RUN", "train --quiet --resume RUN"])
def test_defect_18_a_module_is_imported_on_the_users_word(command, foreign, tmp_path):
    words = command.replace("RUN", foreign.name).split()
    answer = in_shell(*words, "--trust-module", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert (tmp_path / "executed").exists()


def test_defect_18_inspect_and_report_import_nothing(foreign, tmp_path):
    for words in (["inspect", foreign.name], ["report", foreign.name]):
        assert in_shell(*words, cwd=tmp_path).code == 0
    assert not (tmp_path / "executed").exists()


def test_defect_18_a_sweep_imports_nothing_that_a_folder_names(foreign, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RunFolderError, match="task is foreign_task:Foreign-v0 there"):
        run_status(foreign, RunConfig("cec", "GrowingTree", steps=1000, eval_freq=500))
    assert not (tmp_path / "executed").exists()

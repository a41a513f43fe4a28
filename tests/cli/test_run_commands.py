"""train, evaluate, inspect, watch, report, tasks and doctor on small runs."""

import csv
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from console import content, in_shell

from probes import Drift
from scrubjay.agents import CEC
from scrubjay.cli import doctor
from scrubjay.cli.main import main
from scrubjay.envs.catalog import TASKS
from scrubjay.memory import EpisodicMemory


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# ---------------------------------------------------------------- train


def test_train_says_where_and_how_much_and_leaves_a_whole_run(tmp_path):
    answer = in_shell("train", "cec", "GrowingTree", "--steps", 500, "--seed", 3, cwd=tmp_path)
    folder = tmp_path / "runs" / "GrowingTree-v0" / "cec-paper-seed-3"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert answer.code == 0
    assert manifest["status"] == "finished"
    assert manifest["timesteps"] >= 500
    done, training, *_, further = answer.out.splitlines()
    assert done == (
        f"done: {manifest['timesteps']} steps, {manifest['episodes']} episodes in "
        "runs/GrowingTree-v0/cec-paper-seed-3"
    )
    assert training.startswith("  training  success ")
    assert further == "next: scrubjay evaluate runs/GrowingTree-v0/cec-paper-seed-3"
    assert answer.err.startswith("cec on scrubjay/GrowingTree-v0, seed 3: runs/")
    assert "\r" not in answer.err, "no bar where there is no terminal"
    assert len(rows(folder / "episodes.csv")) == manifest["episodes"]


def test_quiet_says_only_what_is_written_where(scrubjay):
    answer = scrubjay("train", "cec", "GrowingTree", "--steps", 1, "--quiet", "--out", "new")
    assert answer.err == "cec on scrubjay/GrowingTree-v0, seed 0: new\n"


def test_the_same_command_gives_the_same_run(finished, scrubjay, tmp_path):
    again = ["train", "cec", "GrowingTree", "--steps", 1000, "--eval-freq", 500]
    assert scrubjay(*again, "--checkpoint-steps", 300, "--out", "again").code == 0
    mine, theirs = content(tmp_path / "again"), content(finished)
    assert mine.keys() == theirs.keys()
    assert {"checkpoints/step-300.scrub", "checkpoints/best.scrub"} < mine.keys()
    for name in mine.keys() - {"manifest.json", "command.txt", "time.csv"}:
        assert mine[name] == theirs[name], name


def test_several_environments(scrubjay, tmp_path):
    words = ["--steps", 900, "--n-envs", 2, "--eval-freq", 400, "--quiet", "--out", "two"]
    assert scrubjay("train", "cec", "GrowingTree", *words).code == 0
    episodes = rows(tmp_path / "two" / "episodes.csv")
    assert {row["environment"] for row in episodes} == {"0", "1"}
    assert sum(int(row["length"]) for row in episodes) >= 900
    assert scrubjay("evaluate", tmp_path / "two").code == 0


def test_a_folder_that_exists_gets_a_number(run, scrubjay, tmp_path):
    before = content(run)
    words = ["train", "cec", "GrowingTree", "--steps", 1, "--quiet", "--out", run]
    for number in (2, 3):
        answer = scrubjay(*words)
        assert answer.code == 0
        assert answer.err.startswith(f"note: {run} exists; --overwrite would replace it\n")
        assert answer.err.endswith(f": {run}-{number}\n")
        assert (tmp_path / f"run-{number}" / "manifest.json").exists()
    assert content(run) == before


def test_an_empty_folder_is_used_and_one_with_other_files_is_not(scrubjay, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("Dear reader")
    for name, used in (("empty", "empty"), ("letters", "letters-2")):
        assert scrubjay("train", "cec", "GrowingTree", "--steps", 1, "--out", name).code == 0
        assert (tmp_path / used / "manifest.json").exists()
    assert list(content(tmp_path / "letters")) == ["letter.txt"]


def test_overwrite_replaces_a_run_and_nothing_else(run, scrubjay, tmp_path):
    (run / "notes.txt").write_text("mine")
    words = ["train", "cec", "GrowingTree", "--quiet", "--overwrite", "--out"]
    assert scrubjay(*words, run, "--steps", 300, "--seed", 7).code == 0
    assert json.loads((run / "manifest.json").read_text())["seed"] == 7
    assert {row["episode"] for row in rows(run / "episodes.csv")} >= {"0"}
    assert not (run / "checkpoints" / "step-300.scrub").exists(), "of the former run"
    assert (run / "notes.txt").read_text() == "mine"
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("Dear reader")
    answer = scrubjay(*words, "letters", "--steps", 1)
    assert answer.code == 1
    assert "expected letters to be a run folder to overwrite" in answer.err
    assert list(content(tmp_path / "letters")) == ["letter.txt"]
    assert scrubjay(*words, "new", "--steps", 1).code == 0


def test_a_folder_that_cannot_be_written(scrubjay, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    answer = scrubjay("train", "cec", "GrowingTree", "--steps", 1, "--out", "file/run")
    assert answer.code == 1
    assert "file/run cannot be written" in answer.err


def test_an_error_shows_where_it_came_from_when_asked(scrubjay, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_TRACEBACK", "1")
    with pytest.raises(TypeError, match="expected a Dict observation"):
        scrubjay("train", "cec", "GrowingTree", "--embedding", "select:a")


# ---------------------------------------------------------------- evaluate


def test_evaluate_gives_what_the_run_wrote_down(finished, scrubjay):
    """The evaluation at step 1000 was greedy, with the same start states."""
    last = [row for row in rows(finished / "eval.csv") if row["timestep"] == "1000"]
    solved = sum(int(row["is_success"]) for row in last) / len(last)
    answer = scrubjay("evaluate", finished, "--episodes", len(last))
    assert answer.code == 0
    assert f"episodes  {len(last)}, greedy\n" in answer.out
    assert f"success   {solved:.2f}\n" in answer.out
    mean = sum(int(row["length"]) for row in last) / len(last)
    assert f"length    {mean:.1f} steps (" in answer.out


def test_evaluate_another_checkpoint(finished, scrubjay):
    answer = scrubjay("evaluate", finished, "--checkpoint", "step-300", "--episodes", 2)
    steps = CEC.load(finished / "checkpoints" / "step-300.scrub").num_timesteps
    assert f"after {steps} steps" in answer.out


def test_evaluate_changes_nothing(run, scrubjay):
    before = content(run)
    assert scrubjay("evaluate", run, "--seed", 8, "--episodes", 2).code == 0
    assert content(run) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--checkpoint", "first"], "no checkpoint 'first'; it has ['best', 'last', 'step-300']"),
        (["--episodes", "0"], "expected at least 1 evaluation episode, got 0"),
    ],
)
def test_evaluate_refuses(words, said, finished, scrubjay):
    answer = scrubjay("evaluate", finished, *words)
    assert answer.code == 1
    assert said in answer.err


@pytest.mark.parametrize("command", ["evaluate", "inspect", "watch"])
def test_a_folder_that_is_no_run(command, scrubjay, tmp_path):
    answer = scrubjay(command, tmp_path)
    assert answer.code == 1
    assert f"{tmp_path} is not a run folder: it has no manifest.json" in answer.err


# ---------------------------------------------------------------- inspect


def test_inspect_a_run_and_its_file(finished, scrubjay):
    file = finished / "checkpoints" / "last.scrub"
    memory = CEC.load(file).memory
    answer = scrubjay("inspect", finished)
    assert answer.code == 0
    assert f"rows        {len(memory):,} of at most 10,000\n" in answer.out
    assert f"bytes       {memory.nbytes:,}\n" in answer.out
    assert f"digest      {memory.digest()}\n" in answer.out
    for word in ("values", "age", "nearest"):
        assert f"\n{word} " in answer.out
    assert scrubjay("inspect", file) == answer
    earlier = scrubjay("inspect", finished, "--checkpoint", "step-300")
    assert earlier.out != answer.out


def test_the_histogram_counts_every_row(finished, scrubjay):
    out = scrubjay("inspect", finished).out
    bins = [line for line in out.splitlines() if " to " in line and line.startswith("  ")]
    n_rows = len(CEC.load(finished / "checkpoints" / "last.scrub").memory)
    assert len(bins) == 10
    assert sum(int(line.split()[3].replace(",", "")) for line in bins) == n_rows


@pytest.mark.parametrize("n_rows", [0, 1, 3])
def test_inspect_a_memory_saved_by_itself(n_rows, scrubjay, tmp_path):
    memory = EpisodicMemory(2, capacity=10, columns={"action": 1})
    for row in range(n_rows):
        memory.write([row, 0], 5.0, action=[0])
    memory.save(tmp_path / "memory.scrub")
    answer = scrubjay("inspect", tmp_path / "memory.scrub")
    assert answer.code == 0
    assert f"rows        {n_rows} of at most 10\n" in answer.out
    assert f"digest      {memory.digest()}\n" in answer.out
    assert ("nearest     1 to the nearest other row" in answer.out) == (n_rows == 3)


def test_inspect_something_else(scrubjay, tmp_path):
    (tmp_path / "letter.txt").write_text("Dear reader")
    foreign = scrubjay("inspect", tmp_path / "letter.txt")
    assert foreign.code == 1
    assert "letter.txt: it is not a file written by scrubjay, or it is damaged" in foreign.err
    absent = scrubjay("inspect", tmp_path / "absent.scrub")
    assert absent.code == 1
    assert "absent.scrub" in absent.err


# ---------------------------------------------------------------- watch


def frames(path):
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as film:
        assert film.format == "GIF"
        return film.n_frames


def test_watch_a_task_and_a_run(finished, scrubjay, tmp_path):
    answer = scrubjay("watch", "growingtree", "--random", "--max-frames", 5)
    assert answer.code == 0
    assert answer.err == ""
    assert "written: GrowingTree-v0.gif, 5 frames\n" in answer.out
    assert "episode 1  cut at step 4: --max-frames 10 shows more" in answer.out
    assert frames(tmp_path / "GrowingTree-v0.gif") == 5
    answer = scrubjay("watch", finished)
    assert answer.code == 0
    assert f"written: {finished.name}.gif, " in answer.out
    assert re.search(r"episode 1  \d+ steps, return \S+, (no )?success\n", answer.out)
    assert "cut" not in answer.out
    assert frames(tmp_path / f"{finished.name}.gif") > 1


def test_watch_a_maze(scrubjay, tmp_path):
    pytest.importorskip("mujoco")
    answer = scrubjay("watch", "PointUMaze", "--random", "--max-frames", 3, "--out", "maze.gif")
    if answer.code and "EGL" in answer.err:
        pytest.skip(answer.err)
    assert answer.code == 0
    assert frames(tmp_path / "maze.gif") == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["GrowingTree"], 2, "for a task without an agent add --random"),
        (["GrowingTree", "--random", "--out", "film.txt"], 1, "that ends in .gif or .mp4"),
        (
            ["GrowingTree", "--random", "--episodes", "0"],
            1,
            "episodes to be at least 1, got 0",
        ),
    ],
)
def test_watch_refuses(words, code, said, scrubjay, tmp_path):
    answer = scrubjay("watch", *words)
    assert answer.code == code
    assert said in answer.err
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- report, tasks, doctor


def test_report(finished, scrubjay, tmp_path):
    answer = scrubjay("report", finished, "--out", "page.html")
    assert answer.code == 0
    assert answer.out == "written: page.html, 1 run\n"
    assert "GrowingTree" in (tmp_path / "page.html").read_text()


def test_report_of_nothing(scrubjay, tmp_path):
    answer = scrubjay("report", "nowhere")
    assert answer.code == 1
    assert "got 'nowhere', in which there is no run" in answer.err
    assert not list(tmp_path.iterdir())


def test_tasks_lists_all_eight_with_their_sizes(scrubjay):
    pytest.importorskip("mujoco")
    answer = scrubjay("tasks")
    assert answer.code == 0
    lines = [line.split() for line in answer.out.splitlines()[1:] if line[:1].strip()]
    assert {line[0]: line[1:4] for line in lines[:8]} == {
        "GrowingTree": ["1", "1", "200"],
        "SparseMountainCar": ["2", "1", "999"],
        "PointUMaze": ["3", "2", "1000"],
        "Point4Rooms": ["3", "2", "1000"],
        "Point4RoomsOneGoal": ["3", "2", "1000"],
        "SafexpPointGoal": ["24", "2", "1000"],
        "SafexpCarGoal": ["36", "2", "1000"],
        "SparseFetchReach": ["3+3+10", "4", "50"],
    }
    for task in TASKS:
        assert task.reward in answer.out
        assert task.description in answer.out
        assert task.paper_name in " ".join(answer.out.split())


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("command", ["tasks", "doctor", "inspect RUN", "evaluate RUN"])
def test_tables_fit_the_terminal(command, width, finished, scrubjay, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    answer = scrubjay(*command.replace("RUN", str(finished)).split())
    assert answer.code == 0
    assert max(map(len, answer.out.splitlines())) <= width


def test_a_wide_terminal_is_used(scrubjay, monkeypatch):
    heights = []
    for width in ("80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        heights.append(len(scrubjay("tasks").out.splitlines()))
    assert heights[0] > heights[1] + len(TASKS) - 1


def test_doctor_knows_the_packages_of_all_extras():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    declared = {"core": project["dependencies"], **project["optional-dependencies"]}
    for name in ("dev", "docs", "bench", "all"):
        del declared[name]
    names = {
        extra: {re.match(r"[\w-]+", each)[0] for each in declared[extra]} for extra in declared
    }
    assert {extra: set(packages) for extra, packages in doctor.PARTS.items()} == names


def test_doctor_finds_this_environment_healthy(scrubjay):
    answer = scrubjay("doctor")
    assert answer.code == 0
    assert "no known problems" in answer.out
    for package, version in doctor.installed().items():
        assert f"{package} {version}" in " ".join(answer.out.split())


GOOD = {"mujoco": "3.10.0", "gymnasium-robotics": "1.4.2", "gymnasium": "1.4.0"}


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        ({"mujoco": "3.12.0"}, 'pip install "mujoco<3.12"'),
        ({"mujoco": "3.12.1rc1"}, 'pip install "mujoco<3.12"'),
        ({"mujoco": "2.3.7"}, 'pip install "mujoco>=3.3,<3.12"'),
        ({"gymnasium": "1.0.0"}, 'pip install "gymnasium>=1.2"'),
        ({"gymnasium": "0.29.1"}, 'pip install "gymnasium>=1.2"'),
    ],
)
def test_combinations_known_to_be_broken(change, fix, scrubjay, monkeypatch):
    versions = {"scrubjay": "0.1.0", **GOOD, **change}
    (problem,) = doctor.known_problems(versions)
    assert fix in problem
    assert next(iter(change.values())) in problem
    monkeypatch.setattr(doctor, "installed", lambda: versions)
    answer = scrubjay("doctor")
    assert answer.code == 1
    words = " ".join(answer.out.split())
    assert f"problem: {problem}" in words
    assert 'without torch, stable-baselines3, sb3-contrib (pip install "scrubjay[deep]")' in words


@pytest.mark.parametrize(
    "versions",
    [
        {},
        GOOD,
        {**GOOD, "mujoco": "3.11.9"},
        {**GOOD, "gymnasium": "1.2.0rc1"},
        {"mujoco": "3.12.0"},
        {**GOOD, "mujoco": "3.12.0", "gymnasium-robotics": "1.5.0"},
    ],
)
def test_combinations_that_work(versions):
    assert doctor.known_problems(versions) == []


# ---------------------------------------------------------------- runs started from Python


def test_a_run_started_from_python_with_an_id_is_read_and_resumed(scrubjay, tmp_path):
    agent = CEC("scrubjay/GrowingTree-v0", distance_threshold=0.01).learn(300, run_folder="own")
    assert f"after {agent.num_timesteps} steps" in scrubjay("evaluate", "own").out
    assert agent.memory.digest() in scrubjay("inspect", "own").out
    before = content(tmp_path / "own")
    assert scrubjay("train", "--resume", "own").code == 0
    after = content(tmp_path / "own")
    for name in before.keys() - {"manifest.json", "time.csv"}:
        assert before[name] == after[name], name


def test_a_run_on_an_environment_without_a_name(scrubjay, tmp_path):
    CEC(Drift()).learn(100, run_folder="own")
    before = content(tmp_path / "own")
    for words in (["evaluate", "own"], ["watch", "own"], ["train", "--resume", "own"]):
        answer = scrubjay(*words)
        assert answer.code == 1
        assert "no id makes its environment" in answer.err
        assert answer.err.count("\n") == 1
    assert "scrubjay.resume(path, env=env, eval_env=eval_env)" in answer.err
    assert content(tmp_path / "own") == before
    assert scrubjay("inspect", "own").code == 0
    shutil.copy(tmp_path / "own/checkpoints/last.scrub", tmp_path / "agent.scrub")
    assert scrubjay("inspect", "agent.scrub").code == 0


def test_a_cap_on_the_length_of_episodes(tmp_path, capsys):
    """Defect 12: `--max-episode-steps` reaches training, evaluation and the folder."""
    out = tmp_path / "run"
    command = ["train", "cec", "Pendulum-v1", "--steps", "100", "--eval-freq", "50", "--quiet"]
    assert main([*command, "--max-episode-steps", "20", "--out", str(out)]) == 0
    rows = (out / "episodes.csv").read_text().splitlines()[1:]
    assert [row.split(",")[3] for row in rows] == ["20"] * 5
    assert main(["evaluate", str(out), "--episodes", "2"]) == 0
    assert "20" in capsys.readouterr().out
    assert main([*command, "--max-episode-steps", "0", "--out", str(tmp_path / "other")]) == 2

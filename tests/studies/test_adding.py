"""`scrubjay reproduce NAME --add`: stored results are completed by runs that come one by one."""

import csv
import json
import shutil

import pytest

from scrubjay.analysis.curves import curves_of
from scrubjay.analysis.results import add_rows, read_table
from scrubjay.cli.main import main
from scrubjay.studies import ADDABLE, suite
from scrubjay.studies.reproduce import redraw, reproduce
from scrubjay.studies.shared.methods import StudyBudget
from scrubjay.studies.shared.suite_tasks import SuiteTask
from scrubjay.studies.shared.workspace import Workspace

STEPS = tuple(range(0, 100_001, 10_000))
MAZE = "scrubjay/PointUMaze-v0"


def workspace_of(tmp_path, command="a test", add=True, **more) -> Workspace:
    return Workspace(
        tmp_path / "runs", tmp_path / "out", StudyBudget(), (), command, add=add, **more
    )


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def origin_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def run(make_run):
    """A run of a method of the paper that solves all or none of its last evaluation's episodes."""

    def make(method, seed, solved, task="PointUMaze", steps=STEPS, seconds=10.0):
        make_run(
            f"{task}/{method}-paper/seed-{seed}",
            agent=method,
            task=f"scrubjay/{task}-v0",
            seed=seed,
            steps=steps,
            success=[0] * (len(steps) - 1) + [4 * solved],
            seconds=seconds,
        )

    return make


@pytest.fixture
def store(run, tmp_path):
    """Makes a result of runs that are gone then: two seeds of CEC, solved, and of SAC, not."""

    def make(name):
        for method, solved in (("cec", 1), ("sac", 0)):
            for seed in (0, 1):
                run(method, seed, solved, seconds=10.0 if method == "cec" else 100.0)
        reproduce(name, workspace_of(tmp_path, "the first command", add=False))
        shutil.rmtree(tmp_path / "runs")
        return tmp_path / "out"

    return make


def last_values(path):
    """The value of each seed (and of all) at the end, by task, method and seed."""
    return {
        (row["task"], row["method"], row["seed"]): float(row["value"])
        for row in rows_of(path)
        if row["step"] == "100000" and row["seed"] != "paper"
    }


def row(method, seed, value, **more):
    return {"task": "t", "method": method, "seed": seed, "value": value, **more}


def test_rows_are_added_and_replaced_seed_by_seed():
    stored = [row("CEC", 0, 1.0), row("CEC", 2, 2.0), row("CEC", "all", 1.5), row("SAC", 0, 3.0)]
    new = [row("EMAC", 0, 4.0), row("CEC", 2, 5.0), row("CEC", 1, 6.0), row("CEC", "all", 5.5)]
    assert add_rows(stored, new) == [
        row("CEC", 0, 1.0),
        row("CEC", 1, 6.0),
        row("CEC", 2, 5.0),
        row("SAC", 0, 3.0),
        row("EMAC", 0, 4.0),
    ]
    assert add_rows(
        [row("CEC", 0, 1.0, metric="return")], [row("CEC", 0, 2.0, metric="length")]
    ) == [
        row("CEC", 0, 1.0, metric="return"),
        row("CEC", 0, 2.0, metric="length"),
    ]


def test_a_curve_is_completed_and_says_what_is_still_missing(store, run, tmp_path):
    stored = store("navigation")
    run("sac", 1, 1)  # again, and solved this time
    run("sac", 2, 1)
    run("emac", 0, 0)
    run("sac", 0, 1, task="Point4Rooms")
    reproduce("navigation", workspace_of(tmp_path, "the second command"))
    rooms = "scrubjay/Point4Rooms-v0"
    found = last_values(stored / "navigation.csv")
    mean = found.pop((MAZE, "SAC", "all"))
    assert found == {
        (MAZE, "CEC", "0"): 1.0,
        (MAZE, "CEC", "1"): 1.0,
        (MAZE, "SAC", "0"): 0.0,
        (MAZE, "SAC", "1"): 1.0,
        (MAZE, "SAC", "2"): 1.0,
        (MAZE, "EMAC", "0"): 0.0,
        (rooms, "SAC", "0"): 1.0,
    }
    assert mean == pytest.approx(2 / 3)
    notes = origin_of(stored / "navigation.json")["notes"]
    safexp = "Safexp-PointGoal, Safexp-CarGoal"
    assert [note for note in notes if note.startswith("Not run")] == [
        f"Not run: CEC on Point4Rooms, {safexp}; SAC on {safexp}; EMAC on Point4Rooms, {safexp}."
    ]
    # the iqm figure shows the same numbers
    assert rows_of(stored / "navigation-iqm.csv") == rows_of(stored / "navigation.csv")


def test_where_the_numbers_come_from_is_kept(store, run, tmp_path):
    stored = store("comparison")
    for number, command in enumerate(("second", "third"), 2):
        run("sac", number, 1)
        reproduce("comparison", workspace_of(tmp_path, command))
    origin = origin_of(stored / "comparison.json")
    assert origin["command"] == "third"
    assert [each["command"] for each in origin["added_to"]] == ["the first command", "second"]
    assert all(each["versions"] and "notes" not in each for each in origin["added_to"])
    reproduce("comparison", workspace_of(tmp_path, "anew", add=False))
    assert "added_to" not in origin_of(stored / "comparison.json")


def test_a_shorter_run_cuts_the_curve_and_says_so(store, run, tmp_path):
    stored = store("comparison")
    run("sac", 2, 1, steps=STEPS[:4])
    reproduce("comparison", workspace_of(tmp_path))
    curves = {curve.label: curve for curve in curves_of(read_table(stored / "comparison").rows)}
    assert curves["SAC"].steps[-1] == 30_000
    assert curves["CEC"].steps[-1] == 100_000
    words = "SAC: runs of unequal length, cut to the 30,000 steps that all have"
    assert words in (stored / "comparison.md").read_text()


def test_the_comparison_keeps_its_lines_and_their_order(store, run, tmp_path):
    stored = store("comparison")
    run("sac", 2, 1)
    run("emac", 0, 0)
    run("cec", 0, 1, task="SparseMountainCar")
    reproduce("comparison", workspace_of(tmp_path))
    page = (stored / "comparison.md").read_text()
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith(("| Point", "| Mountain"))
    ]
    assert [(line[0], line[1], line[-2], line[-1]) for line in lines] == [
        ("MountainCarContinuous", "CEC", "1", "1"),
        ("PointUMaze", "CEC", "1, 1", "2"),
        ("PointUMaze", "SAC", "0.33 ± 0.33; 0.33 [0.00, 1.00]", "3"),
        ("PointUMaze", "EMAC", "0", "1"),
    ]


def test_training_times_are_completed(store, run, tmp_path):
    stored = store("speed")
    run("sac", 0, 1, seconds=400.0)
    run("sac", 1, 1, seconds=600.0)
    reproduce("speed", workspace_of(tmp_path))
    rows = rows_of(stored / "table-speed.csv")
    # 7 of 10 seconds of these runs are training
    assert [tuple(row.values()) for row in rows] == [
        ("CEC", "yes", "100000", "7.0", "2", "1.0"),
        ("SAC", "yes", "100000", "350.0", "2", "50.0"),
    ]


def test_first_successes_are_completed_and_can_be_redrawn(store, run, tmp_path):
    stored = store("latch")
    run("sac", 1, 1)
    run("emac", 5, 1)
    reproduce("latch", workspace_of(tmp_path))
    found = [(row["method"], row["seed"]) for row in rows_of(stored / "latch.csv")]
    assert found == [("CEC", "0"), ("CEC", "1"), ("SAC", "0"), ("SAC", "1"), ("EMAC", "5")]
    before = {path.name: path.read_bytes() for path in stored.iterdir() if path.is_file()}
    redraw("latch", workspace_of(tmp_path))
    assert before == {path.name: path.read_bytes() for path in stored.iterdir() if path.is_file()}


def test_without_new_runs_nothing_changes(store, tmp_path, capsys):
    stored = store("comparison")
    before = {path.name: path.read_bytes() for path in stored.iterdir() if path.is_file()}
    reproduce("all", workspace_of(tmp_path))
    assert before == {path.name: path.read_bytes() for path in stored.iterdir() if path.is_file()}
    errors = capsys.readouterr().err
    assert all(f"{name} has nothing to draw" in errors for name in ADDABLE)


def test_results_that_need_the_runs_themselves_are_refused(capsys):
    assert main(["reproduce", "values", "--add", "--agents"]) != 0
    assert "expected a result that runs can be added to, got 'values'" in capsys.readouterr().err


def test_real_runs_of_two_machines_make_the_figure_of_one(tmp_path):
    def draw(runs, out, *more):
        where = ["--runs", str(tmp_path / runs), "--out", str(tmp_path / out)]
        budget = ["--steps", "1000", "--jobs", "1"]
        assert main(["reproduce", "mountain-car", *where, *budget, *more]) == 0

    draw("one", "together", "--agents", "cec", "--seeds", "2")
    for seed in (0, 1):
        name = f"SparseMountainCar/cec-paper/seed-{seed}"
        shutil.copytree(tmp_path / "one" / name, tmp_path / f"machine-{seed}" / name)
        draw(f"machine-{seed}", "apart", "--agents", "--add")
    together, apart = (tmp_path / name / "mountain-car" for name in ("together", "apart"))
    for suffix in (".csv", ".png", ".svg"):
        assert together.with_suffix(suffix).read_bytes() == apart.with_suffix(suffix).read_bytes()


def test_the_suite_is_completed_task_by_task(tmp_path, monkeypatch):
    tree, tall = (
        SuiteTask(title, "GrowingTree", 1000, 500, 1000, 0.9, options, family="trees")
        for title, options in (("tree", {}), ("tall tree", {"tree_height": 2.0}))
    )
    monkeypatch.setattr(suite, "SUITE", (tree, tall))
    for number, (cases, seeds) in enumerate((((tree,), (0, 1)), ((tree, tall), (2,)))):
        monkeypatch.setattr(suite, "cases_of", lambda _, cases=cases: cases)
        root, out = tmp_path / f"machine-{number}", tmp_path / "out"
        workspace = Workspace(root, out, StudyBudget(seeds), ("cec-plus",), "a test", add=True)
        reproduce("suite", workspace, jobs=1)
    rows = rows_of(out / "table-suite.csv")
    assert [(row["task"], row["seeds"]) for row in rows] == [("tree", "3"), ("tall tree", "1")]
    runs = {(row["task"], row["seed"]) for row in rows_of(out / "suite-summary.csv")}
    assert runs == {("tree", "0"), ("tree", "1"), ("tree", "2"), ("tall tree", "2")}
    curves = curves_of(read_table(out / "suite").rows)
    assert [(curve.task, curve.seeds) for curve in curves] == [
        ("tree", (0, 1, 2)),
        ("tall tree", (2,)),
    ]


def test_runs_that_were_left_out_before_are_not_named_for_ever(tmp_path, run, store):
    out = store("comparison")
    stored = origin_of(out / "comparison.json")
    stored["notes"] = ["Left out as unfinished or damaged: 1 run on PointUMaze.", "Another note."]
    (out / "comparison.json").write_text(json.dumps(stored), encoding="utf-8")
    run("cec", 2, 1)
    reproduce("comparison", workspace_of(tmp_path))
    assert origin_of(out / "comparison.json")["notes"] == ["Another note."]

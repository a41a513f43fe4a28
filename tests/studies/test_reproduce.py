"""`scrubjay reproduce`: results from tiny real runs, and from run folders of known numbers."""

import csv
import json
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from scrubjay.analysis.curves import evaluation_curve
from scrubjay.analysis.results import read_table
from scrubjay.analysis.tables import summary_at
from scrubjay.cli.main import main
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import folder_of
from scrubjay.studies import EXPERIMENTS, causes, tables
from scrubjay.studies.comparison import paper_words
from scrubjay.studies.reproduce import reproduce
from scrubjay.studies.shared import methods
from scrubjay.studies.shared.methods import StudyBudget, run_config
from scrubjay.studies.shared.paper_values import CURVES, DIMENSIONS, GROWING_TREE
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.studies.speed import curves_by_label, measure, success_by_seconds, with_ratios
from scrubjay.training.errors import RunError

STEPS = tuple(range(0, 100_001, 10_000))
PNG = b"\x89PNG\r\n"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def words_of(svg: Path) -> str:
    """The text of a figure, whatever lines it is broken into."""
    return " ".join(re.sub(r"<[^>]*>", " ", svg.read_text(encoding="utf-8")).split())


def workspace_of(root: Path, out: Path, agents=(), **budget) -> Workspace:
    return Workspace(root, out, StudyBudget(**budget), tuple(agents), "scrubjay reproduce a test")


@pytest.fixture
def paper_runs(make_run, tmp_path):
    """The paper's methods on two tasks, with numbers that are known."""
    for task in ("PointUMaze", "SparseMountainCar"):
        for method, n_seeds, late in (("cec-paper", 5, 2), ("sac-paper", 3, 6)):
            for seed in range(n_seeds):
                make_run(
                    f"{task}/{method}/seed-{seed}",
                    agent=method.partition("-")[0],
                    task=f"scrubjay/{task}-v0",
                    seed=seed,
                    steps=STEPS,
                    success=[0 if i < late else 4 for i in range(len(STEPS))],
                    seconds=10.0 if method == "cec-paper" else 1000.0,
                )
    return tmp_path / "runs"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Real runs, a thousand steps long, and all that is drawn of them."""
    folder = tmp_path_factory.mktemp("tiny")
    options = ["--steps", "1000", "--seeds", "1", "--agents", "cec"]
    where = ["--runs", str(folder / "runs"), "--out", str(folder / "out")]
    codes = [main(["reproduce", name, *options, *where]) for name in ("toy", "values", "capacity")]
    assert codes == [0, 0, 0]
    return folder


def test_results_are_complete(tiny):
    for name in ("toy", "values", "capacity"):
        assert (tiny / "out" / f"{name}.png").read_bytes().startswith(PNG)
        assert "</svg>" in (tiny / "out" / f"{name}.svg").read_text()
        origin = json.loads((tiny / "out" / f"{name}.json").read_text())
        assert set(origin) >= {"command", "versions", "hardware"}
        assert rows_of(tiny / "out" / f"{name}.csv")


def test_every_figure_is_redrawn_from_its_stored_table(tiny, paper_runs, tmp_path, capsys):
    """Without runs, the pictures come out as they were, to the last byte."""
    out = tmp_path / "out"
    shutil.copytree(tiny / "out", out)
    for name in ("mountain-car", "navigation", "latch"):
        reproduce(name, workspace_of(paper_runs, out))
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for picture in [*out.glob("*.png"), *out.glob("*.svg")]:
        picture.unlink()
    assert main(["reproduce", "all", "--redraw", "--out", str(out)]) == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert main(["reproduce", "toy", "--redraw", "--out", str(tmp_path)]) == 1
    assert "expected the stored numbers of a figure of toy" in capsys.readouterr().err


def test_the_stored_results_can_be_redrawn():
    """Every figure in results/ has its numbers beside it."""
    folder = Path(__file__).parents[2] / "results"
    figures = {path.stem for path in folder.glob("*.png")}
    known = [
        name
        for module, _ in EXPERIMENTS.values()
        for name in getattr(import_module(f"scrubjay.studies.{module}"), "FIGURES", {})
    ]
    assert figures <= set(known)
    assert all(read_table(folder / name).rows for name in figures)


def test_toy_shows_ten_greedy_episodes_and_policies(tiny):
    rows = rows_of(tiny / "out" / "toy.csv")
    assert sorted({int(row["checkpoint"]) for row in rows}) == list(range(100, 1001, 100))
    actions = [float(row["value"]) for row in rows if row["panel"] == "policy"]
    assert len(actions) == 10 * 101
    assert max(np.abs(actions)) <= 0.1 + 1e-6
    last = [row for row in rows if row["panel"] == "episode" and row["checkpoint"] == "1000"]
    assert float(last[0]["value"]) == 0.0


def test_values_come_from_the_three_checkpoints(tiny):
    folder = tiny / "runs" / "PointUMaze" / "cec-paper" / "seed-0" / "checkpoints"
    assert {path.stem for path in folder.glob("step-*")} == {"step-50", "step-500", "step-1000"}
    assert "Not run: SAC." in words_of(tiny / "out" / "values.svg")


def test_capacity_bounds_the_memory(tiny):
    rows = rows_of(tiny / "out" / "capacity.csv")
    sizes = [row for row in rows if row["metric"] == "memory/size"]
    assert {row["method"].strip() for row in sizes} == {
        "1,000 rows", "3,000 rows", "10,000 rows", "unlimited",
    }  # fmt: skip
    bounded = [float(row["value"]) for row in sizes if row["method"].strip() == "1,000 rows"]
    assert max(bounded) <= 1000


def test_runs_are_shared_and_never_repeated(tiny, monkeypatch):
    monkeypatch.setattr("scrubjay.runs.sweep.prepare", lambda _: pytest.fail("a new run"))
    workspace = workspace_of(tiny / "runs", tiny / "again", ["cec"], seeds=(0,), steps=1000)
    assert reproduce("toy", workspace).n_done == 1
    assert reproduce("capacity", workspace).n_done == 4


def test_learning_curves_carry_the_papers_marks(paper_runs, tmp_path):
    workspace = workspace_of(paper_runs, tmp_path / "out")
    reproduce("mountain-car", workspace)
    rows = rows_of(tmp_path / "out" / "mountain-car.csv")
    marks = {row["method"]: float(row["value"]) for row in rows if row["seed"] == "paper"}
    assert marks == {"CEC": 58, "SAC": 43, "EMAC": 0}
    last = [
        r for r in rows if r["seed"] == "all" and r["step"] == "100000" and r["method"] == "CEC"
    ]
    assert float(last[0]["value"]) == 1.0
    text = words_of(tmp_path / "out" / "mountain-car.svg")
    assert "Not run: EMAC." in text
    assert (tmp_path / "out" / "mountain-car-iqm.png").exists()


def test_short_runs_have_no_mark_and_say_so(make_run, tmp_path):
    make_run("PointUMaze/cec-paper/seed-0")
    workspace = workspace_of(tmp_path / "runs", tmp_path / "out", quick=True)
    reproduce("navigation", workspace)
    assert all(row["seed"] != "paper" for row in rows_of(tmp_path / "out" / "navigation.csv"))
    text = words_of(tmp_path / "out" / "navigation.svg")
    for words in ("Quick version", "Fewer than three seeds", "on Point4Rooms"):
        assert words in text


def test_latch_reads_the_manifests(paper_runs, tmp_path):
    reproduce("latch", workspace_of(paper_runs, tmp_path / "out"))
    rows = rows_of(tmp_path / "out" / "latch.csv")
    found = {(r["task"], r["method"], r["seed"]): r["first_success_step"] for r in rows}
    assert len(rows) == 2 * (5 + 3)
    assert found["scrubjay/PointUMaze-v0", "CEC", "3"] == "430"


def test_comparison_at_three_steps(paper_runs, tmp_path):
    reproduce("comparison", workspace_of(paper_runs, tmp_path / "out"))
    page = (tmp_path / "out" / "comparison.md").read_text()
    (line,) = [
        each for each in page.splitlines() if each.startswith("| PointUMaze") and "SAC" in each
    ]
    cells = [each.strip() for each in line.strip("|").split("|")]
    assert cells == [
        "PointUMaze", "SAC", "0.98 (0 until 50k)", "0.00 ± 0.00; 0.00 [0.00, 0.00]",
        "0.00 ± 0.00; 0.00 [0.00, 0.00]", "1.00 ± 0.00; 1.00 [1.00, 1.00]", "3",
    ]  # fmt: skip


def test_comparison_with_few_seeds_gives_the_seeds(paper_runs, tmp_path):
    for seed in (2, 3, 4):
        shutil.rmtree(paper_runs / "PointUMaze" / "cec-paper" / f"seed-{seed}")
    group = workspace_of(paper_runs, tmp_path).group("cec", "PointUMaze")
    curve = evaluation_curve(group, "return")
    assert summary_at(curve, 100_000) == "1, 1"
    assert summary_at(curve, 12_345) == "-"
    assert paper_words("SparseFetchReach", "cec") == "0.63 ± 0.07"
    assert paper_words("SparseFetchReach", "sac-her") == "-"


def test_causes_count_what_was_found_used_and_kept(make_run, tmp_path):
    for seed, late in enumerate((2, 6, 99)):
        make_run(
            f"SafexpPointGoal/cec-stale-paper/seed-{seed}",
            agent="cec-stale",
            task="scrubjay/SafexpPointGoal-v0",
            seed=seed,
            steps=STEPS,
            success=[0 if i < late else 4 for i in range(len(STEPS))],
        )
    reproduce("causes", workspace_of(tmp_path / "runs", tmp_path / "out"))
    (row,) = rows_of(tmp_path / "out" / "table-causes.csv")
    assert (row["arm"], row["kept"]) == ("CEC, stale index", "2 of 3")
    assert [row[step][:4] for step in ("30k", "50k", "100k")] == ["0.33", "0.33", "0.67"]
    marks = [r for r in rows_of(tmp_path / "out" / "causes.csv") if r["seed"] == "paper"]
    assert [mark["method"] for mark in marks] == ["CEC"]


def test_the_block_is_what_is_left_out():
    safexp = pytest.importorskip("scrubjay.envs.safexp")
    config = run_config("cec-no-block", "SafexpPointGoal", 0, StudyBudget())
    assert config.n_eval_episodes == 1
    assert config.task_options["walls"] == [list(wall) for wall in safexp.WALLS[3:]]


def test_speed_counts_training_seconds(paper_runs, tmp_path):
    workspace = workspace_of(paper_runs, tmp_path / "out")
    groups = [workspace.group(name, "PointUMaze") for name in ("cec", "sac")]
    curves = curves_by_label([row for group in groups for row in success_by_seconds(group)])
    found = [measure(*curves[label]) for label in ("CEC", "SAC")]
    assert [row["step"] for row in found] == [20_000, 60_000]
    assert [row["training seconds"] for row in found] == [1.4, 420.0]
    assert [row["times the first"] for row in with_ratios(found)] == ["1.0", "300.0"]
    never = {**found[1], "reached": "no"}
    assert with_ratios([found[0], never])[1]["times the first"] == "at least 300.0"
    assert with_ratios([never, found[0]])[1]["times the first"] == "-"


def test_speed_is_drawn_from_its_stored_table(paper_runs, tmp_path):
    workspace = workspace_of(paper_runs, tmp_path / "out")
    reproduce("speed", workspace)
    rows = rows_of(tmp_path / "out" / "speed.csv")
    assert {(row["method"], row["seed"]) for row in rows} == {
        *(("CEC", str(seed)) for seed in range(5)),
        *(("SAC", str(seed)) for seed in range(3)),
    }
    text = words_of(tmp_path / "out" / "speed.svg")
    assert "CEC: 1.4 s" in text
    assert "SAC: 7 min" in text
    assert "Seeds: CEC 5; SAC 3." in text
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    shutil.rmtree(paper_runs)
    where = ["--out", str(tmp_path / "out"), "--runs", str(tmp_path / "none")]
    assert main(["reproduce", "speed", "--redraw", *where]) == 0
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}


def test_unfinished_damaged_and_foreign_runs_are_left_out_and_named(paper_runs, tmp_path, capsys):
    folder = paper_runs / "SparseMountainCar" / "cec-paper"
    (folder / "seed-4" / "manifest.json").write_text('{"status"')
    for seed, status in ((3, "interrupted"), (2, "running")):
        path = folder / f"seed-{seed}" / "manifest.json"
        path.write_text(path.read_text().replace('"finished"', f'"{status}"', 1))
    reproduce("mountain-car", workspace_of(paper_runs, tmp_path / "out"))
    rows = rows_of(tmp_path / "out" / "mountain-car.csv")
    assert {row["seed"] for row in rows if row["method"] == "CEC"} == {"0", "1", "paper"}
    text = words_of(tmp_path / "out" / "mountain-car.svg")
    assert "Left out as unfinished or damaged: 3 runs on MountainCarContinuous." in text
    errors = capsys.readouterr().err
    assert errors.count("is not finished") == 2
    assert errors.count("is damaged") == 1


def test_runs_of_unequal_length_are_cut(paper_runs, make_run, tmp_path):
    name = "SparseMountainCar/cec-paper/seed-4"
    shutil.rmtree(paper_runs / name)
    make_run(name, task="scrubjay/SparseMountainCar-v0", seed=4, steps=STEPS[:6])
    reproduce("mountain-car", workspace_of(paper_runs, tmp_path / "out"))
    rows = rows_of(tmp_path / "out" / "mountain-car.csv")
    cec = [int(row["step"]) for row in rows if row["method"] == "CEC" and row["seed"] != "paper"]
    assert max(cec) == 50_000
    assert "unequal length" in words_of(tmp_path / "out" / "mountain-car.svg")


def test_mixed_settings_in_one_folder_are_refused(paper_runs, make_run, tmp_path):
    name = "SparseMountainCar/cec-paper/seed-9"
    make_run(name, task="scrubjay/SparseMountainCar-v0", seed=9, steps=STEPS, n_neighbors=9)
    with pytest.raises(RunError, match="expected runs of one setting"):
        reproduce("mountain-car", workspace_of(paper_runs, tmp_path / "out"))


def test_a_run_of_another_task_is_refused(paper_runs, make_run, tmp_path):
    name = "SparseMountainCar/cec-paper/seed-9"
    make_run(name, task="scrubjay/PointUMaze-v0", seed=9, steps=STEPS)
    with pytest.raises(RunError, match="expected runs of one setting"):
        reproduce("mountain-car", workspace_of(paper_runs, tmp_path / "out"))


def test_earlier_results_are_kept(paper_runs, tmp_path):
    workspace = workspace_of(paper_runs, tmp_path / "out")
    reproduce("comparison", workspace)
    before = (tmp_path / "out" / "comparison.md").read_text()
    shutil.rmtree(paper_runs / "PointUMaze")
    reproduce("comparison", workspace)
    (kept,) = (tmp_path / "out" / "previous").glob("comparison.*.md")
    assert kept.read_text() == before
    assert (tmp_path / "out" / "comparison.md").read_text() != before


def test_nothing_to_draw(tmp_path, capsys):
    assert main(["reproduce", "navigation", "--agents", "--runs", str(tmp_path)]) == 1
    assert "expected finished runs of it in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["navgation"], "did you mean navigation"),
        (["toy", "--agents", "cecc"], "did you mean cec"),
        (["toy", "--seeds", "1", "1"], "different seeds"),
        (["toy", "--steps", "0"], "at least 1"),
        (["toy", "--jobs", "0"], "at least 1 job"),
    ],
)
def test_bad_arguments(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) in (1, 2)
    assert message in capsys.readouterr().err


def test_a_missing_extra_is_named_before_anything_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    # other tests of this process may have imported any part of the room
    for module in [name for name in sys.modules if name.startswith("scrubjay.deep")]:
        monkeypatch.delitem(sys.modules, module)
    where = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "mountain-car", "--agents", "sac", *where]) != 0
    errors = capsys.readouterr().err
    assert 'pip install "scrubjay[deep]"' in errors
    assert "--agents cec" in errors
    assert not (tmp_path / "runs").exists()


def test_tables(tmp_path):
    workspace = workspace_of(tmp_path / "runs", tmp_path / "out")
    reproduce("tables", workspace)
    pages = {path.stem: path.read_text() for path in (tmp_path / "out").glob("*.md")}
    assert set(pages) == {f"table-{name}" for name in tables.TABLES}
    assert "| CEC        | action selection  | continuous   |" in pages["table-methods"]
    measured = {row["task"]: row for row in tables.dimensions()}
    assert (measured["PointUMaze"]["state"], measured["PointUMaze"]["state (paper)"]) == (3, 4)
    assert (measured["Safexp-CarGoal"]["state"], measured["Safexp-CarGoal"]["key"]) == (36, 8)
    assert measured["FetchReach"]["state"] == 13
    tree = {row["property"]: (row["paper"], str(row["measured"])) for row in tables.growing_tree()}
    assert set(tree) == set(GROWING_TREE)
    for name in ("action space", "maximum steps", "goal", "final reward", "start height"):
        assert tree[name][0] == tree[name][1]
    settings = {row["task"]: row for row in tables.hyperparameters()}
    assert [row["in the paper"] for row in settings.values()].count("yes") == 5
    assert settings["PointUMaze"]["sigma"] == 0.3


def test_every_task_of_the_paper_has_its_values():
    assert set(DIMENSIONS) == set(methods.PAPER_TASKS) == set(methods.QUICK_STEPS)
    assert set(CURVES) == set(methods.PAPER_TASKS) - {"GrowingTree"}
    assert all(set(values) == set(methods.PAPER_METHODS) for values in CURVES.values())


def test_the_papers_budget():
    config = run_config("sac", "PointUMaze", 3, StudyBudget())
    assert (config.steps, config.eval_freq, config.seed) == (100_000, 5_000, 3)
    assert config.checkpoint_steps == (5_000, 50_000, 100_000)
    assert run_config("cec", "GrowingTree", 0, StudyBudget()).checkpoint_steps[:2] == (
        10_000,
        20_000,
    )
    assert len(StudyBudget().seeds) == 5
    noisy = run_config("cec-noisy-start", "SafexpCarGoal", 0, StudyBudget())
    assert (noisy.task_options, noisy.n_eval_episodes) == ({"start_noise": True}, 10)


def test_all_is_the_union_of_its_parts(tmp_path):
    workspace = workspace_of(tmp_path / "runs", tmp_path / "out", ["cec"])
    planned = [
        config
        for module, _ in EXPERIMENTS.values()
        for config in import_module(f"scrubjay.studies.{module}").plan(workspace)
    ]
    assert all(isinstance(config, RunConfig) for config in planned)
    unique = {folder_of(tmp_path, config) for config in planned}
    arms = {(task, arm) for task, arms in causes.PANELS.values() for arm in arms if arm != "cec"}
    assert len(unique) == 7 * 5 + 3 * 5 + len(arms) * 5


def test_only_the_named_tasks_are_run(tmp_path):
    workspace = workspace_of(tmp_path / "runs", tmp_path / "out", ["cec-plus"], quick=True)
    workspace.tasks = ("GrowingTree",)
    assert reproduce("suite", workspace, jobs=1).n_done == 3
    assert [path.name for path in (tmp_path / "runs" / "suite").iterdir() if path.is_dir()] == [
        "GrowingTree"
    ]


def test_a_task_that_a_study_does_not_have_is_refused(tmp_path):
    workspace = workspace_of(tmp_path / "runs", tmp_path / "out", ["cec-plus"], quick=True)
    workspace.tasks = ("PointTMaze",)
    with pytest.raises(ValueError, match=r"expected tasks of this study, got .*PointTMaze.*; it h"):
        reproduce("suite", workspace)

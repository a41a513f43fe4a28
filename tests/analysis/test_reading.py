"""Reading run folders: the numbers, and every way in which a folder can be wrong."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from scrubjay.analysis.curves import evaluation_curve, one_task, progress_curve
from scrubjay.analysis.groups import differences, group_runs, plain
from scrubjay.analysis.reading import find_runs, load_run, load_runs
from scrubjay.training.errors import RunError

STEPS = [0, 1000, 2000, 3000, 4000]


def curve_of(runs, metric="success"):
    (group,) = group_runs(runs)
    return evaluation_curve(group, metric)


def test_episodes_are_averaged_inside_the_run(make_run):
    run = load_run(make_run("a", success=[0, 1, 2, 4, 4], seed=3))
    assert (run.agent, run.task, run.seed) == ("cec", "scrubjay/PointUMaze-v0", 3)
    np.testing.assert_array_equal(run.evaluations.timesteps, STEPS)
    np.testing.assert_array_equal(run.evaluations.success, [0, 0.25, 0.5, 1, 1])
    np.testing.assert_array_equal(run.evaluations.returns, [0, 0.25, 0.5, 1, 1])
    np.testing.assert_array_equal(
        run.evaluations.lengths, [900, (303 + 3 * 900) / 4, (606 + 1800) / 4, 303, 303]
    )
    assert run.notes == ()


def test_curve_is_seeds_by_steps(make_run):
    make_run("b", seed=1, success=[0, 0, 4, 4, 4])
    runs = load_runs(make_run("a", success=[0, 4, 4, 4, 4]).parent)
    curve = curve_of(runs)
    assert curve.seeds == (0, 1)
    np.testing.assert_array_equal(curve.steps, STEPS)
    np.testing.assert_array_equal(curve.values, [[0, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    assert curve.notes == ()


def test_unequal_lengths_are_cut_and_declared(make_run):
    make_run("a")
    make_run("b", seed=1, steps=STEPS[:3])
    curve = curve_of(load_runs(make_run("c", seed=2).parent))
    np.testing.assert_array_equal(curve.steps, STEPS[:3])
    assert curve.values.shape == (3, 3)
    assert curve.notes == (
        "cec: runs of unequal length, cut to the 2,000 steps that all have (the longest has 4,000)",
    )


def test_other_evaluation_steps_are_never_interpolated(make_run):
    make_run("a", steps=[1000, 2000])
    with pytest.raises(RunError, match="with the same --eval-freq"):
        curve_of(load_runs(make_run("b", seed=1, steps=[500, 1500]).parent))


def test_progress_holds_the_last_logged_value(make_run):
    make_run("b", seed=1)
    runs = load_runs(make_run("a").parent)
    (group,) = group_runs(runs)
    curve = progress_curve(group, "memory/size")
    for row, run in enumerate(runs):
        for step, value in zip(curve.steps, curve.values[row], strict=True):
            logged = run.progress["timestep"] <= step
            assert value == run.progress["memory/size"][logged][-1]
    with pytest.raises(RunError, match="'no/such'"):
        progress_curve(group, "no/such")
    with pytest.raises(RunError, match="no values"):
        progress_curve(group, "rollout/ep_rew_mean")


def test_groups_differ_in_more_than_the_seed(make_run):
    for seed in (0, 1):
        make_run(f"small-{seed}", seed=seed, capacity=1000)
        make_run(f"large-{seed}", seed=seed, capacity=3000)
        make_run(f"sac-{seed}", seed=seed, agent="sac")
    groups = group_runs(load_runs(make_run("tree", task="scrubjay/GrowingTree-v0").parent))
    assert {(g.task, g.label): len(g.runs) for g in groups} == {
        ("scrubjay/PointUMaze-v0", "cec (capacity=1000)"): 2,
        ("scrubjay/PointUMaze-v0", "cec (capacity=3000)"): 2,
        ("scrubjay/PointUMaze-v0", "sac"): 2,
        ("scrubjay/GrowingTree-v0", "cec"): 1,
    }


def test_a_run_older_than_a_setting_has_its_neutral_value(make_run):
    make_run("old", seed=0)
    make_run("new", seed=1, hold=1, stitching=False, detour_cost=None)
    other = make_run("other", seed=2, hold=100)
    groups = group_runs(load_runs(other.parent))
    assert [[run.seed for run in group.runs] for group in groups] == [[0, 1], [2]]
    # what was `CEC` with a setting of today's `CECPlus` goes by that name
    assert [group.label for group in groups] == ["cec", "cec-plus"]
    many = make_run("many", seed=3, hold=200)
    labels = [group.label for group in group_runs(load_runs(many.parent))]
    assert labels == ["cec", "cec-plus (hold=100)", "cec-plus (hold=200)"]


def test_a_run_without_an_entry_that_it_is_too_old_for_is_a_seed_of_the_same_method(make_run):
    old = make_run("old", seed=0)
    new, four = make_run("new", seed=1), make_run("more", seed=0)
    for folder, n_envs in ((new, 1), (four, 4)):
        config = json.loads((folder / "config.json").read_text())
        config |= {"n_envs": n_envs, "max_episode_steps": None, "env_by_id": True}
        config |= {"success_key": None}
        (folder / "config.json").write_text(json.dumps(config))
    groups = group_runs(load_runs(old.parent))
    assert [(group.label, len(group.runs)) for group in groups] == [
        ("cec (n_envs=4)", 1),
        ("cec (n_envs=1)", 2),
    ]


def test_one_setting_is_enough_for_a_name_where_it_tells_all_apart(make_run):
    make_run("a", capacity=1000, radius=1)
    make_run("b", capacity=2000, radius=1)
    groups = group_runs(load_runs(make_run("c", capacity=3000, radius=2).parent))
    assert [group.label for group in groups] == [f"cec (capacity={n}000)" for n in (1, 2, 3)]
    make_run("d", capacity=3000, radius=3)
    groups = group_runs(load_runs(groups[0].runs[0].path.parent))
    assert groups[-1].label == "cec (capacity=3000, radius=3)"


def test_a_schedule_that_differs_is_another_method(make_run):
    make_run("a", epsilon={"steps": 100})
    assert len(group_runs(load_runs(make_run("b", epsilon={"steps": 200}).parent))) == 2


def test_half_copied_finished_runs_are_refused(make_run):
    folder = make_run("a")
    path = folder / "eval.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:10]))
    with pytest.raises(RunError, match=r"at step 4000, but eval.csv ends at step 2000"):
        load_run(folder)


def test_newer_runs_are_refused(make_run):
    path = make_run("a") / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(RunError, match="newer scrubjay"):
        load_run(path.parent)


def test_differences_name_only_what_differs(make_run):
    make_run("b", seed=1, capacity=1000, radius=0.5)
    found = differences(load_runs(make_run("a").parent))
    assert found == {
        "seed": [0, 1],
        "options.capacity": [1_000_000, 1000],
        "options.radius": [None, 0.5],
    }


def test_the_same_seed_twice_counts_once(make_run):
    make_run("a", status="interrupted")
    make_run("c", seed=1)
    make_run("d")
    (group,) = group_runs(load_runs(make_run("b").parent, allow_unfinished=True))
    assert [run.path.name for run in group.runs] == ["b", "c"]  # finished ones, the first of them
    assert [run.path.name for run in group.repeats] == ["a", "d"]


def test_settings_are_written_without_python():
    stages = [{"name": "goal_difference", "keys": []}, {"name": "running_normalizer"}]
    assert plain({"name": "chain", "stages": stages}) == (
        "chain (stages: goal difference (keys: none), running normalizer)"
    )
    assert plain([0.9, 0.05, 100_000]) == "0.9, 0.05, 100,000"
    assert [plain(value) for value in (True, None, 3, 1e-4, "noise")] == [
        "yes", "none", "3", "0.0001", "noise",
    ]  # fmt: skip


def test_runs_of_different_tasks_are_refused(make_run):
    make_run("a")
    runs = load_runs(make_run("b", task="scrubjay/GrowingTree-v0").parent)
    with pytest.raises(RunError, match=r"got 2 tasks \(scrubjay/GrowingTree-v0, scrubjay/Point"):
        one_task(runs)


def test_runs_are_found_by_folder_glob_and_name_and_counted_once(make_run, tmp_path):
    first, second = make_run("x/a"), make_run("y/b", seed=1)
    pattern = str(tmp_path / "runs" / "*" / "*")
    assert sorted(find_runs([tmp_path, pattern, first])) == [first, second]
    assert find_runs(str(tmp_path / "runs" / "x*")) == [first]


@pytest.mark.parametrize("name", ["nowhere", "no*thing", "."])
def test_nothing_found_is_an_error(name, tmp_path):
    with pytest.raises(RunError, match="in which there is no run"):
        load_runs(str(tmp_path / name))


def test_no_path_is_an_error():
    with pytest.raises(RunError, match="at least one run folder or glob, got none"):
        load_runs([])


@pytest.mark.parametrize("status", ["running", "interrupted", "failed"])
def test_unfinished_runs_need_permission_and_are_marked(make_run, status):
    folder = make_run("a", status=status)
    with pytest.raises(RunError, match=f"not finished \\(status '{status}'\\)"):
        load_run(folder)
    run = load_run(folder, allow_unfinished=True)
    assert run.notes == (f"not finished (status '{status}')",)
    assert curve_of([run]).notes == (f"cec, seed 0: {status}",)


def test_a_half_written_last_line_of_a_killed_run_is_left_out(make_run):
    folder = make_run("a", status="running")
    path = folder / "eval.csv"
    text = path.read_text()
    path.write_text(text[: text.rstrip("\n").rindex("\n") + 4])
    run = load_run(folder, allow_unfinished=True)
    # With its last line the whole last evaluation goes: a mean of 3 of 4 episodes would mislead.
    np.testing.assert_array_equal(run.evaluations.timesteps, STEPS[:-1])
    assert run.notes[1:] == (
        "eval.csv: the last line was half written and is left out",
        "eval.csv: the evaluation at step 4000 was cut short and is left out",
    )


def test_a_half_written_line_in_a_finished_run_is_an_error(make_run):
    folder = make_run("a")
    path = folder / "eval.csv"
    path.write_text(path.read_text()[:-3])
    with pytest.raises(RunError, match=r"is marked as finished, but eval.csv"):
        load_run(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", '{"status": "fin', "manifest.json is damaged"),
        ("manifest.json", "[]", "expected an object, got list"),
        ("manifest.json", '{"status": "finished"}', "expected agent to be of type str, got None"),
        ("manifest.json", None, "manifest.json is missing"),
        ("config.json", "", "config.json is damaged"),
        ("config.json", None, "config.json is missing"),
        # defect 13: deeply nested JSON
        ("config.json", "[" * 100_000, "config.json is damaged"),
        ("eval.csv", None, "evaluation at step 4000, but eval.csv ends at step 0"),
        ("eval.csv", "", "evaluation at step 4000, but eval.csv ends at step 0"),
        ("episodes.csv", None, "after 40 episodes, but episodes.csv has 0"),
        ("eval.csv", "timestep,episode\n1,1\n", "expected a column 'return'"),
        ("progress.csv", "timestep,x\n1,2\n3\n4,5\n", "line 3: expected 2 fields, got 1"),
        ("time.csv", "timestep,x\n1,abc\n", "line 2: expected a number, got 'abc'"),
        ("episodes.csv", b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_damaged_folders_give_clear_errors(make_run, name, content, message):
    path = make_run("a") / name
    if content is None:
        path.unlink()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content)
    with pytest.raises(RunError, match=message):
        load_run(path.parent)


HEADER = "timestep,episode,return,length,is_success\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,0,1,5,1\n0,0,1,5,1\n", "listed twice"),
        ("9,0,1,5,1\n0,0,1,5,1\n", "backwards"),
        ("0,0,nan,5,1\n", "finite"),
    ],
)
def test_impossible_evaluations_are_refused(make_run, rows, message):
    folder = make_run("a")
    (folder / "eval.csv").write_text(HEADER + rows)
    with pytest.raises(RunError, match=message):
        load_run(folder)


def test_true_false_and_empty_success(make_run):
    folder = make_run("a", steps=[9])
    (folder / "eval.csv").write_text(HEADER + "0,0,1,5,True\n0,1,1,5,False\n9,0,1,5,\n9,1,2,5,\n")
    run = load_run(folder)
    np.testing.assert_array_equal(run.evaluations.success, [0.5, np.nan])


@pytest.mark.parametrize("content", [HEADER, "", None])
def test_a_run_without_evaluations_can_be_read_but_not_drawn(make_run, content):
    folder = make_run("a", steps=[4000])
    (folder / "eval.csv").unlink()
    if content is not None:
        (folder / "eval.csv").write_text(content)
    with pytest.raises(RunError, match="no evaluations; set --eval-freq"):
        curve_of([load_run(folder)])


def test_many_long_runs_are_read_quickly(make_run, tmp_path):
    """100k steps with an episode every 50: five such runs within a second on one slow core."""
    for seed in range(5):
        make_run(f"{seed}", seed=seed, steps=list(range(0, 100_001, 500)), n_episodes=10)
    start = time.process_time()
    load_runs(tmp_path)
    assert time.process_time() - start < 3


def test_manifest_that_cannot_be_opened(make_run):
    folder = make_run("a")
    (folder / "manifest.json").unlink()
    os.mkdir(folder / "manifest.json")
    with pytest.raises(RunError, match=r"manifest.json is damaged"):
        load_run(folder)


def test_seed_must_be_a_number(make_run):
    path = make_run("a") / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "seed": "three"}))
    with pytest.raises(RunError, match=r"expected seed to be of type int, got 'three'"):
        load_run(path.parent)


@pytest.mark.parametrize(("name", "value"), [("steps", []), ("eval_freq", "x"), ("steps", -5)])
def test_steps_must_be_whole_numbers(make_run, name, value):
    path = make_run("a") / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(RunError, match=f"expected {name} to be a whole number of at least 0"):
        load_run(path.parent)


KILLED = """
import sys
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
config = RunConfig("cec", "GrowingTree", steps=10_000_000, eval_freq=500, checkpoint_freq=2000)
start(config, sys.argv[1])
"""


@pytest.mark.slow
def test_a_run_killed_for_real_can_be_read_where_allowed(tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)])
    try:
        table = folder / "eval.csv"
        deadline = time.monotonic() + 120
        while not (table.exists() and table.stat().st_size > 2000):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    with pytest.raises(RunError, match="status 'running'"):
        load_run(folder)
    run = load_run(folder, allow_unfinished=True)
    assert (run.evaluations.n_episodes == 10).all()
    assert (np.diff(run.evaluations.timesteps) == 500).all()


@pytest.mark.parametrize("value", [{}, "many", -1])
def test_a_manifest_with_odd_counts_is_damaged(make_run, value):
    path = make_run("a") / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "episodes": value}))
    with pytest.raises(RunError, match=r"episodes to be .*, got"):
        load_run(path.parent)

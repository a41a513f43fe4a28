"""The run folder: what is in it, that pandas alone reads it, and that it is never spoiled."""

import json

import numpy as np
import pandas as pd
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from probes import Corridor, Drift, Faulty
from scrubjay.agents import CEC
from scrubjay.embedding import RunningNormalizer
from scrubjay.memory.archive import read_archive
from scrubjay.training import RunFolder, RunFolderError
from scrubjay.training.clock import Clock
from scrubjay.training.run_folder import command_line
from scrubjay.training.tables import Table

EPISODES = ["episode", "environment", "timestep", "length", "return", "terminated", "truncated",
            "is_success"]  # fmt: skip
EVAL = ["timestep", "episode", "return", "length", "is_success"]
PROGRESS = [
    "timestep", "rollout/ep_rew_mean", "rollout/ep_len_mean", "rollout/success_rate",
    "rollout/exploration_rate", "memory/size", "memory/hit_rate", "memory/nearest_distance",
    "memory/added", "memory/replaced", "memory/evicted", "policy/random_fraction",
]  # fmt: skip
TIME = ["timestep", "time/time_elapsed", "time/fps", "time/train_seconds",
        "time/evaluation_seconds", "time/compile_seconds"]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One finished run with everything switched on."""
    folder = tmp_path_factory.mktemp("runs") / "deep" / "run"
    env = Drift()
    agent = CEC(env, seed=3, embedding=RunningNormalizer(), distance_threshold=0.2)
    agent.learn(
        1000, run_folder=folder, eval_env=Drift(), eval_freq=150, n_eval_episodes=3,
        log_freq=200, checkpoint_freq=300, checkpoint_steps=(77, 500),
    )  # fmt: skip
    return folder, agent, env


def test_the_files_are_there_and_nothing_else(run):
    folder, _, _ = run
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert names == [
        "checkpoints/best.scrub", "checkpoints/last.scrub", "checkpoints/step-500.scrub",
        "checkpoints/step-77.scrub", "command.txt", "config.json", "episodes.csv", "eval.csv",
        "evaluations.npz", "manifest.json", "progress.csv", "run.lock", "time.csv",
    ]  # fmt: skip


def test_episodes_are_the_environments_own(run):
    folder, agent, env = run
    table = pd.read_csv(folder / "episodes.csv")
    assert list(table) == EPISODES
    assert table.episode.tolist() == list(range(agent.n_episodes))
    assert table.length.sum() == agent.num_timesteps == len(env.received)
    assert table.timestep.tolist() == table.length.cumsum().tolist()
    assert set(table.environment) == {0}
    # a time-out is at 40 steps, an end pays and is a success
    assert (table.truncated == (table.length == 40)).all()
    assert (table.terminated == table.is_success).all()
    ended = table[table.terminated == 1]
    assert np.isfinite(ended["return"]).all()


def test_evaluation_is_at_multiples_exactly(run):
    folder, agent, _ = run
    table = pd.read_csv(folder / "eval.csv")
    assert list(table) == EVAL
    steps = list(range(150, agent.num_timesteps + 1, 150))
    assert table.timestep.tolist() == [step for step in steps for _ in range(3)]
    assert table.episode.tolist() == [0, 1, 2] * len(steps)
    assert table.length.between(1, 40).all()


def test_progress_is_written_at_the_first_end_past_each_multiple_and_at_the_end(run):
    folder, agent, _ = run
    table, episodes = pd.read_csv(folder / "progress.csv"), pd.read_csv(folder / "episodes.csv")
    assert set(PROGRESS) <= set(table)
    expected, due = [], 200
    for step in episodes.timestep:
        if step >= due:
            expected.append(step)
            due = (step // 200 + 1) * 200
    if expected[-1] != agent.num_timesteps:
        expected.append(agent.num_timesteps)
    assert table.timestep.tolist() == expected
    last = table.iloc[-1]
    window = episodes.tail(100)
    assert last["rollout/ep_rew_mean"] == pytest.approx(window["return"].mean())
    assert last["rollout/ep_len_mean"] == pytest.approx(window.length.mean())
    assert last["rollout/success_rate"] == pytest.approx(window.is_success.mean())
    assert last["memory/size"] == len(agent.memory)
    # counts are since the row before, so they add up to the whole
    assert table["memory/added"].sum() == len(agent.memory)
    assert table["rollout/exploration_rate"].iloc[-1] == agent.epsilon(agent.num_timesteps)


def test_wall_clock_has_a_file_of_its_own(run):
    folder, _, _ = run
    table = pd.read_csv(folder / "time.csv")
    assert set(table) == set(TIME)
    assert (table["time/fps"] > 0).all()
    assert table["time/time_elapsed"].is_monotonic_increasing
    parts = table["time/train_seconds"] + table["time/evaluation_seconds"]
    assert (parts + table["time/compile_seconds"] <= table["time/time_elapsed"] + 1e-3).all()
    for name in ("progress", "episodes", "eval"):
        assert not [c for c in pd.read_csv(folder / f"{name}.csv") if c.startswith("time/")]


def test_the_manifest_says_what_it_is_and_how_it_stands(run):
    folder, agent, _ = run
    manifest = json.loads((folder / "manifest.json").read_text())
    episodes = pd.read_csv(folder / "episodes.csv")
    assert manifest["status"] == "finished"
    assert (manifest["agent"], manifest["seed"], manifest["schema"]) == ("cec", 3, 1)
    assert manifest["timesteps"] == agent.num_timesteps
    assert manifest["episodes"] == agent.n_episodes
    first = episodes[episodes.is_success == 1].timestep.iloc[0]
    assert manifest["first_success_step"] == first
    assert manifest["first_greedy_success_step"] >= first
    assert {"python", "numpy", "numba", "gymnasium"} <= set(manifest["versions"])
    assert manifest["finished"] >= manifest["started"]
    assert (folder / "command.txt").read_text().strip()
    config = json.loads((folder / "config.json").read_text())
    assert config["options"] == json.loads(json.dumps(agent.config()))
    assert (config["agent"], config["seed"], config["steps"]) == ("cec", 3, 1000)


def test_checkpoints_hold_what_their_names_say(run):
    folder, agent, _ = run
    checkpoints = folder / "checkpoints"
    last = CEC.load(checkpoints / "last.scrub")
    assert last.memory.digest() == agent.memory.digest()
    ends = [0, *pd.read_csv(folder / "episodes.csv").timestep]
    for step in (77, 500):
        saved = CEC.load(checkpoints / f"step-{step}.scrub")
        assert saved.num_timesteps == max(end for end in ends if end <= step)
        again = CEC(Drift(), seed=3, embedding=RunningNormalizer(), distance_threshold=0.2)
        assert saved.memory.digest() == again.learn(saved.num_timesteps).memory.digest()


def test_best_is_the_first_of_the_best_evaluations(run):
    folder, _, _ = run
    table = pd.read_csv(folder / "eval.csv").groupby("timestep")[["is_success", "return"]].mean()
    order = table.sort_values(["is_success", "return"], ascending=False, kind="stable")
    ends = [0, *pd.read_csv(folder / "episodes.csv").timestep]
    best = CEC.load(folder / "checkpoints" / "best.scrub")
    assert best.num_timesteps == max(end for end in ends if end <= order.index[0])


def test_of_equally_good_evaluations_the_first_is_the_best(tmp_path):
    CEC(Corridor(), seed=0).learn(
        30, run_folder=tmp_path / "run", eval_env=Corridor(), eval_freq=6, n_eval_episodes=1
    )
    assert CEC.load(tmp_path / "run" / "checkpoints" / "best.scrub").num_timesteps == 6


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_vectors_report_success_and_their_lane(mode, tmp_path):
    env = SyncVectorEnv(
        [lambda: Corridor([0.0, 1.0]), lambda: Corridor([0.0] * 3)],
        autoreset_mode=AutoresetMode(mode),
    )
    CEC(env, seed=0).learn(20, run_folder=tmp_path / "run")
    table = pd.read_csv(tmp_path / "run" / "episodes.csv")
    assert (table.is_success == (table.environment == 0)).all()
    assert (table.length == table.environment + 2).all()
    assert (table["return"] == table.is_success).all()
    assert set(table.environment) == {0, 1}


def test_a_used_folder_is_refused_and_left_alone(tmp_path):
    folder = tmp_path / "run"
    CEC(Corridor(), seed=0).learn(10, run_folder=folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(RunFolderError, match=r"holds a run already.*--resume"):
        CEC(Corridor(), seed=0).learn(10, run_folder=folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_below_a_file_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    agent = CEC(Corridor(), seed=0)
    with pytest.raises(RunFolderError, match=r"(?s)file.*run.*choose another"):
        agent.learn(10, run_folder=tmp_path / "file" / "run")
    assert (tmp_path / "file").read_text() == "in the way"
    assert agent.num_timesteps == 0


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "manifest.json").unlink(), "not a run folder"),
        (lambda f: (f / "manifest.json").write_text('{"schema": 1'), "damaged"),
        (lambda f: (f / "manifest.json").write_text("[]"), "damaged"),
        (lambda f: (f / "manifest.json").write_text('{"schema": 7}'), "newer.*upgrade"),
        (lambda f: (f / "config.json").write_bytes(b"\xff\xfe"), "damaged"),
        (lambda f: (f / "config.json").unlink(), "not a run folder"),
        # defect 13: deeply nested JSON
        (lambda f: (f / "config.json").write_text("[" * 100_000), "damaged"),
    ],
)
def test_what_is_not_a_run_says_so(damage, message, tmp_path):
    CEC(Corridor(), seed=0).learn(10, run_folder=tmp_path / "run")
    damage(tmp_path / "run")
    with pytest.raises(RunFolderError, match=message):
        RunFolder.open(tmp_path / "run")


@pytest.mark.parametrize("fault", ["raise", "nan observation", "inf reward"])
def test_a_fault_in_the_middle_of_an_episode_saves_the_last_boundary(fault, tmp_path):
    folder = tmp_path / "run"
    agent = CEC(Faulty(Drift(), 333, fault), seed=3, embedding=RunningNormalizer())
    error, message = (
        (RuntimeError, "the simulator fell over") if fault == "raise" else (ValueError, "finite")
    )
    with pytest.raises(error, match=message):
        agent.learn(1000, run_folder=folder, checkpoint_freq=100)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert manifest["timesteps"] == agent.num_timesteps <= 333
    assert pd.read_csv(folder / "episodes.csv").timestep.iloc[-1] == agent.num_timesteps
    # what was saved goes on as if nothing had happened
    saved = CEC.load(folder / "checkpoints" / "last.scrub", env=Drift())
    whole = CEC(Drift(), seed=3, embedding=RunningNormalizer()).learn(1000)
    saved.learn(1000 - saved.num_timesteps)
    assert saved.memory.digest() == whole.memory.digest()


def test_a_fault_before_the_first_episode_ends_leaves_an_empty_checkpoint(tmp_path):
    with pytest.raises(RuntimeError, match="fell over"):
        CEC(Faulty(Drift(), 1, "raise"), seed=0).learn(100, run_folder=tmp_path / "run")
    saved = CEC.load(tmp_path / "run" / "checkpoints" / "last.scrub")
    assert (len(saved.memory), saved.num_timesteps) == (0, 0)


def test_a_fault_in_a_vector_drops_the_open_episodes_and_says_how_many(tmp_path):
    env = SyncVectorEnv([Drift, lambda: Faulty(Drift(), 150, "raise")])
    with pytest.raises(RuntimeError, match="fell over"):
        CEC(env, seed=1).learn(1000, run_folder=tmp_path / "run")
    manifest, _ = read_archive(tmp_path / "run" / "checkpoints" / "last.scrub", "agent")
    assert manifest["counters"]["n_dropped_episodes"] == 2


def test_defect_9_a_run_that_a_callback_stops_is_stopped(tmp_path):
    agent = CEC(Corridor([0.0] * 5), seed=0)
    agent.learn(100, callback=lambda *_: agent.num_timesteps < 12, run_folder=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "stopped"
    assert pd.read_csv(tmp_path / "run" / "episodes.csv").timestep.tolist() == [5, 10]


def test_defect_9_a_callback_that_stops_at_the_end_of_the_budget_changes_nothing(tmp_path):
    agent = CEC(Corridor([0.0] * 5), seed=0)
    agent.learn(100, callback=lambda *_: agent.num_timesteps < 100, run_folder=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "finished"


def test_named_steps_that_are_past_are_not_saved_under_a_wrong_name(tmp_path):
    agent = CEC(Corridor([0.0] * 5), seed=0).learn(50)
    agent.learn(50, run_folder=tmp_path / "run", checkpoint_steps=(20, 80))
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["last.scrub", "step-80.scrub"]


def test_a_second_training_in_a_new_folder_starts_where_the_agent_stands(tmp_path):
    agent = CEC(Drift(), seed=2).learn(300)
    start = agent.num_timesteps
    agent.learn(
        300, run_folder=tmp_path / "run", eval_env=Drift(), eval_freq=100, n_eval_episodes=1,
    )  # fmt: skip
    table = pd.read_csv(tmp_path / "run" / "eval.csv")
    assert table.timestep.tolist() == [
        step for step in range(100, agent.num_timesteps + 1, 100) if step > start
    ]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["start_timestep"] == start


def test_the_first_two_successes_are_found_exactly(tmp_path):
    # the corridor pays at its end whatever one does: found at once, and greedily after that
    CEC(Corridor([0.0, 0.0, 1.0]), seed=0).learn(
        30, run_folder=tmp_path / "run", eval_env=Corridor([0.0, 0.0, 1.0])
    )
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["first_success_step"] == 3
    assert manifest["first_greedy_success_step"] == 3


# ---------------------------------------------------------------- tables and clock


def table_with(path, steps):
    table = Table(path)
    for step in steps:
        table.append({"timestep": step, "value": step / 7, "solved": step % 2 == 0, "odd": None})
    table.close()
    return path.read_text()


def test_a_table_keeps_full_precision_and_plain_signs(tmp_path):
    text = table_with(tmp_path / "t.csv", [1, 2])
    assert text == f"timestep,value,solved,odd\n1,{1 / 7!r},0,\n2,{2 / 7!r},1,\n"


@pytest.mark.parametrize("cut_at", range(0, 80, 3))
def test_a_table_killed_anywhere_is_cut_to_whole_rows(cut_at, tmp_path):
    path = tmp_path / "t.csv"
    whole = table_with(tmp_path / "whole.csv", [1, 2, 3])
    text = table_with(path, [1, 2, 3, 4])
    path.write_text(text[: min(cut_at, len(text))])
    table = Table(path)
    table.cut(3)
    kept = {row["timestep"] for row in table.rows()}
    for step in (1, 2, 3):
        if str(step) not in kept:
            table.append({"timestep": step, "value": step / 7, "solved": step % 2 == 0,
                          "odd": None})  # fmt: skip
    table.close()
    assert path.read_text() == whole


def test_cutting_to_before_the_first_row_leaves_an_empty_table(tmp_path):
    table_with(tmp_path / "t.csv", [5, 6])
    table = Table(tmp_path / "t.csv")
    table.cut(4)
    table.append({"timestep": 5, "other": 1})
    table.close()
    assert (tmp_path / "t.csv").read_text() == "timestep,other\n5,1\n"


def test_the_clock_goes_on_from_an_earlier_process():
    clock = Clock(1000)
    clock.restore({
        "time/time_elapsed": "100", "time/train_seconds": "60", "time/evaluation_seconds": "25",
        "time/compile_seconds": "10",
    })  # fmt: skip
    totals = clock.totals()
    assert totals["time_elapsed"] == pytest.approx(100, abs=1)
    assert totals["train_seconds"] == pytest.approx(60, abs=1)
    assert totals["evaluation_seconds"] == 25
    assert totals["compile_seconds"] == 10
    assert clock.fps(2000) > 1000, "only this process's steps and seconds count for its rate"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/usr/bin/scrubjay", "scrubjay tasks --help"),
        ("src/scrubjay/__main__.py", "python -m scrubjay tasks --help"),
        ("my script.py", "'my script.py' tasks --help"),
        ("", "python tasks --help"),
    ],
)
def test_the_command_of_a_run_can_be_typed_again(path, expected, monkeypatch):
    monkeypatch.setattr("sys.argv", [path, "tasks", "--help"])
    assert command_line() == expected

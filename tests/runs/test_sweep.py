"""Sweeps with real processes: killed, interrupted, side by side, failing."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from scrubjay.runs import sweep as sweeping
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.runs.sweep import folder_of, sweep
from scrubjay.runs.sweep_display import Pace, duration
from scrubjay.training.lock import is_held
from scrubjay.training.run_folder import RunFolderError
from scrubjay.training.tables import last_timestep

TABLES = ("episodes.csv", "eval.csv", "progress.csv")
SCRIPT = """
import json, sys
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import sweep
configs = [RunConfig.from_json(each) for each in json.loads(sys.argv[2])]
print(sweep(configs, sys.argv[1], jobs=1).n_done)
"""


def tree(seed: int = 0, steps: int = 2_000, **settings) -> RunConfig:
    settings = {"eval_freq": 1_000, "n_eval_episodes": 1, "checkpoint_freq": 1_000, **settings}
    return RunConfig("cec", "GrowingTree", seed=seed, steps=steps, **settings)


def in_background(root: Path, configs: list[RunConfig]) -> subprocess.Popen:
    text = json.dumps([asdict(config) for config in configs])
    command = [sys.executable, "-c", SCRIPT, str(root), text]
    pipes: dict = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, preexec_fn=heed_interrupts)


def heed_interrupts() -> None:
    """A shell starts background jobs with SIGINT ignored, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in TABLES]


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())


@pytest.fixture(scope="module")
def long_run(tmp_path_factory) -> tuple[RunConfig, list[bytes]]:
    """A run that takes a few seconds, and what it writes when nobody disturbs it."""
    config = tree(seed=3, steps=60_000)
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    start(config, folder)
    return config, contents(folder)


def begin_and_wait(root: Path, config: RunConfig) -> tuple[subprocess.Popen, Path]:
    process = in_background(root, [config])
    folder = folder_of(root, config)
    wait_for(lambda: (folder / "checkpoints" / "last.scrub").exists())
    return process, folder


def test_killed_sweep_continues_bit_for_bit(tmp_path, long_run):
    config, expected = long_run
    process, folder = begin_and_wait(tmp_path, config)
    worker = json.loads((folder / "owner.json").read_text())["pid"]
    os.kill(process.pid, signal.SIGKILL)
    os.kill(worker, signal.SIGKILL)
    process.communicate()
    wait_for(lambda: not is_held(folder))
    assert manifest(folder)["status"] == "running"

    assert sweep([config], tmp_path, jobs=1).n_done == 1
    assert manifest(folder)["status"] == "finished"
    assert contents(folder) == expected
    assert not (folder / "owner.json").exists()


def test_workers_of_a_killed_sweep_save_and_stop(tmp_path, long_run):
    config, expected = long_run
    process, folder = begin_and_wait(tmp_path, config)
    process.kill()
    process.communicate()
    wait_for(lambda: not is_held(folder))
    assert manifest(folder)["status"] == "interrupted"
    assert sweep([config], tmp_path, jobs=1).n_done == 1
    assert contents(folder) == expected


def test_interrupted_sweep_says_how_to_go_on(tmp_path):
    # long enough that the signal arrives before its end on a busy machine
    process, folder = begin_and_wait(tmp_path, tree(seed=3, steps=1_000_000))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode != 0, errors
    assert "the same command resumes them" in errors
    assert manifest(folder)["status"] == "interrupted"
    assert not is_held(folder)


def test_two_sweeps_on_one_folder(tmp_path):
    configs = [tree(seed, 8_000) for seed in range(3)]
    processes = [in_background(tmp_path, configs) for _ in range(2)]
    for process in processes:
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        assert output.split()[-1] == "3"
    folders = [folder_of(tmp_path, config) for config in configs]
    started = [
        (folder / "run.log").read_text().count("evaluation at step 8,000") for folder in folders
    ]
    assert started == [1, 1, 1]
    start(configs[0], tmp_path / "alone")
    assert contents(folders[0]) == contents(tmp_path / "alone")


def test_failing_run_is_reported_and_the_others_go_on(tmp_path, capsys):
    configs = [tree(seed) for seed in (0, 1)]
    broken, good = (folder_of(tmp_path, config) for config in configs)
    broken.mkdir(parents=True)
    (broken / "checkpoints").write_text("a file in the way")
    outcome = sweep(configs, tmp_path, jobs=2)
    assert outcome.n_done == 1
    assert list(outcome.failed) == [broken]
    assert "cannot be written" in outcome.failed[broken]
    assert manifest(good)["status"] == "finished"
    errors = capsys.readouterr().err
    assert f"failed: {'/'.join(broken.parts[-3:])}" in errors
    assert "run.log" in errors


def test_finished_runs_are_never_repeated(tmp_path, monkeypatch):
    config = tree()
    sweep([config], tmp_path)
    monkeypatch.setattr(sweeping, "prepare", lambda _: pytest.fail("nothing is to be run"))
    assert sweep([config, config], tmp_path).n_done == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 3_000}, "steps is 2000 there, 3000 is wanted"),
        ({"checkpoint_steps": (500,)}, "checkpoint_steps"),
        ({"task_options": {"tree_height": 2.0}}, None),
        ({"tensorboard": True}, None),
    ],
)
def test_another_configuration_in_the_same_place(tmp_path, change, message):
    config = tree()
    folder = folder_of(tmp_path, config)
    start(config, folder)
    other = replace(config, **change)
    if message is None:  # lies elsewhere, or does not change the run
        assert "tensorboard" in change or folder_of(tmp_path, other) != folder
        return
    with pytest.raises(RunFolderError, match=message):
        sweep([other], tmp_path)
    assert manifest(folder)["status"] == "finished"


def test_a_preset_that_changed_is_noticed(tmp_path):
    config = tree()
    folder = folder_of(tmp_path, config)
    start(config, folder)
    content = json.loads((folder / "config.json").read_text())
    content["options"]["n_neighbors"] = 7
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(RunFolderError, match="options"):
        sweep([config], tmp_path)


def test_a_setting_that_is_no_more_is_named(tmp_path):
    config = tree(steps=500)
    folder = folder_of(tmp_path, config)
    start(config, folder)
    content = json.loads((folder / "config.json").read_text())
    content["options"]["noise_rate"] = 0.0
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(RunFolderError, match=r"cannot make .*noise_rate.*move it away"):
        sweep([config], tmp_path, jobs=1)


def test_damaged_folder_is_named(tmp_path):
    config = tree()
    folder = folder_of(tmp_path, config)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"status": "fini')
    with pytest.raises(RunFolderError, match="damaged"):
        sweep([config], tmp_path)


def test_folders_tell_runs_apart():
    root, config = Path("runs"), tree(seed=4)
    assert folder_of(root, config) == root / "GrowingTree" / "cec-paper" / "seed-4"
    bounded = replace(config, options={"capacity": 1000}, task_options={"tree_height": 2.0})
    assert folder_of(root, bounded).parent.name == "cec-paper-capacity-1000-tree-height-2.0"
    nested = [replace(config, options={"embedding": {"name": name}}) for name in ("a", "b")]
    assert len({folder_of(root, each) for each in nested}) == 2


def test_two_runs_for_one_folder_are_refused(tmp_path):
    with pytest.raises(ValueError, match="two different runs"):
        sweep([tree(steps=10), tree(steps=20)], tmp_path)


def test_bad_number_of_jobs(tmp_path):
    with pytest.raises(ValueError, match="at least 1 job"):
        sweep([tree()], tmp_path, jobs=0)


class Shown:
    """A run as the display sees it."""

    def __init__(self, state: str, done: int, kind=("cec", "a"), steps: int = 100) -> None:
        self.state, self.kind, self.config = state, kind, tree(steps=steps)
        self.done, self.began, self.log_start = done, 0.0, 0

    def steps(self) -> int:
        return self.done


def test_time_left_is_estimated_from_runs_of_the_same_kind():
    runs = [Shown("running", 50), Shown("waiting", 0), Shown("done", 100)]
    assert Pace().left([Shown("waiting", 0)], 1) is None
    assert Pace({("cec", "a"): 2.0}).left(runs, 1) == pytest.approx((50 + 100) * 2.0)
    # the longest run alone takes that long, however many jobs there are
    assert Pace({("cec", "a"): 2.0}).left(runs, 8) == pytest.approx(200.0)
    # an agent's other task stands in for one that is not known
    other = Shown("waiting", 0, ("sac", "b"))
    assert Pace({("cec", "a"): 1.0, ("sac", "a"): 9.0}).left([other], 1) == pytest.approx(900.0)
    assert (duration(30), duration(600), duration(7200)) == ("30 s", "10 min", "2.0 h")


def test_a_sweep_reads_the_steps_that_a_run_has_logged(tmp_path):
    """Structure: the steps come from the run's own table, not from text for people."""
    run = sweeping.Run(
        tree(steps=3_000, log_freq=500, checkpoint_freq=0, eval_freq=0), tmp_path / "run"
    )
    assert run.steps() == 0
    seen = []

    def watch(*_):
        seen.append(run.steps())

    start(run.config, run.folder, callback=watch)
    assert seen == sorted(seen)
    assert {0, *seen} - {0, run.steps()}, "the steps are known while the run goes on"
    assert run.steps() >= 3_000


@pytest.mark.parametrize(
    ("content", "step"),
    [
        (b"", 0),
        (b"timestep,x\n", 0),
        (b"timestep,x\n500,1\n", 500),
        (b"timestep,x\n500,1\n1000,2\n15", 1000),
        (b"timestep,x\n" + b"7,0\n" * 50_000 + b"1000,2\n", 1000),
    ],
)
def test_the_last_logged_step_is_that_of_the_last_whole_row(tmp_path, content, step):
    (tmp_path / "progress.csv").write_bytes(content)
    assert last_timestep(tmp_path / "progress.csv") == step
    assert last_timestep(tmp_path / "no.csv") == 0

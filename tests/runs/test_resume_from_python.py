"""Runs that were started from Python, killed, and resumed: `scrubjay.resume` and `--resume`."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import ClipAction, TimeLimit

import scrubjay
from probes import Corridor, Drift
from scrubjay import CEC, CECPlus, RunFolder
from scrubjay.cli.main import main
from scrubjay.runs.config import RunConfig
from scrubjay.training import RunFolderError
from scrubjay.training.session import Plan
from scrubjay.training.setup import describe_environments

TREE = "scrubjay/GrowingTree-v0"
TABLES = ("progress.csv", "episodes.csv", "eval.csv")
PLAN = {
    "eval_freq": 500,
    "n_eval_episodes": 2,
    "log_freq": 200,
    "checkpoint_freq": 300,
    "checkpoint_steps": (700,),
}
# Python 3.12 warns of forks from processes with threads; these children only train.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


class Slow(Drift):
    """The same, slowly enough to be killed in the middle."""

    def step(self, action):
        time.sleep(0.001)
        return super().step(action)


def drift(env, **settings):
    return CECPlus(env, seed=3, **settings)


def killed(train, path, after):
    """Train in another process, and kill it when the file `after` is in the folder."""
    process = multiprocessing.get_context("fork").Process(target=train)
    process.start()
    limit = time.monotonic() + 60
    while not (path / after).exists():
        assert process.exitcode is None, "it ended before it was killed"
        assert time.monotonic() < limit
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert json.loads((path / "manifest.json").read_text())["status"] == "running"


def assert_same(folder, whole):
    for name in TABLES:
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name
    mine, theirs = (json.loads((f / "manifest.json").read_text()) for f in (folder, whole))
    for name in ("status", "timesteps", "episodes", "first_success_step",
                 "first_greedy_success_step"):  # fmt: skip
        assert mine[name] == theirs[name], name
    names = sorted(file.name for file in (whole / "checkpoints").iterdir())
    assert names == sorted(file.name for file in (folder / "checkpoints").iterdir())
    for name in names:
        assert (folder / "checkpoints" / name).read_bytes() == (
            whole / "checkpoints" / name
        ).read_bytes(), name


def content(folder):
    return {file: file.read_bytes() for file in sorted(Path(folder).rglob("*")) if file.is_file()}


# ---------------------------------------------------------------- killed


@pytest.mark.parametrize("after", ["checkpoints/step-700.scrub", "progress.csv"])
@pytest.mark.parametrize("budget", [{"total_timesteps": 2000}, {"total_episodes": 60}])
def test_a_run_on_an_environment_without_an_id_goes_on_bit_for_bit(tmp_path, budget, after):
    drift(Drift()).learn(**budget, run_folder=tmp_path / "whole", eval_env=Drift(), **PLAN)
    killed(
        lambda: drift(Slow()).learn(
            **budget, run_folder=tmp_path / "run", eval_env=Drift(), **PLAN
        ),
        tmp_path / "run",
        after,
    )
    agent = scrubjay.resume(tmp_path / "run", env=Drift(), eval_env=Drift())
    assert isinstance(agent, CECPlus)
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_an_agent_that_had_learned_before_goes_on_with_what_it_knew(tmp_path):
    """Killed before the first checkpoint that was asked for."""

    def train(env, path):
        agent = drift(Drift()).learn(500)
        agent.set_env(env)
        agent.learn(1000, run_folder=path, eval_env=Drift(), **{**PLAN, "checkpoint_freq": 0})

    train(Drift(), tmp_path / "whole")
    killed(lambda: train(Slow(), tmp_path / "run"), tmp_path / "run", "progress.csv")
    assert scrubjay.CECPlus.load(tmp_path / "run/checkpoints/last.scrub").num_timesteps >= 500
    scrubjay.resume(tmp_path / "run", env=Drift(), eval_env=Drift())
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_without_any_checkpoint_an_agent_that_had_learned_before_is_not_made_anew(tmp_path):
    agent = drift(Drift()).learn(500)
    agent.learn(500, run_folder=tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "last.scrub").unlink()
    before = content(tmp_path)
    with pytest.raises(RunFolderError, match=r"had trained for \d+ steps before"):
        scrubjay.resume(tmp_path / "run", env=Drift())
    assert content(tmp_path) == before


@pytest.mark.parametrize("how", ["python", "command line"])
def test_a_run_on_a_task_with_an_id_needs_no_environment(tmp_path, how):
    def train(path, sleep=0.0):
        env = gymnasium.make("Pendulum-v1", g=9.0, max_episode_steps=50)
        agent = CEC(env, embedding=scrubjay.BoundsScaler(), distance_threshold=0.05, seed=2)
        agent.learn(
            2000,
            run_folder=path,
            eval_env=gymnasium.make("Pendulum-v1", g=9.0, max_episode_steps=50),
            callback=lambda *_: time.sleep(sleep),
            **PLAN,
        )

    train(tmp_path / "whole")
    killed(lambda: train(tmp_path / "run", 0.001), tmp_path / "run", "checkpoints/step-700.scrub")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["task_options"] == {"g": 9.0}
    assert config["max_episode_steps"] == 50
    if how == "python":
        scrubjay.resume(tmp_path / "run")
    else:
        assert main(["train", "--resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_a_cap_on_episodes_is_that_of_the_run(tmp_path):
    def train(path, env):
        drift(env).learn(
            900, run_folder=path, eval_env=Drift(limit=10**9), max_episode_steps=30, **PLAN
        )

    train(tmp_path / "whole", Drift(limit=10**9))
    killed(
        lambda: train(tmp_path / "run", Slow(limit=10**9)),
        tmp_path / "run",
        "checkpoints/step-700.scrub",
    )
    scrubjay.resume(tmp_path / "run", env=Drift(limit=10**9), eval_env=Drift(limit=10**9))
    assert_same(tmp_path / "run", tmp_path / "whole")


def test_networks_on_an_environment_without_an_id_begin_again(tmp_path):
    pytest.importorskip("stable_baselines3")
    settings = {"policy_kwargs": {"net_arch": [8]}, "learning_starts": 50, "seed": 3}
    plan = {**PLAN, "eval_freq": 100, "log_freq": 50, "checkpoint_freq": 50}

    def train(path):
        scrubjay.make("sac", Drift(), **settings).learn(
            200, run_folder=path, eval_env=Drift(), **plan
        )

    train(tmp_path / "whole")
    train(tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "running"}))
    with pytest.raises(RunFolderError, match="no id makes its environment"):
        scrubjay.resume(tmp_path / "run")
    scrubjay.resume(tmp_path / "run", env=Drift(), eval_env=Drift())
    for name in TABLES:
        mine, whole = (tmp_path / run / name for run in ("run", "whole"))
        assert mine.read_bytes() == whole.read_bytes(), name


def test_a_vector_run_goes_on(tmp_path):
    env = gymnasium.make_vec(TREE, num_envs=3, vectorization_mode="sync", max_episode_steps=40)
    CEC(env, seed=1).learn(600, run_folder=tmp_path / "run", checkpoint_freq=100)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["n_envs"], config["max_episode_steps"], config["env_by_id"]) == (3, 40, True)
    (tmp_path / "run" / "config.json").write_text(json.dumps({**config, "steps": 1200}))
    assert main(["train", "--resume", str(tmp_path / "run"), "--quiet"]) == 0
    episodes = RunFolder.open(tmp_path / "run").tables["episodes"].rows()
    lengths = [int(row["length"]) for row in episodes]
    assert sum(lengths) >= 1200
    assert max(lengths) <= 40


# ---------------------------------------------------------------- refused


@pytest.fixture
def stopped(tmp_path):
    """A run on an environment without an id that a callback has stopped."""
    drift(Drift()).learn(
        2000,
        callback=lambda local, _: local["self"].num_timesteps < 900,
        run_folder=tmp_path / "run",
        eval_env=Drift(),
        **PLAN,
    )
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("environments", "message"),
    [
        ({}, "no id makes its environment: .*env=env, eval_env=eval_env"),
        ({"env": Drift()}, "no id makes its environment"),
        ({"eval_env": Drift()}, "no id makes its environment"),
        ({"env": Corridor(), "eval_env": Drift()}, "expected the spaces"),
    ],
)
def test_what_is_missing_or_different_is_said_and_nothing_changes(stopped, environments, message):
    before = content(stopped)
    with pytest.raises(ValueError, match=message):
        scrubjay.resume(stopped, **environments)
    assert content(stopped) == before


def test_callbacks_are_told_of_a_resumed_run(stopped):
    seen = []
    scrubjay.resume(
        stopped,
        env=Drift(),
        eval_env=Drift(),
        callback=lambda local, _: seen.append(local["self"].num_timesteps),
    )
    assert seen[-1] >= 2000
    assert len(seen) < 1200, "it went on where it was"


def test_a_run_of_0_1_0_that_was_started_from_python(stopped):
    """It did not write down how often it did what: nothing is guessed."""
    path = stopped / "config.json"
    config = json.loads(path.read_text())
    kept = ("agent", "seed", "options", "start_timestep", "steps")
    path.write_text(json.dumps({**{name: config[name] for name in kept}, "task": TREE}))
    with pytest.raises(RunFolderError, match="no id makes its environment"):
        scrubjay.resume(stopped)
    assert scrubjay.resume(stopped, env=Drift()).num_timesteps >= 2000


# ---------------------------------------------------------------- what is written down


def made(task, **options):
    return lambda: gymnasium.make(task, **options)


PENDULUM = "Pendulum-v1"


@pytest.mark.parametrize(
    ("env", "by_id", "options", "limit"),
    [
        (made(PENDULUM), True, {}, None),
        (made(PENDULUM, g=3.0), True, {"g": 3.0}, None),
        (made(PENDULUM, max_episode_steps=7), True, {}, 7),
        (lambda: TimeLimit(gymnasium.make(PENDULUM), 7), True, {}, 7),
        (made(TREE), True, {}, None),
        (made("scrubjay/NoisySparseMountainCar-v0"), True, {}, None),
        (lambda: gymnasium.make_vec(TREE, 2, vectorization_mode="sync"), True, {}, None),
        (
            lambda: gymnasium.make_vec(
                PENDULUM, 2, vectorization_mode="sync", max_episode_steps=300, g=3.0
            ),
            True,
            {"g": 3.0},
            300,
        ),
        (lambda: ClipAction(gymnasium.make(PENDULUM)), False, None, None),
        (lambda: gymnasium.make(PENDULUM).unwrapped, False, None, None),
        (lambda: gymnasium.make(PENDULUM, g=np.float32(9.0)), False, None, None),
        (made(PENDULUM, max_episode_steps=-1), False, None, None),
        (Drift, False, None, None),
        (lambda: gymnasium.vector.SyncVectorEnv([Drift, Drift]), False, None, None),
    ],
)
def test_whether_an_id_makes_an_environment(env, by_id, options, limit):
    found = describe_environments(env(), Plan(), None, None)
    assert found["env_by_id"] == by_id
    if by_id:
        assert (found["task_options"], found["max_episode_steps"]) == (options, limit)
        entries = {"agent": "cec", "seed": 0, "options": {}, "eval_freq": 0, **found}
        again = RunConfig.from_json(entries).make_training_env()
        assert describe_environments(again, Plan(), None, None) == found


def test_of_two_limits_the_smaller_one_counts():
    env = gymnasium.make(PENDULUM, max_episode_steps=30)
    assert describe_environments(env, Plan(), None, 20)["max_episode_steps"] == 20
    assert describe_environments(env, Plan(), None, 40)["max_episode_steps"] == 30


@pytest.mark.parametrize(
    ("eval_env", "eval_freq", "by_id"),
    [
        (made(TREE), 100, True),
        (made(TREE, max_episode_steps=7), 100, False),
        (lambda: ClipAction(gymnasium.make(TREE)), 100, False),
        # it looks for the first greedy success only, which `--resume` would not
        (made(TREE), 0, False),
    ],
)
def test_another_environment_for_evaluation_must_be_given_again(
    tmp_path, eval_env, eval_freq, by_id
):
    CEC(TREE).learn(10, run_folder=tmp_path / "run", eval_env=eval_env(), eval_freq=eval_freq)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["env_by_id"], config["eval_freq"]) == (by_id, eval_freq)


def test_a_task_that_is_registered_elsewhere_is_no_reason_not_to_read_a_run(tmp_path):
    gymnasium.register("Elsewhere-v0", Drift)
    try:
        drift(gymnasium.make("Elsewhere-v0")).learn(100, run_folder=tmp_path / "run")
        assert json.loads((tmp_path / "run" / "config.json").read_text())["env_by_id"]
    finally:
        del gymnasium.registry["Elsewhere-v0"]
    assert main(["inspect", str(tmp_path / "run")]) == 0
    with pytest.raises(RunFolderError, match="no id makes its environment 'Elsewhere-v0'"):
        scrubjay.resume(tmp_path / "run")
    scrubjay.resume(tmp_path / "run", env=Drift())

"""The test of the design: a method from outside is one file, and everything works with it.

The method is `examples/own_method.py`, copied into a folder of its own as somebody else's package:
once found by its entry point, in processes of their own, and once registered in this process.
"""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import pytest

import scrubjay
from scrubjay import EpisodicMemory, MemoryAgent, Spaces, registry
from scrubjay.agents import Notes, Range
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import sweep

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "own_method.py"
ENTRY_POINTS = "[scrubjay.agents]\nnearest-success = my_method:NearestSuccess\n"
METADATA = "Metadata-Version: 2.1\nName: my-method\nVersion: 1.0\n"
START = (
    "train", "nearest-success", "GrowingTree", "--trust", "3", "--steps", "6000", "--seed", "4",
    "--eval-freq", "1500", "--eval-episodes", "2", "--checkpoint-freq", "500", "--quiet", "--out",
)  # fmt: skip
TABLES = ("progress.csv", "episodes.csv", "eval.csv")
NAMES = ["successes", "failures"]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The method as another distribution installs it: a module, and metadata beside it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(EXAMPLE, folder / "my_method.py")
    metadata = folder / "my_method-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(METADATA)
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture(scope="module")
def surroundings(package):
    """The variables of processes that find the package."""
    places = [str(package), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


@pytest.fixture(scope="module")
def command(surroundings, tmp_path_factory):
    """Calls `scrubjay`, as its users do; returns exit code, output and errors."""
    folder = tmp_path_factory.mktemp("work")

    def call(*words: object) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "scrubjay", *map(str, words)],
            cwd=folder, env=surroundings, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return call


@pytest.fixture(scope="module")
def finished(command, tmp_path_factory):
    """A run of the method that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    code, _, errors = command(*START, folder)
    assert code == 0, errors
    return folder


@pytest.fixture
def method(tmp_path, monkeypatch):
    """The class, in a file beside a script and registered in this process alone.

    Afterwards the registry is as it was.
    """
    folder = tmp_path / "script"
    folder.mkdir()
    shutil.copy(EXAMPLE, folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    scrubjay.register("nearest-success", "own_method:NearestSuccess")
    yield importlib.import_module("own_method").NearestSuccess
    del sys.modules["own_method"]


# ---------------------------------------------------------------- on the command line


def test_its_settings_are_options(command):
    code, said, _ = command("train", "nearest-success", "--help")
    assert code == 0
    assert "settings of nearest-success" in said
    assert "--trust X" in said
    assert "a success may be this many times as far as the nearest" in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--trust 0", "expected trust to be a finite number greater than 0, got 0"),
        ("--epsilon 1.5", "expected epsilon to be a finite number of at least 0 and at most 1"),
        ("--capacity many", "expected capacity to be a whole number of at least 1"),
        ("--trsut 3", "there is no option '--trsut'; did you mean --trust?"),
        ("--preset paper", "there is no preset 'paper' (expected one of default)"),
    ],
)
def test_wrong_settings_are_refused(words, message, command, tmp_path):
    run = tmp_path / "run"
    code, _, errors = command(
        "train", "nearest-success", "GrowingTree", *words.split(), "--out", run
    )
    assert code == 2, errors
    assert message in errors
    assert errors.count("\n") == 1
    assert not run.exists()


def test_it_learns_and_is_evaluated(finished, command):
    options = json.loads((finished / "config.json").read_text())["options"]
    assert options == {
        "trust": 3.0, "epsilon": 0.1, "distance_threshold": 0.01, "capacity": 10_000,
    }  # fmt: skip
    code, said, errors = command("evaluate", finished, "--episodes", 3)
    assert code == 0, errors
    assert "success   1.00" in said


def test_killed_and_resumed_it_goes_on_bit_for_bit(finished, command, surroundings, tmp_path):
    run = tmp_path / "run"
    last = run / "checkpoints" / "last.scrub"
    words = [sys.executable, "-m", "scrubjay", *START, str(run)]
    with subprocess.Popen(words, env=surroundings, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not last.exists():
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert json.loads((run / "manifest.json").read_text())["status"] == "running"
    code, _, errors = command("train", "--quiet", "--resume", run)
    assert code == 0, errors
    for name in TABLES:
        assert (run / name).read_bytes() == (finished / name).read_bytes(), name
    for checkpoint in ("last", "best"):
        mine = command("inspect", run, "--checkpoint", checkpoint)
        assert mine == command("inspect", finished, "--checkpoint", checkpoint)


def test_both_memories_are_inspected(finished, command):
    for path in (finished, finished / "checkpoints" / "last.scrub"):
        code, said, errors = command("inspect", path)
        assert code == 0, errors
        found = [line.split()[1] for line in said.splitlines() if line.startswith("memory ")]
        assert found == NAMES
        assert said.count("digest") == 2


def test_it_is_watched(finished, command, tmp_path):
    pytest.importorskip("PIL.Image")
    film = tmp_path / "film.gif"
    code, _, errors = command("watch", finished, "--out", film)
    assert code == 0, errors
    assert film.read_bytes()[:6] == b"GIF89a"


def test_it_is_reported_with_both_memories(finished, command, tmp_path):
    pytest.importorskip("jinja2")
    code, _, errors = command("report", finished, "--out", tmp_path / "page.html")
    assert code == 0, errors
    page = (tmp_path / "page.html").read_text()
    assert "nearest-success" in page
    for name in NAMES:
        assert f"<figcaption><span>seed 4, {name}: " in page


def test_a_report_needs_no_installed_method(finished, tmp_path):
    """Here, in this process, nothing knows the method's name."""
    pytest.importorskip("jinja2")
    from scrubjay.report.page import write_report

    write_report([finished], tmp_path / "page.html")
    assert "<figcaption><span>seed 4, failures: " in (tmp_path / "page.html").read_text()


# ---------------------------------------------------------------- in Python


def test_it_is_made_saved_and_loaded_by_name(method, tmp_path):
    agent = scrubjay.make("nearest-success", "scrubjay/GrowingTree-v0", seed=2, trust=2)
    assert isinstance(agent, method)
    agent.learn(2_000).save(tmp_path / "agent.scrub")
    loaded = MemoryAgent.load(tmp_path / "agent.scrub", env="scrubjay/GrowingTree-v0")
    assert type(loaded) is method
    assert loaded.config() == agent.config()
    # the first one is `agent.memory`
    assert list(loaded.memories) == list(agent.memories) == NAMES
    for one in (agent, loaded):
        one.learn(1_000)
    for name in NAMES:
        assert loaded.memories[name].digest() == agent.memories[name].digest()


def test_it_is_swept_although_only_this_process_knows_it(method, tmp_path):
    """The workers are told where the method is: they find neither entry point nor PYTHONPATH."""
    assert method.name == "nearest-success"
    configs = [
        RunConfig("nearest-success", "GrowingTree", seed=seed, steps=1_000, eval_freq=500)
        for seed in (0, 1)
    ]
    root = tmp_path / "runs"
    done = sweep(configs, root, jobs=2)
    assert done.n_done == 2, done.failed
    folder = root / "GrowingTree" / "nearest-success-default"
    assert sorted(path.name for path in folder.iterdir()) == ["seed-0", "seed-1"]
    resumed = scrubjay.resume(folder / "seed-0")
    assert resumed.num_timesteps >= 1_000
    assert sweep(configs, root).n_done == 2  # nothing is repeated


@pytest.mark.parametrize("task", ["scrubjay/GrowingTree-v0", "CartPole-v1"])
def test_it_trains_on_vector_environments_and_discrete_actions(task, method):
    agent = method(gymnasium.make_vec(task, num_envs=3), epsilon=0.3).learn(700)
    assert agent.n_episodes > 3
    stored = [memory.columns["action"] for memory in agent.memories.values() if len(memory)]
    low, high = agent.codec.bounds
    assert all(((low <= actions) & (actions <= high)).all() for actions in stored)
    observation = agent.observation_space.sample()
    for deterministic in (False, True):
        assert agent.action_space.contains(
            agent.predict(observation, deterministic=deterministic)[0]
        )


# ---------------------------------------------------------------- mistakes of its author


class Incomplete(MemoryAgent):
    """The least that a method has."""

    def __init__(self, env: Any, *, seed: int = 0) -> None:
        super().__init__(env, locals())

    def make_memories(self):
        return {"memory": EpisodicMemory(self.embedding.key_dim, capacity=10, columns={})}

    def decide(self, lanes, keys):
        for step in lanes.steps(keys):
            step.action[:] = 0.5
        return -1

    def greedy_actions(self, keys):
        return np.full((len(keys), 1), 0.5, np.float32)

    def learn_from(self, experience):
        raise NotImplementedError


SPACES = Spaces(gymnasium.spaces.Box(-1, 1, (2,)), gymnasium.spaces.Box(-1, 1, (1,)))


def test_a_method_without_a_seed_is_refused():
    class NoSeed(Incomplete):
        def __init__(self, env: Any, *, depth: Annotated[int, Range(1)] = 3) -> None:
            MemoryAgent.__init__(self, env, locals())

    with pytest.raises(TypeError, match=r"expected NoSeed.__init__ to have an argument seed"):
        NoSeed(SPACES)


def test_too_few_random_numbers_are_refused():
    """Compiled code would read behind the end of the array."""

    class TooFew(Incomplete):
        notes = Notes(uniforms=1)

    with pytest.raises(ValueError, match=r"at least 3 uniform numbers, .* got 1"):
        TooFew(SPACES).begin_episode()


def test_a_key_that_is_not_finite_is_refused():
    episode = Incomplete(SPACES).begin_episode()
    with pytest.raises(ValueError, match="expected a finite observation"):
        episode.act(np.array([np.nan, 0.0], np.float32))


def test_a_class_under_another_name_is_refused(method, monkeypatch):
    monkeypatch.setattr(method, "name", "another")
    with pytest.raises(
        TypeError, match="own_method:NearestSuccess to have name = 'nearest-success'"
    ):
        scrubjay.make("nearest-success", SPACES)


KERNEL = """
from scrubjay.compiled import compiled

@compiled()
def answer():
    return {}
"""


def test_a_changed_kernel_of_ones_own_is_compiled_anew(surroundings, package):
    def answer(number: int) -> str:
        (package / "my_kernel.py").write_text(KERNEL.format(number))
        script = "import my_kernel; print(my_kernel.answer(), my_kernel.answer.stats.cache_hits)"
        words = [sys.executable, "-c", script]
        return subprocess.check_output(words, env=surroundings, text=True).strip()

    assert answer(1).startswith("1 ")
    assert answer(22) == "22 Counter()"

"""An environment of the user's own, from an empty folder: the README's commands, one by one."""

import json
import sys
from dataclasses import replace

import gymnasium
import pytest
from console import content, in_shell

from scrubjay.envs.custom import environment_spec, needs_import
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent, resume, start
from scrubjay.runs.sweep import sweep
from scrubjay.training import RunFolderError

CORRIDOR = '''
import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    """Walk to the end of a corridor; paid only there."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, length=1.0, render_mode=None):
        self.observation_space = gym.spaces.Box(0.0, length, (1,), np.float32)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.length, self.render_mode = length, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x = float(np.clip(self.x + 0.2 * action[0], 0.0, self.length))
        reached = self.x > self.length - 0.1
        return np.array([self.x], np.float32), float(reached), reached, False, {"reached": reached}

    def render(self):
        picture = np.full((40, 200, 3), 255, np.uint8)
        at = int(self.x / self.length * 190)
        picture[10:30, at : at + 10] = (200, 60, 60)
        return picture


def make_corridor(length=1.0, render_mode=None):
    return gym.wrappers.TimeLimit(Corridor(length, render_mode), 100)


gym.register("Corridor-v0", Corridor, max_episode_steps=100)
nothing = 7
'''
TRAIN = [
    "--steps",
    "1000",
    "--eval-freq",
    "500",
    "--eval-episodes",
    "2",
    "--max-episode-steps",
    "100",
    "--out",
    "run",
]
WITHOUT_SPACES = """
import gymnasium

class NoSpaces(gymnasium.Env):
    pass

class NeedsSize(gymnasium.Env):
    def __init__(self, size):
        pass
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a module in it, which is forgotten afterwards."""
    (tmp_path / "corridor.py").write_text(CORRIDOR)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("corridor", None)
    gymnasium.registry.pop("Corridor-v0", None)


def test_the_whole_journey(folder):
    """Train, evaluate, watch, inspect, report, resume, extend; each in a process of its own."""

    def scrubjay(line):
        answer = in_shell(*line.split(), cwd=folder)
        assert answer.code == 0, answer.err
        assert "Traceback" not in answer.err
        assert max(map(len, answer.out.splitlines())) <= 80
        return " ".join(answer.out.split())

    out = scrubjay(f"train cec-plus corridor:Corridor {' '.join(TRAIN)} --success-key reached")
    assert "training success " in out
    assert "evaluation success 1.00" in out
    assert out.endswith("next: scrubjay evaluate run --trust-module")
    out = scrubjay("evaluate run --trust-module")
    assert "cec-plus on corridor:Corridor" in out
    assert "success 1.00" in out
    out = scrubjay("watch run corridor:Corridor --out film.gif")
    assert out.endswith("return 1, success")
    assert "key 1 dimensions" in scrubjay("inspect run")
    assert "written: report.html" in scrubjay("report run")
    steps = json.loads((folder / "run" / "manifest.json").read_text())["timesteps"]
    assert f"done: {steps:,} steps" in scrubjay("train --resume run --trust-module")
    out = scrubjay("train --resume run --steps 2000 --trust-module")
    assert "2 greedy episodes at step 2,000" in out
    config = json.loads((folder / "run" / "config.json").read_text())
    assert (config["task"], config["steps"]) == ("corridor:Corridor", 2000)
    assert config["success_key"] == "reached"


@pytest.mark.filterwarnings("ignore:expected info to have 'x'")
def test_without_a_success_key_it_is_said_everywhere(folder, scrubjay):
    answer = scrubjay("train", "cec-plus", "corridor:Corridor", *TRAIN)
    assert "training    no success signal, return" in answer.out
    assert "evaluation  no success signal, return" in answer.out
    assert "--success-key KEY names another entry" in " ".join(answer.out.split())
    for line in ("evaluate run --episodes 1", "watch run --out film.gif"):
        out = " ".join(scrubjay(*line.split(), "--trust-module").out.split())
        assert "no success signal: the task's info has neither is_success nor success" in out
        out = " ".join(scrubjay(*line.split(), "--trust-module", "--success-key", "x").out.split())
        assert "no success signal: the task's info has no 'x'" in out
        answer = scrubjay(*line.split(), "--trust-module", "--success-key", "reached")
        assert "no success signal" not in answer.out
    assert content(folder / "run")


@pytest.mark.parametrize("name", ["Corridor", "make_corridor", "Corridor-v0"])
def test_a_class_a_function_and_an_id(name, folder, scrubjay):
    words = ["--env-kwargs", "length=1.5", "--success-key", "reached", "--quiet"]
    answer = scrubjay("train", "cec-plus", f"corridor:{name}", *TRAIN, *words)
    assert answer.code == 0, answer.err
    assert json.loads((folder / "run" / "config.json").read_text())["task_options"] == {
        "length": 1.5
    }
    assert "success   1.00" in scrubjay("evaluate", "run", "--trust-module").out
    agent, config = load_agent("run")
    assert agent.observation_space.high[0] == 1.5
    assert config.make_env().observation_space.high[0] == 1.5


def test_arguments_of_the_environment(folder, scrubjay):
    words = ["train", "cec-plus", "corridor:Corridor", "--quiet", "--steps", 1, "--eval-freq", 0]
    words += ["--max-episode-steps", 9]
    for text in (["length=3"], ['{"length": 3}']):
        assert scrubjay(*words, "--overwrite", "--out", "a", "--env-kwargs", *text).code == 0
        assert json.loads((folder / "a/config.json").read_text())["task_options"] == {"length": 3}
    answer = scrubjay(*words, "--env-kwargs", "length")
    assert (answer.code, "expected NAME=VALUE, as in size=5, got 'length'" in answer.err) == (2, 1)
    answer = scrubjay(*words, "--env-kwargs", "width=3")
    assert (answer.code, "unexpected keyword argument 'width'" in answer.err) == (1, True)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("corridor:Coridor", "the module 'corridor' has no 'Coridor'; did you mean corridor:Corr"),
        ("corridor:", "expected corridor:NAME; did you mean corridor:Corridor?"),
        ("corridor:nothing", "an environment class or a function that returns an environment, got"),
        ("coridor:Corridor", "there is no module 'coridor' for the task 'coridor:Corridor'; run"),
        ("corridor.py:Corridor", "expected a module before the colon, got 'corridor.py'; write co"),
        ("./corridor.py:Corridor", "'./corridor.py'; write corridor:Corridor"),
        ("corridor.Corridor", "there is no task 'corridor.Corridor'; did you mean corridor:Corrid"),
        ("corridor.py", "name the environment in it too, as in corridor:MyEnv"),
        ("corridor:Corridor-v7", "Corridor"),
    ],
)
def test_what_is_not_there(task, said, folder, scrubjay):
    answer = scrubjay("train", "cec-plus", task, *TRAIN)
    assert answer.code in (1, 2)
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("self.x = 0.0", "self.x = 0.0 + nowhere", "NameError: name 'nowhere' is not defined"),
        ("import numpy as np", "import numpy as np, nonsuch", "No module named 'nonsuch'"),
        ("def reset", "def def", "SyntaxError: invalid syntax"),
    ],
)
def test_an_error_in_the_users_code_names_its_line(old, new, said, folder, scrubjay):
    (folder / "corridor.py").write_text(CORRIDOR.replace(old, new, 1))
    answer = scrubjay("train", "cec-plus", "corridor:Corridor", *TRAIN, "--quiet")
    assert answer.code == 1
    assert "scrubjay train: corridor.py, line " in answer.err
    assert said in answer.err
    assert "SCRUBJAY_TRACEBACK=1" in answer.err


def test_an_environment_without_pictures(folder, scrubjay):
    source = CORRIDOR.replace(", render_mode=None", "").replace(", render_mode)", ")")
    source = source.replace("self.render_mode = length, render_mode", "_ = length, None")
    (folder / "corridor.py").write_text(source)
    answer = scrubjay("watch", "corridor:Corridor", "--random")
    assert answer.code == 2
    assert "corridor:Corridor does not take render_mode" in answer.err


def test_several_environments_and_a_sweep(folder):
    config = RunConfig(
        "cec-plus",
        "corridor:make_corridor",
        steps=300,
        eval_freq=0,
        n_envs=2,
        success_key="reached",
    )
    start(config, "two")
    result = sweep([replace(config, n_envs=1)], folder / "sweep", jobs=1)
    assert (result.n_done, result.failed) == (1, {})


# ---------------------------------------------------------------- what a folder may not do


@pytest.mark.usefixtures("folder")
def test_naming_the_task_is_the_users_word(scrubjay):
    assert scrubjay("train", "cec-plus", "corridor:make_corridor", *TRAIN, "--quiet").code == 0
    assert needs_import("corridor:make_corridor"), "calling it executes code, imported or not"
    for words in (["evaluate", "run"], ["watch", "run"], ["train", "--resume", "run"]):
        answer = scrubjay(*words)
        assert answer.code == 1
        assert "add --trust-module" in answer.err
    assert scrubjay("evaluate", "run", "corridor:make_corridor", "--episodes", 1).code == 0
    assert scrubjay("evaluate", "run", "--episodes=1", "corridor:make_corridor").code == 0
    with pytest.raises(RunFolderError, match="trust_module=True"):
        resume("run")
    env = environment_spec("corridor:make_corridor").make()
    assert load_agent("run", env=env)[0].env is not None
    assert resume("run", trust_module=True).num_timesteps >= 1000


def test_a_run_folder_cannot_call_what_is_imported_already(run, folder, scrubjay):
    config = json.loads((run / "config.json").read_text())
    config |= {"task": "os:system", "task_options": {"command": f"touch {folder}/executed"}}
    (run / "config.json").write_text(json.dumps(config))
    for words in (["evaluate", run], ["watch", run], ["train", "--resume", run]):
        answer = scrubjay(*words)
        assert answer.code == 1
        assert "add --trust-module" in answer.err
    assert not (folder / "executed").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("NoSpaces", "The environment must specify an action space."),
        ("NeedsSize", "missing 1 required positional argument: 'size'; give it as in --env-kwargs"),
    ],
)
@pytest.mark.parametrize("command", ["train cec-plus", "check-env"])
def test_an_environment_that_gymnasium_cannot_make_is_one_line(command, name, said, tmp_path):
    (tmp_path / "empty_task.py").write_text(WITHOUT_SPACES)
    answer = in_shell(*command.split(), f"empty_task:{name}", cwd=tmp_path)
    assert answer.code == 1
    assert said in answer.err
    assert "Traceback" not in answer.err

"""Every code block of the README and the documentation runs as it is shown.

Python blocks are executed, those of a page one after the other in one namespace; networks are
trained with fewer steps. Of shell blocks, `scrubjay` commands run in a temporary folder, training
with fewer steps; of other commands the files, targets and extras that they name are checked.
"""

import importlib.util
import itertools
import re
import shlex
import shutil
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from scrubjay import registry
from scrubjay.cli.main import main
from scrubjay.studies import EXPERIMENTS
from scrubjay.studies.shared.methods import METHODS
from test_docs import PAGES, ROOT

# a block with a title quotes a file of the repository: tests/test_docs.py compares them
BLOCK = re.compile(r"^([ \t]*)```(\w*)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
QUOTE = re.compile(r'^[ \t]*```\w+ title=".*?^[ \t]*```', re.DOTALL | re.MULTILINE)
LANGUAGES = {"python", "bash", "text"}  # text: listings, not executed
FEW_STEPS = "300"
FEW_DEEP_STEPS = 120  # 20 of them with a gradient step

DEEP = {name for name, spec in registry.agent_specs().items() if spec.extra == "deep"}

# the module that the documentation calls my_module
MY_MODULE = '''
import gymnasium
import numpy as np


class MyEnv(gymnasium.Env):
    """A point on a line, which starts at 0 and is to reach 1."""

    observation_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-0.2, 0.2, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position, self.steps = np.zeros(1, np.float32), 0
        return self.position.copy(), {}

    def step(self, action):
        self.position = np.clip(self.position + action, -2, 2).astype(np.float32)
        self.steps += 1
        reached = bool(self.position[0] > 1)
        return self.position.copy(), float(reached), reached, self.steps == 50, {"reached": reached}
'''


def all_blocks(page: Path) -> list[tuple[str, str, str]]:
    """Indentation, language and content of all blocks but quotes."""
    return BLOCK.findall(QUOTE.sub("", page.read_text(encoding="utf-8")))


def blocks(page: Path, language: str) -> list[str]:
    """The contents of a page's blocks in one language, without their indentation."""
    found = all_blocks(page)
    return [textwrap.dedent(content) for _, name, content in found if name == language]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the user's own module in it."""
    (tmp_path / "my_module.py").write_text(MY_MODULE)
    shutil.copy(ROOT / "examples" / "own_method.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))
    yield tmp_path
    for module in ("my_module", "own_method"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_names_its_language(page):
    languages = {name for _, name, _ in all_blocks(page)}
    assert languages <= LANGUAGES, f"{page.name}: {sorted(languages - LANGUAGES)}"


def train_networks_briefly(monkeypatch):
    """Let agents with networks learn for a few steps, however many a page says."""
    base = pytest.importorskip("scrubjay.deep.base")
    learn = base.DeepAgent.learn
    monkeypatch.setattr(base.DeepAgent, "learn", lambda agent, _: learn(agent, FEW_DEEP_STEPS))


@pytest.mark.parametrize("page", pages_with("python"), ids=lambda page: page.name)
def test_python_blocks_run(page, folder, monkeypatch):  # noqa: ARG001
    if page.stem in DEEP:
        train_networks_briefly(monkeypatch)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name}, python block {number + 1}", "exec"), namespace)


@pytest.mark.parametrize("page", pages_with("bash"), ids=lambda page: page.name)
def test_commands_run(page, folder, capsys):
    for block in blocks(page, "bash"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                check_command(words, folder, capsys)


def check_command(words, folder, capsys):
    program, *arguments = words
    check = {"scrubjay": run_scrubjay, "make": check_target, "pip": check_extras}
    if program in check:
        check[program](arguments, folder, capsys)
        return
    # pytest, python and tools of the development environment: what they name exists
    for word in arguments:
        if "/" in word or word.endswith(".py"):
            assert (ROOT / word).exists(), f"{shlex.join(words)}: no {word}"
        elif word.startswith("benchmarks"):
            assert (ROOT / (word.replace(".", "/") + ".py")).exists() or (ROOT / word).is_dir()


def run_scrubjay(arguments, folder, capsys):
    if arguments[0] == "reproduce":
        check_study(arguments)
        return
    if DEEP & {*arguments} and not importlib.util.find_spec("stable_baselines3"):
        return
    try:
        code = main(shortened(expanded(arguments, folder)))
    except SystemExit as end:  # --help
        code = end.code
    output = capsys.readouterr()
    if code and arguments[0] == "watch" and "EGL" in output.err:
        return  # MuJoCo cannot draw on this machine
    assert code == 0, f"scrubjay {shlex.join(arguments)}: {output.err}"


def expanded(arguments, folder):
    """Patterns such as runs/* as the shell would expand them."""
    for word in arguments:
        if "*" in word:
            yield from sorted(str(path.relative_to(folder)) for path in folder.glob(word))
        else:
            yield word


def shortened(arguments):
    words = list(arguments)
    if words[0] == "train" and "--resume" not in words and "--help" not in words:
        steps = str(FEW_DEEP_STEPS) if DEEP & {*words} else FEW_STEPS
        if "--steps" in words:
            words[words.index("--steps") + 1] = steps
        else:
            words += ["--steps", steps]
        words += ["--eval-episodes", "1", "--quiet"]
        if "mfec" in words:  # an episode of a game has thousands of steps
            words += ["--max-episode-steps", "200"]
    if words[0] == "watch":
        words += ["--max-frames", "20"]
    if words[0] == "tune":
        words += ["--trials", "2", "--steps", FEW_STEPS, "--seeds", "1", "--eval-episodes", "1"]
    return words


def check_study(arguments):
    """A study takes hours: its name and its methods exist."""
    name, *rest = arguments[1:]
    assert name in EXPERIMENTS or name == "all"
    if "--agents" in rest:
        after = rest[rest.index("--agents") + 1 :]
        methods = itertools.takewhile(lambda word: not word.startswith("-"), after)
        assert set(methods) <= METHODS.keys()


def check_target(arguments, folder, capsys):  # noqa: ARG001
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in arguments:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def check_extras(arguments, folder, capsys):  # noqa: ARG001
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extras in re.findall(r"\[(.+?)\]", " ".join(arguments)):
        assert set(extras.split(",")) <= project["optional-dependencies"].keys()

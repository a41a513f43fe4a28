"""Help that shows examples and is there at once."""

import subprocess
import sys

import pytest

import scrubjay as package
from scrubjay.agents.settings import settings_of
from scrubjay.cli.main import COMMANDS
from scrubjay.cli.options import limits, metavar
from scrubjay.registry import agent_specs

HEAVY = (
    *("numba", "mujoco", "torch", "matplotlib", "PIL", "tensorboard", "tqdm", "scrubjay.memory"),
    *("scrubjay.agents", "scrubjay.training", "scrubjay.runs"),
)


def test_help_imports_nothing_heavy():
    lines = [
        "import sys; from scrubjay.cli.main import main",
        f"for command in {['', *COMMANDS]}:",
        "    try: main([*command.split(), '--help'])",
        "    except SystemExit as end: assert end.code == 0",
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_an_example(command, scrubjay):
    answer = scrubjay(command, "--help")
    assert answer.code == 0
    assert f"\n  scrubjay {command}" in answer.out.partition("example")[2]


@pytest.mark.parametrize("agent", agent_specs())
def test_every_setting_of_an_agent_is_an_option_with_its_line_of_the_docstring(agent, scrubjay):
    if agent_specs()[agent].extra:
        pytest.importorskip("stable_baselines3")
    answer = scrubjay("train", agent, "--help")
    assert answer.code == 0
    words = " ".join(answer.out.partition(f"settings of {agent}")[2].split())
    settings = settings_of(agent_specs()[agent].load())
    for name, setting in settings.items():
        if name == "seed":
            continue
        assert setting.help, f"{name} has no line in the docstring"
        assert f"--{name.replace('_', '-')} {metavar(setting)} {setting.help}" in words
        assert limits(setting) in words
    assert len(settings) >= 7


def test_the_help_of_train_names_every_agent(scrubjay):
    words = " ".join(scrubjay("train", "--help").out.split())
    for name, spec in agent_specs().items():
        assert f"{name} (extra {spec.extra})" if spec.extra else name in words


def test_the_first_page_shows_commands_examples_and_exit_codes(scrubjay):
    answer = scrubjay("--help")
    assert answer.code == 0
    assert all(f"\n  {command} " in answer.out for command in COMMANDS)
    assert "scrubjay train cec-plus PointUMaze" in answer.out
    assert "0 success, 1 failure, 2 wrong usage, 130 interrupted" in answer.out


def test_version(scrubjay):
    assert scrubjay("--version").out == f"scrubjay {package.__version__}\n"


@pytest.mark.parametrize(
    "words", [["--quiet"], ["watch"], ["train"], ["train", "cec"], ["evaluate"]]
)
def test_what_is_missing_is_said_in_one_line(words, scrubjay):
    answer = scrubjay(*words)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "need" in answer.err or "required" in answer.err


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]])
def test_without_a_command_there_is_the_help(words, scrubjay):
    assert scrubjay(*words) == scrubjay("-h")
    assert scrubjay(*words).code == 0


def test_help_of_a_command(scrubjay):
    assert scrubjay("help", "watch") == scrubjay("watch", "--help")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns(command, scrubjay, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = scrubjay(*command.split(), "--help").out.splitlines()
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize(
    ("word", "meant"),
    [("enjoy", "watch"), ("eval", "evaluate"), ("resume", "train --resume"), ("envs", "tasks")],
)
def test_commands_of_other_tools(word, meant, scrubjay):
    answer = scrubjay(word, "runs/x")
    assert answer == (2, "", f"scrubjay: there is no command '{word}'; did you mean {meant}?\n")


def test_an_unknown_command_suggests_the_nearest(scrubjay):
    answer = scrubjay("trian", "cec", "GrowingTree")
    assert answer == (2, "", "scrubjay: there is no command 'trian'; did you mean train?\n")


def test_a_reader_that_leaves_early_is_no_error():
    done = subprocess.run(
        f"{sys.executable} -m scrubjay.cli.main doctor | true", shell=True, capture_output=True
    )
    assert done.stderr == b""


def test_the_help_of_a_setting_says_how_it_is_typed_and_its_range_and_default():
    settings = settings_of(package.CECPlus)
    found = {name: f"{metavar(each)} {limits(each)}" for name, each in settings.items()}
    assert found["n_neighbors"] == "N (at least 1, default 20)"
    assert found["temperature"] == "X (greater than 0, default 0.02)"
    assert found["gamma"] == "X (0 to 1, default 0.99)"
    assert found["distance_threshold"] == "X|step (greater than 0, default step)"
    assert found["detour_cost"] == "X|null (at least 0, default 1.3)"
    assert found["epsilon"] == "X|START,END,STEPS (default 0.05)"
    assert found["stitching"] == "{true,false} (default true)"
    assert found["timeouts"] == "{continue,end} (default continue)"
    assert found["periodic"] == "N,N "
    assert found["embedding"] == "VALUE "

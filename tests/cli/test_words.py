"""How names, options and values are understood, and what is said of those that are not."""

import json

import pytest

from scrubjay.agents import CEC
from scrubjay.agents.settings import settings_of
from scrubjay.cli.options import parse_embedding, parse_value
from scrubjay.registry import agent_specs
from scrubjay.runs.config import RunConfig


def train(scrubjay, *words, agent="cec", task="GrowingTree"):
    return scrubjay("train", agent, task, "--quiet", "--steps", "1", *words, "--out", "new")


def config(tmp_path):
    return json.loads((tmp_path / "new" / "config.json").read_text())


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("scrubjay/GrowingTree-v0", "scrubjay/GrowingTree-v0"),
        ("GrowingTree", "scrubjay/GrowingTree-v0"),
        ("GROWINGTREE", "scrubjay/GrowingTree-v0"),
        ("scrubjay/sparsemountaincar-v0", "scrubjay/SparseMountainCar-v0"),
        ("mountaincarcontinuous", "scrubjay/SparseMountainCar-v0"),
        ("MountainCarContinuous-v0", "MountainCarContinuous-v0"),
        ("Point4Rooms-v1", "scrubjay/Point4RoomsOneGoal-v0"),
        ("safexp-cargoal", "scrubjay/SafexpCarGoal-v0"),
        ("FetchReach", "scrubjay/SparseFetchReach-v0"),
        ("Pendulum-v1", "Pendulum-v1"),
    ],
)
def test_names_of_tasks(name, task):
    assert RunConfig("cec", name).task == task


def test_a_task_by_the_papers_name_and_an_agent_in_capitals(scrubjay, tmp_path):
    assert train(scrubjay, agent="CEC", task="mountaincarcontinuous").code == 0
    assert config(tmp_path)["task"] == "scrubjay/SparseMountainCar-v0"
    assert config(tmp_path)["agent"] == "cec"


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        (["train", "cec", "GrowingTre"], "task 'GrowingTre'", "GrowingTree"),
        (["train", "cec", "pointumaz"], "task 'pointumaz'", "PointUMaze"),
        (["train", "cex", "GrowingTree"], "method 'cex'", "cec"),
        (["train", "cec", "GrowingTree", "--stpes", "3"], "option '--stpes'", "--steps"),
        (["train", "cec", "GrowingTree", "--step", "3"], "option '--step'", "--steps"),
        (["train", "cec", "GrowingTree", "--n-neighbor=3"], "'--n-neighbor=3'", "--n-neighbors"),
        (["train", "--n-neighbr", "3", "cec", "GrowingTree"], "--n-neighbr", "--n-neighbors"),
        (["train", "cec", "GrowingTree", "--preset", "papre"], "preset 'papre'", "paper"),
        (["train", "cec", "GrowingTree", "--embedding", "runing"], "'runing'", "running"),
        (["train", "--resume", "run", "--quit"], "option '--quit'", "--quiet"),
        (["evaluate", "run", "--epsodes", "3"], "option '--epsodes'", "--episodes"),
        (["watch", "Growingtre", "--random"], "task 'Growingtre'", "GrowingTree"),
        (["watch", "GrowingTree", "--randm"], "option '--randm'", "--random"),
        (["inspect", "run", "--chekpoint", "best"], "option '--chekpoint'", "--checkpoint"),
        (["report", "run", "--ot", "x"], "option '--ot'", "--out"),
    ],
)
def test_what_is_unknown_suggests_the_nearest(words, wrong, right, scrubjay, tmp_path):
    answer = scrubjay(*words)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith(f"scrubjay {words[0]}: there is no")
    assert wrong in answer.err
    assert f"did you mean {right}" in answer.err
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--steps", "many"], "--steps: expected a whole number, got 'many'"),
        (["--steps", "-5"], "expected steps to be at least 0, got -5"),
        (["--n-envs", "0"], "expected n_envs to be at least 1, got 0"),
        (["--eval-episodes", "0"], "expected n_eval_episodes to be at least 1, got 0"),
        (["--eval-freq", "-1"], "expected eval_freq to be at least 0, got -1"),
        (["--checkpoint-steps", "0", "5"], "expected checkpoint_steps of at least 1, got (0, 5)"),
        (["--n-neighbors"], "--n-neighbors: expected one argument"),
        (["--embedding", "project"], "--embedding project: expected a whole number"),
        (["--embedding", "frozen:soon"], "--embedding frozen:soon: expected a whole number"),
        (["more"], "'more'"),
    ],
)
def test_what_is_not_understood_exits_with_2(words, said, scrubjay, tmp_path):
    answer = scrubjay("train", "cec", "GrowingTree", *words)
    assert answer.code == 2
    assert said in answer.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--temperature", "-1"], "temperature to be a finite number greater than 0, got -1"),
        (["--temperature", "warm"], "temperature to be a finite number greater than 0, got 'warm'"),
        (["--noise-std", "NaN"], "noise_std to be a finite number of at least 0, got nan"),
        (["--distance-threshold", "0"], "distance_threshold to be a finite number greater than 0"),
        (["--n-neighbors", "0"], "n_neighbors to be a whole number of at least 1"),
        (["--capacity", "2.5"], "capacity to be a whole number of at least 1"),
        (["--gamma", "1.5"], "gamma to be a finite number of at least 0 and at most 1, got 1.5"),
        (
            ["--epsilon", "0.9,0.05"],
            "expected epsilon to be a number between 0 and 1, (start, end, steps)",
        ),
        (["--epsilon", "2"], "expected epsilon to be a number between 0 and 1"),
        (["--exploration", "wild"], "exploration to be 'noise' or 'uniform', got 'wild'"),
        (["--recency", "sometimes"], "recency to be 'write' or 'hit' or 'never', got 'sometimes'"),
        (["--seed", "-1"], "expected seed to be at least 0, got -1"),
        (["--max-episode-steps", "0"], "expected max_episode_steps to be at least 1, got 0"),
    ],
)
def test_a_value_outside_of_its_range_exits_with_2_and_says_the_range(
    words, said, scrubjay, tmp_path
):
    answer = train(scrubjay, *words)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir()), "nothing is created for a run that cannot start"


@pytest.mark.parametrize("agent", agent_specs())
def test_every_setting_with_a_range_refuses_what_is_outside_of_it(agent, scrubjay, tmp_path):
    if agent_specs()[agent].extra:
        pytest.importorskip("stable_baselines3")
    checked = 0
    for name, setting in settings_of(agent_specs()[agent].load()).items():
        if name == "seed" or not (setting.choices or setting.range.low > -float("inf")):
            continue
        wrong = "no-such-word" if setting.choices else str(setting.range.low - 1)
        answer = train(scrubjay, f"--{name.replace('_', '-')}={wrong}", agent=agent)
        assert answer.code == 2, name
        assert f"expected {name} to be {setting.expected}, got" in answer.err
        assert answer.err.count("\n") == 1
        checked += 1
    assert checked >= 4
    assert not list(tmp_path.iterdir())


def test_what_the_task_does_not_allow_exits_with_1(scrubjay, tmp_path):
    answer = train(scrubjay, "--embedding", "select:a,b")
    assert answer.code == 1
    assert "expected a Dict observation with the entries ('a', 'b')" in answer.err
    assert "Traceback" not in answer.err
    assert not list(tmp_path.iterdir()), "nothing is created for a run that cannot start"


def test_an_action_space_that_is_not_continuous(scrubjay, tmp_path):
    pytest.importorskip("stable_baselines3")
    answer = train(scrubjay, "--preset", "defaults", agent="sac", task="CartPole-v1")
    assert answer.code == 1
    assert "expected a Box action space, got Discrete(2)" in answer.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("agent", "words", "owner"),
    [
        ("cec", ["--hold", "3"], "cec-plus"),
        ("cec", ["--hold=3"], "cec-plus"),
        ("cec-plus", ["--alpha", "0.1"], "emac"),
        ("sac", ["--n-neighbors", "3"], "cec"),
    ],
)
def test_a_setting_of_another_agent_is_refused_and_the_agent_is_named(
    agent, words, owner, scrubjay, tmp_path
):
    pytest.importorskip("stable_baselines3")
    answer = train(scrubjay, *words, agent=agent)
    assert answer.code == 2
    assert answer.err == (
        f"scrubjay train: there is no option {words[0]!r} for {agent}; did you mean {owner}, "
        "which has it?\n"
    )
    assert not list(tmp_path.iterdir())


def test_an_unknown_agent_is_what_is_wrong_with_its_settings(scrubjay):
    answer = train(scrubjay, "--n-neighbors", "3", agent="cex")
    assert (answer.code, "method 'cex'; did you mean cec" in answer.err) == (2, True)


def test_a_folder_named_like_an_agent_is_not_the_agent(scrubjay, tmp_path):
    words = "train --out sac --quiet --steps 1 cec-plus GrowingTree --hold 3"
    assert scrubjay(*words.split()).code == 0
    assert json.loads((tmp_path / "sac" / "config.json").read_text())["options"]["hold"] == 3


def test_settings_overrule_the_preset_and_all_are_written_down(scrubjay, tmp_path):
    words = ["--n-neighbors=3", "--epsilon", "0.9,0.05,1000", "--temperature", "0.5"]
    assert train(scrubjay, *words, "--embedding", "frozen:50").code == 0
    options = config(tmp_path)["options"]
    assert options["n_neighbors"] == 3
    assert options["epsilon"] == {"start": 0.9, "end": 0.05, "steps": 1000}
    assert options["temperature"] == 0.5
    assert options["embedding"] == {"name": "frozen_normalizer", "n_steps": 50}
    assert options["distance_threshold"] == 0.01, "the preset's"
    assert options.keys() == settings_of(CEC).keys() - {"seed"}


def test_the_command_is_written_down(scrubjay, tmp_path):
    assert train(scrubjay, "--seed", "4").code == 0
    command = "scrubjay train cec GrowingTree --quiet --steps 1 --seed 4 --out new\n"
    assert (tmp_path / "new" / "command.txt").read_text() == command


@pytest.mark.parametrize(
    "words",
    [
        "train cec GrowingTree --steps 1 --n-neighbors 3 --quiet --out new",
        "train --steps 1 --n-neighbors 3 --quiet --out new cec GrowingTree",
        "train cec --n-neighbors 3 GrowingTree --out new --quiet --steps=1",
    ],
)
def test_words_in_any_order(words, scrubjay, tmp_path):
    assert scrubjay(*words.split()).code == 0
    assert config(tmp_path)["task"] == "scrubjay/GrowingTree-v0"
    assert config(tmp_path)["options"]["n_neighbors"] == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("0.9,0.05,1000", [0.9, 0.05, 1000]),
        ("hit", "hit"),
        ("true", True),
        ("null", None),
        ('{"net_arch": [16, 16]}', {"net_arch": [16, 16]}),
        ("[1, 2]", [1, 2]),
    ],
)
def test_values(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


@pytest.mark.parametrize(("text", "dimensions"), [("1", [1]), ("0,1", [0, 1])])
def test_a_list_of_one_number_or_more(text, dimensions, scrubjay, tmp_path):
    answer = train(scrubjay, "--periodic", text, agent="cec-plus", task="SparseMountainCar")
    assert answer.code == 0, answer.err
    assert config(tmp_path)["options"]["periodic"] == dimensions


def test_arguments_of_the_policy_as_json(scrubjay, tmp_path):
    pytest.importorskip("stable_baselines3")
    words = ["--policy-kwargs", '{"net_arch": [8, 8]}', "--learning-starts", "1e3"]
    assert train(scrubjay, *words, agent="sac").code == 0
    options = config(tmp_path)["options"]
    assert options["policy_kwargs"] == {"net_arch": [8, 8]}
    assert (options["learning_starts"], options["batch_size"]) == (1000, 32)


def test_an_embedding_in_stages():
    assert parse_embedding("select:a,b+project:8+running") == {
        "name": "chain",
        "stages": [
            {"name": "select", "keys": ["a", "b"]},
            {"name": "projection", "dim": 8},
            {"name": "running_normalizer"},
        ],
    }
    assert parse_embedding("identity") == {"name": "identity"}
    assert parse_embedding("bounds") == {"name": "bounds"}
    assert parse_embedding("frozen") == {"name": "frozen_normalizer", "n_steps": 1000}


def test_an_embedding_in_stages_is_what_the_run_uses(scrubjay, tmp_path):
    text = "select:observation,desired_goal+project:4+running"
    assert train(scrubjay, "--embedding", text, task="SparseFetchReach").code == 0
    answer = scrubjay("inspect", tmp_path / "new")
    assert "key         4 dimensions" in answer.out


def test_bounds_by_name(scrubjay, tmp_path):
    assert train(scrubjay, "--embedding", "bounds", task="Pendulum-v1").code == 0
    assert "key         3 dimensions" in scrubjay("inspect", tmp_path / "new").out

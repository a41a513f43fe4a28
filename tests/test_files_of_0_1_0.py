"""Files of version 0.1.0 open, predict, inspect, evaluate, report and resume.

`tests/data/0.1.0/make_files.py` is how they were made. Names that may move when the code is
reorganised are imported in `load_run` and `read_runs` only.
"""

import csv
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from probes import Mixed
from scrubjay import CEC, CECPlus
from scrubjay.cli.main import main

FILES = Path(__file__).parent / "data" / "0.1.0"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
AGENTS, RUNS = EXPECTED["agents"], EXPECTED["runs"]
NETWORKS = ("sac", "emac")
TABLES = ("progress.csv", "episodes.csv", "eval.csv")


def load_agent(name, env=None):
    method = CECPlus if AGENTS[name]["class"] == "CECPlus" else CEC
    return method.load(FILES / "agents" / f"{name}.scrub", env)


def load_run(folder):
    from scrubjay.runs.launch import load_agent

    return load_agent(folder)[0]


def read_runs(folders):
    from scrubjay.analysis.reading import load_runs

    return load_runs(folders)


@pytest.fixture(params=RUNS)
def run(request):
    """The name of a run; those of networks need the extra `deep`."""
    skip_without_networks(request.param)
    return request.param


def skip_without_networks(name):
    if name in NETWORKS:
        pytest.importorskip("torch")
        pytest.importorskip("stable_baselines3")


def make_env(name):
    return Mixed() if name == "Mixed" else name


def as_observation(content, space):
    if isinstance(space, spaces.Dict):
        return {name: as_observation(content[name], part) for name, part in space.items()}
    return np.array(content, space.dtype)


def predictions(agent, expected):
    """The greedy actions for the recorded observations."""
    with warnings.catch_warnings():
        # an agent whose episodes are all held back warns that its memory is empty
        warnings.simplefilter("ignore", UserWarning)
        return [
            agent.predict(as_observation(seen, agent.observation_space), deterministic=True)[0]
            for seen in expected["observations"]
        ]


def in_shell(*words):
    """The command line in a process of its own, which has imported nothing before."""
    command = [sys.executable, "-m", "scrubjay", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


# ---------------------------------------------------------------- saved agents


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_opens_and_predicts(name):
    agent, expected = load_agent(name), AGENTS[name]
    counters = {"num_timesteps": agent.num_timesteps, "n_episodes": agent.n_episodes}
    assert counters == {counter: expected[counter] for counter in counters}
    assert len(agent.memory) == expected["rows"]
    agent.memory.check_invariants()
    np.testing.assert_array_equal(predictions(agent, expected), expected["actions"])


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_goes_on_learning(name):
    agent, expected = load_agent(name, make_env(AGENTS[name]["env"])), AGENTS[name]
    agent.learn(1000)
    assert agent.num_timesteps >= expected["num_timesteps"] + 1000
    # cec-plus-held too: it has seen enough by now to write the episodes that it held back
    assert len(agent.memory) > 0
    agent.memory.check_invariants()


@pytest.mark.parametrize(
    "name",
    AGENTS,
)
def test_an_agent_is_inspected(name):
    answer = in_shell("inspect", FILES / "agents" / f"{name}.scrub")
    assert answer.returncode == 0, answer.stderr
    assert re.search(rf"rows +{AGENTS[name]['rows']:,}\b", answer.stdout)


def test_a_memory_is_inspected(capsys):
    assert main(["inspect", str(FILES / "memory.scrub")]) == 0
    assert "rows" in capsys.readouterr().out


# ---------------------------------------------------------------- run folders


def test_a_run_opens_and_predicts(run):
    agent, expected = load_run(FILES / "runs" / run), RUNS[run]
    assert agent.num_timesteps == expected["num_timesteps"]
    # the rows of a memory are exact; the sums in a network depend on the processor
    tolerance = 1e-5 if run in NETWORKS else 0
    np.testing.assert_allclose(
        predictions(agent, expected), expected["actions"], rtol=0, atol=tolerance
    )


def test_a_run_is_evaluated(run, capsys):
    assert main(["evaluate", str(FILES / "runs" / run), "--episodes", "5"]) == 0
    found = re.search(r"return +(\S+)", capsys.readouterr().out)
    assert found
    assert run in NETWORKS or found[1] == RUNS[run]["mean_return"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_inspected(name, capsys):
    skip_without_networks(name)
    code = main(["inspect", str(FILES / "runs" / name)])
    output = capsys.readouterr()
    if name == "sac":
        assert code == 1
        assert "keeps no episodic memory" in output.err
    else:
        assert code == 0
        assert output.out


def test_all_runs_are_read():
    runs = read_runs(FILES / "runs")
    assert {run.agent for run in runs} == set(RUNS)


def test_all_runs_are_reported(tmp_path, capsys):
    folders = [str(FILES / "runs" / name) for name in RUNS]
    assert main(["report", *folders, "--out", str(tmp_path / "report.html")]) == 0
    assert f"{len(RUNS)} runs" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in RUNS)


def tables(folder):
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_a_finished_run_is_resumed_to_its_end_at_once(run, tmp_path, capsys):
    folder = shutil.copytree(FILES / "runs" / run, tmp_path / run)
    assert main(["train", "--resume", str(folder), "--quiet"]) == 0
    assert "done" in capsys.readouterr().out
    assert tables(folder) == tables(FILES / "runs" / run)


def test_a_killed_run_ends_as_if_it_had_never_stopped(tmp_path, capsys):
    """It has the configuration of the run `cec`, and was killed after a checkpoint."""
    folder = shutil.copytree(FILES / "killed" / "cec", tmp_path / "cec")
    whole = FILES / "runs" / "cec"
    assert tables(folder) != tables(whole)
    assert main(["train", "--resume", str(folder), "--quiet"]) == 0
    assert "done" in capsys.readouterr().out
    mine, theirs = tables(folder), tables(whole)
    assert without(mine.pop("progress.csv")) == without(theirs.pop("progress.csv"))
    assert mine == theirs


def without(table, columns=("memory/nearest_distance", "policy/no_neighbor_fraction")):
    """The rows less two columns that count other steps since 0.2.0 (defect 11)."""
    rows = csv.DictReader(table.decode().splitlines())
    return [{name: text for name, text in row.items() if name not in columns} for row in rows]

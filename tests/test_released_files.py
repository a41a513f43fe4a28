"""Files of all released versions open, predict, inspect, evaluate, report and resume.

`tests/data/<version>/make_files.py` made them, with that version. Names that may move when the code
is reorganised are imported in `load_run` and `read_runs` only.
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

DATA = Path(__file__).parent / "data"
RELEASES = {
    folder.name: json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for folder in sorted(DATA.iterdir())
    if (folder / "expected.json").exists()
}
AGENTS = [(version, name) for version, files in RELEASES.items() for name in files["agents"]]
RUNS = [(version, name) for version, files in RELEASES.items() for name in files["runs"]]
NETWORKS = ("sac", "emac")
TABLES = ("progress.csv", "episodes.csv", "eval.csv")
# columns that count other steps in later versions
CHANGED_COLUMNS = {"0.1.0": ("memory/nearest_distance", "policy/no_neighbor_fraction")}


def label(file):
    return "-".join(file)


@pytest.fixture(params=AGENTS, ids=label)
def agent_file(request):
    """The path of a saved agent, and what is expected of it."""
    version, name = request.param
    path = DATA / version / "agents" / f"{name}.scrub"
    return path, RELEASES[version]["agents"][name]


def load_agent(agent_file, env=None):
    path, expected = agent_file
    method = CECPlus if expected["class"] == "CECPlus" else CEC
    return method.load(path, env)


def load_run(folder):
    from scrubjay.runs.launch import load_agent

    return load_agent(folder)[0]


def read_runs(folders):
    from scrubjay.analysis.reading import load_runs

    return load_runs(folders)


@pytest.fixture(params=RUNS, ids=label)
def run(request):
    """The path of a run folder, and what is expected; those of networks need the extra `deep`."""
    version, name = request.param
    skip_without_networks(name)
    return DATA / version / "runs" / name, RELEASES[version]["runs"][name]


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


def test_every_release_has_files():
    assert {"0.1.0"} <= RELEASES.keys()
    assert sum(path.is_dir() for path in DATA.iterdir()) == len(RELEASES)


def test_an_agent_opens_and_predicts(agent_file):
    agent, expected = load_agent(agent_file), agent_file[1]
    counters = {"num_timesteps": agent.num_timesteps, "n_episodes": agent.n_episodes}
    assert counters == {counter: expected[counter] for counter in counters}
    assert len(agent.memory) == expected["rows"]
    agent.memory.check_invariants()
    np.testing.assert_array_equal(predictions(agent, expected), expected["actions"])


def test_an_agent_goes_on_learning(agent_file):
    expected = agent_file[1]
    agent = load_agent(agent_file, make_env(expected["env"]))
    agent.learn(1000)
    assert agent.num_timesteps >= expected["num_timesteps"] + 1000
    # cec-plus-held too: it has seen enough by now to write the episodes that it held back
    assert len(agent.memory) > 0
    agent.memory.check_invariants()


def test_an_agent_is_inspected(agent_file):
    path, expected = agent_file
    answer = in_shell("inspect", path)
    assert answer.returncode == 0, answer.stderr
    assert re.search(rf"rows +{expected['rows']:,}\b", answer.stdout)


@pytest.mark.parametrize("version", RELEASES)
def test_a_memory_is_inspected(version, capsys):
    assert main(["inspect", str(DATA / version / "memory.scrub")]) == 0
    assert "rows" in capsys.readouterr().out


# ---------------------------------------------------------------- run folders


def test_a_run_opens_and_predicts(run):
    folder, expected = run
    agent = load_run(folder)
    assert agent.num_timesteps == expected["num_timesteps"]
    # the rows of a memory are exact; the sums in a network depend on the processor
    tolerance = 1e-5 if folder.name in NETWORKS else 0
    np.testing.assert_allclose(
        predictions(agent, expected), expected["actions"], rtol=0, atol=tolerance
    )


def test_a_run_is_evaluated(run, capsys):
    folder, expected = run
    assert main(["evaluate", str(folder), "--episodes", "5"]) == 0
    found = re.search(r"return +(\S+)", capsys.readouterr().out)
    assert found
    assert folder.name in NETWORKS or found[1] == expected["mean_return"]


def test_a_run_is_inspected(run, capsys):
    folder, _ = run
    code = main(["inspect", str(folder)])
    output = capsys.readouterr()
    if code:
        assert folder.name == "sac"
        assert "no episodic memory" in output.err
    else:
        assert output.out


@pytest.mark.parametrize("version", RELEASES)
def test_all_runs_are_read(version):
    runs = read_runs(DATA / version / "runs")
    assert {run.agent for run in runs} == set(RELEASES[version]["runs"])


@pytest.mark.parametrize("version", RELEASES)
def test_all_runs_are_reported(version, tmp_path, capsys):
    names = RELEASES[version]["runs"]
    folders = [str(DATA / version / "runs" / name) for name in names]
    assert main(["report", *folders, "--out", str(tmp_path / "report.html")]) == 0
    assert f"{len(names)} runs" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in names)


def tables(folder):
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_a_finished_run_is_resumed_to_its_end_at_once(run, tmp_path, capsys):
    folder, _ = run
    copy = shutil.copytree(folder, tmp_path / folder.name)
    assert main(["train", "--resume", str(copy), "--quiet"]) == 0
    assert "done" in capsys.readouterr().out
    assert tables(copy) == tables(folder)


@pytest.mark.parametrize("version", RELEASES)
def test_a_killed_run_ends_as_if_it_had_never_stopped(version, tmp_path, capsys):
    """It has the configuration of the run `cec`, and was killed after a checkpoint."""
    folder = shutil.copytree(DATA / version / "killed" / "cec", tmp_path / "cec")
    whole = DATA / version / "runs" / "cec"
    assert tables(folder) != tables(whole)
    assert main(["train", "--resume", str(folder), "--quiet"]) == 0
    assert "done" in capsys.readouterr().out
    mine, theirs = tables(folder), tables(whole)
    changed = CHANGED_COLUMNS.get(version, ())
    progress = without(mine.pop("progress.csv"), changed)
    assert progress == without(theirs.pop("progress.csv"), changed)
    assert mine == theirs


def without(table, columns):
    """The rows of a table without some columns."""
    rows = csv.DictReader(table.decode().splitlines())
    return [{name: text for name, text in row.items() if name not in columns} for row in rows]

"""`scrubjay reproduce minatar` and `atari`: their plans, and a tiny real study."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from scrubjay.analysis.reading import load_run
from scrubjay.studies import atari, minatar
from scrubjay.studies.reproduce import redraw, reproduce
from scrubjay.studies.shared.games import Game, protocol_returns, training_return, with_error
from scrubjay.studies.shared.methods import METHODS, Method, StudyBudget
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.training.errors import RunError

GRID = "FourRoomsGrid"


def workspace_of(tmp_path, agents=("mfec",), **budget):
    return Workspace(
        tmp_path / "runs",
        tmp_path / "out",
        StudyBudget(**budget),
        agents,
        "scrubjay reproduce a test",
    )


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_plans_have_all_games_methods_and_seeds(tmp_path):
    configs = minatar.plan(workspace_of(tmp_path, agents=("mfec", "cec-plus", "dqn")))
    count = {agent: sum(c.agent == agent for c in configs) for agent in ("mfec", "cec-plus", "dqn")}
    assert count == {"mfec": 6 * 5, "cec-plus": 6 * 5, "dqn": 3 * 5}
    assert {config.steps for config in configs} == {100_000, 10_000}
    assert all(config.steps % config.eval_freq == 0 for config in configs)
    configs = atari.plan(workspace_of(tmp_path))
    assert len(configs) == 3 * 2 * 5
    one_start = [config for config in configs if config.task_options == {"max_noops": 0}]
    assert {(config.preset, config.n_eval_episodes) for config in one_start} == {("paper", 1)}
    assert atari.plan(workspace_of(tmp_path, agents=("cec",))) == []


@pytest.fixture
def _tiny(monkeypatch):
    games = (Game("Four rooms", GRID, 600, 200, "success", 0.9, protocols=False),)
    study = replace(minatar.STUDY, games=games, methods=(METHODS["mfec"],))
    monkeypatch.setattr(minatar, "STUDY", study)


@pytest.mark.usefixtures("_tiny")
def test_a_tiny_study_is_run_drawn_and_redrawn(tmp_path):
    workspace = workspace_of(tmp_path, seeds=(0, 1, 2))
    assert reproduce("minatar", workspace, jobs=1).n_done == 3
    row = rows_of(tmp_path / "out" / "table-minatar.csv")[0]
    assert (row["game"], row["method"], row["seeds"]) == ("Four rooms", "MFEC", "3")
    assert (row["sticky 0.1"], row["target of MFEC"]) == ("-", "0.9")
    assert float(row["decisions/s"].replace(",", "")) > 0
    page = (tmp_path / "out" / "table-minatar.md").read_text()
    assert "| Four rooms | MFEC" in page
    picture = tmp_path / "out" / "minatar.png"
    before = picture.read_bytes()
    picture.unlink()
    redraw("minatar", workspace)
    assert picture.read_bytes() == before


@pytest.mark.usefixtures("_tiny")
def test_a_protocol_is_played_once_and_kept(tmp_path):
    workspace = workspace_of(tmp_path, seeds=(0,))
    reproduce("minatar", workspace, jobs=1)
    (folder,) = (tmp_path / "runs").rglob("seed-0")
    run = load_run(folder)
    found = protocol_returns(run, "as it is", {}, workspace)
    assert len(found) == 10
    kept = json.loads((folder / "protocols.json").read_text())
    kept["as it is"]["returns"] = [7.0]
    (folder / "protocols.json").write_text(json.dumps(kept))
    assert protocol_returns(run, "as it is", {}, workspace) == [7.0]
    assert load_run(folder).finished  # the file beside them disturbs nobody
    assert 0 <= training_return(run) <= 1


def test_the_published_scores_are_drawn(make_run, tmp_path):
    study = atari.STUDY
    workspace = workspace_of(tmp_path)
    for game in study.games:
        for method in study.methods:
            for seed in range(3):
                make_games_run(make_run, study.config(method, game, seed, workspace), workspace)
    atari.make(workspace)
    rows = rows_of(tmp_path / "out" / "atari.csv")
    published = [row for row in rows if row["seed"] == "published"]
    assert [row["value"] for row in published] == ["2662", "1995", "255"]
    row = rows_of(tmp_path / "out" / "table-atari.csv")[0]
    assert row["one start"] == "400 ± 0"
    assert row["published, one start"] == "2662 ± 610"
    assert "replayed" in (tmp_path / "out" / "table-atari.md").read_text()


def make_games_run(make_run, config, workspace):
    """A run folder of known numbers in the place of a run of Atari."""
    from scrubjay.runs.sweep import folder_of

    folder = folder_of(atari.folder(workspace), config)
    name = folder.relative_to(workspace.root)
    path = make_run(str(name), agent="mfec", task=config.task, seed=config.seed)
    played = {
        name: {"options": dict(options), "returns": [400.0]}
        for name, options in atari.STUDY.protocols.items()
    }
    (path / "protocols.json").write_text(json.dumps(played))


def test_numbers_in_words():
    assert with_error([1.0, 2.0, 3.0]) == "2.00 ± 0.58"
    assert with_error(np.array([1000.0, 2000.0])) == "1000, 2000"
    assert with_error([0.5]) == "0.50"


def test_nothing_to_draw_is_said(tmp_path):
    for name in ("minatar", "atari"):
        with pytest.raises(RunError, match=f"{name} has nothing to draw"):
            reproduce(name, workspace_of(tmp_path, agents=()))


def test_methods_suit_the_games_they_are_for():
    assert METHODS["mfec"].suits(GRID)
    assert not METHODS["mfec"].suits("PointUMaze")
    assert Method("x", "dqn", "default").suits("PointUMaze")

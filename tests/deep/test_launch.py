"""Deep runs by name: started, loaded, begun again when broken off."""

import json

import pytest

from scrubjay.cli.main import main
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent, resume, start
from scrubjay.training import RunFolder, RunFolderError

CONFIG = RunConfig(
    "sac",
    "GrowingTree",
    options={"learning_starts": 200, "policy_kwargs": {"net_arch": [8]}},
    steps=300,
    eval_freq=300,
    n_eval_episodes=1,
    checkpoint_steps=(100,),
)


def test_started_loaded_and_never_repeated(tmp_path):
    trained = start(CONFIG, tmp_path / "run", "scrubjay train sac GrowingTree")
    assert (trained.num_timesteps, trained.n_episodes > 0) == (300, True)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    loaded, config = load_agent(tmp_path / "run", "step-100")
    assert (loaded.num_timesteps, config.agent) == (100, "sac")
    assert config.options["batch_size"] == 32
    assert resume(tmp_path / "run").num_timesteps == 300
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


def test_one_that_was_broken_off_begins_again(tmp_path):
    start(CONFIG, tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    tables = (tmp_path / "run" / "episodes.csv").read_bytes()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "running"}))
    resume(tmp_path / "run")
    assert json.loads(path.read_text())["status"] == "finished"
    assert (tmp_path / "run" / "episodes.csv").read_bytes() == tables


def test_defect_4_a_deep_run_has_one_writer(tmp_path):
    start(CONFIG, tmp_path / "run")
    with RunFolder.open(tmp_path / "run", for_writing=True) as folder:
        folder.update(status="running")
        with pytest.raises(RunFolderError, match="in use by process"):
            resume(tmp_path / "run")
        assert folder.tables["episodes"].rows()
    resume(tmp_path / "run")


def test_defect_13_the_memory_of_emac_can_be_inspected(tmp_path, capsys):
    options = {"learning_starts": 10_000, "policy_kwargs": {"net_arch": [8]}}
    config = RunConfig("emac", "GrowingTree", options=options, steps=500, eval_freq=0)
    model = start(config, tmp_path / "run").model
    assert main(["inspect", str(tmp_path / "run")]) == 0
    assert model.memory.rows.digest() in capsys.readouterr().out


def test_defect_16_a_deep_run_that_cannot_be_made_creates_nothing(tmp_path):
    config = RunConfig("sac", "GrowingTree", preset="her")
    with pytest.raises(ValueError, match="hindsight"):
        start(config, tmp_path / "run")
    config = RunConfig("sac", "GrowingTree", options={"no_such_option": 1})
    with pytest.raises(TypeError, match="no_such_option"):
        start(config, tmp_path / "run")
    assert not list(tmp_path.iterdir())

"""Deep runs by name: started, loaded, begun again when broken off."""

import json

from scrubjay.experiments.launch import RunConfig, load_agent, resume, start

CONFIG = RunConfig(
    "sac",
    "GrowingTree",
    options={"learning_starts": 200, "gradient_steps": 1, "policy_kwargs": {"net_arch": [8]}},
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

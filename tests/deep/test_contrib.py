"""CrossQ and TQC: sb3-contrib's own models, in run folders like all methods."""

import gymnasium
import pytest
import sb3_contrib

from scrubjay.deep import TQC, CrossQ
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent, start

NAMES = ("batch_size", "learning_rate", "gamma", "learning_starts", "buffer_size", "ent_coef")


@pytest.mark.parametrize(("ours", "theirs"), [(CrossQ, sb3_contrib.CrossQ), (TQC, sb3_contrib.TQC)])
def test_defaults_are_those_of_sb3_contrib(ours, theirs):
    env = gymnasium.make("Pendulum-v1")
    model = ours(env, **ours.preset("Pendulum-v1", "defaults"), seed=0).model
    plain = theirs("MlpPolicy", env, device="cpu")
    assert type(model) is theirs
    assert [getattr(model, name) for name in NAMES] == [getattr(plain, name) for name in NAMES]
    assert ours.preset("Pendulum-v1", "small-entropy") == {"ent_coef": "auto_0.01"}
    with pytest.raises(ValueError, match="expected one of the presets"):
        ours.preset("Pendulum-v1", "paper")


@pytest.mark.parametrize("name", ["crossq", "tqc"])
def test_a_run_is_recorded_and_its_agent_loaded(name, tmp_path):
    options = {"policy_kwargs": {"net_arch": [8]}, "batch_size": 8}
    config = RunConfig(name, "GrowingTree", options=options, steps=250, eval_freq=200)
    start(config, tmp_path / "run")
    agent, _ = load_agent(tmp_path / "run")
    env = config.make_env()
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(agent.predict(observation)[0])

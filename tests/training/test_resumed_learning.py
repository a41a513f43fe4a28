"""Runs that were started with `learn(run_folder=...)`, gone on with by `scrubjay.resume`."""

import gymnasium
import pytest

import scrubjay
from scrubjay import CEC, BaseCallback

TASK = "scrubjay/GrowingTree-v0"
FILES = ("progress.csv", "episodes.csv", "eval.csv", "checkpoints/last.scrub")
PLANS = {
    "nothing asked for": {},
    "evaluations": {"eval_env": TASK, "eval_freq": 700, "n_eval_episodes": 2, "log_freq": 300},
    "a cap": {"max_episode_steps": 40, "checkpoint_steps": (1500, 1700)},
}


class Stop(BaseCallback):
    """Ends training in the middle."""

    def _on_step(self) -> bool:
        return self.num_timesteps < 1200


def content(folder):
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


@pytest.mark.parametrize("name", PLANS)
def test_a_resumed_run_evaluates_and_saves_as_it_did(name, tmp_path):
    """It evaluated every 5,000 steps, whatever `learn` had been told."""
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder, callback in ((whole, None), (stopped, Stop())):
        agent = CEC(TASK, distance_threshold=0.01, seed=1)
        agent.learn(6000, callback, run_folder=folder, checkpoint_freq=400, **PLANS[name])
    scrubjay.resume(stopped)
    assert content(stopped) == content(whole)
    names = {path.name for path in (whole / "checkpoints").iterdir()}
    assert {path.name for path in (stopped / "checkpoints").iterdir()} == names


def test_a_resumed_run_has_as_many_environments(tmp_path):
    env = gymnasium.make_vec(TASK, num_envs=3, vectorization_mode="sync")
    CEC(env, seed=1).learn(3000, Stop(), run_folder=tmp_path / "run")
    agent = scrubjay.resume(tmp_path / "run")
    assert agent.get_env().num_envs == 3
    assert agent.num_timesteps >= 3000

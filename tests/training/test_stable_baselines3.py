"""Other people's code on our agent, unmodified: Stable-Baselines3's evaluation and wrappers."""

import numpy as np
import pytest

from probes import Corridor, Drift, Mixed
from scrubjay.agents import CEC

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is an extra: scrubjay[deep]")

from stable_baselines3.common.callbacks import (
    CallbackList,
    CheckpointCallback,
    EvalCallback,
    EveryNTimesteps,
    StopTrainingOnRewardThreshold,
)
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv


def test_evaluate_policy():
    agent = CEC(Corridor([0.0, 1.0, 2.0]), seed=0).learn(30)
    mean, deviation = evaluate_policy(agent, Monitor(Corridor([0.0, 1.0, 2.0])), n_eval_episodes=4)
    assert (mean, deviation) == (3.0, 0.0)


@pytest.mark.parametrize("deterministic", [True, False])
def test_evaluate_policy_on_a_vector_of_several(deterministic):
    agent = CEC(Drift(), seed=1).learn(500)
    before = agent.memory.digest()
    rewards, lengths = evaluate_policy(
        agent, DummyVecEnv([lambda: Monitor(Drift())] * 3), n_eval_episodes=6,
        deterministic=deterministic, return_episode_rewards=True,
    )  # fmt: skip
    assert len(rewards) == len(lengths) == 6
    assert agent.memory.digest() == before


def test_evaluate_policy_with_dict_observations():
    agent = CEC(Mixed(), seed=0).learn(50)
    mean, _ = evaluate_policy(agent, DummyVecEnv([lambda: Monitor(Mixed())] * 2), n_eval_episodes=4)
    assert np.isfinite(mean)


@pytest.mark.filterwarnings("ignore:Training and eval env are not of the same type")
def test_eval_callback_evaluates_logs_and_saves_the_best(tmp_path):
    agent = CEC(Monitor(Drift()), seed=1)
    callback = EvalCallback(
        Monitor(Drift()), n_eval_episodes=2, eval_freq=100, log_path=str(tmp_path),
        best_model_save_path=str(tmp_path / "best"), verbose=0,
    )  # fmt: skip
    agent.learn(500, callback=callback)
    logged = np.load(tmp_path / "evaluations.npz")
    assert logged["timesteps"].tolist()[:5] == [100, 200, 300, 400, 500]
    assert logged["results"].shape[1] == 2
    saved = [path for path in (tmp_path / "best").iterdir() if path.name.startswith("best_model")]
    best = CEC.load(saved[0])
    assert len(best.memory) > 0
    # it changes nothing of what is learned
    assert agent.memory.digest() == CEC(Drift(), seed=1).learn(500).memory.digest()


@pytest.mark.filterwarnings("ignore:Training and eval env are not of the same type")
def test_callbacks_that_stop_and_lists_of_them(tmp_path):
    stop = StopTrainingOnRewardThreshold(reward_threshold=1.0, verbose=0)
    evaluation = EvalCallback(
        Monitor(Corridor([0.0, 1.0])), callback_on_new_best=stop, eval_freq=10, n_eval_episodes=1,
        verbose=0,
    )  # fmt: skip
    checkpoints = CheckpointCallback(save_freq=6, save_path=str(tmp_path), verbose=0)
    agent = CEC(Corridor([0.0, 1.0]), seed=0)
    agent.learn(1000, callback=CallbackList([evaluation, EveryNTimesteps(1, checkpoints)]))
    assert agent.num_timesteps == 10
    assert list(tmp_path.glob("*_6_steps*"))


def test_a_monitor_records_what_the_agent_lived_through(tmp_path):
    env = Monitor(Drift(), str(tmp_path / "run"))
    agent = CEC(env, seed=1).learn(300)
    assert sum(env.get_episode_lengths()) == agent.num_timesteps
    assert len(env.get_episode_rewards()) == agent.n_episodes
    env.close()
    assert agent.memory.digest() == CEC(Drift(), seed=1).learn(300).memory.digest()

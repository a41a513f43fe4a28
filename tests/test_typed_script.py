"""A user's script that uses the public API passes mypy --strict."""

import subprocess
import sys
from pathlib import Path

import pytest

import scrubjay

pytest.importorskip("mypy", reason="mypy is a tool of developers: scrubjay[dev]")

SCRIPT = """
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium.vector import SyncVectorEnv

from scrubjay import (
    CEC,
    BaseCallback,
    CECPlus,
    Chain,
    EpisodicMemory,
    FrozenNormalizer,
    LinearSchedule,
    RandomProjection,
    RunFolder,
    Spaces,
    preset,
    resume,
)


class Stop(BaseCallback):
    def __init__(self, limit: int, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.limit = limit

    def _on_step(self) -> bool:
        self.logger.record("own/reward", float(self.locals["rewards"].sum()))
        return self.num_timesteps < self.limit


def stop(local: dict[str, object], names: dict[str, object]) -> bool:
    return len(local) + len(names) > 0


env = gym.make("scrubjay/PointUMaze-v0")
agent = CECPlus(
    env, seed=3, verbose=1, tensorboard_log="logs", device="cpu", periodic=[2], gamma=0.98
)
agent.learn(1e4, callback=Stop(500), log_interval=10, tb_log_name="maze")
agent.learn(
    total_timesteps=10_000,
    callback=[Stop(600), stop],
    progress_bar=True,
    run_folder=Path("runs") / "maze",
    eval_env="scrubjay/PointUMaze-v0",
    eval_freq=1000,
    n_eval_episodes=5,
    checkpoint_steps=[5000],
    success_key="is_success",
)
observation, _ = env.reset(seed=1)
action, _ = agent.predict(observation, deterministic=True)
env.step(action)
agent.save("maze")
loaded: CECPlus = CECPlus.load("maze", env=env)
steps: int = loaded.num_timesteps
settings: dict[str, object] = loaded.config()
print(agent, steps, settings, loaded.get_env().num_envs, loaded.n_envs, loaded.seed)

paper = CEC("scrubjay/PointUMaze-v0", **preset("PointUMaze"), seed=None)
vector = CEC(
    SyncVectorEnv([lambda: gym.make("scrubjay/PointUMaze-v0")] * 2),
    epsilon=LinearSchedule(1.0, 0.1, 1000),
    embedding=Chain([FrozenNormalizer(100), RandomProjection(2)]),
)
vector.set_env(env)
vector.set_random_seed(1)
robot = CEC(Spaces(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(3)))
episode = robot.begin_episode()
episode.act(np.zeros(2))
episode.record(1.0)
episode.finish(np.zeros(2), terminated=True)

memory = EpisodicMemory(2, capacity=10, columns={"action": 1})
memory.write([0.0, 1.0], 1.0, action=[0.5])
print(RunFolder.open("runs/maze").manifest, resume("runs/maze", env=env), len(memory))
"""


SB3_SCRIPT = """
import gymnasium as gym
from stable_baselines3.common.callbacks import CallbackList, CheckpointCallback, EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor

from scrubjay import CEC

env = make_vec_env("Pendulum-v1", n_envs=2)
agent = CEC(VecMonitor(DummyVecEnv([lambda: gym.make("Pendulum-v1")])))
agent = CEC(env)
agent.set_env(SubprocVecEnv([lambda: gym.make("Pendulum-v1")]))
agent.learn(100, callback=EvalCallback(env))
agent.learn(100, callback=[CheckpointCallback(10, "x"), EvalCallback(env)], eval_env=env)
agent.learn(100, callback=CallbackList([CheckpointCallback(10, "x")]))
print(evaluate_policy(agent, env))
"""


@pytest.mark.parametrize(
    "script",
    [SCRIPT, pytest.param(SB3_SCRIPT, marks=pytest.mark.slow)],  # mypy reads torch
    ids=["scrubjay", "stable_baselines3"],
)
def test_mypy_strict_is_clean(script, tmp_path, pytestconfig):
    if script is SB3_SCRIPT:
        pytest.importorskip("stable_baselines3", reason="an extra: scrubjay[deep]")
    (tmp_path / "script.py").write_text(script)
    cache = getattr(pytestconfig, "cache", None)  # a second time is faster
    folder = cache.mkdir("mypy") if cache is not None else tmp_path / "cache"
    source = Path(scrubjay.__file__).parent.parent
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "script.py"]
    done = subprocess.run(
        [*command, "--cache-dir", str(folder), "--follow-imports", "silent"],
        cwd=tmp_path,
        env={"MYPYPATH": str(source), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "", done.stdout
    assert done.returncode == 0, done.stderr

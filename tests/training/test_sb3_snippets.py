"""Snippets as people write them for Stable-Baselines3, with our agent in the place of its own.

Each runs unchanged, or raises an error whose one line says what to write instead.
"""

import re
import textwrap

import pytest

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is an extra: scrubjay[deep]")

PREFACE = """
import gymnasium as gym
import numpy as np
from stable_baselines3.common.callbacks import *
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv, SubprocVecEnv, VecFrameStack, VecMonitor, VecNormalize,
)
from scrubjay import CEC, CECPlus
ENV = "MountainCarContinuous-v0"
def make(n=40):
    return gym.make(ENV, max_episode_steps=n)
env = make()
"""

RUNS = {
    "constructor": "model = CEC(env, verbose=0, seed=3)",
    "an id": "model = CECPlus(ENV, verbose=0)",
    "device": 'model = CEC(env, device="auto"); CEC(env, device="cpu")',
    "learn": "model = CEC(env).learn(total_timesteps=100)",
    "learn with a float": "model = CEC(env).learn(total_timesteps=1e2)",
    "learn with all arguments": (
        'CEC(env).learn(100, None, 4, "CEC", True, False)\n'
        'CEC(env).learn(total_timesteps=100, callback=None, log_interval=10, tb_log_name="first", '
        "reset_num_timesteps=False, progress_bar=False)"
    ),
    "verbose": """
        model = CEC(env, verbose=1).learn(200, log_interval=1)
        out = capsys.readouterr().out
        assert "rollout/" in out and "ep_rew_mean" in out and "total_timesteps" in out
    """,
    "tensorboard_log": """
        model = CEC(env, tensorboard_log=str(tmp_path))
        model.learn(200, tb_log_name="first_run")
        model.learn(200, tb_log_name="first_run")
        model.learn(200, tb_log_name="first_run", reset_num_timesteps=False)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["first_run_1", "first_run_2"]
    """,
    "continue to learn": """
        model = CEC(env)
        for i in range(1, 4):
            model.learn(total_timesteps=40, reset_num_timesteps=False)
        assert model.num_timesteps == 120
    """,
    "the loop of the manual": """
        model = CEC(env).learn(total_timesteps=100)
        vec_env = model.get_env()
        obs = vec_env.reset()
        for i in range(100):
            action, _states = model.predict(obs, deterministic=True)
            obs, rewards, dones, info = vec_env.step(action)
            if dones[0]:
                assert info[0]["terminal_observation"].shape == (2,)
        assert obs.shape == (1, 2) and rewards.shape == dones.shape == (1,)
    """,
    "the loop of Gymnasium": """
        model = CEC(env).learn(total_timesteps=100)
        obs, info = env.reset()
        while True:
            action, _states = model.predict(obs, deterministic=True)
            obs, reward, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                break
    """,
    "evaluate_policy": """
        model = CEC(env).learn(100)
        mean_reward, std_reward = evaluate_policy(model, Monitor(make()), n_eval_episodes=2)
    """,
    "evaluate_policy with get_env": """
        model = CEC(Monitor(make())).learn(100)
        mean_reward, std_reward = evaluate_policy(model, model.get_env(), n_eval_episodes=2)
    """,
    "evaluate_policy on a VecEnv": """
        model = CEC(env).learn(100)
        evaluate_policy(model, make_vec_env(make, n_envs=2), n_eval_episodes=3)
    """,
    "Monitor": """
        env = Monitor(make(), str(tmp_path / "monitor"))
        CEC(env).learn(100)
        assert len(env.get_episode_rewards()) == 3
        env.close()
    """,
    "make_vec_env": """
        vec_env = make_vec_env(make, n_envs=4, seed=0)
        model = CEC(vec_env).learn(total_timesteps=400)
        obs = vec_env.reset()
        action, _states = model.predict(obs)
        obs, rewards, dones, info = vec_env.step(action)
        assert model.n_envs == 4 and model.get_env() is vec_env
    """,
    "DummyVecEnv": "CEC(DummyVecEnv([lambda: make()])).learn(100)",
    "SubprocVecEnv": """
        vec_env = SubprocVecEnv([make, make], start_method="fork")
        CEC(vec_env).learn(100)
        vec_env.close()
    """,
    "VecMonitor": "CEC(VecMonitor(DummyVecEnv([make, make]))).learn(100)",
    "VecFrameStack": "CEC(VecFrameStack(DummyVecEnv([make, make]), n_stack=2)).learn(100)",
    "VecNormalize that is frozen": """
        vec_env = VecNormalize(DummyVecEnv([make]), norm_reward=False, training=False)
        CEC(vec_env).learn(100)
    """,
    "save and load": """
        model = CEC(env, seed=1).learn(100)
        model.save(tmp_path / "cec_car")
        del model
        model = CEC.load(tmp_path / "cec_car", env=env)
        model.learn(100)
    """,
    "save and load a zip": """
        CEC(env).learn(100).save(str(tmp_path / "cec_car.zip"))
        model = CEC.load(str(tmp_path / "cec_car"), device="cpu", verbose=0)
        CEC.load(str(tmp_path / "cec_car.zip"))
    """,
    "set_env": """
        model = CEC(env).learn(100)
        model.set_env(make())
        model.set_env(DummyVecEnv([make]), force_reset=True)
        model.learn(100)
    """,
    "set_random_seed": "model = CEC(env); model.set_random_seed(7); assert model.seed == 7",
    "EvalCallback": """
        eval_callback = EvalCallback(Monitor(make()), best_model_save_path=str(tmp_path / "best"),
                                     log_path=str(tmp_path), eval_freq=50, n_eval_episodes=2,
                                     deterministic=True, render=False, verbose=0)
        CEC(Monitor(env)).learn(200, callback=eval_callback)
        CEC.load(tmp_path / "best" / "best_model")
        CEC.load(tmp_path / "best" / "best_model.zip")
    """,
    "CheckpointCallback": """
        callback = CheckpointCallback(save_freq=50, save_path=str(tmp_path), name_prefix="m",
                                      save_replay_buffer=True, save_vecnormalize=True)
        CEC(env).learn(100, callback=callback)
        CEC.load(tmp_path / "m_100_steps.zip")
        CEC.load(tmp_path / "m_100_steps")
    """,
    "StopTrainingOnRewardThreshold": """
        stop = StopTrainingOnRewardThreshold(reward_threshold=-200, verbose=1)
        callback = EvalCallback(Monitor(make()), callback_on_new_best=stop, eval_freq=80,
                                n_eval_episodes=1, verbose=1)
        model = CEC(Monitor(env)).learn(int(1e4), callback=callback)
        assert model.num_timesteps == 80
    """,
    "StopTrainingOnNoModelImprovement": """
        stop = StopTrainingOnNoModelImprovement(max_no_improvement_evals=1, min_evals=1)
        callback = EvalCallback(DummyVecEnv([lambda: Monitor(Still())]), eval_freq=40,
                                callback_after_eval=stop, n_eval_episodes=1, verbose=0)
        model = CEC(Still()).learn(10_000, callback=callback)
        assert model.num_timesteps < 1000
    """,
    "StopTrainingOnMaxEpisodes": """
        callback = StopTrainingOnMaxEpisodes(max_episodes=5, verbose=1)
        model = CEC(env).learn(int(1e10), callback=callback)
        assert model.num_timesteps == 200
    """,
    "StopTrainingOnMaxEpisodes in several": """
        callback = StopTrainingOnMaxEpisodes(max_episodes=2)
        model = CEC(make_vec_env(make, n_envs=2)).learn(10_000, callback=callback)
        assert model.num_timesteps == 160
    """,
    "EveryNTimesteps": """
        checkpoint = CheckpointCallback(save_freq=1, save_path=str(tmp_path))
        CEC(env).learn(100, callback=EveryNTimesteps(n_steps=40, callback=checkpoint))
        assert len(list(tmp_path.glob("*.zip"))) == 3
    """,
    "LogEveryNTimesteps": """
        CEC(env, verbose=1).learn(200, callback=LogEveryNTimesteps(50), log_interval=None)
        assert capsys.readouterr().out.count("total_timesteps") == 4
    """,
    "ProgressBarCallback": """
        pytest.importorskip("rich", reason="Stable-Baselines3's bar needs rich")
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tqdm calls its bar with rich experimental
            CEC(env).learn(100, callback=ProgressBarCallback())
    """,
    "progress_bar": "CEC(env).learn(100, progress_bar=True)",
    "a list of callbacks": """
        class Count(BaseCallback):
            def _on_step(self):
                return True
        first, second = Count(), Count()
        CEC(env).learn(80, callback=CallbackList([first, second]))
        CEC(env).learn(80, callback=[first, second])
        assert first.n_calls == second.n_calls == 160
    """,
    "a function": """
        def callback(_locals, _globals):
            return _locals["self"].num_timesteps < 60
        assert CEC(env).learn(1000, callback=callback).num_timesteps == 40
    """,
    "locals": """
        class Look(BaseCallback):
            def __init__(self, verbose=0):
                super().__init__(verbose)
                self.returns = []
            def _on_training_start(self):
                assert self.locals["total_timesteps"] == 120
                assert self.training_env.num_envs == 1
            def _on_step(self) -> bool:
                infos, rewards = self.locals["infos"], self.locals["rewards"]
                assert self.locals["actions"].shape == (1, 1)
                assert self.locals["new_obs"].shape == (1, 2)
                assert rewards.shape == self.locals["dones"].shape == (1,)
                for info in infos:
                    if "episode" in info.keys():
                        assert self.locals["dones"][0]
                        self.returns.append(info["episode"]["r"])
                return True
        look = Look()
        CEC(env).learn(120, callback=look)
        assert len(look.returns) == 3
    """,
    "logger.record": """
        class TensorboardCallback(BaseCallback):
            def _on_step(self) -> bool:
                self.logger.record("random_value", np.random.random())
                self.logger.record_mean("mean/step", self.n_calls)
                return True
        model = CEC(env, verbose=1, tensorboard_log=str(tmp_path / "tb"))
        model.learn(80, callback=TensorboardCallback(), log_interval=1, run_folder=tmp_path / "run")
        model.logger.record("a/b", 1.0)
        assert "random_value" in capsys.readouterr().out
        text = (tmp_path / "run" / "logged.csv").read_text().splitlines()
        assert text[0] == "timestep,name,value" and "40,mean/step,20.0" in text
    """,
    "configure a logger": """
        new_logger = configure(str(tmp_path), ["csv"])
        model = CEC(env)
        model.set_logger(new_logger)
        model.learn(200, log_interval=1)
        assert "rollout/ep_rew_mean" in (tmp_path / "progress.csv").read_text()
        new_logger.close()
    """,
    "gamma": "CEC(env, gamma=0.98)",
    "predict with noise": "CEC(env).learn(80).predict(env.observation_space.sample())",
}

HINTS = {
    "a policy": ('CEC("MlpPolicy", env, verbose=1)', r"write CEC\(env, ...\)"),
    "a policy by name": ('CEC(policy="MultiInputPolicy", env=env)', r"write CEC\(env, ...\)"),
    "a policy for CECPlus": ('CECPlus("CnnPolicy", ENV)', r"write CECPlus\(env, ...\)"),
    "policy_kwargs": ("CEC(env, policy_kwargs=dict(net_arch=[64]))", "no network, leave it out"),
    "learning_rate": ("CEC(env, learning_rate=3e-4)", "no network, leave it out"),
    "batch_size": ("CEC(env, batch_size=64)", "no network, leave it out"),
    "buffer_size": ("CEC(env, buffer_size=10_000)", "write capacity="),
    "exploration_fraction": ("CEC(env, exploration_fraction=0.1)", r"write epsilon=\("),
    "a misspelt setting": ("CEC(env, n_neighbours=3)", "did you mean n_neighbors"),
    "parameters": ("CEC(env).get_parameters()", r"use agent.config\(\)"),
    "the policy": ("CEC(env).policy", r"use agent.predict\(observation\)"),
    "the replay buffer": ("CEC(env).save_replay_buffer('x')", r"agent.save\(path\) keeps"),
    "VecNormalize": (
        "CEC(VecNormalize(DummyVecEnv([make])))",
        r"pass embedding=RunningNormalizer\(\)",
    ),
    "a model of Stable-Baselines3": (
        """
        from stable_baselines3 import SAC
        SAC("MlpPolicy", env, buffer_size=10).save(tmp_path / "sac")
        CEC.load(tmp_path / "sac")
        """,
        r"model of Stable-Baselines3; load it with its own class, such as stable_baselines3.SAC",
    ),
    "a file that is missing": ('CEC.load("nowhere")', "nowhere, which does not exist"),
    "a seed after learning": (
        "CEC(env).learn(40).set_random_seed(1)",
        r"write CEC\(env, seed=1\)",
    ),
    "other spaces": ('CEC(env).set_env("Pendulum-v1")', "expected the spaces"),
    "a GPU": ('CEC(env, device="cuda")', "runs on the CPU: device='cuda' is ignored"),
}


@pytest.mark.parametrize("code", RUNS.values(), ids=RUNS.keys())
def test_it_runs(code, tmp_path, capsys):
    execute(code, tmp_path, capsys)


@pytest.mark.parametrize(("code", "message"), HINTS.values(), ids=HINTS.keys())
def test_it_says_in_one_line_what_to_write_instead(code, message, tmp_path, capsys):
    with pytest.raises(Exception, match=message) as caught:
        execute(code, tmp_path, capsys)
    assert "\n" not in str(caught.value)


def test_there_are_many():
    assert len(RUNS) + len(HINTS) >= 30


STILL = """
class Still(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Box(-1, 1, (1,))
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, np.float32), {}
    def step(self, action):
        self.time += 1
        return np.zeros(1, np.float32), 1.0, False, self.time == 20, {}
"""


def execute(code, tmp_path, capsys):
    names = {"tmp_path": tmp_path, "capsys": capsys, "pytest": pytest, "re": re}
    exec(PREFACE + STILL + textwrap.dedent(code), names)

"""Runs that can be killed at any moment and gone on with; also a program: CASE FOLDER."""

import sys
from functools import partial
from pathlib import Path

import gymnasium as gym
from gymnasium.vector import SyncVectorEnv

import scrubjay.envs  # noqa: F401
from probes import Corridor, Drift
from scrubjay.agents import CEC
from scrubjay.embedding import Chain, FrozenNormalizer, RandomProjection, RunningNormalizer
from scrubjay.memory.archive import read_archive
from scrubjay.training import RunFolder, train

# name: (environment, agent's settings, steps)
CASES = {
    "tree": (
        partial(gym.make, "scrubjay/GrowingTree-v0"),
        lambda: {"distance_threshold": 0.01, "exploration": "uniform"},
        6000,
    ),
    "car": (
        partial(gym.make, "scrubjay/SparseMountainCar-v0"),
        lambda: {"embedding": RunningNormalizer(), "radius_factor": 3.0, "n_neighbors": 3},
        6000,
    ),
    "frozen": (
        partial(Drift, 3, 60),
        lambda: {"embedding": FrozenNormalizer(2500), "distance_threshold": 0.3},
        5000,
    ),
    "evicting": (
        partial(Drift, 3, 60),
        lambda: {
            "embedding": Chain([RandomProjection(2), RunningNormalizer()]),
            "capacity": 200,
            "recency": "hit",
            "distance_threshold": 0.05,
        },
        5000,
    ),
    "corridor": (partial(Corridor, [0.0] * 4 + [1.0]), dict, 60),
    "vector": (lambda: SyncVectorEnv([Drift] * 3), dict, 3000),
}
PLAN = {
    "eval_freq": 500,
    "n_eval_episodes": 2,
    "log_freq": 200,
    "checkpoint_freq": 150,
    "checkpoint_steps": (40, 1777),
}


def evaluation_env(case):
    env = CASES[case][0]()
    return Drift() if isinstance(env, SyncVectorEnv) else env


def go(case, path, *, callback=None, eval_env=None, **plan):
    """Start the run, or continue it from its last checkpoint."""
    make_env, settings, steps = CASES[case]
    env, state = make_env(), None
    if not (Path(path) / "manifest.json").exists():
        agent = CEC(env, seed=5, **settings())
        folder = RunFolder.create(path, {"agent": "CEC", "seed": 5})
    else:
        folder = RunFolder.open(path, for_writing=True)
        checkpoint = folder.checkpoint("last")
        if checkpoint.exists():
            agent = CEC.load(checkpoint, env=env)
            state = read_archive(checkpoint, "agent")[0]["training"]
        else:
            agent = CEC(env, seed=5, **settings())
        folder.cut(agent.num_timesteps)
    train(
        agent, env, total_timesteps=max(0, steps - agent.num_timesteps), run_folder=folder,
        eval_env=eval_env or evaluation_env(case), training_state=state, callback=callback,
        **{**PLAN, **plan},
    )  # fmt: skip
    return agent


if __name__ == "__main__":
    go(sys.argv[1], sys.argv[2])

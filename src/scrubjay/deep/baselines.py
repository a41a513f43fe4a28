"""The paper's baselines as data: which settings on which task.

SAC is Stable-Baselines3's own; what is not named here is its default (gamma 0.99 among it), on the
task's own observations, not normalised. The authors' small batches and high learning rates make a
weak SAC, so "defaults" stands beside "authors".
"""

from copy import deepcopy
from typing import Any

import gymnasium
from gymnasium import spaces
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.deep.emac import EMAC
from scrubjay.deep.episodes import NumberedEpisodes

Options = dict[str, Any]

# batch size and learning rate that the paper's authors gave to SAC
_SAC_OF_AUTHORS = {
    "scrubjay/PointUMaze-v0": (16, 1e-3),
    "scrubjay/Point4Rooms-v0": (32, 1e-3),
    "scrubjay/SafexpPointGoal-v0": (32, 1e-2),
    "scrubjay/SafexpCarGoal-v0": (32, 1e-2),
    "scrubjay/SparseFetchReach-v0": (32, 1e-3),
    "scrubjay/SparseMountainCar-v0": (16, 1e-2),
    # ours: the authors ran no SAC here; taken from their neighbours
    "scrubjay/GrowingTree-v0": (32, 1e-3),
    "scrubjay/Point4RoomsOneGoal-v0": (32, 1e-3),
}
_SAC_DEFAULTS: Options = {"batch_size": 256, "learning_rate": 3e-4, "gamma": 0.99}

# What EMAC's authors took for InvertedPendulum and Walker2d. What CEC's authors took on their tasks
# is not known; it can hardly have been priorities, because EMAC's published code divides by zero
# where all returns are 0, as they are before the first success.
_EMAC_OF_AUTHORS: Options = {
    "alpha": 0.1,
    "beta": 0.5,
    "n_neighbors": 2,
    "key_dim": 4,
    "timeouts": "terminal",
    "batch_size": 256,
    "learning_rate": 1e-3,
    "gamma": 0.99,
}

SETTINGS = {"sac": ("authors", "defaults", "her"), "emac": ("authors",)}
HER_TASKS = ("scrubjay/SparseFetchReach-v0",)


def deep_options(agent: str, task_id: str, setting: str = "authors") -> Options:
    """The constructor's arguments in a setting, as JSON."""
    if agent not in SETTINGS:
        raise ValueError(f"a deep agent is one of {', '.join(SETTINGS)}; {agent!r} came")
    if setting not in SETTINGS[agent]:
        raise ValueError(f"settings of {agent}: {', '.join(SETTINGS[agent])}; {setting!r} came")
    if agent == "emac":
        return dict(_EMAC_OF_AUTHORS)
    if setting == "her" and task_id not in HER_TASKS:
        raise ValueError(f"hindsight needs a task with goals: {HER_TASKS[0]}; {task_id!r} came")
    if setting != "authors":
        return dict(_SAC_DEFAULTS)
    # a noisy task takes over the settings of the task that it is a variant of
    known = task_id.replace("/Noisy", "/")
    if known not in _SAC_OF_AUTHORS:
        raise ValueError(
            f'the authors ran no SAC on {task_id}: take setting="defaults", or one of the tasks '
            f"{', '.join(_SAC_OF_AUTHORS)}"
        )
    batch_size, learning_rate = _SAC_OF_AUTHORS[known]
    return {**_SAC_DEFAULTS, "batch_size": batch_size, "learning_rate": learning_rate}


def make_deep_agent(
    agent: str,
    task_id: str,
    env: gymnasium.Env[Any, Any] | None,
    seed: int,
    setting: str = "authors",
    **options: Any,
) -> OffPolicyAlgorithm:
    """The Stable-Baselines3 model of a baseline, on `env` or one made from the id.

    Its episodes start from the seeds of `NumberedEpisodes`. `options` go over the setting's. It
    runs on the processor unless `device` says otherwise: these networks are too small for more.
    """
    # a copy, because Stable-Baselines3 writes into the dicts that it is given
    arguments = deepcopy({"device": "cpu", **deep_options(agent, task_id, setting), **options})
    numbered = NumberedEpisodes(gymnasium.make(task_id) if env is None else env, seed)
    has_parts = isinstance(numbered.observation_space, spaces.Dict)
    policy = "MultiInputPolicy" if has_parts else "MlpPolicy"
    if setting == "her":
        arguments["replay_buffer_class"] = HerReplayBuffer
        arguments["replay_buffer_kwargs"] = {
            "n_sampled_goal": 4,
            "goal_selection_strategy": "future",
        }
    model = SAC if agent == "sac" else EMAC
    return model(policy, numbered, seed=seed, **arguments)

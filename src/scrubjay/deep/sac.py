"""Soft Actor-Critic, the paper's baseline: Stable-Baselines3's own, with settings by task.

What is not a setting here is Stable-Baselines3's default, on the task's own observations, not
normalised. The authors' small batches and high learning rates make a weak SAC, so there are three
more presets: "defaults"; "small-entropy", defaults whose entropy coefficient starts small, which is
fairer where rewards are sparse; and "her", the same with hindsight, for tasks with goals.
"""

from os import PathLike
from typing import Any

import gymnasium
from stable_baselines3 import SAC as Model  # noqa: N811
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.deep.base import DeepAgent, policy_for
from scrubjay.deep.episodes import NumberedEpisodes
from scrubjay.deep.hindsight import HindsightBuffer
from scrubjay.deep.hyperparameters import (
    BatchSize,
    BufferSize,
    Discount,
    LearningRate,
    LearningStarts,
    TargetUpdateRate,
)

GOALS = {"observation", "achieved_goal", "desired_goal"}


class SAC(DeepAgent):
    """Stable-Baselines3's SAC as a baseline.

    Args:
        env: A Gymnasium environment or its id.
        batch_size: transitions of a gradient step
        learning_rate: learning rate of all networks
        gamma: discount factor
        tau: part of the difference by which target networks change in a gradient step
        buffer_size: transitions that the replay buffer holds
        learning_starts: steps before the first gradient step
        ent_coef: entropy coefficient: a number, auto, or auto_0.01 to start it small
        hindsight: whether goals are relabelled in hindsight
        policy_kwargs: Stable-Baselines3's arguments of the policy, such as net_arch
        device: device of the networks, which are too small for a GPU to help
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
    """

    name = "sac"
    model_class = Model

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | str,
        *,
        batch_size: BatchSize = 256,
        learning_rate: LearningRate = 3e-4,
        gamma: Discount = 0.99,
        tau: TargetUpdateRate = 0.005,
        buffer_size: BufferSize = 1_000_000,
        learning_starts: LearningStarts = 100,
        ent_coef: float | str = "auto",
        hindsight: bool = False,
        policy_kwargs: dict[str, Any] | None = None,
        device: str = "cpu",
        seed: int | None = None,
        verbose: int = 0,
        tensorboard_log: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(env, locals())

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:
        return preset(task, name)

    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        settings = self.config()
        if settings.pop("hindsight"):
            if not set(getattr(env.observation_space, "spaces", ())) >= GOALS:
                raise ValueError(
                    f"hindsight requires observations with goals, got {env.observation_space}"
                )
            settings["replay_buffer_class"] = HindsightBuffer
            settings["replay_buffer_kwargs"] = {
                "n_sampled_goal": 4,
                "goal_selection_strategy": "future",
            }
            # only a finished episode can be relabelled
            horizon = (env.spec and env.spec.max_episode_steps) or 0
            settings["learning_starts"] = max(settings["learning_starts"], horizon)
        return Model(policy_for(env), env, **settings)

    @classmethod
    def without_buffer(cls) -> dict[str, Any] | None:
        # hindsight's buffer cannot be made without an environment, and predicting needs none
        return {"replay_buffer_class": None, "replay_buffer_kwargs": {}}


# ---------------------------------------------------------------- settings by task

# Beside the authors' settings: what differs from Stable-Baselines3's defaults.
OTHER_PRESETS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "small-entropy": {"ent_coef": "auto_0.01"},
    # with the default coefficient of 1, hindsight learns nothing where a success ends the episode
    "her": {"hindsight": True, "ent_coef": "auto_0.01"},
}
PRESETS = ("paper", *OTHER_PRESETS)

# Batch size and learning rate that the paper's authors gave to SAC.
AUTHORS = {
    "PointUMaze": (16, 1e-3),
    "Point4Rooms": (32, 1e-3),
    "SafexpPointGoal": (32, 1e-2),
    "SafexpCarGoal": (32, 1e-2),
    "SparseFetchReach": (32, 1e-3),
    "SparseMountainCar": (16, 1e-2),
    # chosen by scrubjay, as for similar tasks: the authors did not run SAC on these
    "GrowingTree": (32, 1e-3),
    "Point4RoomsOneGoal": (32, 1e-3),
}


def preset(task: str, name: str = "paper") -> dict[str, Any]:
    """The arguments of `SAC` for a task.

    Args:
        task: A task's name or id.
        name: "paper": the authors' settings; "defaults": Stable-Baselines3's; "small-entropy":
            those, with an entropy coefficient that starts at 0.01; "her": also with hindsight.

    Returns:
        The arguments by name.
    """
    if name not in PRESETS:
        raise ValueError(f"expected one of the presets {', '.join(PRESETS)}, got {name!r}")
    if name in OTHER_PRESETS:
        return dict(OTHER_PRESETS[name])
    known = task.removeprefix("scrubjay/").removeprefix("Noisy").removesuffix("-v0")
    if known not in AUTHORS:
        raise ValueError(
            f"expected a task with settings in the preset paper ({', '.join(AUTHORS)}), "
            f"got {task}; use the preset defaults"
        )
    batch_size, learning_rate = AUTHORS[known]
    return {"batch_size": batch_size, "learning_rate": learning_rate}

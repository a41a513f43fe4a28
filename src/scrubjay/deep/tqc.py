"""Truncated Quantile Critics (Kuznetsov et al., 2020), a baseline: TQC of sb3-contrib.

What is not a setting here is sb3-contrib's default, on the task's own observations. The preset
"small-entropy" starts with a small entropy coefficient: with the default of 1, staying alive is
worth more than a single reward of 1 at the end.
"""

from os import PathLike
from typing import Any

import gymnasium
import sb3_contrib
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.deep.base import DeepAgent, choose_preset, policy_for
from scrubjay.deep.episodes import NumberedEpisodes
from scrubjay.deep.hyperparameters import (
    BatchSize,
    BufferSize,
    Discount,
    LearningRate,
    LearningStarts,
    TargetUpdateRate,
)

PRESETS: dict[str, dict[str, Any]] = {"defaults": {}, "small-entropy": {"ent_coef": "auto_0.01"}}


class TQC(DeepAgent):
    """sb3-contrib's TQC as a baseline: SAC with truncated quantile critics.

    Args:
        env: A Gymnasium environment or its id.
        batch_size: transitions of a gradient step
        learning_rate: learning rate of all networks
        gamma: discount factor
        tau: part of the difference by which target networks change in a gradient step
        buffer_size: transitions that the replay buffer holds
        learning_starts: steps before the first gradient step
        ent_coef: entropy coefficient: a number, auto, or auto_0.01 to start it small
        policy_kwargs: arguments of the policy, such as net_arch
        device: device of the networks, which are too small for a GPU to help
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
    """

    name = "tqc"
    model_class = sb3_contrib.TQC

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
        policy_kwargs: dict[str, Any] | None = None,
        device: str = "cpu",
        seed: int | None = None,
        verbose: int = 0,
        tensorboard_log: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(env, locals())

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:  # noqa: ARG003
        """The settings by name; they are the same for all tasks."""
        return choose_preset(PRESETS, name)

    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        return sb3_contrib.TQC(policy_for(env), env, **self.config())

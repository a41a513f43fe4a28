"""Deep Q-Network, a baseline for discrete actions: Stable-Baselines3's own, with settings by task.

On MinAtar it has the network and the settings of MinAtar's own DQN (Young and Tian, 2019,
arXiv 1903.03176): one convolution of 16 filters of 3 by 3, a layer of 128 units, a gradient step
in every step. Two things differ: Adam in place of RMSProp, and Stable-Baselines3's Huber loss.
"""

from os import PathLike
from typing import Annotated, Any

import gymnasium
import torch
from gymnasium import spaces
from stable_baselines3 import DQN as Model  # noqa: N811
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from scrubjay.agents.settings import Range
from scrubjay.deep.base import DeepAgent, policy_for
from scrubjay.deep.episodes import NumberedEpisodes
from scrubjay.deep.hyperparameters import (
    BatchSize,
    BufferSize,
    Discount,
    LearningRate,
    LearningStarts,
)

SMALLEST_SCREEN = 36  # the smallest image that the network of Stable-Baselines3's CnnPolicy takes


class SmallImages(BaseFeaturesExtractor):
    """MinAtar's network for grids of cells, (height, width, channels): one convolution, one layer.

    Args:
        observation_space: The space of the grids.
        features_dim: Units of the layer.
    """

    def __init__(self, observation_space: spaces.Box, features_dim: int = 128) -> None:
        super().__init__(observation_space, features_dim)
        height, width, channels = observation_space.shape
        n_filters = 16
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(channels, n_filters, kernel_size=3),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(n_filters * (height - 2) * (width - 2), features_dim),
            torch.nn.ReLU(),
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """The features of a batch of grids."""
        features: torch.Tensor = self.layers(observations.permute(0, 3, 1, 2))
        return features


class DQN(DeepAgent):
    """Stable-Baselines3's DQN as a baseline.

    Args:
        env: A Gymnasium environment or its id; its action space is Discrete.
        batch_size: transitions of a gradient step
        learning_rate: learning rate of the network
        gamma: discount factor
        buffer_size: transitions that the replay buffer holds
        learning_starts: steps before the first gradient step
        train_freq: steps between gradient steps
        target_update_interval: steps between updates of the target network
        exploration_fraction: share of the training in which the exploration rate falls
        exploration_initial_eps: exploration rate at the beginning
        exploration_final_eps: exploration rate from there on
        policy_kwargs: Stable-Baselines3's arguments of the policy, such as net_arch
        device: device of the network
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
    """

    name = "dqn"
    model_class = Model
    action_kinds = ("Discrete",)

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | str,
        *,
        batch_size: BatchSize = 32,
        learning_rate: LearningRate = 1e-4,
        gamma: Discount = 0.99,
        buffer_size: BufferSize = 1_000_000,
        learning_starts: LearningStarts = 100,
        train_freq: Annotated[int, Range(1)] = 4,
        target_update_interval: Annotated[int, Range(1)] = 10_000,
        exploration_fraction: Annotated[float, Range(0, 1)] = 0.1,
        exploration_initial_eps: Annotated[float, Range(0, 1)] = 1.0,
        exploration_final_eps: Annotated[float, Range(0, 1)] = 0.05,
        policy_kwargs: dict[str, Any] | None = None,
        device: str = "cpu",
        seed: int | None = None,
        verbose: int = 0,
        tensorboard_log: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(env, locals())

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:
        """The settings for a task; see the function `preset`."""
        return preset(task, name)

    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        settings, space = self.config(), env.observation_space
        shape = space.shape or ()
        if is_image_space(space) and sorted(shape)[-2] >= SMALLEST_SCREEN:
            return Model("CnnPolicy", env, **settings)
        if len(shape) == 3:
            small = {"features_extractor_class": SmallImages, "net_arch": []}
            settings["policy_kwargs"] = small | (settings["policy_kwargs"] or {})
        return Model(policy_for(env), env, **settings)


# ---------------------------------------------------------------- settings by task

PRESETS = ("default",)
MINATAR: dict[str, Any] = {
    "learning_rate": 2.5e-4,
    "buffer_size": 100_000,
    "learning_starts": 5_000,
    "train_freq": 1,
    "target_update_interval": 1_000,
    "exploration_fraction": 1.0,  # of a training of 100,000 steps, as there
    "exploration_final_eps": 0.1,
}


def preset(task: str, name: str = "default") -> dict[str, Any]:
    """The arguments of `DQN` for a task.

    Args:
        task: A task's name or id.
        name: "default": on MinAtar the settings of its authors' DQN, elsewhere those of
            Stable-Baselines3.

    Returns:
        The arguments by name.

    Raises:
        ValueError: If there is no such preset.
    """
    if name not in PRESETS:
        raise ValueError(f"expected the preset default, got {name!r}")
    short = task.lower().removeprefix("scrubjay/")
    return dict(MINATAR) if short.startswith("minatar") else {}

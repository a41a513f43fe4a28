"""CrossQ and TQC, the strongest relatives of SAC that people use: those of sb3-contrib.

What is not a setting here is sb3-contrib's default, on the task's own observations. Both have a
preset "small-entropy", whose entropy coefficient starts small: with the default of 1, living is
worth more than a single reward of 1 at the end.
"""

from os import PathLike
from typing import Annotated, Any

import gymnasium
import sb3_contrib
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.agents.settings import Range
from scrubjay.deep.base import DeepAgent, policy_for
from scrubjay.deep.episodes import NumberedEpisodes

PRESETS: dict[str, dict[str, Any]] = {"defaults": {}, "small-entropy": {"ent_coef": "auto_0.01"}}


def preset(name: str) -> dict[str, Any]:
    """The arguments of `CrossQ` or `TQC`.

    Args:
        name: "defaults": sb3-contrib's; "small-entropy": those, with an entropy coefficient that
            starts at 0.01.

    Returns:
        The arguments by name.

    Raises:
        ValueError: If there is no such preset.
    """
    if name not in PRESETS:
        raise ValueError(f"expected one of the presets {', '.join(PRESETS)}, got {name!r}")
    return dict(PRESETS[name])


class CrossQ(DeepAgent):
    """sb3-contrib's CrossQ as a baseline: batch normalisation in place of target networks.

    Args:
        env: A Gymnasium environment or its id.
        batch_size: transitions of a gradient step
        learning_rate: of all networks
        gamma: discount factor
        buffer_size: transitions that the replay buffer holds
        learning_starts: steps before the first gradient step
        ent_coef: entropy coefficient: a number, auto, or auto_0.01 to start it small
        policy_kwargs: arguments of the policy, such as net_arch
        device: where the networks are; they are too small for a GPU to help
        seed: decides every random number; None draws one, which `agent.seed` tells
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
    """

    name = "crossq"
    model_class = sb3_contrib.CrossQ

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | str,
        *,
        batch_size: Annotated[int, Range(1, tune=(16, 512), log=True)] = 256,
        learning_rate: Annotated[float, Range(0, above=True, tune=(1e-5, 1e-2), log=True)] = 1e-3,
        gamma: Annotated[float, Range(0, 1, tune=(0.9, 0.999))] = 0.99,
        buffer_size: Annotated[int, Range(1)] = 1_000_000,
        learning_starts: Annotated[int, Range(0)] = 100,
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
        return preset(name)

    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        return sb3_contrib.CrossQ(policy_for(env), env, **self.config())


class TQC(DeepAgent):
    """sb3-contrib's TQC as a baseline: SAC with truncated quantile critics.

    Args:
        env: A Gymnasium environment or its id.
        batch_size: transitions of a gradient step
        learning_rate: of all networks
        gamma: discount factor
        tau: how far the target networks follow in a gradient step
        buffer_size: transitions that the replay buffer holds
        learning_starts: steps before the first gradient step
        ent_coef: entropy coefficient: a number, auto, or auto_0.01 to start it small
        policy_kwargs: arguments of the policy, such as net_arch
        device: where the networks are; they are too small for a GPU to help
        seed: decides every random number; None draws one, which `agent.seed` tells
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
    """

    name = "tqc"
    model_class = sb3_contrib.TQC

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | str,
        *,
        batch_size: Annotated[int, Range(1, tune=(16, 512), log=True)] = 256,
        learning_rate: Annotated[float, Range(0, above=True, tune=(1e-5, 1e-2), log=True)] = 3e-4,
        gamma: Annotated[float, Range(0, 1, tune=(0.9, 0.999))] = 0.99,
        tau: Annotated[float, Range(0, 1, above=True, tune=(0.001, 0.05), log=True)] = 0.005,
        buffer_size: Annotated[int, Range(1)] = 1_000_000,
        learning_starts: Annotated[int, Range(0)] = 100,
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
        return preset(name)

    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        return sb3_contrib.TQC(policy_for(env), env, **self.config())

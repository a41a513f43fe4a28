"""Episodic Memory Actor-Critic (Kuznetsov and Filchenkov, 2021) on Stable-Baselines3's DDPG.

The whole method is in what a batch contains: see `scrubjay.deep.replay`.
"""

from os import PathLike
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3 import DDPG
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.agents.settings import Range
from scrubjay.deep.base import DeepAgent, policy_for
from scrubjay.deep.episodes import NumberedEpisodes
from scrubjay.deep.hyperparameters import (
    BatchSize,
    BufferSize,
    Discount,
    LearningRate,
    LearningStarts,
    TargetUpdateRate,
)
from scrubjay.deep.pair_memory import PairMemory
from scrubjay.deep.replay import DictEpisodicReplayBuffer, EpisodicReplayBuffer
from scrubjay.memory import EpisodicMemory


class EMAC(DDPG):
    """DDPG whose critic also uses a memory of returns, and which replays good episodes more often.

    Defaults are the authors' for Walker2d and InvertedPendulum. The first `learning_starts`
    gradient steps draw uniformly, as the authors' do. The return of a step is discounted to the end
    of the episode (the authors cut it after 1000 steps). With alpha = 0 and beta = 0 this is DDPG
    with a replay buffer that is filled at episode ends.

    Args:
        policy: "MlpPolicy", or "MultiInputPolicy" for observations that are dicts of boxes, whose
            entries the memory joins to one vector, as that policy does.
        env: The environment, as in Stable-Baselines3.
        alpha: The share of the memory in the critic's loss.
        beta: The exponent of the return in the probability of a replay.
        n_neighbors: The number of neighbours that a value is computed from, k.
        key_dim: The dimension of the projected pairs of state and action.
        timeouts: "terminal" treats a time-out as an end, as the authors do; "bootstrap" does not.
        noise_std: The standard deviation of the exploration noise, in an action box of [-1, 1].
        learning_rate: The learning rate of all networks.
        buffer_size: Transitions that the replay buffer and the memory hold.
        learning_starts: Steps before the first gradient step.
        batch_size: Transitions of a gradient step.
        tau: How far the target networks follow in a gradient step.
        gamma: The discount factor.
        policy_kwargs: Arguments of the policy.
        verbose: As in Stable-Baselines3.
        seed: Decides every random number.
        device: The device of the networks.
        _init_setup_model: As in Stable-Baselines3.
    """

    replay_buffer: EpisodicReplayBuffer | None

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        alpha: float = 0.1,
        beta: float = 0.5,
        n_neighbors: int = 2,
        key_dim: int = 4,
        timeouts: str = "terminal",
        noise_std: float = 0.1,
        learning_rate: float = 1e-3,
        buffer_size: int = 1_000_000,
        learning_starts: int = 1000,
        batch_size: int = 256,
        tau: float = 0.005,
        gamma: float = 0.99,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: torch.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            buffer_size=buffer_size,
            learning_starts=learning_starts,
            batch_size=batch_size,
            tau=tau,
            gamma=gamma,
            policy_kwargs={"net_arch": [256, 256], **(policy_kwargs or {})},
            replay_buffer_kwargs={
                "gamma": gamma,
                "alpha": alpha,
                "beta": beta,
                "uniform_draws": learning_starts,
                "n_neighbors": n_neighbors,
                "key_dim": key_dim,
                "timeouts": timeouts,
                "seed": 0 if seed is None else seed,
            },
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=False,
        )
        if self.env is not None:
            self._fit_to_spaces(noise_std)
        if _init_setup_model:
            self._setup_model()

    def _fit_to_spaces(self, noise_std: float) -> None:
        if self._vec_normalize_env is not None:
            raise ValueError(
                "EMAC remembers returns and pairs as they are, VecNormalize changes them later: "
                "normalise in a wrapper of the environment, or not at all"
            )
        has_parts = isinstance(self.observation_space, spaces.Dict)
        self.replay_buffer_class = DictEpisodicReplayBuffer if has_parts else EpisodicReplayBuffer
        size = spaces.flatdim(self.action_space)
        self.action_noise = NormalActionNoise(np.zeros(size), np.full(size, noise_std))

    @property
    def episodes(self) -> EpisodicReplayBuffer:
        """The replay buffer, under its own type."""
        if self.replay_buffer is None:
            raise RuntimeError("the model is not set up yet: it has no replay buffer")
        return self.replay_buffer

    @property
    def memory(self) -> PairMemory:
        """The memory, which is saved and loaded with the networks."""
        return self.episodes.memory

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Take gradient steps, as DDPG does, as soon as there is an episode to learn from.

        Args:
            gradient_steps: The number of gradient steps.
            batch_size: Transitions of each.
        """
        if self.episodes.size():
            super().train(gradient_steps, batch_size)

    def _setup_learn(
        self,
        total_timesteps: int,
        callback: Any = None,
        reset_num_timesteps: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if reset_num_timesteps or self._last_obs is None:
            self.episodes.drop_open_episode()
        return super()._setup_learn(total_timesteps, callback, reset_num_timesteps, *args, **kwargs)

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: npt.NDArray[Any],
        new_obs: Any,
        reward: npt.NDArray[Any],
        dones: npt.NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        if replay_buffer.timeouts_as == "bootstrap" and infos[0].get("TimeLimit.truncated"):
            replay_buffer.last_value = self._value(infos[0]["terminal_observation"])
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)

    def _value(self, observation: Any) -> float:
        """The value of a state according to the target networks."""
        state, _ = self.policy.obs_to_tensor(observation)
        with torch.no_grad():
            return float(self.critic_target(state, self.actor_target(state))[0].item())

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        state_dicts, variables = super()._get_torch_save_params()
        return [*state_dicts, "memory"], variables


class EMACAgent(DeepAgent):
    """EMAC as a baseline, with its authors' settings for InvertedPendulum and Walker2d.

    The settings of CEC's authors are not known. They can hardly have used priorities, because the
    published code of EMAC divides by zero if all returns are 0, as before the first success.

    Args:
        env: A Gymnasium environment or its id.
        alpha: the share of the memory in the critic's loss
        beta: the exponent of the return in the probability of a replay
        n_neighbors: number of neighbours that a value is computed from, k
        key_dim: dimension of the projected pairs of state and action
        timeouts: terminal: a time-out is a terminal state, as for the authors; bootstrap: it is not
        noise_std: standard deviation of the exploration noise, in an action box of [-1, 1]
        batch_size: transitions of a gradient step
        learning_rate: learning rate of all networks
        gamma: discount factor
        tau: part of the difference by which target networks change in a gradient step
        buffer_size: transitions that the replay buffer and the memory hold
        learning_starts: steps before the first gradient step
        policy_kwargs: Stable-Baselines3's arguments of the policy, such as net_arch
        device: device of the networks, which are too small for a GPU to help
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
    """

    name = "emac"
    model_class = EMAC

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | str,
        *,
        alpha: Annotated[float, Range(0, 1, tune=(0, 0.5))] = 0.1,
        beta: Annotated[float, Range(0, tune=(0, 1))] = 0.5,
        n_neighbors: Annotated[int, Range(1, tune=(1, 10))] = 2,
        key_dim: Annotated[int, Range(1, tune=(2, 16))] = 4,
        timeouts: Literal["terminal", "bootstrap"] = "terminal",
        noise_std: Annotated[float, Range(0, tune=(0.01, 0.5), log=True)] = 0.1,
        batch_size: BatchSize = 256,
        learning_rate: LearningRate = 1e-3,
        gamma: Discount = 0.99,
        tau: TargetUpdateRate = 0.005,
        buffer_size: BufferSize = 1_000_000,
        learning_starts: LearningStarts = 1000,
        policy_kwargs: dict[str, Any] | None = None,
        device: str = "cpu",
        seed: int | None = None,
        verbose: int = 0,
        tensorboard_log: str | PathLike[str] | None = None,
    ) -> None:
        super().__init__(env, locals())

    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        return EMAC(policy_for(env), env, **self.config())

    @property
    def memory(self) -> PairMemory:
        """The model's memory."""
        model: Any = self.model
        memory: PairMemory = model.memory
        return memory

    @property
    def memories(self) -> dict[str, EpisodicMemory]:
        return {"memory": self.memory.rows}

    def metrics(self, totals: Any) -> dict[str, float | None]:
        rows = self.memory.rows
        size = {"memory/size": float(len(rows)), "memory/bytes": float(rows.nbytes)}
        return {**super().metrics(totals), **size}

    def gauges(self) -> dict[str, Any]:
        return {"memory": len(self.memory)}

    def warm_up(self) -> None:
        self.memory.warm_up()

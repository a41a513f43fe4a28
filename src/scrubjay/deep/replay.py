"""EMAC's replay buffer: filled at episode ends, drawn from by return, with memory in its targets.

EMAC's critic minimises (1 - alpha) (Q - y)^2 + alpha (Q - Q_M)^2, where y = r + gamma Q' is the
target of DDPG and Q_M what the memory says of the pair. As a function of Q this is
(Q - ((1 - alpha) y + alpha Q_M))^2 and a constant: the same gradient as DDPG's loss with a mixed
target. The mixed target is again of the form r + gamma Q', with

    r     -> (1 - alpha) r + alpha Q_M
    gamma -> (1 - alpha) gamma

(a pair that ends the episode has no Q' in either form), so that a batch with these two in place of
the true ones makes Stable-Baselines3's own DDPG do EMAC's update. The loss it reports is short of
the constant.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer

from scrubjay.deep.pair_memory import Matrix, PairMemory
from scrubjay.memory.writing import discounted_returns

TIMEOUTS = ("terminal", "bootstrap")


class Transition(NamedTuple):
    """The transition that Stable-Baselines3 adds to a buffer after each step."""

    obs: Any
    next_obs: Any
    action: npt.NDArray[Any]
    reward: npt.NDArray[Any]
    done: npt.NDArray[Any]
    infos: list[dict[str, Any]]


class EpisodicReplayBuffer(ReplayBuffer):
    """A replay buffer for one environment that stores whole episodes with their returns.

    Args:
        buffer_size: Transitions that it holds.
        observation_space: The space of observations.
        action_space: The space of actions.
        device: The device of the batches.
        n_envs: The number of environments, which must be 1.
        optimize_memory_usage: As in Stable-Baselines3.
        gamma: The discount factor.
        alpha: The share of the remembered return Q_M in the critic's target.
        beta: A transition with return q is drawn with a probability in proportion to
            (q - min(0, min q))^beta, so the worst one never if any is negative; 0 draws uniformly,
            and so does a buffer whose returns are all 0.
        uniform_draws: So many batches are drawn uniformly before priorities count. EMAC's authors
            compare their number of gradient steps with the number of warm-up steps, to this effect.
        n_neighbors: The memory's k.
        key_dim: The dimension of the memory's keys.
        timeouts: "terminal" treats a time-out as an end (EMAC's authors); "bootstrap" continues
            with the critic's value there, which is set as `last_value` before the last `add`.
        seed: Decides the memory's projection.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        device: torch.device | str = "auto",
        n_envs: int = 1,
        optimize_memory_usage: bool = False,
        *,
        gamma: float = 0.99,
        alpha: float = 0.1,
        beta: float = 0.5,
        uniform_draws: int = 0,
        n_neighbors: int = 2,
        key_dim: int = 4,
        timeouts: str = "terminal",
        seed: int = 0,
    ) -> None:
        check_settings(n_envs, alpha, beta, timeouts)
        super().__init__(
            buffer_size,
            observation_space,
            action_space,
            device,
            n_envs,
            optimize_memory_usage,
            handle_timeout_termination=timeouts == "bootstrap",
        )
        self.gamma, self.alpha, self.beta, self.timeouts_as = gamma, alpha, beta, timeouts
        self.uniform_draws, self.n_draws = uniform_draws, 0
        self.memory = PairMemory(
            spaces.flatdim(observation_space) + self.action_dim,
            capacity=self.buffer_size,
            key_dim=key_dim,
            n_neighbors=n_neighbors,
            seed=seed,
        )
        self.returns = np.zeros(self.buffer_size)
        self.last_value = 0.0
        self._open: list[Transition] = []
        self._cumulative: Matrix | None = None

    # -- filling -----------------------------------------------------------------------------

    def add(
        self,
        obs: Any,
        next_obs: Any,
        action: npt.NDArray[Any],
        reward: npt.NDArray[Any],
        done: npt.NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        """Add a transition; those of an episode are stored at its end.

        Args:
            obs: The observation.
            next_obs: The next observation.
            action: The action.
            reward: The reward.
            done: Whether the episode is over.
            infos: The info of each environment.
        """
        self._open.append(Transition(obs, next_obs, action, reward, done, infos))
        if done[0]:
            self._store_episode()

    def drop_open_episode(self) -> None:
        """Drop the steps of an episode that will not be finished."""
        self._open.clear()

    def _store_episode(self) -> None:
        returns = self._open_returns()
        pairs = np.array([self._pair(step) for step in self._open])
        self.memory.write(pairs, returns)
        for step, value in zip(self._open, returns, strict=True):
            self.returns[self.pos] = value
            super().add(*step)
        self._open.clear()
        self._cumulative = None

    def _open_returns(self) -> Matrix:
        rewards = np.array([step.reward[0] for step in self._open], dtype=np.float64)
        timed_out = self._open[-1].infos[0].get("TimeLimit.truncated", False)
        bootstraps = timed_out and self.timeouts_as == "bootstrap"
        return np.asarray(
            discounted_returns(rewards, self.gamma, self.last_value if bootstraps else 0.0)
        )

    def _pair(self, step: Transition) -> Matrix:
        return np.concatenate([part.ravel() for part in (*self._parts(step.obs), step.action)])

    def _parts(self, observation: Any) -> list[Any]:
        """An observation as a list of arrays: the entries of a dict, or itself."""
        if isinstance(self.observation_space, spaces.Dict):
            return [observation[name] for name in self.observation_space.spaces]
        return [observation]

    # -- drawing -----------------------------------------------------------------------------

    def sample(self, batch_size: int, env: Any = None) -> Any:
        """Draw a batch.

        Args:
            batch_size: The number of transitions.
            env: As in Stable-Baselines3.

        Returns:
            The batch, with targets that the memory takes part in.

        Raises:
            RuntimeError: If no episode has ended yet.
        """
        if self.size() == 0:
            raise RuntimeError(
                "this buffer takes whole episodes and none has ended yet: "
                "learning_starts must not be less than the longest episode"
            )
        self.n_draws += 1
        if self.beta == 0 or self.n_draws <= self.uniform_draws:
            return self._with_memory(super().sample(batch_size, env))
        return self._with_memory(self._get_samples(self._draw(batch_size), env))

    def _draw(self, batch_size: int) -> npt.NDArray[np.int64]:
        """Indices by priority, from the generator that Stable-Baselines3 seeds and draws from."""
        if self._cumulative is None:
            self._cumulative = np.cumsum(priorities(self.returns[: self.size()], self.beta))
        points = np.random.random(batch_size) * self._cumulative[-1]  # noqa: NPY002
        return np.asarray(np.searchsorted(self._cumulative, points, side="right"), dtype=np.int64)

    def _with_memory(self, batch: Any) -> Any:
        """The batch with the mixed target that is described at the top of this file."""
        if self.alpha == 0:
            return batch
        columns = (*self._parts(batch.observations), batch.actions)
        pairs = torch.cat([part.reshape(len(part), -1) for part in columns], dim=1)
        remembered = self.memory.read(pairs.cpu().numpy().astype(np.float64))
        q_m = self.to_torch(remembered.astype(np.float32).reshape(-1, 1))
        return batch._replace(
            rewards=(1 - self.alpha) * batch.rewards + self.alpha * q_m,
            discounts=torch.full_like(batch.rewards, (1 - self.alpha) * self.gamma),
        )


class DictEpisodicReplayBuffer(EpisodicReplayBuffer, DictReplayBuffer):
    """The same for observations that are dicts of boxes."""


def priorities(returns: Matrix, beta: float) -> Matrix:
    """(q - min(0, min q))^beta; equal ones if all of these are 0."""
    weights = (returns - min(0.0, float(returns.min()))) ** beta
    return np.asarray(weights if weights.any() else np.ones_like(weights), dtype=np.float64)


def check_settings(n_envs: int, alpha: float, beta: float, timeouts: str) -> None:
    """Refuse settings that the buffer cannot have."""
    if n_envs != 1:
        raise ValueError(
            f"expected 1 environment, got {n_envs}: EMAC learns from its whole episodes"
        )
    if not 0 <= alpha <= 1:
        raise ValueError(f"expected alpha to be a number between 0 and 1, got {alpha!r}")
    if not 0 <= beta < float("inf"):
        raise ValueError(f"expected beta to be a number of at least 0, got {beta!r}")
    if timeouts not in TIMEOUTS:
        raise ValueError(f"expected timeouts to be {' or '.join(TIMEOUTS)}, got {timeouts!r}")

"""Episodes with seeds and records like those of memory agents."""

from typing import Any

import gymnasium

from scrubjay.randomness import Stream, reset_seed
from scrubjay.training import EpisodeRecord
from scrubjay.training.environments import EpisodeLimit
from scrubjay.training.records import SuccessReader

FINISHED = "finished_episode"  # the entry of the info at an episode's end


class NumberedEpisodes(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Resets the n-th episode with the n-th seed, and at its end puts a record into the info.

    A Monitor rounds, and a vector environment of Stable-Baselines3 keeps rewards in float32 and
    cannot tell an end from a time-out at the same step; a run folder records what happened.

    Args:
        env: The environment.
        seed: Decides the episodes' seeds.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int) -> None:
        """Wrap an environment."""
        super().__init__(env)
        self.seed = seed
        self.n_episodes = 0
        self.n_steps = 0
        self.limit: EpisodeLimit | None = None
        self.success_of = SuccessReader()
        self._length, self._total_reward = 0, 0.0

    def reset(
        self,
        *,
        seed: int | None = None,  # noqa: ARG002
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start the next episode; its seed comes from its number.

        Args:
            seed: Ignored.
            options: Options of the environment.

        Returns:
            The first observation and its info.
        """
        number = self.n_episodes
        self.n_episodes += 1
        self._length, self._total_reward = 0, 0.0
        own = reset_seed(self.seed, Stream.ENVIRONMENT, 0, number)
        return self.env.reset(seed=own, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step.

        Args:
            action: The action.

        Returns:
            What the environment returns, with a record of the episode in the info at its end.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.n_steps += 1
        self._length += 1
        self._total_reward += float(reward)
        if self.limit is not None and self._length >= self.limit.first:
            truncated = truncated or self.limit.ends(self._length, is_last=False)
        if terminated or truncated:
            info = {**info, FINISHED: self._record(terminated, truncated, info)}
        return observation, reward, terminated, truncated, info

    def _record(self, terminated: bool, truncated: bool, info: dict[str, Any]) -> EpisodeRecord:
        return EpisodeRecord(
            self.n_episodes - 1, 0, self.n_steps, self._length, self._total_reward,
            bool(terminated), bool(truncated), self.success_of(info),
        )  # fmt: skip

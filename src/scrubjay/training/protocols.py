"""What training knows of an agent: very little."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from scrubjay.training.logger import Logger

Action = npt.NDArray[np.generic]


class Policy(Protocol):
    """Whatever can be evaluated: anything with Stable-Baselines3's `predict`."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]: ...


class Episode(Protocol):
    """One episode as the agent lives it. Its number decides its random numbers."""

    number: int

    def act(self, observation: Any) -> Action:
        """Decide in this observation."""

    def record(self, reward: float) -> None:
        """Take the reward of the decision just made."""

    def finish(self, observation: Any, terminated: bool) -> Mapping[str, float]:
        """Learn from the whole episode; returns counts that are summed up for the log.

        `observation` is the last one; an episode that was not `terminated` was cut off.
        """


class Trained(Policy, Protocol):
    """What a session needs to watch the training of something."""

    num_timesteps: int
    n_episodes: int
    logger: Logger

    def metrics(self, totals: Mapping[str, float]) -> Mapping[str, float | None]:
        """Its own log entries: gauges, and ratios from the counts summed up since the last."""

    def gauges(self) -> dict[str, Any]:
        """One or two numbers that a person wants to see all the time."""

    def save(self, path: str | PathLike[str], training: Mapping[str, Any] | None = None) -> None:
        """Write the state at the last episode boundary; `training` is kept beside it."""


class Agent(Trained, Protocol):
    """What the training loop needs to train something."""

    name: ClassVar[str]
    seed: int

    def begin_episode(self, environment: int) -> Episode:
        """Open the next episode of that environment."""

    def rewind(self) -> int:
        """Give up open episodes; returns how many."""

    def warm_up(self) -> None:
        """Compile what will be called, so that no rate hides it."""

    def config(self) -> dict[str, Any]:
        """All settings, as JSON."""

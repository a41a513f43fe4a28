"""What training knows of an agent: very little."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Protocol

from scrubjay.training.logger import Logger


class Policy(Protocol):
    """Whatever can be evaluated: anything with Stable-Baselines3's `predict`."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]: ...


class Recorder(Protocol):
    """The open episodes of one or several environments, a lane for each."""

    def begin(self, lane: int = 0) -> int:
        """Open the next episode of a lane; returns its number, which decides its random numbers."""

    def act(self, observation: Any, lanes: Any = None) -> Any:
        """Decide in every lane that has an open episode."""

    def record(self, reward: Any, lanes: Any = None) -> None:
        """Take the rewards of the decisions just made, and count the steps."""

    def length(self, lane: int = 0) -> int:
        """The number of steps of a lane's episode so far."""

    def total_reward(self, lane: int = 0) -> float:
        """The sum of its rewards so far."""

    def finish(
        self, observation: Any, terminated: bool = True, lane: int = 0
    ) -> Mapping[str, float]:
        """Learn from a lane's whole episode; returns counts that are summed up for the log."""


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


class Described(Trained, Protocol):
    """What a run folder says of what is trained."""

    name: ClassVar[str]
    seed: int

    def config(self) -> dict[str, Any]:
        """All settings, as JSON."""


class Agent(Described, Protocol):
    """What the training loop needs to train something."""

    def recorder(self, n_lanes: int, batched: bool) -> Recorder:
        """What records the episodes of that many environments."""

    def rewind(self) -> int:
        """Give up open episodes; returns how many."""

    def warm_up(self) -> None:
        """Compile what will be called, so that no rate hides it."""

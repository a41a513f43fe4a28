"""What training requires of an agent."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Protocol

from scrubjay.training.logger import Logger


class Policy(Protocol):
    """Anything that can be evaluated: it has Stable-Baselines3's `predict`."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """The action for an observation.

        Args:
            observation: An observation, or a stack of them.
            state: Passed on, as in Stable-Baselines3.
            episode_start: As in Stable-Baselines3.
            deterministic: Whether to act greedily.

        Returns:
            The action, and the state.
        """


class Recorder(Protocol):
    """The open episodes of one or several environments, a lane for each."""

    def begin(self, lane: int = 0) -> int:
        """Open the next episode of a lane.

        Args:
            lane: The lane.

        Returns:
            The episode's number, which decides its random numbers.
        """

    def begin_many(self, lanes: Sequence[int]) -> list[int]:
        """Open the next episodes of several lanes.

        Args:
            lanes: The lanes.

        Returns:
            The numbers of their episodes.
        """

    def act(self, observation: Any, lanes: Any = None) -> Any:
        """Decide in every lane that has an open episode.

        Args:
            observation: The observation, or the stack of them.
            lanes: A mask of the lanes that act; None: all.

        Returns:
            The action, or the stack of them.
        """

    def record(self, reward: Any, lanes: Any = None) -> None:
        """Take the rewards of the last decisions, and count the steps.

        Args:
            reward: The reward, or the stack of them.
            lanes: A mask of the lanes that acted; None: all.
        """

    def length(self, lane: int = 0) -> int:
        """The number of steps of a lane's episode so far.

        Args:
            lane: The lane.

        Returns:
            The number.
        """

    def longest(self) -> int:
        """The number of steps of the longest open episode.

        Returns:
            The number.
        """

    def total_reward(self, lane: int = 0) -> float:
        """The sum of the rewards of a lane's episode so far.

        Args:
            lane: The lane.

        Returns:
            The sum.
        """

    def finish(
        self, observation: Any, terminated: bool = True, lane: int = 0
    ) -> Mapping[str, float]:
        """Learn from a lane's whole episode.

        Args:
            observation: The episode's last observation.
            terminated: Whether it ended, rather than being cut by a time limit.
            lane: The lane.

        Returns:
            Counts that are summed up for the log.
        """


class Trained(Policy, Protocol):
    """What a session needs to watch the training of something."""

    num_timesteps: int
    n_episodes: int
    logger: Logger

    def metrics(self, totals: Mapping[str, float]) -> Mapping[str, float | None]:
        """The agent's own entries of the log.

        Args:
            totals: The counts of the episodes since the last row.

        Returns:
            Values by name; None for what is not known.
        """

    def gauges(self) -> dict[str, Any]:
        """One or two numbers for the progress bar.

        Returns:
            Numbers by name.
        """

    def save(self, path: str | PathLike[str], training: Mapping[str, Any] | None = None) -> None:
        """Write the state at the last episode boundary.

        Args:
            path: The file.
            training: JSON that is kept in the file for a resumed run.
        """


class Described(Trained, Protocol):
    """What a run folder stores about the agent."""

    name: ClassVar[str]
    seed: int

    def config(self) -> dict[str, Any]:
        """All settings, as JSON.

        Returns:
            The settings by name.
        """


class Agent(Described, Protocol):
    """What the training loop needs to train something."""

    def recorder(self, n_lanes: int, batched: bool) -> Recorder:
        """A recorder for the training loop.

        Args:
            n_lanes: The number of environments.
            batched: Whether observations, rewards and actions are stacked.

        Returns:
            The recorder.
        """

    def rewind(self) -> int:
        """Drop open episodes.

        Returns:
            How many were dropped.
        """

    def warm_up(self) -> None:
        """Compile what training calls, so that no rate includes it."""

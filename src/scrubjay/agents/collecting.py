"""Memory agents with collectors, which run episodes in other processes.

The agent that learns hands out episodes (`hand_out`) and learns from those that come back
(`count_collected`, `learn_collected`). A collector has a copy of the agent (`collector`) that
decides against a copy of the memories, begins each episode as it was handed out (`follow`) and
never learns. Methods need not know about it: what they record, the `Experience`, is all that
travels.
"""

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from scrubjay.agents.recorder import (
    EpisodeRecorder,
    Experience,
    HeldEpisode,
    Learned,
    count_choices,
    count_outcomes,
)
from scrubjay.embedding import Embedding
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.shared import empty_copy
from scrubjay.training import Logger
from scrubjay.training.collector import Collected, Order

Arrays = dict[str, npt.NDArray[Any]]


class CollectingAgent:
    """The part of `MemoryAgent` that collectors need."""

    embedding: Embedding
    memories: dict[str, EpisodicMemory]
    num_timesteps: int
    n_dropped_episodes: int
    _open: set[int]
    _boundary: Any
    _next_episodes: dict[int, int]

    if TYPE_CHECKING:

        def open_episode(self, environment: int) -> int: ...
        def close_episode(self, environment: int) -> None: ...
        def finish_episode(self, episode: Experience | HeldEpisode) -> list[Learned]: ...
        def memory_changed(self) -> None: ...
        def watch(self, experience: Experience) -> None: ...
        def rewind(self) -> int: ...

    # -- the agent that learns -----------------------------------------------------------------

    def collector(self) -> Self:
        """A copy of the agent for a collector: without environment, logger and rows.

        Returns:
            The copy, which can be pickled.
        """
        agent = copy.copy(self)
        memories = {name: empty_copy(memory) for name, memory in self.memories.items()}
        vars(agent).update(
            env=None, _view=None, logger=Logger(), memories=memories, held=[], _open=set(),
            _boundary=None,
        )  # fmt: skip
        agent.memory_changed()
        return agent

    def hand_out(self, environment: int) -> Order:
        """Open the next episode of a collector.

        Args:
            environment: The collector's number, which decides the episode's random numbers.

        Returns:
            What the collector must know.
        """
        number = self.open_episode(environment)
        return Order(environment, number, self.num_timesteps, self.embedding.state())

    def count_collected(self, collected: Collected) -> None:
        """Count the steps of a collector's episode, and let the embedding learn from them.

        Args:
            collected: The episode.
        """
        self.num_timesteps += len(collected.experience.rewards)
        if collected.vectors is not None:
            # for the statistics alone; the episode has its keys already
            keys = np.empty((len(collected.vectors), self.embedding.key_dim))
            self.embedding.observe_batch(collected.vectors, keys)

    def learn_collected(
        self, environment: int, collected: Collected, next_is_open: bool
    ) -> dict[str, float]:
        """Learn from a collector's whole episode, whose steps are counted, and close it.

        Args:
            environment: The collector's number.
            collected: The episode.
            next_is_open: Whether the collector's next episode is open already.

        Returns:
            Counts of decisions and writes, which the log sums up.
        """
        experience = Experience(*collected.experience)
        learned = self.finish_episode(experience)
        self.close_episode(environment)
        if next_is_open:
            self._open.add(environment)
        self.watch(experience)
        return count_choices(experience) | count_outcomes(learned)

    def drop_episode(self, environment: int) -> None:
        """Count an open episode as dropped: its collector has failed.

        Args:
            environment: The collector's number.
        """
        self._open.discard(environment)
        self._boundary = None
        self.n_dropped_episodes += 1

    # -- a collector's copy --------------------------------------------------------------------

    def episode_recorder(self, environment: int) -> EpisodeRecorder:
        """A recorder for the episodes of a collector.

        Args:
            environment: The collector's number.

        Returns:
            The recorder, which keeps the observations if the embedding learns from them.
        """
        return EpisodeRecorder(self, (environment,), keeps_vectors=self.embedding.learns)  # type: ignore[arg-type]

    def follow(self, order: Order) -> None:
        """Take the state of the learning agent when it handed out an episode, except its memories.

        Args:
            order: What `hand_out` returned.
        """
        self.rewind()  # the episode before, which was not learned here
        self._next_episodes[order.environment] = order.number
        self.num_timesteps = order.num_timesteps
        if order.embedding is not None:
            self.embedding.restore(order.embedding)

    def use_memories(self, memories: dict[str, EpisodicMemory]) -> None:
        """Decide against these memories from now on.

        Args:
            memories: The memories by name.
        """
        self.memories = memories
        self.memory_changed()

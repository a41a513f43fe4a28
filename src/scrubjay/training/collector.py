"""A collector: steps one environment, decides against a copy of the memory, one episode at a time.

It never learns: a whole episode goes back to the process that writes the memory. `collecting.py` is
that process's part, `processes.py` brings the two together on one machine.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy.typing as npt

from scrubjay.memory import EpisodicMemory
from scrubjay.randomness import Stream, reset_seed
from scrubjay.training.environments import EpisodeLimit
from scrubjay.training.protocols import Recorder
from scrubjay.training.records import SuccessReader


class Order(NamedTuple):
    """An episode to be run.

    Attributes:
        environment: The collector's number.
        number: The episode's number, which with the other decides its random numbers.
        num_timesteps: The steps that are learned so far, on which schedules depend.
        embedding: What the embedding has learned; None if the collector knows that.
    """

    environment: int
    number: int
    num_timesteps: int
    embedding: Mapping[str, npt.NDArray[Any]] | None


class Collected(NamedTuple):
    """An episode that was run.

    Attributes:
        experience: What the agent's recorder recorded.
        vectors: All observations, if the embedding learns from them, otherwise None.
        total_reward: The sum of the rewards.
        terminated: Whether the episode ended.
        truncated: Whether it was cut by a time limit.
        is_success: Whether it was solved; None where the environment does not say.
    """

    experience: Any
    vectors: Any
    total_reward: float
    terminated: bool
    truncated: bool
    is_success: bool | None


class CollectorRecorder(Recorder, Protocol):
    """A recorder whose episodes are learned elsewhere."""

    def end(self, observation: Any, terminated: bool = True) -> tuple[Any, Any]:
        """End the episode without learning from it.

        Args:
            observation: The last observation.
            terminated: Whether it ended, rather than being cut by a time limit.

        Returns:
            What was recorded, and all observations if the embedding learns from them.
        """


class CollectorAgent(Protocol):
    """A collector's copy of the agent."""

    seed: int
    memories: dict[str, EpisodicMemory]

    def follow(self, order: Order) -> None:
        """Take the state of the learning agent when it handed out an episode, except its memories.

        Args:
            order: The episode.
        """

    def set_env(self, env: gymnasium.Env[Any, Any]) -> None:
        """Set the environment of the collector; its spaces are those of the learning agent's.

        Args:
            env: The environment.
        """

    def use_memories(self, memories: dict[str, EpisodicMemory]) -> None:
        """Decide against these memories from now on.

        Args:
            memories: The memories by name.
        """

    def episode_recorder(self, environment: int) -> CollectorRecorder:
        """A recorder for the episodes of a collector.

        Args:
            environment: The collector's number.

        Returns:
            The recorder.
        """


class Job(NamedTuple):
    """Everything that a collector's process needs to make it.

    Attributes:
        agent: A copy of the agent.
        make_env: Makes an environment.
        max_episode_steps: Where longer episodes are ended as time-outs.
        success_key: The entry of `info` that says whether an episode was solved.
    """

    agent: CollectorAgent
    make_env: Callable[[], gymnasium.Env[Any, Any]]
    max_episode_steps: int | None
    success_key: str | None


def nothing() -> None:
    """A copy of the memory that does not change while it is read."""


class Collector:
    """Runs the episodes of one environment.

    Args:
        job: What makes a collector.
        environment: Its number.
        enter: Called before each decision: the memory may not change from then on.
        leave: Called after it.
    """

    def __init__(
        self,
        job: Job,
        environment: int,
        enter: Callable[[], None] = nothing,
        leave: Callable[[], None] = nothing,
    ) -> None:
        self.agent, self.env = job.agent, job.make_env()
        self.agent.set_env(self.env)  # a method may use its compute_reward
        self._enter, self._leave = enter, leave
        self._recorder = self.agent.episode_recorder(environment)
        self._limit = EpisodeLimit(self.env, job.max_episode_steps)
        self._success_of = SuccessReader(job.success_key)

    def run(self, order: Order) -> Collected:
        """Run one episode.

        Args:
            order: The episode.

        Returns:
            What was recorded, whose arrays are overwritten by the next episode.
        """
        agent, recorder, env, limit = self.agent, self._recorder, self.env, self._limit
        enter, leave, act, record = self._enter, self._leave, recorder.act, recorder.record
        agent.follow(order)
        enter()
        number = recorder.begin()
        leave()
        seed = reset_seed(agent.seed, Stream.ENVIRONMENT, order.environment, number)
        observation, info = env.reset(seed=seed)
        terminated = truncated = False
        length = 0
        while not (terminated or truncated):
            enter()
            action = act(observation)
            leave()
            observation, reward, terminated, truncated, info = env.step(action)
            record(reward)
            length += 1
            if length >= limit.first and limit.ends(length, is_last=True):
                truncated = True
        total_reward = recorder.total_reward()
        experience, vectors = recorder.end(observation, bool(terminated))
        ends = bool(terminated), bool(truncated)
        return Collected(experience, vectors, total_reward, *ends, self._success_of(info))

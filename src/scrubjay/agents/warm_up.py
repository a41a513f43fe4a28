"""Compile everything that training and `predict` call, by calling it on a temporary agent."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scrubjay.memory import EpisodicMemory
from scrubjay.randomness import Stream
from scrubjay.streams import reset_seeds, seed_words

if TYPE_CHECKING:
    from scrubjay.agents.base import MemoryAgent

N_LANES = 2


def call_everything(agent: "MemoryAgent", in_lanes: bool) -> None:
    """Let an agent learn from a few episodes, predict, and store and open its memories.

    Args:
        agent: A temporary agent, whose observations are vectors.
        in_lanes: Whether to call also what only vector environments need.
    """
    observation = np.zeros(agent.observation_space.shape or ())
    for environment in range(3):
        episode = agent.begin_episode(environment)
        for _ in range(2):
            episode.act(observation)
            episode.record(float(environment))  # better each time, so that rows are replaced
        episode.finish(observation)
    words, numbers = seed_words(agent.seed, Stream.ENVIRONMENT), np.arange(N_LANES)
    reset_seeds(words, numbers, numbers)  # as the training loop does
    if in_lanes:
        _record_lanes(agent, observation)
    agent.predict(observation, deterministic=True)
    agent.predict(observation)
    agent.call_rare_kernels()
    for memory in agent.memories.values():
        EpisodicMemory.from_state(*memory.state())  # for checkpoints, and for growth


def _record_lanes(agent: "MemoryAgent", observation: npt.NDArray[np.float64]) -> None:
    """One step of a vector environment, which has its own random numbers."""
    recorder = agent.recorder(N_LANES, batched=True)
    recorder.begin_many(range(N_LANES))
    recorder.act(np.stack([observation] * N_LANES))
    recorder.record(np.zeros(N_LANES))
    for lane in range(N_LANES):
        recorder.finish(observation, lane=lane)

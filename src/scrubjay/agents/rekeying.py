"""Keys of episodes and rows when an embedding has been trained."""

from typing import TYPE_CHECKING

import numpy as np

from scrubjay.agents.recorder import Experience, HeldEpisode
from scrubjay.embedding import Embedding

if TYPE_CHECKING:
    from scrubjay.agents.base import MemoryAgent


def check_learned_keys(agent: "MemoryAgent", embedding: Embedding) -> None:
    """Refuse an embedding that changes stored keys for a method that measures distances.

    Raises:
        ValueError: If they do not fit together.
    """
    if embedding.studies and not agent.takes_learned_keys:
        raise ValueError(
            f"{type(agent).__name__} measures distances between keys, and "
            f"{type(embedding).__name__} changes them once; use it with MFEC"
        )


def with_frames(agent: "MemoryAgent", experience: Experience, held: HeldEpisode) -> Experience:
    """Add the images of an episode that waited until the embedding was ready."""
    if agent.album is None:
        return experience
    return experience._replace(frames=held.vectors.astype(agent.flattener.picture_type))


def with_present_keys(embedding: Embedding, experience: Experience) -> Experience:
    """Embed an episode again if the embedding was trained meanwhile, on those of other lanes."""
    frames = experience.frames
    if not embedding.studies or frames is None or len(frames) == 0:
        return experience
    vectors, key = frames.astype(np.float64), np.empty(embedding.key_dim)
    embedding.embed(vectors[0], key)
    if np.array_equal(key.astype(np.float32), experience.keys[0].astype(np.float32)):
        return experience
    return experience._replace(keys=embedding.embed_batch(vectors))


def study(agent: "MemoryAgent", experience: Experience) -> None:
    """Let the embedding learn from an episode; if its keys change, so do those of all rows."""
    embedding, frames = agent.embedding, experience.frames
    if frames is None or not embedding.study(frames, experience.keys, experience.actions):
        return
    new_keys = {name: embedding.translate(memory.keys) for name, memory in agent.memories.items()}
    for name, memory in agent.memories.items():
        rows = memory.rekey(new_keys[name])
        if agent.album is not None:
            agent.album.moved(name, memory, rows)
    embedding.forget()
    agent.memory_changed()

"""Keys that are not known from the beginning, or change.

Episodes that were recorded before the embedding was ready are embedded afterwards (`with_keys`).
When an embedding is trained during the training, episodes and rows get new keys (`study`).
"""

from typing import TYPE_CHECKING

import numpy as np

from scrubjay.agents.recorder import Experience, HeldEpisode, Notes
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


def with_keys(held: HeldEpisode, embedding: Embedding, notes: Notes) -> Experience:
    """The experience of an episode that waited for keys."""
    vectors = held.vectors if held.last is None else np.vstack([held.vectors, held.last])
    keys = embedding.embed_batch(vectors)
    with np.errstate(over="ignore"):
        finite = np.isfinite(keys.astype(np.float32)).all(axis=1)
    if not finite.all():
        vector = vectors[finite.argmin()]
        raise ValueError(f"expected finite keys, got {keys[finite.argmin()]} for {vector}")
    n = len(held.rewards)
    trace, numbers = np.zeros((n, notes.trace), np.int64), np.zeros((n, notes.numbers))
    return Experience(
        keys[:n], held.actions, held.rewards, trace, numbers, held.terminated, decided=False,
        last_key=None if held.last is None else keys[n],
    )  # fmt: skip


def with_frames(agent: "MemoryAgent", experience: Experience, held: HeldEpisode) -> Experience:
    """Add the images of an episode that waited until the embedding was ready."""
    if agent.album is None:
        return experience
    return experience._replace(frames=held.vectors.astype(agent.flattener.picture_type))


def with_present_keys(embedding: Embedding, experience: Experience) -> Experience:
    """Embed an episode again if an episode of another lane has trained the embedding."""
    frames = experience.frames
    if not embedding.studies or frames is None or len(frames) == 0:
        return experience
    vectors, key = frames.astype(np.float64), np.empty(embedding.key_dim)
    embedding.embed(vectors[0], key)
    if np.array_equal(key.astype(np.float32), experience.keys[0].astype(np.float32)):
        return experience
    return experience._replace(keys=embedding.embed_batch(vectors))


def study(agent: "MemoryAgent", experience: Experience) -> None:
    """Let the embedding learn from an episode; if its keys change, change those of all rows."""
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

"""Episodes that waited until there were keys."""

import numpy as np

from scrubjay.agents.recorder import Experience, HeldEpisode, Notes
from scrubjay.embedding import Embedding


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

"""Explanations of decisions: the rows that a decision uses, and the weight of each."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.agents.actions import ActionCodec, Stored
from scrubjay.agents.sampling import softmax_weights
from scrubjay.embedding import Embedding
from scrubjay.embedding.flatten import Flattener
from scrubjay.memory import EpisodicMemory

Floats = npt.NDArray[np.float64]

N_SHOWN = 5  # rows of each memory that are shown for a method without `explain_key`
UNKNOWN = float("nan")
MIN_TEMPERATURE = 1e-300  # practically 0, but can be divided by


class Neighbor(NamedTuple):
    """A row that a decision uses.

    Attributes:
        memory: The name of its memory.
        row: Its number.
        distance: From the state's key to the row's.
        value: Its stored value.
        action: (A,): the action that it stands for, as it is stored; empty if it has none.
        trust: How much it counts in this state, from 0 (ignored) to 1; NaN if the method does not
            say.
        probability: With which training follows it if it does not explore; NaN if the method does
            not say.
    """

    memory: str
    row: int
    distance: float
    value: float
    action: Stored
    trust: float = UNKNOWN
    probability: float = UNKNOWN


class Explanation(NamedTuple):
    """The greedy decision in one state.

    Attributes:
        key: (D,): the state's key.
        action: (A,): the greedy action, as it is stored.
        neighbors: The rows that were used.
        followed: The index in `neighbors` of the row that decided, -1 if no single row did.
        estimates: The estimated value of each discrete action, for methods that compare them.
    """

    key: Floats
    action: Stored
    neighbors: tuple[Neighbor, ...]
    followed: int
    estimates: tuple[float, ...] = ()


class ExplainMixin:
    """Explanations of an agent's decisions; a method may override `explain_key`."""

    memories: dict[str, EpisodicMemory]
    codec: ActionCodec
    embedding: Embedding
    flattener: Flattener

    def explain(self, observation: Any) -> Explanation:
        """Explain the action of `predict(observation, deterministic=True)`.

        Args:
            observation: One observation.

        Returns:
            The greedy action and the rows that were used. Nothing changes.
        """
        vector, key = np.empty(self.flattener.size), np.empty(self.embedding.key_dim)
        self.flattener.into(observation, vector)
        if not any(map(len, self.memories.values())):
            return Explanation(key * np.nan, self.codec.encode(self.codec.default()), (), -1)
        self.embedding.embed(vector, key)
        return self.explain_key(key)

    def explain_key(self, key: Floats) -> Explanation:
        """The greedy decision in the state with this key.

        The default is for methods that do not override it: the nearest rows of each memory, of
        which the nearest one with the greedy action counts as followed.

        Args:
            key: (D,): the key. At least one memory has rows.

        Returns:
            The greedy action and the rows that were used.
        """
        action = self.greedy_actions(np.asarray(key, np.float64)[None])[0]
        found = nearest_rows(self.memories, key)
        same = [i for i, row in enumerate(found) if np.array_equal(row.action, action)]
        return Explanation(
            key, action, found, min(same, key=lambda i: found[i].distance, default=-1)
        )

    def greedy_actions(self, keys: Floats) -> Stored:
        raise NotImplementedError


def nearest_rows(
    memories: dict[str, EpisodicMemory], key: Any, k: int = N_SHOWN
) -> tuple[Neighbor, ...]:
    """The nearest rows of each memory, with nothing but their distance.

    Args:
        memories: The memories by name.
        key: The key.
        k: Rows of each.

    Returns:
        The rows.
    """
    return tuple(
        row
        for name, memory in memories.items()
        if len(memory)
        for row in neighbors(name, memory, *memory.neighbors(key, k))
    )


def neighbors(
    name: str,
    memory: EpisodicMemory,
    rows: Iterable[int],
    distances: Iterable[float],
    trust: Iterable[float] | None = None,
    probabilities: Iterable[float] | None = None,
    action: Stored | None = None,
    values: npt.NDArray[np.float32] | None = None,
) -> tuple[Neighbor, ...]:
    """Make `Neighbor`s of rows of a memory.

    Args:
        name: The memory's name.
        memory: The memory.
        rows: The rows.
        distances: Their distances.
        trust: How much each counts, if that is known.
        probabilities: With which each is followed, if that is known.
        action: The action of them all; by default that in the column "action".
        values: The values of all rows; by default those of the memory.

    Returns:
        The rows.
    """
    rows = np.asarray(rows, np.int64)
    unknown = [UNKNOWN] * len(rows)
    values = memory.values if values is None else values
    actions: Sequence[Stored] | npt.NDArray[Any]
    if action is not None:
        actions = [action] * len(rows)
    else:
        actions = memory.columns.get("action", np.empty((len(memory), 0), np.float32))[rows]
    found = zip(
        rows, distances, values[rows], actions, trust or unknown, probabilities or unknown,
        strict=True,
    )  # fmt: skip
    return tuple(
        Neighbor(name, int(row), float(distance), float(value), stored, float(t), float(p))
        for row, distance, value, stored, t, p in found
    )


def softmax(scores: Floats, temperature: float) -> list[float]:
    """Eq. 5: the probabilities with which `sample_softmax` draws.

    Args:
        scores: The scores.
        temperature: The temperature.

    Returns:
        The probability of each.
    """
    if len(scores) == 0:
        return []
    weights = np.empty(len(scores))
    total = softmax_weights(scores, len(scores), temperature, weights)
    return [float(weight / total) for weight in weights]


def explain_best(
    memory: EpisodicMemory, key: Floats, rule: Any, weigh: Callable[..., int], far: int,
    values: npt.NDArray[np.float32],
) -> Explanation:  # fmt: skip
    """The decision of `CECPlus`: the best of the neighbours that have a value.

    Args:
        memory: The memory.
        key: The key.
        rule: What a decision reads of the settings.
        weigh: The kernel that moves the neighbours that have a value to the front and returns
            their number, with their scores.
        far: How many rows are searched if no neighbour has a value.
        values: The values of all rows.

    Returns:
        All neighbours, those that have a value first; if none has, the one row that is
        followed.
    """
    rows, found_at = memory.neighbors(key, int(rule["n_neighbors"]), float(rule["radius"]))
    all_rows, distances = rows.copy(), dict(zip(rows, found_at, strict=True))
    scores = np.zeros(len(rows))
    # the kernel's scores to the last bit: the square root of a squared double is the double
    count = weigh(values, rows, found_at**2, len(rows), rule, scores)
    ignored = [row for row in all_rows if row not in rows[:count]]
    best = int(np.argmax(scores[:count])) if count else -1
    temperature = rule["temperature"]
    if count and rule["relative"]:
        temperature = max(temperature * (scores[best] - rule["lowest"]), MIN_TEMPERATURE)
    chances = softmax(scores[:count], temperature) + [0.0] * len(ignored)
    trust = [
        _share(s, values[r], rule["lowest"]) for s, r in zip(scores, rows[:count], strict=False)
    ]
    asked = [*rows[:count], *ignored]
    found = neighbors(
        "memory", memory, asked, [distances[row] for row in asked],
        trust + [0.0] * len(ignored), chances, values=values,
    )  # fmt: skip
    followed = best if rule["best"] else -1
    if followed < 0:
        row, distance = _closest_known(memory, key, rule, far, values)
        known = [i for i, neighbor in enumerate(found) if neighbor.row == row]
        if not known:
            found += neighbors("memory", memory, [row], [distance], [0.0], [0.0], values=values)
        followed = known[0] if known else len(found) - 1
    return Explanation(key, found[followed].action, found, followed)


def _share(score: float, value: float, lowest: float) -> float:
    """The share of a value that remains at its distance, measured from the lowest value."""
    return min((score - lowest) / (float(value) - lowest), 1.0) if value > lowest else 1.0


def _closest_known(
    memory: EpisodicMemory, key: Floats, rule: Any, far: int, values: npt.NDArray[np.float32]
) -> tuple[int, float]:
    """The closest row that has a value, or the closest row."""
    n = far if rule["worthless"] > -np.inf else 1
    rows, distances = memory.neighbors(key, n)
    known = np.flatnonzero(values[rows] > rule["worthless"])
    first = int(known[0]) if len(known) else 0
    return int(rows[first]), float(distances[first])

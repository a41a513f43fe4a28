"""Planning: values are propagated along stored transitions, so that paths can be combined.

A row stores the reward and the next key of the last step in which it was followed. Its value is at
least the reward plus the discounted value of the best row near that key, reduced for its distance.
The value of a row that was followed is exactly this, even if it was higher before.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.agents.recorder import Experience
from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.kdtree import TreeArrays, search
from scrubjay.memory.tree_arrays import scratch_size

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]

LINKS = 4  # rows near the next key to which a row is linked
CLOSE = 0.9  # rows whose value would be reduced to less than this share are not linked
PASSES = 100  # over all rows, at most
SETTLED = 1e-4  # no further pass if all changes are below this share of the range


class Rule(NamedTuple):
    """How values are propagated.

    Attributes:
        gamma: Discount factor.
        radius: The largest distance from the next key to a linked row.
        fading: The weight of a value at the distance f is exp(-fading f).
        lowest: The lowest value there is.
    """

    gamma: float
    radius: float
    fading: float
    lowest: float


def columns(key_dim: int) -> dict[str, Any]:
    """The columns that a memory needs for planning."""
    return {
        "next": key_dim,
        "reward": ((1,), np.float64),
        "ended": ((1,), np.bool_),
        "followed": ((1,), np.bool_),
        "lure": 1,
    }


def with_transitions(
    config: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Add these columns to the state of a memory; each row becomes the end of an episode."""
    keys, values = arrays["keys"], arrays["values"]
    added = {
        "next": keys,
        "reward": values.astype(np.float64)[:, None],
        "ended": np.ones((len(values), 1), np.bool_),
        "followed": np.zeros((len(values), 1), np.bool_),
        "lure": np.zeros((len(values), 1), np.float32),
    }
    described = {name: [list(a.shape[1:]), a.dtype.name] for name, a in added.items()}
    config = {**config, "columns": {**config["columns"], **described}}
    return config, arrays | {f"columns/{name}": array for name, array in added.items()}


def with_last(experience: Experience) -> npt.NDArray[Any]:
    """The keys of an episode, with that of the observation after the last action if known."""
    if experience.last_key is None:
        return experience.keys
    return np.vstack([experience.keys, experience.last_key])


def led_to(experience: Experience) -> npt.NDArray[np.float32]:
    """The key that each step led to, rounded as the memory would round it."""
    keys, last = experience.keys.astype(np.float32, copy=False), experience.last_key
    if last is None:  # unknown in an episode of an older file, and not needed
        return np.vstack([keys[1:], keys[-1:]])
    return np.concatenate([keys[1:], last[None].astype(np.float32, copy=False)])


def transition_columns(
    keys: npt.NDArray[Any], actions: npt.NDArray[np.float32], rewards: Floats
) -> dict[str, npt.NDArray[Any]]:
    """What the memory stores of an episode: actions, rewards and next keys.

    The last step has no successor; after a time-out, its reward includes the assumed later ones.
    """
    n = len(rewards)
    return {
        "action": actions,
        "next": keys,
        "reward": rewards[:, None],
        "ended": (np.arange(n) == n - 1)[:, None],
        "followed": np.zeros((n, 1), np.bool_),
        "lure": np.zeros((n, 1), np.float32),
    }


def swept_values(memory: EpisodicMemory, rule: Rule) -> Values:
    """The values of all rows after sweeping; the memory is not changed.

    Args:
        memory: The memory, with the columns of `columns` and a kd-tree.
        rule: How values are propagated.

    Returns:
        The new values.
    """
    values = memory.values.copy()
    rows, near = linked_rows(memory, rule)
    lowest, highest = memory.value_range
    rewards = memory.columns["reward"][:, 0].copy()
    settled = SETTLED * (highest - lowest)
    # the value that a row had before it was followed may have been too high
    values[memory.columns["followed"][:, 0] & (rows[:, 0] >= 0)] = rule.lowest
    sweep(values, rewards, rows, near, rule.gamma, rule.lowest, settled)
    return values


def linked_rows(memory: EpisodicMemory, rule: Rule) -> tuple[npt.NDArray[np.int64], Floats]:
    """The rows near the next key of each row, -1 if there is none, and their weights."""
    found = memory.columns  # copied, because Numba compiles read-only arrays apart
    keys, ended = found["next"].copy(), found["ended"][:, 0].copy()
    # in many dimensions a distance costs more than a link can gain, and a search takes long
    radius = min(rule.radius, -math.log(CLOSE) / max(rule.fading, 1e-300))
    linked: tuple[npt.NDArray[np.int64], Floats] = link(
        *memory.tree.arrays, keys, ended, radius, rule.fading, LINKS
    )
    return linked


@compiled()
def link(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    keys: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
    radius: float,
    fading: float,
    n_links: int,
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The rows near the next key of each row, -1 if there is none, and their weights."""
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    linked = np.full((len(keys), n_links), -1, np.int64)
    near = np.zeros((len(keys), n_links))
    rows, squared = np.empty(n_links, np.int64), np.empty(n_links, np.float64)
    scratch = np.empty(scratch_size(keys.shape[1]))
    fill_links(tree, keys, ended, radius, fading, rows, squared, scratch, linked, near)
    return linked, near


@compiled(**UNCOUNTED)
def fill_links(
    tree: TreeArrays,
    keys: Values,
    ended: npt.NDArray[np.bool_],
    radius: float,
    fading: float,
    rows: npt.NDArray[np.int64],
    squared: Floats,
    scratch: Floats,
    linked: npt.NDArray[np.int64],
    near: Floats,
) -> None:
    """The loop of `link`, apart because counting references takes a quarter of its time."""
    for i in range(len(keys)):
        if ended[i]:
            continue
        found = search(tree, keys[i], len(rows), radius, rows, squared, scratch)
        for j in range(found):
            linked[i, j] = rows[j]
            near[i, j] = np.exp(-fading * np.sqrt(squared[j]))


@compiled()
def sweep(
    values: Values,
    rewards: Floats,
    linked: npt.NDArray[np.int64],
    near: Floats,
    gamma: float,
    lowest: float,
    settled: float,
) -> int:
    """Raise `values` until they are consistent; returns the number of passes.

    Episodes are written from their end, so a pass in the order of the rows carries a value from the
    end of an episode to its start.
    """
    for n in range(PASSES):
        largest = 0.0
        for i in range(len(values)):
            if linked[i, 0] < 0:
                continue
            best = -np.inf
            for j in range(linked.shape[1]):
                if linked[i, j] < 0:
                    break
                value = np.float64(values[linked[i, j]])
                best = max(best, lowest + (value - lowest) * near[i, j])
            gain = rewards[i] + gamma * best - np.float64(values[i])
            if gain > 0.0:
                values[i] = np.float32(rewards[i] + gamma * best)
                largest = max(largest, gain)
        if largest <= settled:
            return n + 1
    return PASSES

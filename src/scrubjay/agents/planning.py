"""Values swept over the stored transitions, so that what was never travelled together is joined.

A row keeps the reward of its step and the key that it led to, the last time that it was followed.
It is worth at least what the best of the rows around that key promises, less what the distance to
it costs; a row that was followed is worth just that, whatever it once promised.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.agents.recorder import Experience
from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.kdtree import TreeArrays, search
from scrubjay.memory.tree_arrays import STACK

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.float32]

LINKS = 4  # rows around the key that a row led to
CLOSE = 0.9  # rows whose value counts less than this share are not linked
PASSES = 100  # over all rows, at most
SETTLED = 1e-4  # a pass that changes nothing by more than this share of the range is the last


class Rule(NamedTuple):
    """How values follow from each other.

    Attributes:
        gamma: Discount factor.
        radius: How far from the key that a row led to others count, at most.
        fading: At the distance f a value counts exp(-fading f) times.
        lowest: The lowest value there is.
    """

    gamma: float
    radius: float
    fading: float
    lowest: float


def columns(key_dim: int) -> dict[str, Any]:
    """The columns of a memory over which values can be swept."""
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
    """The state of a memory without these columns, each row as the end of an episode."""
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
    """What the memory keeps of an episode: actions, and where they led to.

    After the last one nothing more comes: after a time-out, its reward has what would have come.
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
        rule: How values follow from each other.

    Returns:
        The new values.
    """
    values = memory.values.copy()
    rows, near = linked_rows(memory, rule)
    lowest, highest = memory.value_range
    rewards = memory.columns["reward"][:, 0].copy()
    settled = SETTLED * (highest - lowest)
    # what a row promised before it was followed may have been a mistake, which only a fall corrects
    values[memory.columns["followed"][:, 0] & (rows[:, 0] >= 0)] = rule.lowest
    sweep(values, rewards, rows, near, rule.gamma, rule.lowest, settled)
    return values


def linked_rows(memory: EpisodicMemory, rule: Rule) -> tuple[npt.NDArray[np.int64], Floats]:
    """For each row those around the key that it led to, -1 if there is none, and how close."""
    found = memory.columns  # copied, because Numba compiles read-only arrays apart
    keys, ended = found["next"].copy(), found["ended"][:, 0].copy()
    # in many dimensions a distance costs more than joining is worth, and a search takes long
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
    """The rows around the key that each row led to, -1 where there is none, and their closeness."""
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    linked = np.full((len(keys), n_links), -1, np.int64)
    near = np.zeros((len(keys), n_links))
    rows, squared = np.empty(n_links, np.int64), np.empty(n_links, np.float64)
    places, bounds = np.empty(STACK, np.int64), np.empty(STACK, np.float64)
    fill_links(tree, keys, ended, radius, fading, rows, squared, places, bounds, linked, near)
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
    places: npt.NDArray[np.int64],
    bounds: Floats,
    linked: npt.NDArray[np.int64],
    near: Floats,
) -> None:
    """The loop of `link`, apart because counting references takes a quarter of its time."""
    for i in range(len(keys)):
        if ended[i]:
            continue
        found = search(tree, keys[i], len(rows), radius, rows, squared, places, bounds)
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
    """Raise `values` until they fit together; returns the number of passes.

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

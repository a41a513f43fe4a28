"""One decision of CEC, in one compiled call: Algorithm 1, SELECT ACTION.

Random numbers come in as arrays, drawn in blocks: a NumPy generator handed to compiled code costs
12 us a call, a row of an array nothing.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from scrubjay.memory.kdtree import find_neighbors
from scrubjay.memory.tree_arrays import TreeArrays


class Choice(IntEnum):
    """Where an action came from."""

    NOT_FINITE = -1
    MEMORY = 0
    NOISE = 1
    UNIFORM = 2
    NO_NEIGHBOR = 3


class Rule(NamedTuple):
    """The settings that a decision reads (symbols of the paper: k, n*d, tau, sigma)."""

    n_neighbors: int
    radius: float
    temperature: float
    noise_std: float
    uniform: bool
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]

    def flat(self) -> tuple[npt.NDArray[Any], ...]:
        """The same as two plain arrays, which cost a caller in Python much less."""
        return np.array(self[:5], dtype=np.float64), np.stack([self.low, self.high])


class EpisodeArrays(NamedTuple):
    """What an episode writes down, a row for each step."""

    keys: npt.NDArray[np.float32]
    actions: npt.NDArray[np.float32]
    distances: npt.NDArray[np.float64]
    choices: npt.NDArray[np.int8]


class Draws(NamedTuple):
    """Random numbers of a block of steps: [epsilon, softmax, uniform action...] and normals."""

    uniforms: npt.NDArray[np.float64]
    normals: npt.NDArray[np.float64]


@njit(cache=True)
def store_key(vector: npt.NDArray[np.float64], key: npt.NDArray[np.float32]) -> bool:
    """Round a key to the storage type; False if it is not finite there."""
    for i in range(vector.shape[0]):
        key[i] = np.float32(vector[i])
        if not np.isfinite(key[i]):
            return False
    return True


@njit(cache=True)
def is_finite(vector: npt.NDArray[np.float64]) -> bool:
    for i in range(vector.shape[0]):  # noqa: SIM110
        if not np.isfinite(vector[i]):
            return False
    return True


@njit(cache=True)
def sample_softmax(
    values: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int64],
    count: int,
    temperature: float,
    draw: float,
) -> int:
    """Eq. 5: one of the rows with probability proportional to exp(v / tau).

    Shifted by the largest value, so that no exponential overflows.
    """
    largest = values[rows[0]]
    for i in range(1, count):
        largest = max(largest, values[rows[i]])
    weights = np.empty(count)
    total = 0.0
    for i in range(count):
        weights[i] = np.exp((np.float64(values[rows[i]]) - np.float64(largest)) / temperature)
        total += weights[i]
    threshold = draw * total
    for i in range(count):
        threshold -= weights[i]
        if threshold < 0.0:
            return int(rows[i])
    return int(rows[count - 1])


@njit(cache=True)
def write_uniform_action(
    rule: Rule, draws: npt.NDArray[np.float64], action: npt.NDArray[np.float32]
) -> None:
    for j in range(action.shape[0]):
        low, high = np.float64(rule.low[j]), np.float64(rule.high[j])
        value = np.float32(low + draws[2 + j] * (high - low))
        action[j] = min(max(value, rule.low[j]), rule.high[j])


@njit(cache=True)
def write_noisy_action(
    rule: Rule,
    stored: npt.NDArray[np.float32],
    normals: npt.NDArray[np.float64],
    action: npt.NDArray[np.float32],
) -> None:
    """a + psi, psi ~ N(0, sigma^2) in a box scaled to [-1, 1], then clipped."""
    for j in range(action.shape[0]):
        half_width = (np.float64(rule.high[j]) - np.float64(rule.low[j])) / 2.0
        value = np.float32(stored[j] + rule.noise_std * normals[j] * half_width)
        action[j] = min(max(value, rule.low[j]), rule.high[j])


@njit(cache=True)
def choose_action(
    tree: Any,
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    vector: npt.NDArray[np.float64],
    rule: Rule,
    epsilon: float,
    draws: Draws,
    draw: int,
    episode: EpisodeArrays,
    step: int,
) -> int:
    """Write key, action, nearest distance and kind of choice of one step into the episode."""
    key = episode.keys[step]
    if not store_key(vector, key):
        return Choice.NOT_FINITE.value
    rows = np.empty(rule.n_neighbors, dtype=np.int64)
    squared = np.empty(rule.n_neighbors, dtype=np.float64)
    found = find_neighbors(tree, key, rule.n_neighbors, rule.radius, rows, squared)
    # Only where nobody is near is the nearest row sought beyond the radius: for the log alone.
    if found > 0 or find_neighbors(tree, key, 1, np.inf, rows, squared) > 0:
        episode.distances[step] = np.sqrt(squared[0])
    else:
        episode.distances[step] = np.inf
    uniforms, normals = draws.uniforms[draw], draws.normals[draw]
    action = episode.actions[step]
    explore = uniforms[0] < epsilon
    choice = Choice.MEMORY.value
    if found == 0 or (explore and rule.uniform):
        write_uniform_action(rule, uniforms, action)
        choice = Choice.NO_NEIGHBOR.value if found == 0 else Choice.UNIFORM.value
    else:
        row = sample_softmax(values, rows, found, rule.temperature, uniforms[1])
        if explore:
            write_noisy_action(rule, actions[row], normals, action)
            choice = Choice.NOISE.value
        else:
            action[:] = actions[row]
    episode.choices[step] = choice
    return choice


@njit(cache=True)
def decide(
    keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    numbers: npt.NDArray[np.float64],
    box: npt.NDArray[np.float32],
    episode_keys: npt.NDArray[np.float32],
    episode_actions: npt.NDArray[np.float32],
    distances: npt.NDArray[np.float64],
    choices: npt.NDArray[np.int8],
    block: npt.NDArray[np.float64],
    vector: npt.NDArray[np.float64],
    epsilon: float,
    draw: int,
    step: int,
) -> int:
    """`choose_action` for callers in Python, who pay 2.5 us for every tuple they hand over."""
    tree = TreeArrays(keys, nodes, boxes, buckets)
    rule = Rule(
        int(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4] > 0.0, box[0], box[1]
    )
    n_uniforms = 2 + box.shape[1]
    draws = Draws(block[:, :n_uniforms], block[:, n_uniforms:])
    episode = EpisodeArrays(episode_keys, episode_actions, distances, choices)
    return int(
        choose_action(tree, values, actions, vector, rule, epsilon, draws, draw, episode, step)
    )


@njit(cache=True)
def greedy_row(
    keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    vector: npt.NDArray[np.float64],
) -> int:
    """The closest row, whatever its distance or value; -1: no row at all, -2: key not finite."""
    key = np.empty(vector.shape[0], dtype=np.float32)
    if not store_key(vector, key):
        return -2
    rows = np.empty(1, dtype=np.int64)
    squared = np.empty(1, dtype=np.float64)
    tree = TreeArrays(keys, nodes, boxes, buckets)
    found = find_neighbors(tree, key, 1, np.inf, rows, squared)
    return int(rows[0]) if found > 0 else -1

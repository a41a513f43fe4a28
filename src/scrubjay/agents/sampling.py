"""Compiled parts that several methods share: rounding keys, drawing neighbours and actions.

Random numbers come in as arrays, drawn in blocks: a NumPy generator handed to compiled code costs
12 us a call, a row of an array nothing.

Kernels here and in the methods have loops instead of `argmax`, `max` and assignments to slices:
each of those takes up to a second to compile, and every user's first run waits for it.
"""

import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory.tree_arrays import scratch_size

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]


Ints = npt.NDArray[np.int64]


@register_jitable
def room_for(n_neighbors: int, key_dim: int) -> int:
    """The numbers that `split_room` needs."""
    scratch: int = scratch_size(key_dim)
    return 3 * n_neighbors + scratch


@compiled()
def split_room(room: Floats, n_neighbors: int) -> tuple[Floats, Ints, Floats, Floats]:
    """Scratch space of a search, and the rows, squared distances and scores of its neighbours."""
    second, third = 2 * n_neighbors, 3 * n_neighbors
    rows = room[:n_neighbors].view(np.int64)
    return room[third:], rows, room[n_neighbors:second], room[second:third]


@compiled()
def store_key(vector: Floats, key: Singles) -> bool:
    """Round a key to the storage type; False if it is not finite there."""
    for i in range(vector.shape[0]):
        key[i] = np.float32(vector[i])
        if not np.isfinite(key[i]):
            return False
    return True


@compiled(**UNCOUNTED)
def is_finite(vector: Floats) -> bool:
    """Whether all numbers are finite."""
    for i in range(vector.shape[0]):  # noqa: SIM110
        if not np.isfinite(vector[i]):
            return False
    return True


@compiled()
def best_of(scores: Floats, count: int) -> int:
    """The position of the largest of the first `count` scores, the first one of equal ones."""
    best = 0
    for i in range(1, count):
        if scores[i] > scores[best]:
            best = i
    return best


@compiled()
def softmax_weights(scores: Floats, count: int, temperature: float, weights: Floats) -> float:
    """Write exp(v / tau) of the first `count`, shifted by the largest value; returns their sum.

    The shift prevents an overflow.
    """
    largest = scores[best_of(scores, count)]
    total = 0.0
    for i in range(count):
        weights[i] = np.exp((scores[i] - largest) / temperature)
        total += weights[i]
    return total


@compiled()
def sample_softmax(scores: Floats, count: int, temperature: float, draw: float) -> int:
    """Eq. 5: one of the first `count` with probability proportional to exp(v / tau)."""
    weights = np.empty(count)
    threshold = draw * softmax_weights(scores, count, temperature, weights)
    for i in range(count):
        threshold -= weights[i]
        if threshold < 0.0:
            return i
    return count - 1


@compiled()
def copy_action(stored: Singles, action: Singles) -> None:
    """Write a stored action."""
    for j in range(action.shape[0]):
        action[j] = stored[j]


@compiled()
def write_uniform_action(bounds: Singles, discrete: bool, draws: Floats, action: Singles) -> None:
    """A uniform action: within the bounds, or one of the whole numbers between them."""
    for j in range(action.shape[0]):
        low, high = np.float64(bounds[0, j]), np.float64(bounds[1, j])
        if discrete:
            value = np.float32(low + np.floor(draws[j] * (high - low + 1.0)))
        else:
            value = np.float32(low + draws[j] * (high - low))
        action[j] = min(max(value, bounds[0, j]), bounds[1, j])


@compiled()
def write_noisy_action(
    bounds: Singles, noise_std: float, stored: Singles, normals: Floats, action: Singles
) -> None:
    """Write a + psi, psi ~ N(0, sigma^2) in a box scaled to [-1, 1], then clipped."""
    for j in range(action.shape[0]):
        half_width = (np.float64(bounds[1, j]) - np.float64(bounds[0, j])) / 2.0
        value = np.float32(stored[j] + noise_std * normals[j] * half_width)
        action[j] = min(max(value, bounds[0, j]), bounds[1, j])


@compiled()
def duration(draw: float, longest: int) -> int:
    """The number of steps of an exploratory action: n or more with probability 1 / n, limited.

    P(n) = 1 / (n (n + 1)), the n^-2 of temporally extended epsilon-greedy exploration.
    """
    return int(min(1.0 / (1.0 - draw), np.float64(longest)))

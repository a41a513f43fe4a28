"""Compiled parts that several methods share: rounding keys, drawing neighbours and actions.

Random numbers come in as arrays, drawn in blocks: a NumPy generator handed to compiled code costs
12 us a call, a row of an array nothing.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]


@compiled()
def store_key(vector: Floats, key: Singles) -> bool:
    """Round a key to the storage type; False if it is not finite there."""
    for i in range(vector.shape[0]):
        key[i] = np.float32(vector[i])
        if not np.isfinite(key[i]):
            return False
    return True


@compiled()
def is_finite(vector: Floats) -> bool:
    """Whether all numbers are finite."""
    for i in range(vector.shape[0]):  # noqa: SIM110
        if not np.isfinite(vector[i]):
            return False
    return True


@compiled()
def sample_softmax(scores: Floats, count: int, temperature: float, draw: float) -> int:
    """Eq. 5: one of the first `count` with probability proportional to exp(v / tau).

    Shifted by the largest value, so that no exponential overflows.
    """
    largest = scores[:count].max()
    weights = np.empty(count)
    total = 0.0
    for i in range(count):
        weights[i] = np.exp((scores[i] - largest) / temperature)
        total += weights[i]
    threshold = draw * total
    for i in range(count):
        threshold -= weights[i]
        if threshold < 0.0:
            return i
    return count - 1


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

"""The random numbers of many lanes at once: those of `randomness.generator`, bit for bit.

A generator of NumPy takes 20 us to create and a few more for every block of numbers, which is most
of what recording a lane costs. These compiled functions do what NumPy's SeedSequence, PCG64 and
Generator do, for all lanes that need it in one call. The tests compare them with NumPy.
"""

import numpy as np
import numpy.typing as npt
from numba.np.random._constants import (  # NumPy's own tables
    fi_double,
    ki_double,
    wi_double,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)

from scrubjay.compiled import compiled
from scrubjay.randomness import Stream

Words = npt.NDArray[np.uint32]
States = npt.NDArray[np.uint64]
Lanes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

POOL = 4
# SeedSequence: O'Neill's seed_seq_fe
INIT_A, MULT_A = np.uint32(0x43B0D7E5), np.uint32(0x931E8875)
INIT_B, MULT_B = np.uint32(0x8B51F9DD), np.uint32(0x58F38DED)
MIX_L, MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
# PCG64: the multiplier of its 128-bit congruential generator
HIGH, LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
HALF, ONE = np.uint64(32), np.uint64(1)
MASK = np.uint64(0xFFFFFFFF)


def new_states(n_lanes: int) -> States:
    """Return room for the states of that many generators: state and increment, high and low."""
    return np.zeros((n_lanes, 4), np.uint64)


def seed_words(seed: int, stream: Stream) -> Words:
    """Return the words that `SeedSequence` mixes for all environments and episodes of a stream."""
    seed = int(seed)
    words = [(seed >> shift) & 0xFFFFFFFF for shift in range(0, max(seed.bit_length(), 1), 32)]
    words += [0] * (POOL - len(words))
    return np.array([*words, int(stream), 0, 0], np.uint32)


@compiled(nogil=True)
def hashed(value: np.uint32, constant: np.uint32, multiplier: np.uint32) -> np.uint32:
    """Mix a word with the present constant, which the caller multiplies afterwards."""
    value = np.uint32(value ^ constant)
    value = np.uint32(value * np.uint32(constant * multiplier))
    return np.uint32(value ^ (value >> np.uint32(16)))


@compiled(nogil=True)
def mixed(first: np.uint32, second: np.uint32) -> np.uint32:
    """Mix two words."""
    result = np.uint32(np.uint32(MIX_L * first) - np.uint32(MIX_R * second))
    return np.uint32(result ^ (result >> np.uint32(16)))


@compiled(nogil=True)
def high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of a product."""
    a_low, a_high, b_low, b_high = a & MASK, a >> HALF, b & MASK, b >> HALF
    middle = a_high * b_low + ((a_low * b_low) >> HALF)
    other = a_low * b_high + (middle & MASK)
    return np.uint64(a_high * b_high + (middle >> HALF) + (other >> HALF))


@compiled(nogil=True)
def advance(state: States) -> None:
    """One step of the congruential generator."""
    high, low = state[0], state[1]
    product = low * LOW
    upper = high_product(low, LOW) + high * LOW + low * HIGH
    total = product + state[3]
    carry = ONE if total < product else np.uint64(0)
    state[0], state[1] = upper + state[2] + carry, total


@compiled(nogil=True)
def next_word(state: States) -> np.uint64:
    """The next 64 random bits."""
    advance(state)
    value, turn = state[0] ^ state[1], state[0] >> np.uint64(58)
    return np.uint64((value >> turn) | (value << ((np.uint64(64) - turn) & np.uint64(63))))


@compiled(nogil=True)
def next_uniform(state: States) -> float:
    """A uniform number in [0, 1)."""
    return np.float64(next_word(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled(nogil=True)
def next_normal(state: States) -> float:
    """A normal number, by the ziggurat of Marsaglia and Tsang."""
    while True:
        word = next_word(state)
        layer = np.int64(word & np.uint64(0xFF))
        word >>= np.uint64(8)
        size = (word >> ONE) & np.uint64(0x000FFFFFFFFFFFFF)
        x = np.float64(size) * wi_double[layer]
        if word & ONE:
            x = -x
        if size < ki_double[layer]:
            return x  # type: ignore[no-any-return]
        if layer == 0:
            while True:
                beyond = -ziggurat_nor_inv_r * np.log1p(-next_uniform(state))
                height = -np.log1p(-next_uniform(state))
                if height + height > beyond * beyond:
                    far = ziggurat_nor_r + beyond
                    return -far if (size >> np.uint64(8)) & ONE else far  # type: ignore[no-any-return]
        step = fi_double[layer - 1] - fi_double[layer]
        if step * next_uniform(state) + fi_double[layer] < np.exp(-0.5 * x * x):
            return x  # type: ignore[no-any-return]


@compiled(nogil=True)
def fill_words(entropy: Words, environment: int, episode: int, output: Words) -> None:
    """The words that the `SeedSequence` of one episode generates; the last two are replaced."""
    entropy[-2], entropy[-1] = np.uint32(environment), np.uint32(episode)
    pool = np.zeros(POOL, np.uint32)
    constant = INIT_A
    for j in range(POOL):
        pool[j] = hashed(entropy[j], constant, MULT_A)
        constant = np.uint32(constant * MULT_A)
    for source in range(len(entropy)):
        for j in range(POOL):
            if source == j:
                continue
            word = pool[source] if source < POOL else entropy[source]
            pool[j] = mixed(pool[j], hashed(word, constant, MULT_A))
            constant = np.uint32(constant * MULT_A)
    constant = INIT_B
    for j in range(len(output)):
        output[j] = hashed(pool[j % POOL], constant, MULT_B)
        constant = np.uint32(constant * MULT_B)


@compiled(nogil=True)
def seed_lanes(
    words: Words, environments: Lanes, episodes: Lanes, lanes: Lanes, states: States
) -> None:
    """Create the generators of the episodes that begin in some lanes.

    Args:
        words: Of `seed_words`.
        environments: The environment of each of these lanes, below 2^32.
        episodes: The number of its new episode, below 2^32.
        lanes: The lanes.
        states: (L, 4): where their states are written.
    """
    entropy, output = words.copy(), np.zeros(8, np.uint32)
    for i in range(len(lanes)):
        fill_words(entropy, environments[i], episodes[i], output)
        start(output, states[lanes[i]])


@compiled(nogil=True)
def reset_seeds(words: Words, environments: Lanes, episodes: Lanes) -> Lanes:
    """Return what `randomness.reset_seed` gives for each of these episodes."""
    entropy, output = words.copy(), np.zeros(1, np.uint32)
    seeds = np.empty(len(environments), np.int64)
    for i in range(len(environments)):
        fill_words(entropy, environments[i], episodes[i], output)
        seeds[i] = np.int64(output[0] >> np.uint32(1))
    return seeds


@compiled(nogil=True)
def start(words: Words, state: States) -> None:
    """Begin a generator from eight words."""
    first_high = np.uint64(words[0]) | (np.uint64(words[1]) << HALF)
    first_low = np.uint64(words[2]) | (np.uint64(words[3]) << HALF)
    high = np.uint64(words[4]) | (np.uint64(words[5]) << HALF)
    low = np.uint64(words[6]) | (np.uint64(words[7]) << HALF)
    state[2], state[3] = (high << ONE) | (low >> np.uint64(63)), (low << ONE) | ONE
    state[0] = state[1] = np.uint64(0)
    advance(state)
    total = state[1] + first_low
    carry = ONE if total < first_low else np.uint64(0)
    state[0], state[1] = state[0] + first_high + carry, total
    advance(state)


@compiled(nogil=True)
def draw_lanes(states: States, lanes: Lanes, n_uniforms: int, draws: Floats) -> None:
    """Draw the next block of some lanes: all uniform numbers first, then all normal ones.

    Args:
        states: (L, 4): the generators.
        lanes: The lanes.
        n_uniforms: Number of uniform numbers of each step; the rest are normal.
        draws: (L, steps, w): where the numbers are written.
    """
    for lane in lanes:
        for t in range(draws.shape[1]):
            for i in range(n_uniforms):
                draws[lane, t, i] = next_uniform(states[lane])
        for t in range(draws.shape[1]):
            for i in range(n_uniforms, draws.shape[2]):
                draws[lane, t, i] = next_normal(states[lane])

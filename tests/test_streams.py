"""The compiled random numbers are NumPy's, bit for bit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.randomness import Stream, generator, reset_seed
from scrubjay.streams import draw_lanes, new_states, reset_seeds, seed_lanes, seed_words


@settings(max_examples=50, deadline=None)
@given(
    seed=st.one_of(st.integers(0, 2**32), st.integers(0, 2**200)),
    stream=st.sampled_from(Stream),
    cases=st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 10_000)), max_size=5),
)
def test_the_same_numbers_as_numpy(seed, stream, cases):
    states, draws = new_states(2 * len(cases)), np.zeros((2 * len(cases), 64, 5))
    lanes = 2 * np.arange(len(cases))
    environments, episodes = np.array(cases, np.int64).reshape(-1, 2).T.copy()
    seed_lanes(seed_words(seed, stream), environments, episodes, lanes, states)
    seeds = reset_seeds(seed_words(seed, stream), environments, episodes)
    assert seeds.tolist() == [reset_seed(seed, stream, *case) for case in cases]
    rngs = [generator(seed, stream, *case) for case in cases]
    for _ in range(3):
        draw_lanes(states, lanes, 3, draws)
        for lane, rng in zip(lanes, rngs, strict=True):
            np.testing.assert_array_equal(draws[lane, :, :3], rng.random((64, 3)))
            np.testing.assert_array_equal(draws[lane, :, 3:], rng.standard_normal((64, 2)))
    assert not draws[1::2].any()


def test_a_million_normal_numbers_include_the_rare_ones():
    states, draws = new_states(1), np.zeros((1, 500_000, 2))
    one = np.zeros(1, np.int64)
    seed_lanes(seed_words(3, Stream.POLICY), one, one, one, states)
    draw_lanes(states, one, 0, draws)
    expected = generator(3, Stream.POLICY).standard_normal((500_000, 2))
    assert np.abs(expected).max() > 3.7  # beyond the ziggurat's layers
    np.testing.assert_array_equal(draws[0], expected)

"""Action codecs: whatever the environment executes can be stored and comes back as it was."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scrubjay.agents.actions import MAX_INDEX, BoxCodec, make_codec
from scrubjay.agents.sampling import write_uniform_action

BOXES = {
    "plain": spaces.Box(-1, 1, (2,), np.float32),
    "float64": spaces.Box(-0.1, 0.1, (3,), np.float64),
    "matrix": spaces.Box(-1, 1, (2, 3), np.float32),
    "float64 cube": spaces.Box(0.3, 0.7, (2, 1, 2), np.float64),
    "scalar": spaces.Box(-2, 5, (), np.float32),
    "uneven": spaces.Box(np.array([-1.0, 0.0]), np.array([0.0, 1e-3]), dtype=np.float64),
    "a single point": spaces.Box(0.1, 0.1, (1,), np.float32),
    "large": spaces.Box(2e38, 3e38, (1,), np.float32),
}
DISCRETE = {
    "discrete": spaces.Discrete(4),
    "one button": spaces.Discrete(1),
    "start": spaces.Discrete(5, start=-2),
    "large start": spaces.Discrete(3, start=2**40),
    "many": spaces.Discrete(MAX_INDEX),
    "multi": spaces.MultiDiscrete([3, 1, 5]),
    "multi start": spaces.MultiDiscrete([3, 4], start=[-1, 10]),
    "multi matrix": spaces.MultiDiscrete([[2, 3], [4, 5], [6, 7]]),
    "multi matrix start": spaces.MultiDiscrete(
        np.array([[2, 3], [4, 5]], np.int32), dtype=np.int32, start=[[-1, 2], [0, 7]]
    ),
    "int8": spaces.MultiDiscrete([100, 100], dtype=np.int8, start=[-50, 20]),
}
SPACES = {**BOXES, **DISCRETE}


@pytest.fixture(params=SPACES.values(), ids=SPACES)
def space(request):
    request.param.seed(0)
    return request.param


def test_what_is_drawn_within_the_bounds_is_an_action_and_comes_back(space):
    codec = make_codec(space, "CEC")
    assert codec.bounds.shape == (2, codec.size)
    assert codec.bounds.dtype == np.float32
    rng = np.random.default_rng(0)
    stored = np.zeros((200, codec.size), np.float32)
    for row, draws in zip(stored, rng.random((200, codec.size)), strict=True):
        write_uniform_action(codec.bounds, codec.discrete, draws, row)
    stored[:2] = codec.bounds
    actions = codec.decode_many(stored)
    assert len(actions) == 200
    for row, action in zip(stored, actions, strict=True):
        one = codec.decode(row)
        assert space.contains(one)
        np.testing.assert_array_equal(one, action)
        assert np.asarray(one).dtype == space.dtype == actions.dtype
        np.testing.assert_array_equal(codec.encode(one), row)
        assert codec.encode(one).dtype == np.float32


def test_a_sample_of_the_space_is_stored_as_near_as_float32_is(space):
    codec = make_codec(space, "CEC")
    for _ in range(100):
        action = space.sample()
        again = codec.decode(codec.encode(action))
        assert space.contains(again)
        if codec.discrete or space.dtype == np.float32:
            np.testing.assert_array_equal(again, action)
        else:
            np.testing.assert_allclose(again, action, rtol=1e-6)


def test_a_decoded_action_is_the_environments_own(space):
    codec = make_codec(space, "CEC")
    stored = codec.bounds.copy()
    for action in (codec.decode(stored[0]), codec.decode_many(stored)):
        if np.ndim(action):
            action[...] = 0
    np.testing.assert_array_equal(stored, codec.bounds)


def test_the_default_is_the_middle_of_a_box_and_the_first_of_others(space):
    codec = make_codec(space, "CEC")
    default = codec.default()
    assert space.contains(default)
    if not codec.discrete:
        middle = (space.low.astype(float) + space.high) / 2
        np.testing.assert_allclose(default, middle, rtol=1e-6, atol=1e-12)
    else:
        np.testing.assert_array_equal(default, space.start)


@pytest.mark.parametrize("space", [spaces.Discrete(3, start=5), spaces.MultiDiscrete([3, 4, 2])])
def test_discrete_draws_are_uniform_and_never_outside(space):
    codec = make_codec(space, "CEC")
    draws = np.linspace(0, 1, 600, endpoint=False) + 1e-9
    found = np.zeros((600, codec.size), np.float32)
    for row, draw in zip(found, draws, strict=True):
        write_uniform_action(codec.bounds, True, np.full(codec.size, draw), row)
    for part, high in zip(found.T, codec.bounds[1], strict=True):
        numbers, counts = np.unique(part, return_counts=True)
        assert numbers.tolist() == list(range(int(high) + 1))
        assert set(counts) == {600 // (int(high) + 1)}
    last = np.zeros(codec.size, np.float32)
    write_uniform_action(codec.bounds, True, np.full(codec.size, np.nextafter(1.0, 0.0)), last)
    np.testing.assert_array_equal(last, codec.bounds[1])


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from([np.float32, np.float64]))
def test_any_box_keeps_its_actions_within(data, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=3))
    numbers = hnp.arrays(dtype, shape, elements=st.floats(-1e6, 1e6, width=32))
    one, other = data.draw(numbers), data.draw(numbers)
    # wide enough for a number of float32 between the bounds
    low, high = np.minimum(one, other), np.maximum(one, other) + dtype(0.5)
    space = spaces.Box(low, high, shape, dtype)
    codec = BoxCodec(space)
    for stored in (*codec.bounds, codec.encode(low), codec.encode(high)):
        assert space.contains(codec.decode(stored))
    assert space.contains(codec.default())
    share = np.asarray(data.draw(st.floats(0, 1)), dtype)
    action = np.clip(low + share * (high - low), low, high).astype(dtype)
    again = codec.decode(codec.encode(action))
    np.testing.assert_allclose(again, action, rtol=1e-6, atol=1e-9)


WRONG = {
    "outside": (BOXES["plain"], [0.0, 1.5], r"expected an action of Box.*clip it first"),
    "far outside": (BOXES["float64"], [0.0, 0.0, 1e300], "expected an action of Box"),
    "NaN": (BOXES["plain"], [0.0, np.nan], "expected an action of Box"),
    "shape": (BOXES["matrix"], np.zeros(6), r"shape \(2, 3\), got \(6,\)"),
    "a scalar": (BOXES["plain"], 0.5, r"shape \(2,\), got \(\)"),
    "too many": (DISCRETE["discrete"], 4, r"expected an action of Discrete\(4\), got 4"),
    "negative": (DISCRETE["discrete"], -1, "expected an action of Discrete"),
    "below the start": (DISCRETE["start"], -3, "expected an action of Discrete"),
    "a fraction": (DISCRETE["discrete"], 1.0, "expected an action of Discrete"),
    "a truth": (DISCRETE["discrete"], True, "expected an action of Discrete"),
    "a list": (DISCRETE["discrete"], [1], "expected an action of Discrete"),
    "a word": (DISCRETE["discrete"], "left", "expected an action of Discrete"),
    "one part too large": (DISCRETE["multi"], [0, 1, 0], "expected an action of MultiDiscrete"),
    "fractions": (DISCRETE["multi"], [0.0, 0.0, 1.5], "expected an action of MultiDiscrete"),
    "too few parts": (DISCRETE["multi"], [0, 0], "expected an action of MultiDiscrete"),
    "below the starts": (DISCRETE["multi start"], [0, 9], "expected an action of MultiDiscrete"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_action_is_refused(name):
    space, action, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        make_codec(space, "CEC").encode(action)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, int])
def test_integers_of_other_types_are_actions_too(dtype):
    assert make_codec(DISCRETE["discrete"], "CEC").encode(dtype(3)).tolist() == [3]
    assert make_codec(DISCRETE["discrete"], "CEC").encode(np.array(3, dtype)).tolist() == [3]
    parts = np.array([2, 0, 4], dtype)
    assert make_codec(DISCRETE["multi"], "CEC").encode(parts).tolist() == [2, 0, 4]
    assert make_codec(DISCRETE["multi"], "CEC").encode(parts.tolist()).tolist() == [2, 0, 4]


def test_a_bound_rounded_to_float32_is_inside():
    """float32(0.1) is larger than 0.1."""
    codec = make_codec(spaces.Box(-0.1, 0.1, (1,), np.float64), "CEC")
    stored = codec.encode(np.array([0.1], np.float32))
    assert codec.space.contains(codec.decode(stored))


BAD_SPACES = {
    "binary": (spaces.MultiBinary(3), TypeError, r"SPAM acts in .*Box, Discrete.*MultiBinary\(3\)"),
    "dict": (spaces.Dict(a=spaces.Discrete(2)), TypeError, r"SPAM acts in .*Dict"),
    "text": (spaces.Text(4), TypeError, r"SPAM acts in .*Text"),
    "int box": (spaces.Box(0, 9, (2,), np.int64), TypeError, "Box of float32 or float64.*int64"),
    "half box": (spaces.Box(0, 9, (2,), np.float16), TypeError, "float32 or float64.*float16"),
    "unbounded": (spaces.Box(-np.inf, 1, (1,)), ValueError, "finite action bounds, got .*inf"),
    "too many": (spaces.Discrete(MAX_INDEX + 1), ValueError, "at most 16777216 .*16777217"),
    "multi": (spaces.MultiDiscrete([2, MAX_INDEX + 1]), ValueError, "at most 16777216"),
}


@pytest.mark.parametrize("name", BAD_SPACES)
def test_spaces_that_cannot_be_acted_in(name):
    space, error, message = BAD_SPACES[name]
    with pytest.raises(error, match=message):
        make_codec(space, "SPAM")


def test_a_subclass_of_a_space_is_that_space():
    class Levels(gym.spaces.Discrete):
        pass

    assert make_codec(Levels(3), "CEC").discrete

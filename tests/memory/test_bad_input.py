"""Every bad input gets a clear error and changes nothing."""

import math

import numpy as np
import pytest

from scrubjay.memory import EpisodicMemory, KDTree

NAN, INF = math.nan, math.inf


@pytest.fixture
def memory():
    memory = EpisodicMemory(2, capacity=10, columns={"action": 2, "count": (1, np.int16)})
    memory.write([1, 1], 1.0, action=[1, 1], count=[1])
    return memory


def refused(memory, call, error, message):
    digest = memory.digest()
    with pytest.raises(error, match=message):
        call()
    assert memory.digest() == digest
    memory.check_invariants()


GOOD = {"action": [0, 0], "count": [0]}


@pytest.mark.parametrize(
    ("key", "value", "columns", "error", "message"),
    [
        ([NAN, 0], 1.0, GOOD, ValueError, "key .* finite"),
        ([0, INF], 1.0, GOOD, ValueError, "key .* finite"),
        ([0, 1e39], 1.0, GOOD, ValueError, "key .* finite in float32"),
        ([0, 0, 0], 1.0, GOOD, ValueError, "key of 2 numbers, got shape"),
        ([[0, 0]], 1.0, GOOD, ValueError, "key of 2 numbers, got shape"),
        (["0", "0"], 1.0, GOOD, TypeError, "key must be real numbers"),
        ([0j, 1j], 1.0, GOOD, TypeError, "key must be real numbers"),
        ([None, 1], 1.0, GOOD, TypeError, "key must be real numbers"),
        ([0, 0], NAN, GOOD, ValueError, "value nan .* not finite; nothing was written"),
        ([0, 0], -INF, GOOD, ValueError, "value -inf"),
        ([0, 0], 1e39, GOOD, ValueError, "value 1e"),
        ([0, 0], "1.0", GOOD, TypeError, "value must be a real number"),
        ([0, 0], [1.0], GOOD, TypeError, "value must be a real number"),
        ([0, 0], 1j, GOOD, TypeError, "value must be a real number"),
        ([0, 0], None, GOOD, TypeError, "value must be a real number"),
        ([0, 0], 1.0, {**GOOD, "action": [NAN, 0]}, ValueError, "payload .* not finite"),
        ([0, 0], 1.0, {**GOOD, "action": np.float32([0, INF])}, ValueError, "payload"),
        ([0, 0], 1.0, {**GOOD, "action": [1e39, 0]}, ValueError, "payload .* not finite"),
        ([0, 0], 1.0, {**GOOD, "action": [0]}, ValueError, "'action' expects shape"),
        ([0, 0], 1.0, {**GOOD, "action": ["a", "b"]}, TypeError, "'action' holds float32"),
        ([0, 0], 1.0, {**GOOD, "action": [1j, 0]}, TypeError, "'action' holds float32"),
        ([0, 0], 1.0, {**GOOD, "count": [0.5]}, TypeError, "'count' holds int16"),
        ([0, 0], 1.0, {**GOOD, "count": [40_000]}, ValueError, "'count' holds int16, too small"),
        ([0, 0], 1.0, {"action": [0, 0]}, ValueError, "expected the columns"),
        ([0, 0], 1.0, {**GOOD, "extra": 1}, ValueError, "expected the columns .* 'extra'"),
    ],
)
def test_write_and_its_batches(memory, key, value, columns, error, message):
    refused(memory, lambda: memory.write(key, value, **columns), error, message)
    batch = {name: [GOOD.get(name), column] for name, column in columns.items()}
    numbers = f"{message}|expected|must be|inhomogeneous|finite"
    refused(
        memory,
        lambda: memory.write_many([[5, 5], key], [1.0, value], **batch),
        (error, ValueError),
        numbers,
    )
    refused(
        memory,
        lambda: memory.write_episode([[5, 5], key], [1.0, value], 0.9, **batch),
        (error, ValueError),
        numbers,
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0, 0]], [1, 2], 0.9), ValueError, "expected 1 rewards"),
        (([[0, 0]], [[1]], 0.9), ValueError, "expected 1 rewards"),
        (([[0, 0]], ["1"], 0.9), TypeError, "rewards must be real"),
        (([0, 0], [1], 0.9), ValueError, "expected keys of shape"),
        (([[0, 0]], [1], NAN), ValueError, "not finite; nothing was written"),
        (([[0, 0]], [1], "0.9"), TypeError, "gamma must be"),
        (([[0, 0]], [1], 1.0, INF), ValueError, "not finite; nothing was written"),
        (([[0, 0], [1, 1]], [1, 3e38], 1e9, 1.0), ValueError, "not finite; nothing was written"),
    ],
)
def test_write_episode(memory, arguments, error, message):
    n = len(arguments[0])
    columns = {"action": np.zeros((n, 2)), "count": np.zeros((n, 1), int)}
    refused(memory, lambda: memory.write_episode(*arguments, **columns), error, message)


def test_an_episode_with_one_bad_step_writes_none_of_it(memory):
    keys = np.arange(12.0).reshape(6, 2)
    keys[0, 1] = NAN  # the last to be written
    columns = {"action": np.zeros((6, 2)), "count": np.zeros((6, 1), int)}
    refused(
        memory,
        lambda: memory.write_episode(keys, np.ones(6), 0.9, **columns),
        ValueError,
        "key of tuple 0 must be finite",
    )


@pytest.mark.parametrize("threshold", [-0.1, NAN, "1", None])
def test_thresholds(memory, threshold):
    with pytest.raises(ValueError, match="distance_threshold must be a number of at least 0"):
        EpisodicMemory(2, capacity=3, distance_threshold=threshold)
    if threshold is not None:
        refused(
            memory,
            lambda: memory.write([0, 0], 1.0, distance_threshold=threshold, **GOOD),
            ValueError,
            "distance_threshold must be",
        )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 0], 0), ValueError, "k must be at least 1, got 0"),
        (([0, 0], -3), ValueError, "k must be at least 1"),
        (([0, 0], 1.5), TypeError, "k must be a whole number"),
        (([0, 0], 1, -1.0), ValueError, "radius must be a number of at least 0"),
        (([0, 0], 1, NAN), ValueError, "radius must be"),
        (([0, 0], 1, "1"), ValueError, "radius must be"),
        (([0, NAN], 1), ValueError, "finite"),
        (([[0, 0], [0, NAN]], 1), ValueError, "key 1 must be finite"),
        (([0, 0, 0], 1), ValueError, "key of 2 numbers"),
        ((0.0, 1), ValueError, "expected keys of shape"),
        ((np.zeros((2, 3)), 1), ValueError, r"expected keys of shape \(n, 2\)"),
        ((np.zeros((2, 2, 2)), 1), ValueError, "expected keys of shape"),
        ((["a", "b"], 1), TypeError, "real numbers"),
        ((np.array([["a", "b"]]), 1), TypeError, "real numbers"),
    ],
)
def test_queries(memory, arguments, error, message):
    refused(memory, lambda: memory.neighbors(*arguments), error, message)


def test_nearest_needs_a_row():
    empty = EpisodicMemory(2, capacity=3)
    with pytest.raises(ValueError, match="nothing is stored yet"):
        empty.nearest([0, 0])
    with pytest.raises(ValueError, match="nothing is stored yet"):
        empty.nearest([[0, 0]])
    assert [a.tolist() for a in empty.neighbors([0, 0], 3)] == [[], []]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([1], ValueError),
        ([-1], ValueError),
        ([0.0], TypeError),
        ([[0]], TypeError),
        ("0", TypeError),
    ],
)
def test_rows_must_be_there(memory, rows, error):
    refused(memory, lambda: memory.touch(rows), error, "rows must be")
    refused(memory, lambda: memory.set_values(rows, [1.0]), error, "rows must be")


@pytest.mark.parametrize("values", [[NAN], [1e39], ["1"], [1, 2], 1.0])
def test_set_values(memory, values):
    call = lambda: memory.set_values([0], values)  # noqa: E731
    refused(memory, call, (ValueError, TypeError), "values")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((0,), {}, ValueError, "key_dim must be at least 1"),
        ((1.5,), {}, TypeError, "key_dim must be a whole number"),
        ((2,), {"capacity": 0}, ValueError, "capacity must be at least 1"),
        ((2,), {"capacity": -1}, ValueError, "capacity must be at least 1"),
        ((2,), {"capacity": 1e6}, TypeError, "capacity must be a whole number"),
        ((2,), {"capacity": 2**31}, ValueError, "at most 2"),
        ((2,), {"distance_threshold": INF}, ValueError, "distance_threshold must be finite"),
        ((2,), {"rule": "mean"}, ValueError, "rule must be one of replace_if_better, append, max"),
        ((2,), {"index": "ball"}, ValueError, "index must be one of auto, kdtree, scan"),
        ((2,), {"blend_rate": 0.0}, ValueError, "blend_rate must be above 0 and at most 1"),
        ((2,), {"blend_rate": 1.5}, ValueError, "blend_rate must be above 0 and at most 1"),
        ((2,), {"recency": "always"}, ValueError, "recency must be one of write, hit, never"),
        ((2,), {"columns": {"a": 0}}, ValueError, "column 'a' must be"),
        ((2,), {"columns": {"a": (1, object)}}, ValueError, "column 'a' must be"),
        ((2,), {"columns": {"a": "x"}}, ValueError, "column 'a' must be"),
        ((2,), {"columns": {"value": 1}}, ValueError, "cannot be called 'value'"),
        ((2,), {"columns": {"a b": 1}}, ValueError, "Python identifier"),
        ((2,), {"columns": ["a"]}, TypeError, "columns must be a mapping"),
    ],
)
def test_construction(arguments, options, error, message):
    with pytest.raises(error, match=message):
        EpisodicMemory(*arguments, **{"capacity": 3, **options})


@pytest.mark.parametrize("key", [[NAN, 0], [0, 1e39], [0, 0, 0], ["a", "b"]])
def test_the_tree_refuses_bad_keys(key):
    tree = KDTree(2)
    tree.insert(0, [1, 1])
    for call in (
        lambda: tree.insert(1, key),
        lambda: tree.move(0, key),
        lambda: tree.query(key, 1),
        lambda: tree.nearest([key]),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    tree.check_invariants()
    assert tree.nearest([1, 1]) == (0, 0.0)
    with pytest.raises((ValueError, TypeError)):
        KDTree.build([key, key]).query([0, 0], 1)


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([], ValueError, "expected 1 keys, one for each row, got 0"),
        ([[0, 0], [1, 1]], ValueError, "expected 1 keys, one for each row, got 2"),
        ([[0, NAN]], ValueError, "key .* finite"),
        ([["0", "0"]], TypeError, "real numbers"),
    ],
)
def test_rekey(memory, keys, error, message):
    refused(memory, lambda: memory.rekey(np.reshape(keys, (-1, 2))), error, message)

"""What the memory promises, one promise a test; the state machine covers the rest."""

import threading

import numpy as np
import pytest
from naive import squared

from scrubjay.memory import EpisodicMemory, KDTree, Outcome
from scrubjay.memory.kdtree import find_neighbors


def filled(n, dim=3, **options):
    rng = np.random.default_rng(n)
    memory = EpisodicMemory(dim, **{"capacity": max(n, 1), **options})
    memory.write_many(rng.normal(size=(n, dim)), rng.normal(size=n), action=rng.normal(size=(n, 2)))
    return memory


def test_the_four_outcomes():
    memory = EpisodicMemory(1, capacity=2, distance_threshold=0.1)
    assert memory.write([0.0], 1.0, action=[1, 1]) == (0, Outcome.ADDED)
    assert memory.write([0.05], 1.0, action=[2, 2]) == (0, Outcome.KEPT)
    assert memory.columns["action"].tolist() == [[1, 1]]
    assert memory.write([0.05], 2.0, action=[3, 3]) == (0, Outcome.REPLACED)
    assert memory.keys.tolist() == [[np.float32(0.05)]]
    assert memory.columns["action"].tolist() == [[3, 3]]
    assert memory.write([1.0], 0.0, action=[4, 4]) == (1, Outcome.ADDED)
    assert memory.write([2.0], 0.0, action=[5, 5]) == (0, Outcome.EVICTED)
    assert memory.stamps.tolist() == [4, 3]
    assert memory.values.tolist() == [0.0, 0.0]


def test_the_threshold_is_inclusive():
    memory = EpisodicMemory(2, capacity=9, distance_threshold=5.0)
    memory.write([0, 0], 1.0, action=[0, 0])
    assert memory.write([3, 4], 0.0, action=[0, 0])[1] == Outcome.KEPT
    far = [3, np.nextafter(np.float32(4), np.float32(9))]
    assert memory.write(far, 0.0, action=[0, 0])[1] == Outcome.ADDED


def test_writing_the_same_tuple_twice_changes_nothing():
    memory = EpisodicMemory(3, capacity=10)
    tuples = np.random.default_rng(0).normal(size=(5, 3)), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    memory.write_many(*tuples, action=np.full((5, 2), 1 / 3))
    digest = memory.digest()
    _, outcomes = memory.write_many(*tuples, action=np.full((5, 2), 1 / 3))
    assert outcomes.tolist() == [Outcome.KEPT] * 5
    assert memory.digest() == digest


def test_an_episode_is_written_backwards_each_tuple_seen_by_the_next():
    memory = EpisodicMemory(1, capacity=10, distance_threshold=0.5)
    keys, rewards = [[0.0], [5.0], [0.25]], [0.0, 0.0, 1.0]
    rows, outcomes = memory.write_episode(keys, rewards, 0.5, action=np.eye(3, 2))
    assert rows.tolist() == [0, 1, 0]
    assert outcomes.tolist() == [Outcome.KEPT, Outcome.ADDED, Outcome.ADDED]
    assert memory.values.tolist() == [1.0, 0.5]
    assert memory.keys.tolist() == [[0.25], [5.0]]


@pytest.mark.parametrize("gamma", [0.0, 0.9, 0.99, 1.0])
def test_returns_against_a_double_loop(gamma):
    rng = np.random.default_rng(4)
    rewards = rng.normal(size=60)
    memory = EpisodicMemory(1, capacity=60, columns={})
    rows, _ = memory.write_episode(np.arange(60.0)[:, None], rewards, gamma, 2.5)
    for t, row in enumerate(rows):
        expected = (
            sum(gamma ** (i - t) * rewards[i] for i in range(t, 60)) + gamma ** (60 - t) * 2.5
        )
        assert memory.values[row] == pytest.approx(expected, rel=1e-6)


def test_returns_add_up_in_float64():
    memory = EpisodicMemory(1, capacity=3000, columns={})
    rewards = np.full(3000, 0.1)
    rows, _ = memory.write_episode(np.arange(3000.0)[:, None], rewards, 1.0)
    total = 0.0
    for _ in range(3000):
        total += 0.1
    assert memory.values[rows[0]] == np.float32(total)


@pytest.mark.parametrize(
    ("recency", "evicted"), [("write", [1, 2, 0]), ("hit", [2, 0, 1]), ("never", [0, 1, 2])]
)
def test_recency_decides_who_goes(recency, evicted):
    memory = EpisodicMemory(1, capacity=3, recency=recency, columns={})
    memory.write_many([[0], [1], [2]], [0, 0, 0])
    assert memory.write([0], 1.0)[1] == Outcome.REPLACED
    assert memory.write([1], -1.0)[1] == Outcome.KEPT
    rows, outcomes = memory.write_many([[10], [11], [12]], [0, 0, 0])
    assert rows.tolist() == evicted
    assert outcomes.tolist() == [Outcome.EVICTED] * 3


@pytest.mark.parametrize("recency", ["write", "hit", "never"])
def test_touch_makes_rows_recent_whatever_the_rule(recency):
    memory = EpisodicMemory(1, capacity=4, recency=recency, columns={})
    memory.write_many([[0], [1], [2], [3]], np.zeros(4))
    memory.touch([2, 0, 2])
    assert memory.recency_order().tolist() == [1, 3, 0, 2]


def test_reading_changes_nothing():
    memory = filled(200, recency="hit")
    digest, state = memory.digest(), [array.tobytes() for array in memory.tree.arrays]
    memory.neighbors(memory.keys[5], 5, 0.1)
    memory.neighbors(memory.keys, 5, 1.0)
    memory.nearest(memory.keys)
    assert memory.digest() == digest
    assert [array.tobytes() for array in memory.tree.arrays] == state


def test_stamps_say_what_changed():
    memory = filled(50)
    since = memory.clock
    memory.touch([3, 4])
    memory.write(memory.keys[9], -1e9, action=[0, 0])
    assert not (memory.stamps > since).any()
    memory.set_values([7, 2], [1.0, 2.0])
    row, outcome = memory.write([9, 9, 9], 0.0, action=[0, 0])
    assert outcome == Outcome.EVICTED
    assert set(np.flatnonzero(memory.stamps > since)) == {7, 2, row}
    assert memory.stamps[7] < memory.stamps[2] < memory.stamps[row] == memory.clock


def test_append_adds_every_write():
    memory = EpisodicMemory(2, capacity=4, rule="append", columns={}, distance_threshold=9.0)
    rows, outcomes = memory.write_many(np.zeros((6, 2)), np.arange(6.0))
    assert rows.tolist() == [0, 1, 2, 3, 0, 1]
    assert outcomes.tolist() == [0, 0, 0, 0, 3, 3]
    assert memory.values.tolist() == [4, 5, 2, 3]


def test_columns_of_every_kind():
    columns = {
        "flag": ((), bool),
        "observation": ((2, 3), np.float64),
        "next_row": (1, np.int64),
        "half": (5, np.float16),
        "pixels": ((2, 2), "uint8"),
        "matrix": (2, 2),
    }
    memory = EpisodicMemory(1, capacity=300, columns=columns)
    rng = np.random.default_rng(0)
    data = {
        "flag": rng.random(200) < 0.5,
        "observation": rng.normal(size=(200, 2, 3)),
        "next_row": rng.integers(-9, 9, (200, 1)),
        "half": rng.normal(size=(200, 5)).astype(np.float16),
        "pixels": rng.integers(0, 256, (200, 2, 2)),
        "matrix": rng.normal(size=(200, 2, 2)).astype(np.float32),
    }
    memory.write_many(rng.permutation(200.0 * np.arange(200))[:, None], np.zeros(200), **data)
    for name, given in data.items():
        np.testing.assert_array_equal(memory.columns[name], given)
        np.testing.assert_array_equal(memory.column_arrays[name][:200], given)
    memory.write([-5.0], 0.0, **{name: given[7] for name, given in data.items()})
    for name, given in data.items():
        np.testing.assert_array_equal(memory.columns[name][200], given[7])
    assert memory.columns["flag"].dtype == bool
    assert memory.columns["pixels"].dtype == np.uint8


def test_views_are_read_only_and_of_the_rows_in_use():
    memory = filled(70, capacity=1000)
    views = [memory.keys, memory.values, memory.stamps, memory.columns["action"]]
    assert [len(view) for view in views] == [70] * 4
    for view in views:
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
    assert len(memory.value_array) >= 70
    assert len(memory.column_arrays["action"]) == len(memory.value_array)


@pytest.mark.parametrize(("dim", "columns"), [(3, {"action": 2}), (24, {}), (24, {"action": 2})])
def test_bytes_per_row(dim, columns):
    n = 5000
    memory = EpisodicMemory(dim, capacity=n, columns=columns)
    needed = 4 * dim + 4 + 8 + 4 * sum(columns.values())
    rng = np.random.default_rng(0)
    while len(memory) < n:
        action = {name: np.zeros((100, width)) for name, width in columns.items()}
        memory.write_many(rng.normal(size=(100, dim)), np.zeros(100), **action)
        allocated = len(memory.value_array)
        assert allocated <= max(2 * len(memory), 64)
        if len(memory) > 500:
            assert memory.nbytes <= 2 * 2.5 * needed * len(memory)
    assert memory.nbytes <= 2.5 * needed * n
    arrays = [*memory.index.arrays, *memory.table]
    assert 0 <= memory.nbytes - sum(array.nbytes for array in arrays) < 300


def test_compiled_readers_use_the_arrays_directly():
    memory = filled(500)
    rows, distances = np.full(4, -7), np.full(4, -7.0)
    key = memory.keys[17].copy()
    assert find_neighbors(memory.tree.arrays, key, 3, np.inf, rows, distances) == 3
    assert rows[0] == 17
    assert rows[3] == -7
    assert distances[3] == -7.0
    for row, distance in zip(rows[:3], distances[:3], strict=True):
        assert distance == squared(memory.keys[row], key)
    assert find_neighbors(memory.tree.arrays, key, 3, 0.0, rows, distances) == 1


def test_threads_read_shared_read_only_arrays():
    memory = filled(2000)
    arrays = memory.tree.arrays
    for array in arrays:
        array.flags.writeable = False
    shared = KDTree(3)
    shared.arrays = arrays
    queries = np.random.default_rng(5).normal(size=(500, 3))
    expected = shared.query(queries, 5, 0.5)
    results = [None] * 4

    def read(i):
        singles = [shared.query(query, 5, 0.5)[0].tolist() for query in queries[:50]]
        results[i] = (*shared.query(queries, 5, 0.5), singles)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rows, distances, singles in results:
        np.testing.assert_array_equal(rows, expected[0])
        np.testing.assert_array_equal(distances, expected[1])
        assert singles == [[r for r in row if r >= 0] for row in expected[0][:50].tolist()]


def test_digest_sees_content_and_order_but_not_shape_or_growth():
    memory = filled(300, capacity=10_000)
    same = memory.copy()
    assert same.digest() == memory.digest()
    same.tree.rebuild(memory.keys.copy())
    same._grow(5000)
    assert same.digest() == memory.digest()
    changes = [
        lambda m: m.touch([0]),
        lambda m: m.set_values([0], [m.values[0]]),
        lambda m: m.write([7, 7, 7], 0.0, action=[0, 0]),
        lambda m: m.column_arrays["action"].__setitem__((3, 0), 9.0),
    ]
    digests = {memory.digest()}
    for change in changes:
        other = memory.copy()
        change(other)
        digests.add(other.digest())
    assert len(digests) == 5


# ---------------------------------------------------------------- the range of values


def test_an_empty_memory_has_no_range_of_values():
    assert EpisodicMemory(1, capacity=5).value_range == (0.0, 0.0)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129, 1000])
def test_the_range_of_values_is_known_at_every_size(n):
    memory = EpisodicMemory(1, capacity=n, columns={})
    values = np.random.default_rng(n).normal(size=n).astype(np.float32)
    for i, value in enumerate(values):
        memory.write([i], float(value))
        assert memory.value_range == (values[: i + 1].min(), values[: i + 1].max())
    # every row in turn becomes the lowest, then the highest, then an ordinary one
    for row in range(n):
        for value in (-99.0, 99.0, 0.5):
            memory.set_values([row], [value])
            assert memory.value_range == (memory.values.min(), memory.values.max())


def test_the_range_of_values_survives_evictions_copies_and_files(tmp_path):
    memory = EpisodicMemory(1, capacity=100, columns={})
    memory.write_many(np.arange(100.0)[:, None], np.arange(100.0))
    memory.write_many(np.arange(200.0, 250.0)[:, None], np.full(50, 60.0))
    assert memory.value_range == (50.0, 99.0)
    memory.save(tmp_path / "memory.scrub")
    for other in (memory.copy(), EpisodicMemory.load(tmp_path / "memory.scrub")):
        assert other.value_range == (50.0, 99.0)
        other.set_values([99], [0.0])
        assert other.value_range == (0.0, 98.0)
    assert memory.value_range == (50.0, 99.0)


# ---------------------------------------------------------------- a write against a snapshot


def test_a_stale_write_looks_up_before_it_writes():
    memory = EpisodicMemory(1, capacity=9, distance_threshold=0.5, rule="append")
    memory.write([0.0], 1.0, action=[0, 0])
    rows, outcomes = memory.write_stale(
        [[0.3], [0.6], [0.7], [-0.4]], [2.0, 5.0, 4.0, 3.0], action=np.eye(4, 2)
    )
    # the first moves row 0 to 0.3; 0.6 and 0.7 are near it by then, but were not before
    assert rows.tolist() == [0, 1, 2, 0]
    assert outcomes.tolist() == [Outcome.REPLACED, Outcome.ADDED, Outcome.ADDED, Outcome.REPLACED]
    assert memory.values.tolist() == [3.0, 5.0, 4.0]
    assert memory.keys[:, 0].tolist() == [np.float32(-0.4), np.float32(0.6), np.float32(0.7)]
    memory.check_invariants()


@pytest.mark.parametrize("rule", ["append", "replace_if_better"])
def test_all_that_is_new_to_a_stale_write_is_added(rule):
    memory = EpisodicMemory(1, capacity=9, distance_threshold=0.5, rule=rule, columns={})
    _, outcomes = memory.write_stale(np.zeros((3, 1)), [1.0, 2.0, 3.0])
    assert outcomes.tolist() == [Outcome.ADDED] * 3
    assert memory.values.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "bad",
    [
        {"keys": [[0.0], [np.nan]]},
        {"values": [1.0, np.inf]},
        {"values": [1.0, 1e300]},
        {"action": [[0, 0], [np.nan, 0]]},
        {"keys": [[0.0, 1.0]] * 2},
        {"values": [1.0]},
        {"action": [[0, 0]]},
    ],
)
def test_a_stale_write_that_fails_changes_nothing(bad):
    memory = filled(5, dim=1)
    before = memory.digest()
    given = {"keys": [[0.0], [1.0]], "values": [9.0, 9.0], "action": [[0, 0], [1, 1]], **bad}
    with pytest.raises(ValueError, match=r"finite|expected|shape"):
        memory.write_stale(given["keys"], given["values"], action=given["action"])
    assert memory.digest() == before


def test_repr_says_what_it_is():
    assert "capacity=300, rows=300" in repr(filled(300))


def test_check_invariants_sees_damage():
    def broken(change):
        memory = filled(100)
        memory.check_invariants()
        change(memory)
        with pytest.raises(AssertionError, match="broken invariant"):
            memory.check_invariants()

    broken(lambda m: m.table.stamps.__setitem__(3, m.table.stamps[4]))
    broken(lambda m: m.table.stamps.__setitem__(3, 10**9))
    broken(lambda m: m.table.links.__setitem__((3, 0), 50))
    broken(lambda m: m.table.links.__setitem__((3, 1), 50))
    broken(lambda m: m.table.counters.__setitem__(3, 7))
    broken(lambda m: m.table.written.__setitem__(3, m.table.stamps[3] + 1))
    broken(lambda m: m.table.extremes.__setitem__((1, 0), -99.0))
    broken(lambda m: m.table.values.__setitem__(3, 99.0))
    broken(lambda m: m.tree.remove(5))
    broken(lambda m: m.tree.arrays.keys.__setitem__(5, 99.0))

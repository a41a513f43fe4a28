"""Copies of a memory: changes since a clock, shared memory, merging; all against naive memories."""

import multiprocessing
import os
import shutil
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import NaiveMemory

from scrubjay.memory import EpisodicMemory
from scrubjay.memory.shared import Block, Publisher, Reader, empty_copy

RULES = ("replace_if_better", "append", "max", "blend")


def make(dim=2, capacity=60, threshold=0.5, **more):
    settings = {"columns": {"action": 2}, "blend_rate": 0.25, **more}
    return EpisodicMemory(dim, capacity=capacity, distance_threshold=threshold, **settings)


def draw(rng, n, dim, grid=6):
    """Few different keys and values, so that there are hits, ties and evictions."""
    return rng.integers(0, grid, (n, dim)) * 0.5, rng.integers(0, 9, n) * 0.25, rng.random((n, 2))


def change(memory, rng):
    keys, values, actions = draw(rng, int(rng.integers(0, 25)), memory.key_dim)
    memory.write_many(keys, values, action=actions)
    if len(memory):
        rows = rng.integers(0, len(memory), 3)
        memory.set_values(rows, rng.integers(0, 9, 3) * 0.5)
        memory.set_columns(rows[:1], action=rng.random((1, 2)))
        memory.touch(rows)


def assert_same_to_read(copy, memory, rng):
    copy.index.check_invariants()
    for name in ("clock", "value_range", "distance_threshold"):
        assert getattr(copy, name) == getattr(memory, name)
    for name in ("keys", "values", "stamps"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(memory, name))
    np.testing.assert_array_equal(copy.columns["action"], memory.columns["action"])
    np.testing.assert_array_equal(
        copy.written_array[: len(copy)], memory.written_array[: len(memory)]
    )
    queries = draw(rng, 8, memory.key_dim)[0]
    for radius in (0.6, np.inf):
        found, expected = (each.neighbors(queries, 4, radius) for each in (copy, memory))
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(RULES),
    index=st.sampled_from(["kdtree", "scan"]), n=st.integers(1, 12),
)  # fmt: skip
def test_a_copy_that_applies_changes_now_and_then_reads_the_same(seed, rule, index, n):
    rng = np.random.default_rng(seed)
    memory = make(capacity=int(rng.integers(1, 150)), rule=rule, index=index)
    copies = [empty_copy(memory), empty_copy(memory)]
    for _ in range(n):
        change(memory, rng)
        copy = copies[rng.integers(2)]
        changes = memory.changes(copy.clock)
        assert len(changes.rows) <= len(memory)
        copy.apply(changes)
        assert_same_to_read(copy, memory, rng)


def test_a_copy_follows_when_rows_are_joined_under_new_keys():
    rng = np.random.default_rng(0)
    memory = make(capacity=200, threshold=0.6)
    copy = empty_copy(memory)
    for _ in range(6):
        change(memory, rng)
    copy.apply(memory.changes(copy.clock))
    before = len(memory)
    memory.rekey(np.round(memory.keys / 2))
    assert len(memory) < before
    copy.apply(memory.changes(copy.clock))
    assert_same_to_read(copy, memory, rng)
    change(memory, rng)
    copy.apply(memory.changes(copy.clock))
    assert_same_to_read(copy, memory, rng)


def test_changes_are_only_those_since_the_clock():
    memory = make(threshold=0.0)
    memory.write_many(np.eye(2), [1, 2], action=np.zeros((2, 2)))
    clock = memory.clock
    assert len(memory.changes(clock).rows) == 0
    memory.set_values([1], [5])
    memory.distance_threshold = 0.25
    changes = memory.changes(clock)
    assert changes.rows.tolist() == [1]
    assert changes.distance_threshold == 0.25
    assert changes.nbytes == 8 + 8 + 4 + 8 + 8 + 8


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(RULES),
    recency=st.sampled_from(["write", "hit", "never"]), threshold=st.sampled_from([0.0, 0.5, 0.8]),
)  # fmt: skip
def test_merging_is_writing_each_row_of_the_other(seed, rule, recency, threshold):
    rng = np.random.default_rng(seed)
    capacity = int(rng.integers(1, 60))
    memory = make(capacity=capacity, threshold=threshold, rule=rule, recency=recency)
    naive = NaiveMemory(capacity, threshold, rule, recency)
    other = make(capacity=int(rng.integers(1, 60)), threshold=0.0)
    keys, values, actions = draw(rng, 40, 2)
    memory.write_many(keys, values, action=actions)
    for row in zip(keys, values, actions, strict=True):
        naive.write(*row)
    change(other, rng)
    before = other.digest()
    expected = [
        naive.write(other.keys[row], other.values[row], other.columns["action"][row])
        for row in other.recency_order()
    ]
    rows, outcomes = memory.merge(other)
    assert list(zip(rows.tolist(), outcomes.tolist(), strict=True)) == expected
    assert memory.keys.tolist() == [key.tolist() for key in naive.keys]
    assert memory.values.tolist() == [float(value) for value in naive.values]
    assert memory.recency_order().tolist() == naive.order
    memory.check_invariants()
    assert other.digest() == before


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(["max", "replace_if_better"]))
def test_merging_keeps_the_best_of_both_in_either_order(seed, rule):
    rng = np.random.default_rng(seed)
    first, second, one = (make(capacity=500, threshold=0.0, rule=rule) for _ in range(3))
    for memory in (first, second):
        keys, values, actions = draw(rng, 60, 2)
        memory.write_many(keys, values, action=actions)
        one.write_many(keys, values, action=actions)

    def best(memory):
        return dict(zip(map(tuple, memory.keys.tolist()), memory.values.tolist(), strict=True))

    backwards = second.copy()
    backwards.merge(first)
    first.merge(second)
    assert best(first) == best(backwards) == best(one)


def test_memories_that_do_not_fit_are_not_merged():
    memory = make()
    with pytest.raises(ValueError, match="expected a memory with keys of 2 numbers, got 3"):
        memory.merge(make(dim=3))
    with pytest.raises(ValueError, match="expected a memory with the columns"):
        memory.merge(EpisodicMemory(2, capacity=5, columns={"other": 2}))
    with pytest.raises(TypeError, match="expected an EpisodicMemory to merge, got list"):
        memory.merge([])


# ---------------------------------------------------------------- shared memory


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(RULES), n=st.integers(1, 12))
def test_what_is_published_is_read_and_nothing_else(seed, rule, n):
    rng = np.random.default_rng(seed)
    memory = make(capacity=int(rng.integers(1, 300)), rule=rule)
    publisher = Publisher({"memory": memory}, 1)
    seen = {}
    reader = Reader(publisher.address, 0, {"memory": memory}, seen.update)
    try:
        for _ in range(n):
            change(memory, rng)
            assert publisher.publish()
            published = memory.copy()
            change(memory, rng)  # not published
            reader.enter()
            assert_same_to_read(seen["memory"], published, rng)
            reader.leave()
    finally:
        seen.clear()
        publisher.close()


def test_publishing_waits_for_a_decision_and_then_leaves_it_alone():
    memory = make()
    publisher = Publisher({"memory": memory}, 2)
    seen = {}
    reader = Reader(publisher.address, 1, {"memory": memory}, seen.update)
    memory.write([0, 0], 1.0, action=[0, 0])
    assert publisher.publish()
    reader.enter()
    memory.write([5, 5], 1.0, action=[0, 0])
    assert publisher.publish()  # the other side
    memory.write([9, 9], 1.0, action=[0, 0])
    assert not publisher.publish()  # the reader is still in this one
    assert len(seen["memory"]) == 1
    reader.leave()
    assert publisher.publish()
    reader.enter()
    assert len(seen["memory"]) == 3
    publisher.release(1)  # as if its process had ended
    memory.write([7, 7], 1.0, action=[0, 0])
    assert publisher.publish()
    assert publisher.publish()
    seen.clear()
    publisher.close()


def read_for(seconds, number, address, memories, answers):
    """Searches as fast as it can; every row tells by its value and action what its key must be."""
    seen = {}
    reader = Reader(address, number, memories, seen.update)
    end, wrong, clocks = time.monotonic() + seconds, 0, set()
    rng = np.random.default_rng(number)
    # a reader that still has to compile its search holds up publishing meanwhile
    while time.monotonic() < end or (len(clocks) <= 5 and time.monotonic() < end + 120):
        reader.enter()
        memory = seen["memory"]
        n = len(memory)
        if n:
            rows, _ = memory.index.query(rng.random(3) * 10, 5)
            wrong += len(rows) != min(5, n) or len(set(rows.tolist())) != len(rows)
            for row in rows:
                key, action = memory.keys[row], memory.columns["action"][row]
                wrong += not (key.sum() == memory.values[row] and (key[:2] == action).all())
        reader.leave()
        clocks.add(memory.clock)
    answers.put((wrong, len(clocks)))
    answers.close()
    answers.join_thread()
    os._exit(0)


def test_no_reader_ever_sees_half_a_change():
    """Two processes search while a third adds, replaces, evicts and grows without a pause."""
    memory = make(dim=3, capacity=3000, threshold=0.3)
    publisher = Publisher({"memory": memory}, 2)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    shared = publisher.address, {"memory": empty_copy(memory)}, answers
    processes = [context.Process(target=read_for, args=(2.0, i, *shared)) for i in (0, 1)]
    for process in processes:
        process.start()
    rng = np.random.default_rng(0)
    n_published = 0
    while any(process.is_alive() for process in processes):
        keys = np.float32(rng.integers(0, 160, (40, 3)) / 16)  # sums are exact
        memory.write_many(keys, keys.sum(axis=1), action=keys[:, :2])
        n_published += publisher.publish()
    found = [answers.get(timeout=10) for _ in processes]
    for process in processes:
        process.join()
    publisher.close()
    assert [wrong for wrong, _ in found] == [0, 0]
    assert min(clocks for _, clocks in found) > 5
    assert n_published > 50


def test_full_shared_memory_is_an_error_and_not_the_end_of_the_process():
    if not os.path.isdir("/dev/shm"):
        pytest.skip("needs /dev/shm")
    free = shutil.disk_usage("/dev/shm").free
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (free // 4,), (0,))
    with pytest.raises(OSError, match=r"shared memory is full: expected room for .* --shm-size"):
        Block("sjtest", [huge])
    assert not os.path.exists("/dev/shm/sjtest")

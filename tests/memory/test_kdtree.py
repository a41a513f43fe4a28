"""The tree against brute force, and its balance under unkind orders of arrival."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.memory import KDTree
from scrubjay.memory.kdtree import search
from scrubjay.memory.tree_arrays import BUILT, CHILD, SPLIT_DIM, scratch_size


def brute_force(keys, rows, query, k, radius):
    """The answer by definition: sums in index order, ties by row."""
    rows = np.sort(np.fromiter(rows, np.int64))
    query = np.float32(query)
    squared = np.zeros(len(rows))
    for i in range(len(query)):
        squared += (keys[rows, i].astype(np.float64) - np.float64(query[i])) ** 2
    best = np.lexsort((rows, squared))[:k]
    best = best[squared[best] <= radius * radius]
    return rows[best], np.sqrt(squared[best])


def depth_bound(n):
    """A side has at most 7/10 of its node's rows and a node more than 24."""
    return 0 if n < 25 else math.log(n / 25) / math.log(10 / 7) + 1


def check_answers(tree, rows, queries, k=5, radius=math.inf):
    keys = tree.arrays.keys
    batch = tree.query(queries, k, radius)
    for i, query in enumerate(queries):
        expected = brute_force(keys, rows, query, k, radius)
        for found, many, wanted in zip(tree.query(query, k, radius), batch, expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(many[i, : len(wanted)], wanted)


def check_shape(tree):
    tree.check_invariants()
    assert tree.depth <= depth_bound(len(tree))


@pytest.mark.parametrize("dim", [1, 2, 3, 8, 24, 200])
@pytest.mark.parametrize("grid", [2, 12, None])
def test_random_changes_against_brute_force(dim, grid):
    rng = np.random.default_rng([dim, grid or 0])

    def draw():
        return rng.normal(size=dim) if grid is None else rng.integers(0, grid, dim)

    tree, present = KDTree(dim), set()
    for step in range(1500):
        if rng.random() < 0.3 and present:
            row = int(rng.choice(list(present)))
            tree.remove(row)
            present.discard(row)
        else:
            row = int(rng.integers(0, 700))
            (tree.move if row in present else tree.insert)(row, draw())
            present.add(row)
        if step % 100 == 0 and present:
            check_answers(tree, present, [draw() for _ in range(4)], int(rng.integers(1, 9)))
            check_answers(
                tree, present, [draw() for _ in range(4)], 5, float(rng.choice([0, 1, 2]))
            )
            check_shape(tree)
    assert len(tree) == len(present)
    for row in present:
        assert row in tree
        tree.remove(row)
        assert row not in tree
    assert len(tree) == tree.depth == 0
    check_shape(tree)


def arrivals(order, n, rng):
    """Keys in an order that ruins trees which never rebalance."""
    line = np.linspace(0, 1, n)
    clusters = rng.normal(size=(8, 3))[np.arange(n) * 8 // n]
    return {
        "sorted": np.stack([line, line, line], 1),
        "falling": np.stack([-line, line, 0 * line], 1),
        "inwards": np.stack([line * (-1.0) ** np.arange(n), 0 * line, 0 * line], 1),
        "outwards": np.stack([(1 - line) * (-1.0) ** np.arange(n), 0 * line, 0 * line], 1),
        "clusters": clusters + 1e-4 * rng.normal(size=(n, 3)),
        "equal": np.ones((n, 3)),
        "few keys": rng.integers(0, 2, (n, 3)).astype(float),
        "almost equal": np.where(rng.random((n, 1)) < 0.99, 1.0, rng.normal(size=(n, 3))),
        "powers": np.stack([2.0 ** -(np.arange(n) % 120), 0 * line, 0 * line], 1),
    }[order]


@pytest.mark.parametrize(
    "order",
    [
        "sorted",
        "falling",
        "inwards",
        "outwards",
        "clusters",
        "equal",
        "few keys",
        "almost equal",
        "powers",
    ],
)
def test_stays_balanced_whatever_the_order_of_arrival(order):
    rng = np.random.default_rng(1)
    keys = arrivals(order, 3000, rng)
    tree = KDTree(3)
    for row, key in enumerate(keys):
        tree.insert(row, key)
        if row % 500 == 0:
            check_shape(tree)
    check_shape(tree)
    check_answers(tree, range(3000), keys[::300] + 0.01)
    check_answers(tree, range(3000), keys[::300])
    for row, key in enumerate(keys[::-1]):  # full: every row is replaced, oldest first
        tree.move(row, key + 5.0)
        if row % 500 == 0:
            check_shape(tree)
    check_answers(tree, range(3000), keys[::300] + 5.0)
    for row in range(0, 3000, 2):
        tree.remove(row)
    check_shape(tree)
    check_answers(tree, range(1, 3000, 2), keys[::300] + 5.0)


@pytest.mark.parametrize("n", [0, 1, 24, 25, 31, 32, 33, 1000])
def test_bulk_build_answers_like_row_by_row(n):
    keys = np.random.default_rng(n).integers(0, 9, (n, 2))
    built, grown = KDTree.build(keys), KDTree(2)
    for row, key in enumerate(keys):
        grown.insert(row, key)
    check_shape(built)
    assert len(built) == n
    for found, wanted in zip(built.query(keys + 0.5, 7), grown.query(keys + 0.5, 7), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_in_many_dimensions_the_tree_is_built_anew_as_it_grows():
    keys = np.random.default_rng(0).normal(size=(1000, 24))
    tree = KDTree(24)
    for row, key in enumerate(keys):
        tree.insert(row, key)
        assert 2 * len(tree) < 3 * tree.arrays.nodes[0, BUILT] or len(tree) < 3
    check_shape(tree)
    check_answers(tree, range(1000), keys[::100] + 0.1)


def test_a_single_far_row_does_not_decide_where_to_cut():
    keys = np.random.default_rng(0).normal(size=(1000, 3)) * [0.1, 1.0, 0.1]
    keys[7, 0] = 50.0
    tree = KDTree.build(keys)
    root = tree.arrays.nodes[0, CHILD]
    assert tree.arrays.nodes[root, SPLIT_DIM] == 1


def test_keys_that_come_twice_in_the_same_order_are_told_apart():
    once = np.random.default_rng(0).normal(size=(512, 3)) * [0.1, 1.0, 0.1]
    tree = KDTree.build(np.concatenate([once, once]))
    root = tree.arrays.nodes[0, CHILD]
    assert tree.arrays.nodes[root, SPLIT_DIM] == 1


@pytest.mark.parametrize("dim", [2, 24])
def test_ties_go_to_the_smaller_row_and_cost_one_leaf(dim):
    tree = KDTree.build(np.ones((20_000, dim)))
    query = [1.0] * (dim - 1) + [2.0]
    rows, distances = tree.query(query, 5)
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert distances.tolist() == [1.0] * 5
    # No other leaf is looked at: with row 0 in all of them, it would be found again and again.
    buckets = tree.arrays.buckets
    first = next(i for i, bucket in enumerate(buckets) if {0, 1, 2, 3, 4} <= set(bucket.tolist()))
    buckets[np.arange(len(buckets)) != first] = 0
    assert tree.query(query, 5)[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dim", [3, 24])
@pytest.mark.parametrize("scale", [1e-45, 1e-30, 1e-22, 1e-15, 1.0, 1e18, 1e30, 3e38])
def test_extreme_scales_keep_exact_order(scale, dim):
    """In many dimensions float32 sums are tried first: where they vanish or overflow, and where
    they are too rough to tell, float64 must decide."""
    rng = np.random.default_rng(2)
    keys = np.float32(rng.uniform(-1, 1, (400, dim)) * scale)
    tree = KDTree.build(keys)
    check_shape(tree)
    check_answers(tree, range(400), keys[:20])
    queries = np.float32(rng.uniform(-1, 1, (20, dim)) * scale)
    check_answers(tree, range(400), queries)
    exact = float(np.linalg.norm(np.float64(keys[7]) - queries[0]))
    check_answers(tree, range(400), queries[:1], 400, exact)


def test_differences_below_float32_decide():
    """A thousand distances that float32 sums put in a wrong order."""
    rng = np.random.default_rng(4)
    keys = np.float32(1 + 1e-6 * rng.integers(0, 9, (1000, 24)))
    check_answers(KDTree.build(keys), range(1000), np.float32(rng.uniform(0, 0.1, (9, 24))), 40)


@pytest.mark.parametrize("dim", [6, 24])
def test_rounding_never_loses_a_tie(dim):
    """Coordinates of very different size, where sums round: the bound must not round above."""
    rng = np.random.default_rng(3)
    shape = (3000, dim)
    keys = np.float32(rng.choice([-1, 1], shape) * 10.0 ** rng.integers(-6, 7, shape))
    tree = KDTree.build(keys)
    check_answers(tree, range(3000), keys[:40] * np.float32(1.1), k=9)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(16, 19),
    later=st.sampled_from([0.0, 1e-38, 1e-3, 1.0, 1e3, 1e19, 1e37]),
    constant=st.booleans(),
)
def test_codes_of_leaves_lose_no_row(seed, dim, later, constant):
    """Centre and steps are chosen for early rows; those of later rows may be clamped or all alike,
    and rows that only their last bits tell apart have equal codes."""
    rng = np.random.default_rng(seed)
    early = np.zeros((90, dim)) if constant else rng.normal(size=(90, dim))
    tree = KDTree.build(early)
    for row in range(90, 130):
        tree.insert(row, np.float32(early[row % 7] * (1 + 1e-7) + later * rng.normal(size=dim)))
    for row in rng.permutation(130)[:30]:
        tree.remove(int(row))
    tree.check_invariants()
    present = [row for row in range(130) if row in tree]
    near, far = tree.arrays.keys[present[:4]], rng.normal(size=(4, dim)) * max(later, 1.0)
    for radius in (math.inf, 0.0, 1.5):
        check_answers(tree, present, np.float32(np.concatenate([near, far])), 20, radius)


@pytest.mark.parametrize("dim", [3, 17, 24, 50])
@pytest.mark.parametrize("more", [0, 9])
def test_what_is_in_the_scratch_space_does_not_matter(dim, more):
    rng = np.random.default_rng(dim)
    keys, queries = rng.normal(0, 1, (2, 500, dim)).astype(np.float32)
    tree = KDTree(dim)
    tree.rebuild(keys)
    scratch = np.frombuffer(rng.bytes(8 * (scratch_size(dim) + more)), np.float64).copy()
    rows, distances = np.empty(5, np.int64), np.empty(5)
    for query in queries:
        found = search(tree.arrays, query, 5, 3.0, rows, distances, scratch)
        expected = brute_force(keys, range(len(keys)), query, 5, 3.0)
        np.testing.assert_array_equal(rows[:found], expected[0])
        np.testing.assert_array_equal(np.sqrt(distances[:found]), expected[1])


def test_radius_is_inclusive_and_decided_on_squares():
    tree = KDTree.build([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    assert tree.query([0, 0], 3, 5.0)[0].tolist() == [0, 2, 1]
    assert tree.query([0, 0], 3, np.nextafter(5.0, 0))[0].tolist() == [0, 2]
    assert tree.query([0, 0], 1, 5.0)[0].tolist() == [0]
    assert tree.query([0, 0], 3, 0.0)[0].tolist() == [0, 2]


def test_everything_is_rounded_to_float32_first():
    tree = KDTree(1)
    tree.insert(0, [0.1])
    assert tree.nearest([np.float32(0.1)]) == (0, 0.0)
    assert tree.nearest([0.1]) == (0, 0.0)
    assert tree.key(0).dtype == np.float32


def test_rows_are_the_callers_choice():
    tree = KDTree(2)
    tree.insert(1000, [1, 1])
    tree.insert(3, [0, 0])
    assert len(tree) == 2
    assert tree.nearest([2, 2])[0] == 1000
    assert [row in tree for row in (0, 3, 1000, 5000, -1, "3")] == [False, True, True] + [False] * 3
    with pytest.raises(ValueError, match="row 3 is already in the index"):
        tree.insert(3, [1, 1])
    for change in (tree.remove, tree.key, lambda row: tree.move(row, [0, 0])):
        with pytest.raises(ValueError, match="row 7 is not in the index"):
            change(7)
    with pytest.raises(ValueError, match="between 0"):
        tree.insert(-1, [1, 1])
    tree.check_invariants()


def test_a_copy_is_independent():
    tree = KDTree.build([[0.0], [1.0]])
    other = tree.copy()
    other.move(0, [5.0])
    assert tree.nearest([0.0]) == (0, 0.0)
    assert other.nearest([0.0]) == (1, 1.0)


def test_fewer_rows_than_k_is_normal():
    tree = KDTree(2)
    assert [a.tolist() for a in tree.query([0, 0], 3)] == [[], []]
    tree.insert(0, [1, 0])
    assert [a.tolist() for a in tree.query([0, 0], 10**9)] == [[0], [1.0]]
    assert [a.tolist() for a in tree.query([[0, 0]], 2)] == [[[0, -1]], [[1.0, math.inf]]]
    assert [a.shape for a in tree.query(np.empty((0, 2)), 2)] == [(0, 2), (0, 2)]


@pytest.mark.parametrize(
    ("array", "place", "message"),
    [
        ("nodes", (0, 2), "size"),
        ("nodes", (0, 4), "smallest row"),
        ("boxes", (0, 1), "lowest corner"),
        ("nodes", (0, 1), "record"),
    ],
)
def test_check_invariants_sees_damage(array, place, message):
    tree = KDTree.build(np.random.default_rng(0).normal(size=(500, 2)))
    tree.check_invariants()
    getattr(tree.arrays, array)[place] += 1
    with pytest.raises(AssertionError, match=message):
        tree.check_invariants()

"""The flat scan against the kd-tree and a naive search: the same answers, to the last bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from naive import squared

from scrubjay.memory import EpisodicMemory, FlatScan, KDTree, Outcome
from scrubjay.memory.index_kernels import find_in_tables, index_find
from scrubjay.memory.scan_arrays import ERROR, NEXT, SLOT
from scrubjay.memory.scan_kernels import ZERO, code_range


def image_like_keys(rng, n, dim):
    """A random walk with a large mean, as projections of successive frames are."""
    return 1000.0 + rng.normal(size=(n, dim)).cumsum(axis=0)


KINDS = {
    "normal": lambda rng, n, dim: rng.normal(size=(n, dim)),
    "grid": lambda rng, n, dim: rng.integers(0, 2, (n, dim)) * rng.choice([1.0, -1.0]),
    "equal": lambda _, n, dim: np.full((n, dim), 0.1),
    "images": image_like_keys,
    "tiny": lambda rng, n, dim: rng.normal(size=(n, dim)) * 1e-42,
    "huge": lambda rng, n, dim: rng.uniform(-3e38, 3e38, (n, dim)),
    "mixed": lambda rng, n, dim: rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-30, 30, (n, 1)),
    "close": lambda rng, n, dim: 1e6 + rng.integers(0, 3, (n, dim)) * 0.0625,
}


def same_answers(tree, scan, queries):
    for k, radius in [(1, np.inf), (1, 0.0), (3, 0.0), (5, 1.0), (11, np.inf), (700, np.inf)]:
        expected, found = tree.query(queries, k, radius), scan.query(queries, k, radius)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("dim", [1, 7, 8, 9, 33, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_same_answers_as_the_tree(kind, dim):
    rng = np.random.default_rng(dim)
    keys = KINDS[kind](rng, 600, dim).astype(np.float32)
    queries = np.concatenate([keys[:10], KINDS[kind](rng, 10, dim).astype(np.float32)])
    tree, scan = KDTree.build(keys), FlatScan.build(keys)
    scan.check_invariants()
    same_answers(tree, scan, queries)
    for row in rng.permutation(600)[:300].tolist():
        other = KINDS[kind](rng, 1, dim)[0].astype(np.float32)
        for index in (tree, scan):
            if row % 3:
                index.remove(row)
            else:
                index.move(row, other)
    scan.check_invariants()
    same_answers(tree, scan, queries)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    dim=st.sampled_from([1, 3, 10, 70]),
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 2**32 - 1),
)
@example(dim=70, kind="huge", seed=107188757)  # differences that exceed float32
def test_rows_come_and_go(dim, kind, seed):
    rng = np.random.default_rng(seed)
    scan, rows = FlatScan(dim, 1), {}
    for _ in range(150):
        row = int(rng.integers(0, 200))
        key = KINDS[kind](rng, 1, dim)[0].astype(np.float32)
        if row not in rows:
            scan.insert(row, key)
        elif rng.random() < 0.5:
            scan.move(row, key)
        else:
            scan.remove(row)
            del rows[row]
            continue
        rows[row] = key
    scan.check_invariants()
    assert len(scan) == len(rows)
    query = KINDS[kind](rng, 1, dim)[0].astype(np.float32)
    expected = sorted((squared(query, key), row) for row, key in rows.items())[:5]
    found, distances = scan.query(query, 5)
    assert found.tolist() == [row for _, row in expected]
    assert distances.tolist() == [np.sqrt(distance) for distance, _ in expected]
    for row, key in rows.items():
        same = [other for other, found in rows.items() if (found == key).all()]
        assert scan.query(key, 1)[0].tolist() == [min(same)]
        assert row in scan


@pytest.mark.parametrize("dim", [1, 230, 231, 14_742, 14_743, 500_000])
def test_sums_of_codes_fit_into_32_bits(dim):
    largest, steps = code_range(dim)
    # steps * |y|^2, and twice the product of stored codes and those of a key, cut off
    most = dim * (steps * largest**2 + 2 * (largest + ZERO) * 2 * largest * steps)
    assert 0 < most < 2**31
    assert steps & (steps - 1) == 0
    assert (steps, largest) == (64, 127) if dim <= 230 else steps < 64
    assert (largest == 127) == (dim <= 14_742)
    assert 2 * largest * steps < 2**15


def test_same_answers_in_very_many_dimensions():
    rng = np.random.default_rng(0)
    keys = (255.0 * rng.integers(0, 2, (200, 20_000))).astype(np.float32)
    keys[100:] += rng.normal(size=(100, 20_000))
    same_answers(KDTree.build(keys), FlatScan.build(keys), keys[::60] + np.float32(0.5))


def test_minus_zero_is_zero():
    scan = FlatScan.build([[1.0, 2.0], [0.0, -0.0]])
    for key in ([-0.0, 0.0], [0.0, 0.0], [-0.0, -0.0]):
        assert scan.nearest(key) == (1, 0.0)
        assert index_find(scan.arrays, np.float32(key)) == 1
    assert scan.query([-0.0, 5.0], 1, 0.0)[0].tolist() == []
    scan.insert(2, [-0.0, 0.0])
    scan.remove(1)
    scan.check_invariants()
    assert scan.nearest([0.0, 0.0]) == (2, 0.0)


def test_bad_keys_and_rows_are_refused():
    scan = FlatScan.build(np.eye(20))
    for key in (np.full(20, np.nan), np.full(20, np.inf), np.full(20, 1e39), np.zeros(19)):
        for call in (lambda k: scan.query(k, 1), lambda k: scan.insert(30, k)):
            with pytest.raises(ValueError, match=r"finite|expected a key"):
                call(key)
    with pytest.raises(ValueError, match="already in the index"):
        scan.insert(3, np.zeros(20))
    with pytest.raises(ValueError, match="not in the index"):
        scan.remove(20)
    with pytest.raises(ValueError, match="nothing is stored"):
        FlatScan(3).nearest(np.zeros(3))
    scan.check_invariants()
    assert len(scan) == 20


def test_thousands_of_equal_keys_are_added_and_evicted():
    memory = EpisodicMemory(20, capacity=3000, rule="append", columns={}, index="scan")
    memory.write_many(np.ones((9000, 20)), np.zeros(9000))
    memory.index.check_invariants()
    assert memory.nearest(np.ones(20)) == (0, 0.0)
    assert memory.neighbors(np.ones(20), 4)[0].tolist() == [0, 1, 2, 3]


def test_check_invariants_sees_damage():
    rng = np.random.default_rng(0)
    changes = [
        lambda arrays: arrays.keys.__setitem__((5, 3), 9.0),
        lambda arrays: arrays.boxes.__setitem__((0, ERROR), 0.0),
        lambda arrays: arrays.nodes[1:].view(np.int8).__setitem__((0, 9), 99),
        lambda arrays: arrays.buckets.__setitem__((5, NEXT), 6),
        lambda arrays: arrays.buckets.__setitem__((slice(None), SLOT), -1),
        lambda arrays: arrays.nodes.__setitem__((0, 2), 99),
    ]
    for change in changes:
        scan = FlatScan.build(rng.normal(size=(100, 12)))
        scan.check_invariants()
        change(scan.arrays)
        with pytest.raises(AssertionError, match="broken invariant"):
            scan.check_invariants()


# ---------------------------------------------------------------- in a memory


def test_auto_chooses_by_dimension_and_files_do_not_depend_on_it(tmp_path):
    rng = np.random.default_rng(1)
    names = {}
    for dim in (3, 8, 9, 64):
        memories = [
            EpisodicMemory(dim, capacity=90, index=name, columns={})
            for name in ("auto", "kdtree", "scan")
        ]
        keys, values = rng.normal(size=(120, dim)), rng.normal(size=120)
        for memory in memories:
            memory.write_many(keys, values)
        assert len({memory.digest() for memory in memories}) == 1
        for i, memory in enumerate(memories):
            memory.save(tmp_path / f"{i}.scrub")
        assert len({(tmp_path / f"{i}.scrub").read_bytes() for i in range(3)}) == 1
        names[dim] = memories[0].index.name
        assert EpisodicMemory.load(tmp_path / "2.scrub").index.name == names[dim]
        assert EpisodicMemory.load(tmp_path / "0.scrub", index="scan").index.name == "scan"
    assert names == {3: "kdtree", 8: "kdtree", 9: "scan", 64: "scan"}
    assert EpisodicMemory(64, capacity=9, distance_threshold=0.1).index.name == "kdtree"


def test_a_scan_has_no_tree():
    with pytest.raises(TypeError, match='create the memory with index="kdtree"'):
        EpisodicMemory(64, capacity=9).tree  # noqa: B018


@pytest.mark.parametrize("index", ["kdtree", "scan"])
def test_rules_that_keep_the_key(index):
    options = {"capacity": 9, "distance_threshold": 1.0, "columns": {"count": 1}, "index": index}
    memory = EpisodicMemory(2, rule="max", **options)
    memory.write([0.0, 0.0], 1.0, count=[1])
    assert memory.write([0.5, 0.0], 0.5, count=[2])[1] == Outcome.KEPT
    assert memory.write([0.5, 0.0], 3.0, count=[3])[1] == Outcome.REPLACED
    assert memory.keys.tolist() == [[0.0, 0.0]]
    assert (memory.values.tolist(), memory.columns["count"].tolist()) == ([3.0], [[3.0]])
    memory = EpisodicMemory(2, rule="blend", blend_rate=0.25, **options)
    memory.write([0.0, 0.0], 1.0, count=[1])
    assert memory.write([0.5, 0.0], -1.0, count=[2])[1] == Outcome.REPLACED
    assert memory.keys.tolist() == [[0.0, 0.0]]
    assert (memory.values.tolist(), memory.columns["count"].tolist()) == ([0.5], [[2.0]])
    assert EpisodicMemory.from_state(*memory.state()).blend_rate == 0.25


@pytest.mark.parametrize("kind", [FlatScan, KDTree])
def test_several_tables_are_searched_in_one_call(kind):
    rng = np.random.default_rng(2)
    keys = [rng.normal(size=(n, 16)).astype(np.float32) for n in (300, 5, 0, 80)]
    indexes = [kind(16) for _ in keys]
    for index, rows in zip(indexes, keys, strict=True):
        index.rebuild(rows)
    tables = tuple(index.arrays for index in indexes)
    rows, distances = np.empty((4, 7), np.int64), np.empty((4, 7))
    counts = np.empty(4, np.int64)
    for query in (rng.normal(size=16).astype(np.float32), keys[0][17], keys[3][5]):
        find_in_tables(tables, query, 7, np.inf, rows, distances, counts)
        for t, index in enumerate(indexes):
            same = np.flatnonzero((keys[t] == query).all(axis=1))
            expected = index.query(query, 1 if len(same) else 7)
            np.testing.assert_array_equal(rows[t, : counts[t]], expected[0])
            np.testing.assert_array_equal(np.sqrt(distances[t, : counts[t]]), expected[1])

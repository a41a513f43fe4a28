"""Rows on a device of torch: the same answers as a loop over all rows, to the last bit.

They run on torch's CPU device, and on CUDA too where there is one.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import squared
from test_flat_scan import KINDS

from scrubjay.memory import EpisodicMemory, FlatScan

torch = pytest.importorskip("torch")
from scrubjay.memory import torch_index, torch_rows  # noqa: E402
from scrubjay.memory.torch_index import TorchScan, TorchTree  # noqa: E402

DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(autouse=True)
def search_always_on_the_device(monkeypatch):
    monkeypatch.setattr(torch_index.OnDevice, "few", 0)


def near_ties(rng, n, dim):
    """Rows on a sphere around the origin, up to the last bit of float32: all but equally far."""
    keys = rng.choice([-1.0, 1.0], (n, dim))
    step = rng.integers(-1, 2, (n, dim)) * 2.0**-23
    return keys * (1.0 + step)


def clusters(rng, n, dim):
    """Many rows that differ only in the last bits, far from the centre of all rows."""
    centres = rng.normal(size=(3, dim)) * 100
    return centres[rng.integers(0, 3, n)] * (1.0 + rng.integers(0, 4, (n, 1)) * 2.0**-22)


ALL_KINDS = {**KINDS, "near ties": near_ties, "clusters": clusters}


def same_answers(expected, found, queries, cases=((1, np.inf), (5, 1.0), (50, np.inf))):
    for k, radius in cases:
        for one, other in zip(
            expected.query(queries, k, radius), found.query(queries, k, radius), strict=True
        ):
            np.testing.assert_array_equal(other, one)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [1, 33])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_same_answers_as_the_scan(kind, dim, device):
    rng = np.random.default_rng(dim)
    keys = ALL_KINDS[kind](rng, 300, dim).astype(np.float32)
    queries = np.concatenate([keys[:10], ALL_KINDS[kind](rng, 10, dim), np.zeros((1, dim))])
    queries = queries.astype(np.float32)
    scan, index = FlatScan.build(keys), TorchScan(dim, 1, device)
    index.rebuild(keys)
    same_answers(scan, index, queries, [(1, np.inf), (3, 0.0), (5, 1.0), (50, np.inf), (700, 1e9)])
    for row in rng.permutation(300)[:150].tolist():
        other = ALL_KINDS[kind](rng, 1, dim)[0].astype(np.float32)
        for each in (scan, index):
            if row % 3:
                each.remove(row)
            else:
                each.move(row, other)
    index.check_invariants()
    same_answers(scan, index, queries)
    for one, other in zip(scan.query(queries[0], 700), index.query(queries[0], 700), strict=True):
        np.testing.assert_array_equal(other, one)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    device=st.sampled_from(DEVICES),
    dim=st.sampled_from([1, 3, 10, 70]),
    kind=st.sampled_from(sorted(ALL_KINDS)),
    precision=st.sampled_from([torch_rows.SINGLE, torch_rows.HALF]),
    k=st.sampled_from([1, 4, 30]),
    seed=st.integers(0, 2**32 - 1),
)
def test_rows_come_and_go(device, dim, kind, precision, k, seed):
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_index, "precision_of", lambda _: precision)
        patch.setattr(torch_rows, "MANY", 40)  # some queries are left to the host
        index, rows = TorchTree(dim, 1, device), {}
        for step in range(120):
            row = int(rng.integers(0, 100))
            key = ALL_KINDS[kind](rng, 1, dim)[0].astype(np.float32)
            if row not in rows:
                index.insert(row, key)
            elif rng.random() < 0.5:
                index.move(row, key)
            else:
                index.remove(row)
                del rows[row]
                continue
            rows[row] = key
            if step % 20 == 0:
                index.query(key, k)
        index.check_invariants()
        radius = float(rng.choice([np.inf, 1.0, 100.0]))
        near = next(iter(rows.values()))
        for query in (key, near, ALL_KINDS[kind](rng, 1, dim)[0].astype(np.float32)):
            pairs = sorted((squared(query, key), row) for row, key in rows.items())[:k]
            pairs = [(d, row) for d, row in pairs if d <= radius * radius]
            found, distances = index.query(query, k, radius)
            assert found.tolist() == [row for _, row in pairs]
            assert distances.tolist() == [np.sqrt(distance) for distance, _ in pairs]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_a_memory_adds_replaces_and_evicts(device, threshold, monkeypatch, tmp_path):
    monkeypatch.setattr(torch_index, "MANY_PENDING", 64)
    rng = np.random.default_rng(3)
    options = {"capacity": 500, "distance_threshold": threshold, "columns": {}}
    plain = EpisodicMemory(12, **options)
    memory = EpisodicMemory(12, **options, index="torch", device=device)
    for _ in range(8):
        keys = rng.normal(size=(100, 12)) * rng.choice([1.0, 100.0])
        keys[::7] = keys[0]
        values = rng.normal(size=100)
        for one, other in zip(
            plain.write_many(keys, values), memory.write_many(keys, values), strict=True
        ):
            np.testing.assert_array_equal(other, one)
        same_answers(plain.index, memory.index, rng.normal(size=(20, 12)))
    plain.write(keys[3] + 1, 9.0)
    memory.write(keys[3] + 1, 9.0)
    memory.check_invariants()
    assert memory.digest() == plain.digest()
    memory.save(tmp_path / "memory.scrub")
    loaded = EpisodicMemory.load(tmp_path / "memory.scrub", index="torch", device=device)
    queries = rng.normal(size=(20, 12))
    for other in (loaded, memory.copy(), pickle.loads(pickle.dumps(memory)), memory):
        assert other.index.name == "torch"
        same_answers(plain.index, other.index, queries)
    changed = memory.copy()
    changed.write_many(queries, np.full(20, 99.0))
    same_answers(plain.index, memory.index, queries)


def test_bad_queries_are_refused():
    index = TorchScan(3, 1, "cpu")
    index.rebuild(np.eye(3, dtype=np.float32))
    for key in (np.full(3, np.nan), np.full(3, 1e39), np.zeros(4), [[0.0, 0.0, np.inf]]):
        with pytest.raises(ValueError, match=r"finite|expected"):
            index.query(key, 1)
    with pytest.raises(ValueError, match="k must be at least 1"):
        index.query(np.zeros(3), 0)
    with pytest.raises(ValueError, match="radius"):
        index.query(np.zeros(3), 1, -1.0)
    assert index.nearest(np.zeros(3)) == (0, 1.0)
    assert index.query(np.zeros((0, 3)), 2)[0].shape == (0, 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_cuda_is_said_at_once():
    with pytest.raises(
        ValueError, match=r"""got device='cuda'.*; use device="cpu", or index="auto\""""
    ):
        EpisodicMemory(12, capacity=10, index="torch")


def test_an_unknown_device_is_said_at_once():
    with pytest.raises(ValueError, match="got device='gpu'"):
        EpisodicMemory(12, capacity=10, index="torch", device="gpu")


def test_a_full_device_loses_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    keys, queries = rng.normal(size=(300, 12)), rng.normal(size=(9, 12))
    plain = EpisodicMemory(12, capacity=500, columns={})
    memory = EpisodicMemory(12, capacity=500, columns={}, index="torch", device="cpu")
    for each in (plain, memory):
        each.write_many(keys, np.zeros(300))

    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    for place in ("update", "search", "__init__"):
        with monkeypatch.context() as patch:
            if place != "__init__":
                memory.neighbors(queries, 3)
            memory.write(queries[0], 1.0), plain.write(queries[0], 1.0)
            patch.setattr(torch_rows.DeviceRows, place, full)
            with pytest.warns(RuntimeWarning, match="no memory left.*nothing is lost"):
                same_answers(plain.index, memory.index, queries)
        memory = memory.copy()
    same_answers(plain.index, memory.index, queries)
    memory.check_invariants()


def test_without_the_extra_it_says_how_to_get_it():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from scrubjay import EpisodicMemory\n"
        "EpisodicMemory(3, capacity=9)\n"
        "try: EpisodicMemory(3, capacity=9, index='torch')\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "scrubjay[deep]"' in done.stdout


def test_memory_does_not_import_torch():
    code = "import sys, scrubjay.memory; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

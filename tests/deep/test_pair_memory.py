"""The read-out against a double loop, the ring against its definition."""

import io
import math

import numpy as np
import pytest
import torch

from scrubjay.deep import PairMemory


def filled(rng, n_rows=200, n_neighbors=2, capacity=1000, pair_dim=5):
    memory = PairMemory(pair_dim, capacity=capacity, n_neighbors=n_neighbors, seed=3)
    pairs, returns = rng.normal(size=(n_rows, pair_dim)), rng.normal(size=n_rows)
    memory.write(pairs, returns)
    return memory, pairs, returns


def naive_read(memory, pairs, returns, queries):
    """Distances of float32 keys, one by one, in the order of the formula."""
    keys = np.float32(pairs @ memory.projection).astype(np.float64)
    answers = []
    for query in np.float32(queries @ memory.projection).astype(np.float64):
        distances = [math.dist(query, key) for key in keys]
        nearest = sorted(range(len(keys)), key=lambda i: (distances[i], i))[: memory.n_neighbors]
        weights = [math.exp(-distances[i]) for i in nearest]
        values = [float(np.float32(returns[i])) for i in nearest]
        answers.append(sum(w * q for w, q in zip(weights, values, strict=True)) / sum(weights))
    return np.array(answers)


@pytest.mark.parametrize("n_neighbors", [1, 2, 5])
def test_read_equals_a_double_loop(n_neighbors):
    rng = np.random.default_rng(0)
    memory, pairs, returns = filled(rng, n_neighbors=n_neighbors)
    queries = np.concatenate([rng.normal(size=(50, 5)), pairs[:20]])
    expected = naive_read(memory, pairs, returns, queries)
    np.testing.assert_allclose(memory.read(queries), expected, rtol=1e-12, atol=1e-12)


def test_fewer_rows_than_neighbours_still_answer():
    memory, _, returns = filled(np.random.default_rng(0), n_rows=1, n_neighbors=3)
    assert memory.read(np.zeros((2, 5))) == pytest.approx(np.float32(returns[0]))


def test_far_queries_do_not_underflow():
    rng = np.random.default_rng(0)
    memory, _, returns = filled(rng)
    answer = memory.read(np.full((1, 5), 1e6))
    assert np.isfinite(answer).all()
    assert returns.min() - 1e-6 <= answer[0] <= returns.max() + 1e-6


def test_every_write_adds_and_the_oldest_row_gives_its_place():
    memory = PairMemory(2, capacity=3, key_dim=2, n_neighbors=1)
    pair = np.array([[1.0, 2.0]])
    for value in (1.0, 2.0, 3.0, 4.0):
        memory.write(pair, np.array([value]))
    assert sorted(memory.rows.values) == [2.0, 3.0, 4.0]


def test_projection_is_the_seeds():
    first, same, other = (PairMemory(7, capacity=1, seed=seed).projection for seed in (1, 1, 2))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert first.shape == (7, 4)


def test_state_survives_torchs_safe_loading():
    memory, _, _ = filled(np.random.default_rng(0), capacity=150)
    file = io.BytesIO()
    torch.save(memory.state_dict(), file)
    file.seek(0)
    other = PairMemory(5, capacity=7, seed=9)
    other.load_state_dict(torch.load(file, weights_only=True))
    queries = np.random.default_rng(1).normal(size=(30, 5))
    assert np.array_equal(memory.read(queries), other.read(queries))
    assert other.rows.digest() == memory.rows.digest()


def test_bad_neighbour_count_is_refused():
    with pytest.raises(ValueError, match="n_neighbors of at least 1, got 0"):
        PairMemory(2, capacity=1, n_neighbors=0)

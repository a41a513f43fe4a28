"""Explanations: the action is that of `predict`, and the numbers are those of the decision."""

import importlib.util
import math
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neutral import neutral_plus

from scrubjay import CEC, MFEC, CECPlus
from scrubjay.agents import Spaces
from scrubjay.agents.explanation import softmax
from scrubjay.agents.sampling import sample_softmax

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_method.py"
PLANE = gym.spaces.Box(-10, 10, (2,), np.float32)
BOX = Spaces(PLANE, gym.spaces.Box(-1, 1, (2,), np.float32))
BUTTONS = Spaces(PLANE, gym.spaces.Discrete(3, start=5))

seeds = st.integers(0, 2**32 - 1)


def fill(agent, seed, n=60, worthless=0.3):
    """Random rows, some close together, some of the lowest value."""
    rng = np.random.default_rng(seed)
    for memory in agent.memories.values():
        keys = rng.normal(size=(n, 2)) * rng.choice([0.2, 2.0], (n, 1))
        values = np.where(rng.random(n) < worthless, 0.0, rng.random(n))
        size = {} if not memory.columns else {"action": rng.uniform(-1, 1, (n, agent.codec.size))}
        memory.write_many(keys, values, **size)
    agent.memory_changed()
    return agent


def check(agent, seed):
    """The explained greedy action is the predicted one, in many states, stored rows among them."""
    rng = np.random.default_rng(seed)
    stored = np.concatenate([memory.keys for memory in agent.memories.values()])
    for state in [*rng.normal(size=(10, 2)) * rng.choice([0.3, 3.0], (10, 1)), *stored[:5]]:
        found = agent.explain(state.astype(np.float32))
        predicted, _ = agent.predict(state.astype(np.float32), deterministic=True)
        assert np.array_equal(agent.codec.decode(found.action), predicted)
        if found.followed >= 0:
            assert np.array_equal(found.neighbors[found.followed].action, found.action)
        for row in found.neighbors:
            memory = agent.memories[row.memory]
            assert row.value == memory.values[row.row]
            gap = memory.keys[row.row].astype(np.float64) - found.key.astype(np.float32)
            assert row.distance == pytest.approx(math.sqrt((gap**2).sum()))
        yield found


@settings(max_examples=15, deadline=None)
@given(seeds, st.floats(0.5, 6), st.floats(0.05, 10))
def test_cec_samples_within_the_radius_and_is_greedy_for_the_nearest(seed, factor, temperature):
    agent = fill(CEC(BOX, radius_factor=factor, temperature=temperature, seed=0), seed)
    for found in check(agent, seed):
        near = [row for row in found.neighbors if row.distance <= agent.radius]
        assert [row.trust for row in found.neighbors] == [float(bool(near))] * len(found.neighbors)
        weights = [math.exp(row.value / temperature) for row in near]
        expected = [weight / sum(weights) for weight in weights] or [0.0]
        assert [row.probability for row in found.neighbors] == pytest.approx(expected)


@settings(max_examples=25, deadline=None)
@given(
    seeds, st.floats(0.01, 0.5), st.floats(1, 12), st.booleans(), st.sampled_from([None, 0.0, 1.3])
)
def test_cec_plus_weighs_by_distance_and_is_greedy_for_the_best(seed, d, n, skip, cost):
    agent = neutral_plus(
        BOX, distance_threshold=d, radius_factor=n, skip_worthless=skip, detour_cost=cost,
        temperature_unit="best", n_neighbors=7,
    )  # fmt: skip
    fill(agent, seed)
    fading = -2 * (cost or 0.0) * math.log(agent.gamma) / d
    for found in check(agent, seed):
        known = [row for row in found.neighbors if row.probability > 0]
        if known:
            assert sum(row.probability for row in known) == pytest.approx(1)
        lowest, highest = agent.memory.value_range
        least = lowest + 1e-6 * (highest - lowest) if skip else -math.inf
        for row in found.neighbors:
            within = row.distance <= agent.radius * (1 + 1e-9)
            counts = row.value > least and within
            expected = math.exp(-fading * row.distance) if counts else 0.0
            if row.value > lowest:  # nothing is left of nothing
                assert row.trust == pytest.approx(expected, rel=1e-5, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(1, 6), st.sampled_from([0.0, 0.3]), st.integers(0, 12))
def test_mfec_means_the_rows_of_each_action(seed, k, d, n):
    agent = fill(MFEC(BUTTONS, n_neighbors=k, distance_threshold=d, seed=0), seed, 20, 0.0)
    for memory in list(agent.memories.values())[:1]:
        memory.write_many(np.ones((n, 2)) * np.arange(n)[:, None], np.ones(n))
    agent.memory_changed()
    for found in check(agent, seed):
        assert len(found.estimates) == 3
        for action, estimate in enumerate(found.estimates):
            asked = [row for row in found.neighbors if row.action[0] == action]
            assert sum(row.trust * row.value for row in asked) == pytest.approx(estimate)
            assert {row.memory for row in asked} == {f"action_{action}"}
        assert sum(row.probability for row in found.neighbors) == pytest.approx(1)


def test_an_action_without_rows_is_explained_too():
    agent = MFEC(BUTTONS, seed=0)
    agent.memories["action_1"].write([0.0, 0.0], 0.5)
    agent.memory_changed()
    found = agent.explain(np.zeros(2, np.float32))
    assert found.estimates == (-math.inf, 0.5, -math.inf)
    assert found.action[0] == 1
    assert found.neighbors[found.followed].memory == "action_1"


@pytest.mark.parametrize("temperature", [0.01, 1.0, 30.0])
def test_probabilities_are_those_with_which_neighbours_are_drawn(temperature):
    scores = np.random.default_rng(0).random(6)
    draws = (np.arange(20_000) + 0.5) / 20_000
    drawn = [sample_softmax(scores, len(scores), temperature, draw) for draw in draws]
    shares = np.bincount(drawn, minlength=len(scores)) / len(draws)
    assert shares == pytest.approx(softmax(scores, temperature), abs=1e-3)


def test_a_method_that_does_not_explain_itself_shows_its_nearest_rows():
    spec = importlib.util.spec_from_file_location("own_method_explained", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    agent = fill(module.NearestSuccess(BOX), 3)
    for found in check(agent, 3):
        assert len(found.neighbors) == 10
        assert found.neighbors[found.followed].memory == "successes"
        assert all(math.isnan(row.trust) for row in found.neighbors)


@pytest.mark.parametrize("kind", [CEC, CECPlus])
def test_an_empty_memory_has_nothing_to_explain(kind):
    agent = kind(BOX, seed=0)
    found = agent.explain(np.zeros(2, np.float32))
    assert found.neighbors == ()
    assert found.followed == -1
    assert np.array_equal(found.action, np.zeros(2))


def test_explaining_changes_nothing():
    plain = {
        "planning": 0.0,
        "discovery": False,
        "goal_planning": False,
    }  # rows without where they led to
    agent = fill(CECPlus(BOX, distance_threshold=0.1, embedding=None, seed=0, **plain), 1)
    agent.embedding.observe(np.zeros(2), np.zeros(2))
    before = agent.memory.digest(), agent.embedding.state()
    agent.explain_key(np.zeros(2))
    assert agent.memory.digest() == before[0]
    assert all(np.array_equal(a, before[1][name]) for name, a in agent.embedding.state().items())

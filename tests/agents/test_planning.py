"""Sweeping values over stored transitions, against a naive copy."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.agents import planning
from scrubjay.agents.planning import CLOSE, LINKS, PASSES, SETTLED, Rule, swept_values
from scrubjay.memory import EpisodicMemory


def memory_of(keys, values, nexts, rewards, ended, followed=None):
    """Rows exactly as given."""
    followed = np.zeros(len(values)) if followed is None else followed
    keys = np.asarray(keys, np.float32).reshape(len(values), -1)
    memory = EpisodicMemory(
        keys.shape[1], capacity=100, columns={"action": 1, **planning.columns(keys.shape[1])},
        rule="append", index="kdtree",
    )  # fmt: skip
    memory.write_many(
        keys, values, action=np.zeros((len(keys), 1)),
        next=np.asarray(nexts, np.float32).reshape(keys.shape),
        reward=np.asarray(rewards, np.float64)[:, None], ended=np.asarray(ended, np.bool_)[:, None],
        followed=np.asarray(followed, np.bool_)[:, None], lure=np.zeros((len(keys), 1)),
    )  # fmt: skip
    return memory


def naive(memory, rule):
    """The same with lists and a search through all rows."""
    columns, values = memory.columns, [float(v) for v in memory.values]
    radius = min(rule.radius, -math.log(CLOSE) / max(rule.fading, 1e-300))
    linked = []
    for i in range(len(values)):
        apart = np.sqrt(
            ((memory.keys.astype(float) - columns["next"][i].astype(float)) ** 2).sum(1)
        )
        order = sorted(range(len(values)), key=lambda j: (apart[j] ** 2, j))
        near = [j for j in order[:LINKS] if apart[j] <= radius]
        linked.append([] if columns["ended"][i, 0] else [(j, apart[j]) for j in near])
    settled = SETTLED * (max(values) - min(values))
    for i, rows in enumerate(linked):
        if rows and columns["followed"][i, 0]:
            values[i] = rule.lowest
    for _ in range(PASSES):
        largest = 0.0
        for i, rows in enumerate(linked):
            if not rows:
                continue
            best = max(
                rule.lowest + (values[j] - rule.lowest) * math.exp(-rule.fading * f)
                for j, f in rows
            )
            new = float(columns["reward"][i, 0]) + rule.gamma * best
            if new > values[i]:
                largest = max(largest, new - values[i])
                values[i] = float(np.float32(new))
        if largest <= settled:
            break
    return np.array(values, np.float32)


numbers = st.integers(-8, 8).map(lambda n: n / 4)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(numbers, numbers, numbers, numbers, st.booleans(), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_sweeping_does_what_a_naive_copy_does(rows):
    memory = memory_of(*(list(column) for column in zip(*rows, strict=True)))
    rule = Rule(0.9, 0.6, 0.15, float(memory.value_range[0]))
    np.testing.assert_allclose(swept_values(memory, rule), naive(memory, rule), rtol=1e-6)


def test_two_halves_of_a_way_are_joined():
    # 0 -> 1 -> 2 was travelled without success, 2 -> 3 -> goal in another episode
    memory = memory_of([0, 1, 2, 3], [0, 0, 0.9, 1], [1, 2, 3, 4], [0, 0, 0, 1], [0, 0, 0, 1])
    swept = swept_values(memory, Rule(0.9, 0.1, 1e-9, 0.0))
    np.testing.assert_allclose(swept, [0.9**3, 0.9**2, 0.9, 1.0], rtol=1e-6)


def test_values_never_grow_in_a_circle():
    memory = memory_of([0, 1], [1.0, 0.5], [1, 0], [0, 0], [False, False])
    swept = swept_values(memory, Rule(0.9, 0.1, 1e-9, 0.0))
    np.testing.assert_allclose(swept, [1.0, 0.9], rtol=1e-6)


def test_rows_that_promise_each_other_what_no_one_reaches_fall():
    # 0 and 1 lead to each other; 2 leads to 3, which ends with a success
    given = [0, 1, 2, 3], [0.9, 0.9, 0.9, 1.0], [1, 0, 3, 4], [0, 0, 0, 1], [0, 0, 0, 1]
    rule = Rule(0.9, 0.1, 1e-9, 0.0)
    swept = swept_values(memory_of(*given, followed=[1, 1, 1, 1]), rule)
    np.testing.assert_allclose(swept, [0, 0, 0.9, 1.0], atol=1e-6)
    swept = swept_values(memory_of(*given), rule)
    np.testing.assert_allclose(swept, [0.9, 0.9, 0.9, 1.0], rtol=1e-6)


def test_rows_of_an_older_file_keep_their_values():
    memory = EpisodicMemory(1, capacity=10, columns={"action": 1}, index="kdtree")
    memory.write_many([[0.0], [1.0]], [2.0, 3.0], action=np.zeros((2, 1)))
    state = planning.with_transitions(*memory.state())
    upgraded = EpisodicMemory.from_state(*state, index="kdtree")
    rule = Rule(0.9, 5.0, 1e-9, 0.0)
    assert swept_values(upgraded, rule).tolist() == memory.values.tolist()

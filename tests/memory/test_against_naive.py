"""Hypothesis interleaves every operation of the memory and compares it with the naive one."""

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from naive import BLEND_RATE, NaiveMemory

from scrubjay.memory import EpisodicMemory, Outcome

SEEDS = st.integers(0, 2**32 - 1)


class MemoryMachine(RuleBasedStateMachine):
    """Both memories get the same calls; keys come from few grid points, so that ties abound."""

    @initialize(
        dim=st.sampled_from([1, 1, 2, 3, 4, 5, 24, 37]),
        capacity=st.sampled_from([1, 2, 7, 40, 150, 400]),
        threshold=st.sampled_from([0.0, 0.5, 1.0, 1.5]),
        rule_name=st.sampled_from(["replace_if_better", "append", "max", "blend"]),
        recency=st.sampled_from(["write", "hit", "never"]),
        grid=st.sampled_from([1, 2, 3, 4, 30, None]),
        index=st.sampled_from(["kdtree", "scan"]),
    )
    def start(self, dim, capacity, threshold, rule_name, recency, grid, index):
        self.dim, self.grid, self.index = dim, grid, index
        self.memory = EpisodicMemory(
            dim,
            capacity=capacity,
            distance_threshold=threshold,
            columns={"action": 2, "count": ((), np.int16)},
            rule=rule_name,
            recency=recency,
            index=index,
            blend_rate=BLEND_RATE,
        )
        self.naive = NaiveMemory(capacity, threshold, rule_name, recency)

    def draw(self, rng, n):
        """Keys, values (multiples of 1/4) and a payload that tells every write apart."""
        if self.grid is None:
            keys = rng.normal(size=(n, self.dim)) * rng.choice([1e-30, 0.3, 1.0, 1e4, 1e36])
        else:
            keys = rng.integers(0, self.grid, (n, self.dim)) * rng.choice([0.5, -0.5])
        return keys, rng.integers(0, 9, n) * 0.25, rng.normal(size=(n, 2))

    def columns(self, payload):
        return {"action": payload, "count": np.int16(payload[..., 0] * 100)}

    @rule(seed=SEEDS, threshold=st.sampled_from([None, None, 0.0, 2.0]))
    def write(self, seed, threshold):
        keys, values, payload = self.draw(np.random.default_rng(seed), 1)
        row, outcome = self.memory.write(
            keys[0], float(values[0]), distance_threshold=threshold, **self.columns(payload[0])
        )
        assert (row, outcome) == self.naive.write(keys[0], values[0], payload[0], threshold)
        assert isinstance(outcome, Outcome)

    @rule(seed=SEEDS, n=st.integers(0, 120))
    def write_many(self, seed, n):
        keys, values, payload = self.draw(np.random.default_rng(seed), n)
        rows, outcomes = self.memory.write_many(keys, values, **self.columns(payload))
        expected = [self.naive.write(*step) for step in zip(keys, values, payload, strict=True)]
        assert list(zip(rows.tolist(), outcomes.tolist(), strict=True)) == expected

    @rule(
        seed=SEEDS,
        n=st.integers(1, 30),
        gamma=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
        last=st.sampled_from([0.0, 3.7]),
    )
    def write_episode(self, seed, n, gamma, last):
        keys, rewards, payload = self.draw(np.random.default_rng(seed), n)
        rows, outcomes = self.memory.write_episode(
            keys, rewards, gamma, last, **self.columns(payload)
        )
        expected = self.naive.write_episode(keys, rewards, gamma, last, payload)
        assert list(zip(rows.tolist(), outcomes.tolist(), strict=True)) == expected

    @rule(seed=SEEDS, n=st.integers(0, 60))
    def write_stale(self, seed, n):
        keys, values, payload = self.draw(np.random.default_rng(seed), n)
        rows, outcomes = self.memory.write_stale(keys, values, **self.columns(payload))
        expected = self.naive.write_stale(keys, values, payload)
        assert list(zip(rows.tolist(), outcomes.tolist(), strict=True)) == expected

    @precondition(lambda self: len(self.memory))
    @rule(seed=SEEDS, n=st.integers(0, 5))
    def set_values(self, seed, n):
        rng = np.random.default_rng(seed)
        rows, values = rng.integers(0, len(self.memory), n), rng.integers(0, 9, n) * 0.25
        self.memory.set_values(rows, values)
        self.naive.set_values(rows.tolist(), values)

    @precondition(lambda self: len(self.memory))
    @rule(extreme=st.sampled_from([min, max]), value=st.sampled_from([-1e30, -5.0, 0.5, 5.0, 1e30]))
    def move_an_extreme(self, extreme, value):
        """The row with the lowest or highest value gets another one."""
        values = self.naive.values
        row = values.index(extreme(values))
        self.memory.set_values([row], [value])
        self.naive.set_values([row], [value])

    @precondition(lambda self: len(self.memory))
    @rule(seed=SEEDS, n=st.integers(0, 5))
    def touch(self, seed, n):
        rows = np.random.default_rng(seed).integers(0, len(self.memory), n)
        self.memory.touch(rows)
        self.naive.touch(rows.tolist())

    @rule(seed=SEEDS)
    def rekey(self, seed):
        """The count of a row is no part of the naive payload, so it must follow its action."""
        keys, _, _ = self.draw(np.random.default_rng(seed), len(self.memory))
        assert self.memory.rekey(keys).tolist() == self.naive.rekey(keys)
        actions, counts = self.memory.columns["action"], self.memory.columns["count"]
        for action, count in zip(actions, counts, strict=True):
            assert abs(float(action[0]) * 100 - count) <= 1

    @rule(seed=SEEDS, k=st.integers(1, 9), radius=st.sampled_from([0.0, 0.5, 1.0, 3.0, np.inf]))
    def query(self, seed, k, radius):
        keys, _, _ = self.draw(np.random.default_rng(seed), 4)
        all_rows, all_distances = self.memory.neighbors(keys, k, radius)
        for i, key in enumerate(keys):
            expected = self.naive.neighbors(key, k, radius)
            rows, distances = self.memory.neighbors(key, k, radius)
            assert rows.tolist() == [row for row, _ in expected]
            assert distances.tolist() == [np.sqrt(d) for _, d in expected]
            padding = k - len(expected)
            assert all_rows[i].tolist() == rows.tolist() + [-1] * padding
            assert all_distances[i].tolist() == distances.tolist() + [np.inf] * padding

    @precondition(lambda self: len(self.memory))
    @rule(seed=SEEDS)
    def nearest(self, seed):
        keys, _, _ = self.draw(np.random.default_rng(seed), 3)
        rows, distances = self.memory.nearest(keys)
        for i, key in enumerate(keys):
            [(row, squared)] = self.naive.neighbors(key, 1, np.inf)
            assert self.memory.nearest(key) == (row, np.sqrt(squared))
            assert (rows[i], distances[i]) == (row, np.sqrt(squared))

    @rule(way=st.sampled_from(["file", "copy", "deepcopy", "pickle", "pickle 5"]))
    def go_on_with_a_copy(self, way):
        before, digest = self.memory, self.memory.digest()
        if way == "file":
            with tempfile.TemporaryDirectory() as folder:
                before.save(Path(folder) / "memory.scrub")
                path = Path(folder) / "memory.scrub"
                self.memory = EpisodicMemory.load(path, index=self.index)
        elif way == "copy":
            self.memory = before.copy()
        elif way == "deepcopy":
            self.memory = copy.deepcopy(before)
        elif way == "pickle":
            self.memory = pickle.loads(pickle.dumps(before))
        else:
            buffers: list[pickle.PickleBuffer] = []
            data = pickle.dumps(before, 5, buffer_callback=buffers.append)
            self.memory = pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])
        assert self.memory.digest() == digest
        assert self.memory.index.name == self.index
        if way not in ("copy", "deepcopy"):
            # a file is of an episode's end, when no one asks for older writes
            self.naive.written = list(self.naive.stamps)
        before.write(np.full(self.dim, 123.0), 9.0, action=[0, 0], count=0)
        assert before.digest() != digest == self.memory.digest()

    @invariant()
    def same_content(self):
        if not hasattr(self, "memory"):
            return
        memory, naive = self.memory, self.naive
        memory.check_invariants()
        assert len(memory) == len(naive.keys)
        assert memory.keys.tolist() == [key.tolist() for key in naive.keys]
        assert memory.values.tolist() == [float(value) for value in naive.values]
        assert memory.stamps.tolist() == naive.stamps
        assert memory.columns["action"].tolist() == [action.tolist() for action in naive.payload]
        assert memory.recency_order().tolist() == naive.order
        assert memory.clock == naive.clock
        assert memory.value_range == naive.value_range
        assert memory.written_array[: len(memory)].tolist() == naive.written


MemoryMachine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestMemory = MemoryMachine.TestCase


@pytest.mark.parametrize("recency", ["write", "hit", "never"])
@pytest.mark.parametrize("rule_name", ["replace_if_better", "append", "max", "blend"])
@pytest.mark.parametrize(
    ("dim", "grid", "capacity", "index"),
    [(1, 40, 30, "kdtree"), (2, 6, 70, "scan"), (4, 3, 150, "kdtree"), (24, 2, 150, "scan")],
)
def test_long_runs(recency, rule_name, dim, grid, capacity, index):
    """The machine again, seeded and where hits and evictions mix."""
    rng = np.random.default_rng([dim, capacity])
    machine = MemoryMachine()
    machine.start(dim, capacity, 0.5, rule_name, recency, grid, index)
    for _ in range(30):
        seed = int(rng.integers(2**32))
        machine.write(seed, None)
        machine.write_many(seed, 5)
        machine.write_episode(seed, 10, 0.99, 0.5)
        machine.write_stale(seed, 6)
        machine.query(seed, 4, 1.0)
        machine.touch(seed, 2)
        if seed % 4 == 0:
            machine.rekey(seed)
        machine.set_values(seed, 2)
        machine.move_an_extreme([min, max][seed % 2], [-1e30, 0.5, 1e30][seed % 3])
        machine.same_content()
    machine.go_on_with_a_copy("file")
    machine.write_many(5, 20)
    machine.same_content()

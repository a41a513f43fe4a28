"""The oracle: an episodic memory as plain lists that answers by looking at every row."""

import numpy as np


def squared(a, b):
    """Float64 sum of squared differences, in index order."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        gap = float(x) - float(y)
        total += gap * gap
    return total


BLEND_RATE = 0.25


class NaiveMemory:
    def __init__(self, capacity, threshold, rule, recency):
        self.capacity, self.threshold, self.rule, self.recency = capacity, threshold, rule, recency
        self.keys, self.values, self.stamps, self.payload = [], [], [], []
        self.written, self.order, self.clock = [], [], 0

    def neighbors(self, key, k, radius):
        pairs = [(squared(np.float32(key), other), row) for row, other in enumerate(self.keys)]
        return [(row, d) for d, row in sorted(pairs)[:k] if d <= radius * radius]

    def write(self, key, value, payload, threshold=None):
        key, value = np.float32(key), np.float32(value)
        radius = self.threshold if threshold is None else threshold
        hit = [] if self.rule == "append" else self.neighbors(key, 1, radius)
        if hit:
            return self.replace(hit[0][0], key, value, payload)
        return self.add(key, value, payload)

    def replace(self, row, key, value, payload):
        old = self.values[row]
        if self.rule == "blend":
            value = np.float32(float(old) + BLEND_RATE * (float(value) - float(old)))
        changes = self.rule == "blend" or value > old
        if self.recency == "hit" or (self.recency == "write" and changes):
            self.touch([row])
        if not changes:
            return row, 2
        if self.rule in ("max", "blend"):
            key = self.keys[row]
        self.put(row, key, value, payload)
        return row, 1

    def add(self, key, value, payload):
        if len(self.keys) < self.capacity:
            row, outcome = len(self.keys), 0
            for column in (self.keys, self.values, self.stamps, self.written, self.payload):
                column.append(None)
            self.order.append(row)
        else:
            row, outcome = self.order[0], 3
            self.touch([row])
        self.put(row, key, value, payload)
        return row, outcome

    def put(self, row, key, value, payload):
        self.clock += 1
        self.keys[row], self.values[row], self.payload[row] = key, value, np.float32(payload)
        self.stamps[row] = self.written[row] = self.clock

    def write_stale(self, keys, values, payload):
        """All look-ups come first; then hits one after the other, then new rows."""
        steps = list(zip(np.float32(keys), np.float32(values), payload, strict=True))
        hits = [self.neighbors(key, 1, self.threshold) for key, _, _ in steps]
        results = [self.replace(hit[0][0], *s) if hit else None
                   for hit, s in zip(hits, steps, strict=True)]  # fmt: skip
        return [result or self.add(*step) for result, step in zip(results, steps, strict=True)]

    @property
    def value_range(self):
        numbers = [float(value) for value in self.values]
        return (min(numbers), max(numbers)) if numbers else (0.0, 0.0)

    def write_episode(self, keys, rewards, gamma, last_value, payload):
        results = [None] * len(keys)
        for t in reversed(range(len(keys))):
            last_value = rewards[t] + gamma * last_value
            results[t] = self.write(keys[t], last_value, payload[t])
        return results

    def set_values(self, rows, values):
        for row, value in zip(rows, values, strict=True):
            self.clock += 1
            self.values[row], self.stamps[row] = np.float32(value), self.clock

    def touch(self, rows):
        for row in rows:
            self.order.remove(row)
            self.order.append(row)

    def rekey(self, keys):
        """Write all rows into an empty memory, least recent first."""
        other = NaiveMemory(self.capacity, self.threshold, self.rule, self.recency)
        other.clock = self.clock
        rows = [None] * len(self.keys)
        for row in self.order:
            rows[row] = other.write(keys[row], self.values[row], self.payload[row])[0]
        self.__dict__.update(other.__dict__)
        return rows

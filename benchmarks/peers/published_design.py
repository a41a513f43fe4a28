"""CEC in the design of its first published implementation, as a peer to compare with.

Written from a description of that design, with its properties and its faults: rows in Python lists;
scikit-learn's KDTree, built anew from all rows after each episode, so that within one update every
look-up sees the rows of the episode before (the index is stale); eviction by `list.pop`, after
which the index points at wrong rows; all values and actions turned into arrays for every decision;
a softmax that overflows; actions scaled by their upper bound.
It trains in scrubjay's loop, so that both see the same episodes and write the same tables.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.neighbors import KDTree

from scrubjay.agents.schedules import LinearSchedule
from scrubjay.embedding import Embedding, Identity
from scrubjay.randomness import Stream, generator
from scrubjay.training import Logger


class PublishedCEC:
    """The same settings as `scrubjay.CEC`, the other way."""

    name: ClassVar[str] = "published-design"

    def __init__(
        self,
        env: Any,
        *,
        n_neighbors: int,
        temperature: float,
        noise_std: float,
        radius_factor: float,
        distance_threshold: float,
        gamma: float,
        epsilon: tuple[float, float, int],
        capacity: int,
        exploration: str,
        embedding: Embedding | None = None,
        recency: str = "hit",  # noqa: ARG002  the one it has
        seed: int = 0,
    ) -> None:
        self.env, self.seed = env, seed
        self.k, self.temperature, self.noise_std = n_neighbors, temperature, noise_std
        self.radius, self.d = radius_factor * distance_threshold, distance_threshold
        self.gamma, self.capacity, self.exploration = gamma, capacity, exploration
        self.epsilon = LinearSchedule(*epsilon)
        self.action_space = env.action_space
        self.embedding = embedding or Identity()
        self.flattener = self.embedding.flattener(env.observation_space)
        self.embedding.bind(self.flattener.bounds, seed)
        self.states: list[np.ndarray] = []
        self.actions: list[np.ndarray] = []
        self.returns: list[float] = []
        self.stamps: list[int] = []
        self.tree: KDTree | None = None
        self.clock = self.num_timesteps = self.n_episodes = 0
        self.logger = Logger()

    def key_of(self, observation: Any, learn: bool) -> np.ndarray:
        vector, key = np.empty(self.flattener.size), np.empty(self.embedding.key_dim)
        self.flattener.into(observation, vector)
        (self.embedding.observe if learn else self.embedding.embed)(vector, key)
        return key

    def choose(self, key: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        near = self._near(key)
        if not near:
            return self._uniform(rng)
        explore = rng.random() < self.epsilon(self.num_timesteps)
        if explore and self.exploration == "uniform":
            return self._uniform(rng)
        # the whole columns become arrays anew for every decision: most of this design's time
        values, actions = np.array(self.returns)[near], np.array(self.actions)[near]
        weights = np.exp(values / self.temperature)
        action = actions[rng.choice(len(near), p=weights / weights.sum())]
        if not explore:
            return action
        high = self.action_space.high
        noisy = action / high + rng.normal(0.0, self.noise_std, action.shape)
        return np.clip(noisy * high, self.action_space.low, high).astype(action.dtype)

    def _near(self, key: np.ndarray) -> list[int]:
        if self.tree is None:
            return []
        distances, rows = self.tree.query(key.reshape(1, -1), k=min(self.k, len(self.states)))
        return [int(row) for row, at in zip(rows[0], distances[0], strict=True) if at < self.radius]

    def _uniform(self, rng: np.random.Generator) -> np.ndarray:
        space = self.action_space
        return rng.uniform(space.low, space.high).astype(space.dtype)

    def update(self, episode: list[tuple[np.ndarray, np.ndarray, float]]) -> None:
        """Backwards, every look-up in the tree of the episode before."""
        value = 0.0
        for key, action, reward in reversed(episode):
            value = reward + self.gamma * value
            self.clock += 1
            self._write(key, action, value)
        self.tree = KDTree(self.states)

    def _write(self, key: np.ndarray, action: np.ndarray, value: float) -> None:
        if self.tree is not None:
            distance, row = self.tree.query(key.reshape(1, -1), k=1)
            closest = int(row[0, 0])
            if distance[0, 0] <= self.d:
                self._hit(closest, key, action, value)
                return
        if len(self.states) >= self.capacity:
            self._remove_oldest()
        self.states.append(key)
        self.actions.append(action)
        self.returns.append(value)
        self.stamps.append(self.clock)

    def _hit(self, row: int, key: np.ndarray, action: np.ndarray, value: float) -> None:
        self.stamps[row] = self.clock
        if value > self.returns[row]:
            self.states[row], self.actions[row], self.returns[row] = key, action, value

    def _remove_oldest(self) -> None:
        row = int(np.argmin(self.stamps))
        for column in (self.states, self.actions, self.returns, self.stamps):
            column.pop(row)

    # -- what scrubjay's training asks for ----------------------------------------------------

    def recorder(self, n_lanes: int, batched: bool) -> "PublishedRecorder":
        if n_lanes != 1 or batched:
            raise ValueError(f"expected one environment, got {n_lanes}")
        return PublishedRecorder(self)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None,  # noqa: ARG002
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:  # fmt: skip
        key = self.key_of(observation, learn=False)
        if self.tree is None:
            return (self.action_space.low + self.action_space.high) / 2, state
        if not deterministic:
            return self.choose(key, generator(self.seed, Stream.PREDICTION)), state
        _, row = self.tree.query(key.reshape(1, -1), k=1)
        return self.actions[int(row[0, 0])], state

    def rewind(self) -> int:
        return 0

    def warm_up(self) -> None: ...

    def config(self) -> dict[str, Any]:
        return {}

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:  # noqa: ARG002
        return {"memory/size": float(len(self.states))}

    def gauges(self) -> dict[str, Any]:
        return {"memory": len(self.states)}

    def save(self, path: Any, training: Any = None) -> None:
        """It has no file format worth the name: its rows are enough for a benchmark."""


class PublishedRecorder:
    """Its episodes, one after the other."""

    def __init__(self, agent: PublishedCEC) -> None:
        self.agent = agent
        self.steps: list[tuple[np.ndarray, np.ndarray, float]] = []

    def begin(self, lane: int = 0) -> int:
        number = self.agent.n_episodes
        self.rng = generator(self.agent.seed, Stream.POLICY, lane, number)
        self.steps = []
        return number

    def act(self, observation: Any, lanes: Any = None) -> np.ndarray:  # noqa: ARG002
        self.key = self.agent.key_of(observation, learn=True)
        self.action = self.agent.choose(self.key, self.rng)
        return self.action

    def record(self, reward: float, lanes: Any = None) -> None:  # noqa: ARG002
        self.steps.append((self.key, self.action, reward))
        self.agent.num_timesteps += 1

    def length(self, lane: int = 0) -> int:  # noqa: ARG002
        return len(self.steps)

    def total_reward(self, lane: int = 0) -> float:  # noqa: ARG002
        return float(sum(reward for _, _, reward in self.steps))

    def finish(self, observation: Any, terminated: bool = True, lane: int = 0) -> dict[str, float]:  # noqa: ARG002
        self.agent.key_of(observation, learn=True)
        self.agent.update(self.steps)
        self.agent.n_episodes += 1
        return {}

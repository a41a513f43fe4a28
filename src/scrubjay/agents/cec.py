"""Continuous Episodic Control (Yang, Moerland, Preuss and Plaat, 2023), Section IV.

A table of (state, action, return). To act: the k nearest stored states, of them those within n*d,
one of their actions by a softmax over the returns (Eq. 5), with probability epsilon some Gaussian
noise. After each episode, backwards: what is far from everything known is added, what is better
than what is known replaces it (Eqs. 3 and 4). No network, no gradient.
"""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from scrubjay.agents.action_box import ActionBox
from scrubjay.agents.base import (
    HeldEpisode,
    MemoryAgent,
    Spaces,
    check_count,
    check_number,
    warn_empty_memory,
)
from scrubjay.agents.decision import (
    Choice,
    EpisodeArrays,
    Rule,
    decide,
    greedy_row,
    is_finite,
    write_uniform_action,
)
from scrubjay.agents.scale_check import ScaleCheck
from scrubjay.agents.schedules import LinearSchedule, as_schedule
from scrubjay.embedding import Embedding, Identity, load_embedding
from scrubjay.memory import EpisodicMemory, Outcome
from scrubjay.randomness import Stream, generator

EXPLORATIONS = ("noise", "uniform")
BLOCK = 64  # steps whose random numbers are drawn at once


class CEC(MemoryAgent):
    """Acts from a memory of (state, action, return).

    Names here, symbols in the paper: `n_neighbors` k, `temperature` tau, `noise_std` sigma (in an
    action box scaled to [-1, 1]), `radius_factor` n, `distance_threshold` d. `epsilon` is a number
    or (start, end, steps). `exploration="noise"` adds Gaussian noise with probability epsilon (the
    paper's text), `"uniform"` takes a uniform action instead (what its code did). `recency="write"`
    evicts the least recently updated row (the paper), `"hit"` the least recently visited (its
    code).
    """

    name = "cec"

    def __init__(
        self,
        env: Any,
        *,
        n_neighbors: int = 5,
        temperature: float = 1.0,
        noise_std: float = 0.1,
        radius_factor: float = 1.0,
        distance_threshold: float = 0.1,
        gamma: float = 0.99,
        epsilon: float | tuple[float, float, int] | LinearSchedule = (0.9, 0.05, 100_000),
        capacity: int = 1_000_000,
        embedding: Embedding | None = None,
        exploration: str = "noise",
        recency: str = "write",
        seed: int = 0,
    ) -> None:
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self.temperature = check_number("temperature", temperature, low=0, open_low=True)
        self.noise_std = check_number("noise_std", noise_std, low=0)
        self.radius_factor = check_number("radius_factor", radius_factor, low=0, open_low=True)
        self.distance_threshold = check_number(
            "distance_threshold", distance_threshold, low=0, open_low=True
        )
        self.gamma = check_number("gamma", gamma, low=0, high=1)
        self.epsilon = as_schedule(epsilon)
        self.capacity = check_count("capacity", capacity)
        if exploration not in EXPLORATIONS:
            raise ValueError(f"exploration is one of {EXPLORATIONS}; {exploration!r} came")
        self.exploration = exploration
        self.recency = recency
        super().__init__(env, embedding=embedding, seed=seed)
        self.action_box = ActionBox(self.action_space)
        self._rule = self._make_rule()
        self._flat_rule = self._rule.flat()
        self._scale_check = ScaleCheck(self._rule.radius)
        self._warned_empty = False
        self._prediction_rng = generator(self.seed, Stream.PREDICTION)
        self._buffers: dict[int, EpisodeArrays] = {}
        self._set_memory(self._make_memory())

    def _make_rule(self) -> Rule:
        return Rule(
            n_neighbors=self.n_neighbors,
            radius=self.radius_factor * self.distance_threshold,
            temperature=self.temperature,
            noise_std=self.noise_std,
            uniform=self.exploration == "uniform",
            low=self.action_box.low,
            high=self.action_box.high,
        )

    def _make_memory(self) -> EpisodicMemory:
        return EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self.distance_threshold,
            columns={"action": self.action_box.size},
            rule="replace_if_better",
            recency=self.recency,
        )

    def _set_memory(self, memory: EpisodicMemory) -> None:
        super()._set_memory(memory)
        self._read_arrays()

    def _read_arrays(self) -> None:
        """The memory's arrays for compiled code; they may be other ones after a write."""
        self._tree = self.memory.tree.arrays
        self._values = self.memory.value_array
        self._actions = self.memory.column_arrays["action"]
        self._memory_arrays = (*self._tree, self._values, self._actions)
        self._embedding_ready = self.embedding.ready

    def begin_episode(self, environment: int) -> "CECEpisode":
        return CECEpisode(self, environment, self._open_episode(environment))

    def _learn_from(self, keys: Any, actions: Any, rewards: Any) -> npt.NDArray[Any]:
        """Algorithm 1, UPDATE: the one place where the memory is written.

        A time-out ends the return as a real end does, as in the paper.
        """
        _, outcomes = self.memory.write_episode(keys, rewards, self.gamma, action=actions)
        self._read_arrays()
        return outcomes

    def _hold(self, episode: HeldEpisode) -> None:
        self._held.append(episode)

    def _release_held(self) -> list[npt.NDArray[Any]]:
        """Write the episodes that waited for the embedding."""
        held, self._held = self._held, []
        return [
            self._learn_from(self.embedding.embed_batch(episode.vectors), *episode[1:])
            for episode in held
        ]

    def _predict_one(self, observation: Any, deterministic: bool) -> npt.NDArray[Any]:
        self._flattener.into(observation, self._vector)
        if len(self.memory) == 0:
            return self._predict_without_memory()
        self.embedding.embed(self._vector, self._key)
        if not deterministic:
            return self._predict_random()
        row = greedy_row(*self._tree, self._key)
        if row < 0:
            raise ValueError(f"a finite observation was expected, {observation!r} came")
        return self.action_box.executed(self._actions[row])

    def _predict_without_memory(self) -> npt.NDArray[Any]:
        if not self._warned_empty:
            self._warned_empty = True
            warn_empty_memory()
        return self.action_box.centre()

    def _predict_random(self) -> npt.NDArray[Any]:
        arrays = episode_arrays(1, self.embedding.key_dim, self.action_box.size)
        draws = draw_block(self._prediction_rng, 1, self._rule)
        epsilon = self.epsilon(self.num_timesteps)
        choice = decide(
            *self._memory_arrays, *self._flat_rule, *arrays, draws, self._key, epsilon, 0, 0
        )
        if choice < 0:
            raise ValueError(f"a finite observation was expected, {self._vector} came")
        return self.action_box.executed(arrays.actions[0])

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        return {
            "rollout/exploration_rate": self.epsilon(self.num_timesteps),
            "memory/size": float(len(self.memory)),
            "memory/hit_rate": _ratio(totals, "hits", "writes"),
            "memory/nearest_distance": _ratio(totals, "distance", "distances"),
            "memory/added": totals.get("added", 0.0),
            "memory/replaced": totals.get("replaced", 0.0),
            "memory/evicted": totals.get("evicted", 0.0),
            "policy/random_fraction": _ratio(totals, "random", "decisions"),
            "policy/no_neighbor_fraction": _ratio(totals, "no_neighbor", "decisions"),
        }

    def gauges(self) -> dict[str, Any]:
        return {"memory": len(self.memory)}

    def config(self) -> dict[str, Any]:
        return {
            "n_neighbors": self.n_neighbors,
            "temperature": self.temperature,
            "noise_std": self.noise_std,
            "radius_factor": self.radius_factor,
            "distance_threshold": self.distance_threshold,
            "gamma": self.gamma,
            "epsilon": self.epsilon.config(),
            "capacity": self.capacity,
            "embedding": self.embedding.config(),
            "exploration": self.exploration,
            "recency": self.recency,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, env: Any, config: Mapping[str, Any]) -> Self:
        """Make an agent from its `config`."""
        arguments = dict(config)
        arguments["embedding"] = load_embedding(arguments["embedding"])
        return cls(env, **arguments)

    def warm_up(self) -> None:
        """Compile everything that training calls: an episode of a copy that nobody keeps."""
        copy = self.from_config(Spaces(self.observation_space, self.action_space), self.config())
        copy._embedding_ready = True
        zeros = np.zeros(self.embedding.key_dim)
        episode = copy.begin_episode(0)
        episode.choose(zeros)
        episode.record(0.0)
        episode.choose(zeros)
        episode.record(0.0)
        copy._learn_from(*episode.taken())
        is_finite(zeros)
        greedy_row(*copy._tree, zeros)


class CECEpisode:
    """One episode as CEC lives it: decide, take the reward, and in the end remember."""

    def __init__(self, agent: CEC, environment: int, number: int) -> None:
        self.environment = environment
        self.number = number
        self._agent = agent
        self._rng = generator(agent.seed, Stream.POLICY, environment, number)
        self._vector = np.empty(agent._flattener.size)
        # an identity has nothing to learn and nothing to copy: its key is the vector itself
        self._identity = isinstance(agent.embedding, Identity)
        self._key = self._vector if self._identity else np.empty(agent.embedding.key_dim)
        self._arrays = agent._buffers.get(environment) or episode_arrays(
            BLOCK, agent.embedding.key_dim, agent.action_box.size
        )
        self._rewards: list[float] = []
        self._held_vectors: list[npt.NDArray[np.float64]] = []

    def act(self, observation: Any) -> npt.NDArray[Any]:
        """Observation -> key -> neighbours -> action."""
        agent = self._agent
        if self._identity and is_plain_vector(observation, self._vector):
            self.choose(observation)
        else:
            self._observe(observation)
            if agent._embedding_ready:
                self.choose(self._key)
            else:
                self._act_without_keys()
        return agent.action_box.executed(self._arrays.actions[len(self._rewards)])

    def _observe(self, observation: Any) -> None:
        agent = self._agent
        agent._flattener.into(observation, self._vector)
        if self._identity:
            return  # the decision itself refuses what is not finite
        if not is_finite(self._vector):
            raise ValueError(f"a finite observation was expected, {observation!r} came")
        agent.embedding.observe(self._vector, self._key)

    def choose(self, key: npt.NDArray[np.float64]) -> None:
        """One decision, written into the episode's arrays."""
        agent = self._agent
        step, draw = self._next_step()
        choice = decide(
            *agent._memory_arrays, *agent._flat_rule, *self._arrays, self._draws, key,
            agent.epsilon(agent.num_timesteps), draw, step,
        )  # fmt: skip
        if choice < 0:
            raise ValueError(f"a finite observation was expected, its key is {key}")

    def _act_without_keys(self) -> None:
        """Uniform actions, and the observations as they are, until the embedding is ready."""
        step, draw = self._next_step()
        self._held_vectors.append(self._vector.copy())
        write_uniform_action(self._agent._rule, self._draws[draw], self._arrays.actions[step])
        self._arrays.choices[step] = Choice.NO_NEIGHBOR
        self._arrays.distances[step] = np.inf

    def _next_step(self) -> tuple[int, int]:
        step = len(self._rewards)
        if step == len(self._arrays.choices):
            self._arrays = doubled(self._arrays)
        draw = step % BLOCK
        if draw == 0:
            self._draws = draw_block(self._rng, BLOCK, self._agent._rule)
        return step, draw

    def record(self, reward: float) -> None:
        if not math.isfinite(reward):
            raise ValueError(f"a finite reward was expected, {reward!r} came")
        self._rewards.append(reward)

    def taken(self) -> tuple[Any, Any, Any]:
        """Keys, actions and rewards of the episode so far."""
        n = len(self._rewards)
        return self._arrays.keys[:n], self._arrays.actions[:n], np.array(self._rewards)

    def finish(self, observation: Any) -> dict[str, float]:
        agent = self._agent
        self._observe(observation)
        if self._identity and not is_finite(self._vector):
            raise ValueError(f"a finite observation was expected, {observation!r} came")
        agent._buffers[self.environment] = self._arrays
        keys, actions, rewards = self.taken()
        if agent._embedding_ready:
            outcomes = [agent._learn_from(keys, actions, rewards)]
            agent._scale_check.add(self._arrays.distances[: len(rewards)])
        else:
            held = HeldEpisode(np.array(self._held_vectors), actions.copy(), rewards)
            agent._hold(held)
            outcomes = []
        agent.embedding.end_episode()
        if not agent._embedding_ready and agent.embedding.ready:
            outcomes = agent._release_held()
        agent._close_episode(self.environment)
        return self._totals(outcomes)

    def _totals(self, outcomes: list[npt.NDArray[Any]]) -> dict[str, float]:
        n = len(self._rewards)
        choices = np.bincount(self._arrays.choices[:n], minlength=len(Choice) - 1)
        distances = self._arrays.distances[:n]
        near = distances[np.isfinite(distances)]
        written = np.bincount(
            np.concatenate(outcomes).astype(np.int64) if outcomes else np.zeros(0, np.int64),
            minlength=len(Outcome),
        )
        return {
            "decisions": n,
            "random": float(choices[Choice.UNIFORM] + choices[Choice.NO_NEIGHBOR]),
            "no_neighbor": float(choices[Choice.NO_NEIGHBOR]),
            "distance": float(near.sum()),
            "distances": float(near.size),
            "writes": float(written.sum()),
            "hits": float(written[Outcome.REPLACED] + written[Outcome.KEPT]),
            "added": float(written[Outcome.ADDED] + written[Outcome.EVICTED]),
            "replaced": float(written[Outcome.REPLACED]),
            "evicted": float(written[Outcome.EVICTED]),
        }


def is_plain_vector(observation: Any, vector: npt.NDArray[np.float64]) -> bool:
    """Whether compiled code can read the observation where it is, without a copy into `vector`."""
    return (
        type(observation) is np.ndarray
        and observation.dtype is vector.dtype
        and observation.shape == vector.shape
        and observation.strides == vector.strides
    )


def episode_arrays(n_steps: int, key_dim: int, action_dim: int) -> EpisodeArrays:
    return EpisodeArrays(
        keys=np.zeros((n_steps, key_dim), dtype=np.float32),
        actions=np.zeros((n_steps, action_dim), dtype=np.float32),
        distances=np.zeros(n_steps),
        choices=np.zeros(n_steps, dtype=np.int8),
    )


def doubled(arrays: EpisodeArrays) -> EpisodeArrays:
    return EpisodeArrays(*(np.concatenate([array, np.zeros_like(array)]) for array in arrays))


def draw_block(rng: np.random.Generator, n_steps: int, rule: Rule) -> npt.NDArray[np.float64]:
    """Random numbers of some steps, a row each: epsilon, softmax, uniform action, then normals.

    Normals are drawn only where noise is what explores.
    """
    n_actions = len(rule.low)
    uniforms = rng.random((n_steps, 2 + n_actions))
    if rule.uniform:
        return uniforms
    return np.hstack([uniforms, rng.standard_normal((n_steps, n_actions))])


def _ratio(totals: Mapping[str, float], part: str, whole: str) -> float:
    count = totals.get(whole, 0.0)
    return totals.get(part, 0.0) / count if count else float("nan")

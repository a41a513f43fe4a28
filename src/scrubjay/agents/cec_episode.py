"""One episode as CEC lives it: what it does, what it writes down, what it hands over in the end."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.agents.backup import going_on
from scrubjay.agents.base import HeldEpisode
from scrubjay.agents.decision import (
    EMPTY_TRACE,
    FOLLOWED,
    HERE,
    SAMPLED,
    Choice,
    EpisodeArrays,
    Rule,
    decide,
    duration,
    is_finite,
    write_uniform_action,
)
from scrubjay.embedding import Embedding, Identity
from scrubjay.memory import Outcome
from scrubjay.randomness import Stream, generator

if TYPE_CHECKING:
    from scrubjay.agents.cec import CEC

BLOCK = 64  # steps whose random numbers are drawn at once


class Experience(NamedTuple):
    """A finished episode: what a write needs."""

    keys: npt.NDArray[Any]
    actions: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float64]
    trace: npt.NDArray[np.int64]
    closeness: npt.NDArray[np.float64]


def untraced(keys: Any, actions: Any, rewards: Any) -> Experience:
    """An episode in which nothing was followed."""
    n = len(rewards)
    trace = np.full((n, len(EMPTY_TRACE)), EMPTY_TRACE, dtype=np.int64)
    return Experience(keys, actions, np.asarray(rewards, np.float64), trace, np.zeros(n))


class CECEpisode:
    """One episode as CEC lives it: decide, take the reward, and in the end remember.

    What it records is decided when it begins: keys if the embedding gives keys by then, otherwise
    the observations, of which the keys are made later. So in a vector environment an embedding that
    becomes ready while other episodes are open changes nothing for those.
    """

    def __init__(self, agent: "CEC", environment: int, number: int) -> None:
        self.environment = environment
        self.number = number
        self._agent = agent
        self._rng = generator(agent.seed, Stream.POLICY, environment, number)
        self._epsilon_factor = 1.0
        if agent.epsilon_spread > 1:
            self._epsilon_factor = agent.epsilon_spread ** self._rng.uniform(-1.0, 1.0)
        self._vector = np.empty(agent._flattener.size)
        self._has_keys = agent.embedding.ready
        # without a threshold there is no radius to look for neighbours in
        self._decides = self._has_keys and agent.memory.distance_threshold > 0
        # an identity has nothing to learn and nothing to copy: its key is the vector itself
        self._identity = is_identity(agent.embedding)
        self._key = self._vector if self._identity else np.empty(agent.embedding.key_dim)
        self._arrays = agent._buffers.get(environment) or episode_arrays(
            BLOCK, agent.embedding.key_dim, agent.action_box.size
        )
        self._rewards: list[float] = []
        # steps that an exploratory action still lasts, and this episode's number
        self._remaining = np.array([0, number], np.int64)
        # of an episode that does not decide: its keys, or the observations if there are none yet
        self._rows: list[npt.NDArray[np.float64]] = []

    def act(self, observation: Any) -> npt.NDArray[Any]:
        """Observation -> key -> neighbours -> action."""
        agent = self._agent
        if self._identity and self._decides and is_plain_vector(observation, self._vector):
            self.choose(observation)
        else:
            self._observe(observation)
            if self._decides:
                self.choose(self._key)
            else:
                self._act_at_random()
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
            *agent._memory_arrays, *agent._flat_rule, *self._arrays, self._remaining, self._draws,
            agent._n_uniforms, key, self._epsilon_factor * agent.epsilon(agent.num_timesteps),
            draw, step,
        )  # fmt: skip
        if choice < 0:
            raise ValueError(f"a finite observation was expected, its key is {key}")

    def _act_at_random(self) -> None:
        """Uniform actions, until there are keys and a threshold to decide with."""
        agent = self._agent
        step, draw = self._next_step()
        self._rows.append((self._key if self._has_keys else self._vector).copy())
        self._arrays.distances[step] = np.inf
        if self._remaining[0] > 0:
            self._remaining[0] -= 1
            self._arrays.actions[step] = self._arrays.actions[step - 1]
            self._arrays.choices[step] = Choice.HELD
            return
        write_uniform_action(agent._rule, self._draws[draw], self._arrays.actions[step])
        self._arrays.choices[step] = Choice.NO_NEIGHBOR
        if agent.hold > 1:
            draws = self._draws[draw]
            self._remaining[0] = duration(draws[2 + agent.action_box.size], agent.hold) - 1

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

    def taken(self) -> Experience:
        """The episode so far, of what was recorded."""
        n = len(self._rewards)
        arrays = self._arrays
        return Experience(
            arrays.keys[:n],
            arrays.actions[:n],
            np.array(self._rewards),
            arrays.trace[:n],
            arrays.closeness[:n],
        )

    def finish(self, observation: Any, terminated: bool = True) -> dict[str, float]:
        """Learn from the whole episode.

        Everything is computed and checked first, then written, then the episode is closed: an
        error before the write leaves memory and counters as they were when the episode began.
        """
        agent = self._agent
        self._observe(observation)
        if self._identity and not is_finite(self._vector):
            raise ValueError(f"a finite observation was expected, {observation!r} came")
        agent._buffers[self.environment] = self._arrays
        episode = self.taken()
        if not terminated:
            self._cut_off(episode)
        agent.embedding.end_episode()
        outcomes, n_repeated = agent._learn_from(self._as_recorded(episode))
        agent._close_episode(self.environment)
        totals = self._totals(outcomes, n_repeated)
        self._check_scale()
        return totals

    def _as_recorded(self, episode: Experience) -> Experience | HeldEpisode:
        if self._decides:
            return episode
        rows = np.array(self._rows).reshape(len(episode.rewards), -1)
        actions = episode.actions.copy()  # the buffers belong to the next episode
        if self._has_keys:
            return untraced(rows, actions, episode.rewards)
        return HeldEpisode(rows, actions, episode.rewards)

    def _cut_off(self, episode: Experience) -> None:
        """After a time-out nobody knows what the last step led to."""
        episode.trace[-1, FOLLOWED] = -1
        if self._agent.timeouts == "continue":
            gamma = self._agent.gamma
            episode.rewards[-1] += gamma * going_on(episode.rewards, gamma)

    def _check_scale(self) -> None:
        agent = self._agent
        if self._decides and agent.distance_threshold != "step":
            n = len(self._rewards)
            # a random step looks for neighbours within a part of the radius only
            looked = self._arrays.choices[:n] != Choice.UNIFORM
            agent._scale_check.add(self._arrays.distances[:n][looked], agent.radius, n)

    def _totals(self, outcomes: list[npt.NDArray[Any]], repeated: int) -> dict[str, float]:
        n = len(self._rewards)
        choices = np.bincount(self._arrays.choices[:n], minlength=len(Choice) - 1)
        random = choices[Choice.UNIFORM] + choices[Choice.NO_NEIGHBOR] + choices[Choice.HELD]
        distances = self._arrays.distances[:n]
        asked = np.isfinite(distances) & (distances >= 0)
        near = distances[asked]
        # of those without a neighbour only some were asked how far the nearest is
        at_random = self._arrays.choices[:n][asked] == Choice.UNIFORM
        sought = self._agent.radius * np.where(at_random, HERE, 1.0)
        weights = np.where(near > sought, SAMPLED, 1)
        written = np.bincount(
            np.concatenate(outcomes).astype(np.int64) if outcomes else np.zeros(0, np.int64),
            minlength=len(Outcome),
        )
        looked = choices[[Choice.MEMORY, Choice.NOISE, Choice.NO_NEIGHBOR]].sum()
        return {
            "decisions": n,
            "random": float(random),
            "looked": float(looked),
            "no_neighbor": float(choices[Choice.NO_NEIGHBOR]),
            "distance": float(near @ weights),
            "distances": float(weights.sum()),
            "repeated": float(repeated),
            "writes": float(written.sum()),
            "hits": float(written[Outcome.REPLACED] + written[Outcome.KEPT]),
            "added": float(written[Outcome.ADDED] + written[Outcome.EVICTED]),
            "replaced": float(written[Outcome.REPLACED]),
            "evicted": float(written[Outcome.EVICTED]),
        }


def is_identity(embedding: Embedding) -> bool:
    """Whether keys are the flattened observations themselves; a subclass may have other keys."""
    kind = type(embedding)
    return kind.embed is Identity.embed and kind.observe is Identity.observe


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
        trace=np.full((n_steps, len(EMPTY_TRACE)), EMPTY_TRACE, dtype=np.int64),
        closeness=np.zeros(n_steps),
    )


def doubled(arrays: EpisodeArrays) -> EpisodeArrays:
    n, key_dim = arrays.keys.shape
    more = episode_arrays(n, key_dim, arrays.actions.shape[1])
    return EpisodeArrays(
        *(np.concatenate(pair) for pair in zip(arrays, more, strict=True))  # type: ignore[arg-type]
    )


def n_uniforms(rule: Rule) -> int:
    """Uniform numbers of a step: epsilon, softmax, the action, and if needed a duration."""
    return 2 + len(rule.low) + (1 if rule.hold > 1 else 0)


def draw_block(rng: np.random.Generator, n_steps: int, rule: Rule) -> npt.NDArray[np.float64]:
    """Random numbers of some steps, a row each: the uniform ones, then normals where needed."""
    uniforms = rng.random((n_steps, n_uniforms(rule)))
    if rule.uniform:
        return uniforms
    return np.hstack([uniforms, rng.standard_normal((n_steps, len(rule.low)))])

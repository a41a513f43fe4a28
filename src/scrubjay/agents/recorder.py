"""Recording episodes: observations in, actions out, and at the end an `Experience`.

An `EpisodeRecorder` has one lane per environment. For every method it flattens and embeds the
observations, draws the random numbers, stores keys, actions and rewards, and passes finished
episodes on. The method only decides, for all lanes in one compiled call, and learns.

What an episode records is fixed when it begins: keys if the embedding is ready, otherwise the
observations themselves, which are embedded later. An embedding that becomes ready while other
episodes are open therefore changes nothing for those.
"""

import math
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from scrubjay.agents.actions import ActionCodec
from scrubjay.agents.album import Album, FrameBuffer
from scrubjay.agents.sampling import is_finite, store_key, write_uniform_action
from scrubjay.compiled import compiled
from scrubjay.embedding import Embedding, Identity
from scrubjay.embedding.flatten import Flattener
from scrubjay.memory import Outcome
from scrubjay.randomness import LazyGenerator, Stream, generator
from scrubjay.streams import draw_lanes, new_states, seed_lanes, seed_words

Floats = npt.NDArray[np.float64]

BLOCK = 64  # steps whose random numbers are drawn at once
NOT_SEARCHED = np.inf  # the nearest distance of a step that searched for no neighbour


class Choice(IntEnum):
    """Where an action came from."""

    MEMORY = 0
    NOISE = 1
    UNIFORM = 2
    NO_NEIGHBOR = 3
    HELD = 4
    """An exploratory action that is repeated."""
    GIVEN = 5
    """Chosen outside the agent and passed to `record`."""


N_CHOICES = len(Choice)


class Step(NamedTuple):
    """The current step of one lane, for methods that decide in plain Python: write into it.

    Attributes:
        key: (D,): the key of the observation.
        action: (A,): write the action here.
        numbers: Write the nearest distance, its weight and your own notes here.
        trace: Write the `Choice` and your own notes here.
        draws: The random numbers of this step, uniform ones first, then normal ones.
        scale: By how much this episode multiplies the exploration rate.
    """

    key: npt.NDArray[np.float32]
    action: npt.NDArray[np.float32]
    numbers: Floats
    trace: npt.NDArray[np.int64]
    draws: Floats
    scale: float


class Lanes(NamedTuple):
    """The arrays of all L lanes, of up to T steps, that compiled code reads and writes."""

    keys: npt.NDArray[np.float32]
    """(L, T, D): the key of each step."""
    actions: npt.NDArray[np.float32]
    """(L, T, A): its action."""
    numbers: Floats
    """(L, T, n): the distance to the nearest row (NaN: beyond the radius and not measured), how
    many steps it stands for, then what else the method notes."""
    trace: npt.NDArray[np.int64]
    """(L, T, m): where the action came from, a `Choice`, then what else the method notes."""
    draws: Floats
    """(L, BLOCK, w): random numbers of the current steps: uniform ones, then normal ones."""
    state: npt.NDArray[np.int64]
    """(L, 4): see `DECIDES`, `STEP`, `HELD` and `NUMBER`."""
    scales: Floats
    """(L,): how many times the exploration rate each episode has."""
    room: Floats
    """(L, r): for intermediate results of a decision, so that no two threads share them."""

    def steps(self, keys: Floats) -> Iterator[Step]:
        """The current step of each lane that must decide, its key stored and its notes empty.

        For methods that decide in plain Python, lane by lane.

        Args:
            keys: (L, D): the key of each lane's observation.

        Yields:
            The current step of the next lane.

        Raises:
            ValueError: If a key is not finite.
        """
        for lane in np.flatnonzero(self.state[:, DECIDES]):
            t = self.state[lane, STEP]
            key, action = self.keys[lane, t], self.actions[lane, t]
            numbers, trace = self.numbers[lane, t], self.trace[lane, t]
            if not store_key(keys[lane], key):
                raise ValueError(f"expected a finite observation, got the key {keys[lane]}")
            numbers[:], trace[:] = 0.0, 0
            draws, scale = self.draws[lane, t % BLOCK], float(self.scales[lane])
            yield Step(key, action, numbers, trace, draws, scale)


# Columns of `Lanes.state`: whether the lane must decide now, its step, how many more steps an
# exploratory action is repeated, and the episode's number.
DECIDES, STEP, HELD, NUMBER = range(4)
# The first columns of `Lanes.trace` and `Lanes.numbers`.
CHOICE = 0
DISTANCE, WEIGHT = 0, 1


class Notes(NamedTuple):
    """How many random numbers a method needs per step, and how many notes it stores.

    Attributes:
        uniforms: Uniform random numbers.
        normals: Normal random numbers.
        trace: Integers in `Experience.trace`.
        numbers: Floats in `Experience.numbers`.
        room: Floats in `Lanes.room`.
    """

    uniforms: int
    normals: int = 0
    trace: int = 1
    numbers: int = 2
    room: int = 0


class Experience(NamedTuple):
    """A finished episode, one row per step.

    Attributes:
        keys: (n, D): the key of each observation.
        actions: (n, A): the executed actions, as they are stored.
        rewards: (n,): the rewards.
        trace: (n, m): where each action came from, a `Choice`, then the method's own notes.
        numbers: (n, m): the nearest distance, its weight, then the method's own notes.
        terminated: False if the episode was truncated, by a time limit for example.
        decided: Whether the actions were decided from the memory; otherwise the notes are
            meaningless.
        last_key: (D,): the key of the observation after the last action, where it is known.
    """

    keys: npt.NDArray[Any]
    actions: npt.NDArray[np.float32]
    rewards: Floats
    trace: npt.NDArray[np.int64]
    numbers: Floats
    terminated: bool
    decided: bool
    last_key: npt.NDArray[Any] | None = None
    frames: npt.NDArray[Any] | None = None
    """(up to n, ...): the first observations, if they are images, for `Album`."""


class HeldEpisode(NamedTuple):
    """An episode recorded before the embedding was ready; it is learned later."""

    vectors: Floats
    actions: npt.NDArray[np.float32]
    rewards: Floats
    terminated: bool = True
    last: Floats | None = None
    """The vector after the last action; files of 0.2.0 do not have it."""


class Learned(NamedTuple):
    """The result of writing an episode to the memory."""

    outcomes: npt.NDArray[np.int8]
    """The outcome of each write."""
    n_repeated: int = 0
    """Steps that were not written because they repeated a stored row."""


class Method(Protocol):
    """What a recorder needs from a method; `MemoryAgent` provides it."""

    seed: int
    num_timesteps: int

    @property
    def embedding(self) -> Embedding: ...

    @property
    def flattener(self) -> Flattener: ...

    @property
    def codec(self) -> ActionCodec: ...

    @property
    def album(self) -> Album | None: ...

    @property
    def notes(self) -> Notes: ...

    @property
    def can_decide(self) -> bool: ...

    def decide(self, lanes: Lanes, keys: Floats) -> int: ...

    def exploration_scale(self, rng: np.random.Generator) -> float: ...

    def random_duration(self, uniforms: Floats) -> int: ...

    def open_episode(self, environment: int) -> int: ...

    def close_episode(self, environment: int) -> None: ...

    def finish_episode(self, episode: Experience | HeldEpisode) -> list[Learned]: ...

    def watch(self, episode: Experience) -> None: ...


class EpisodeRecorder:
    """The open episodes of one or several environments, one lane each.

    Args:
        method: The agent that decides and learns.
        environments: The number of each lane's environment, which determines its random numbers.
        batched: Whether observations are stacked over lanes, as in a vector environment;
            otherwise there is one lane and a single observation.
        keeps_vectors: Whether `end` returns the observations too, as vectors.
    """

    def __init__(
        self,
        method: Method,
        environments: Sequence[int] = (0,),
        batched: bool = False,
        keeps_vectors: bool = False,
    ) -> None:
        n_lanes = len(environments)
        if method.notes.uniforms < 2 + method.codec.size:  # see `_act_at_random`
            raise ValueError(
                f"expected notes with at least {2 + method.codec.size} uniform numbers, two and "
                f"one for each number of an action, got {method.notes.uniforms}"
            )
        self._method = method
        self._environments = tuple(environments)
        self._batched = batched
        self._flattener, self._codec = method.flattener, method.codec
        self._embedding = method.embedding
        self._keeps_frames = method.album is not None
        self._is_plain = is_identity(self._embedding) and not self._keeps_frames
        # the random numbers of a lane: of a generator, or if it has none, of its compiled stream
        self._rngs: list[Any] = [None] * n_lanes
        self._streams, self._words = new_states(n_lanes), seed_words(method.seed, Stream.POLICY)
        self._numbers = np.array(environments, np.int64)
        self._lanes = empty_lanes(method, n_lanes, BLOCK)
        self._rewards = np.zeros((n_lanes, BLOCK))
        self._length = BLOCK
        self._all = np.arange(n_lanes)
        # per lane: whether an episode is open, whether it records keys, whether it decides
        self._open = np.zeros(n_lanes, np.bool_)
        self._has_keys = np.zeros(n_lanes, np.bool_)
        self._decides = np.zeros(n_lanes, np.bool_)
        self._rows: list[list[Floats]] = [[] for _ in range(n_lanes)]
        self._frames = FrameBuffer(method, n_lanes)
        self._vectors = np.zeros((n_lanes, self._flattener.size))
        self._keys = np.zeros((n_lanes, self._embedding.key_dim))
        self._all_decide = False
        self._kept: list[Floats] | None = [] if keeps_vectors else None
        # steps for which each lane has random numbers, and steps until some lane needs more
        self._drawn: Any = np.zeros(n_lanes, np.int64) if batched else [0] * n_lanes
        self._until_block = 0
        self._view_lane()

    def _view_lane(self) -> None:
        """Views of the first lane, the only one if observations are not stacked."""
        lanes = self._lanes
        self._actions, self._state = list(lanes.actions[0]), lanes.state[0]
        self._steps = lanes.state[:, STEP]
        self._alone_rewards, self._key = self._rewards[0], self._keys[0]
        self._vector = self._vectors[0]
        self._step = int(self._state[STEP])

    # -- begin ---------------------------------------------------------------------------------

    def begin(self, lane: int = 0) -> int:
        """Begin the next episode of a lane.

        Args:
            lane: The lane.

        Returns:
            The episode's number, which determines its random numbers.
        """
        environment = self._environments[lane]
        number = self._method.open_episode(environment)
        rng = generator(self._method.seed, Stream.POLICY, environment, number)
        self._rngs[lane] = rng
        self._lanes.scales[lane] = self._method.exploration_scale(rng)
        self._rows[lane] = []
        self._open_lanes(lane, number)
        self._step = 0
        return number

    def begin_many(self, lanes: Sequence[int]) -> list[int]:
        """Begin the next episodes of several lanes of a vector environment.

        Args:
            lanes: The lanes.

        Returns:
            The numbers of their episodes.
        """
        method, scales = self._method, self._lanes.scales
        numbers = []
        for lane in lanes:
            environment = self._environments[lane]
            number = method.open_episode(environment)
            rng = LazyGenerator(method.seed, Stream.POLICY, environment, number)
            scales[lane] = method.exploration_scale(rng)  # type: ignore[arg-type]
            self._rngs[lane], self._rows[lane] = rng.used, []
            numbers.append(number)
        places, counts = np.array(lanes, np.int64), np.array(numbers, np.int64)
        seed_lanes(self._words, self._numbers[places], counts, places, self._streams)
        self._open_lanes(places, counts)
        return numbers

    def _open_lanes(self, lanes: Any, numbers: Any) -> None:
        """Open the episodes of these numbers; `lanes` is a lane or an array of them."""
        state = self._lanes.state
        self._frames.begin(lanes)
        self._has_keys[lanes] = self._embedding.ready
        self._decides[lanes] = self._method.can_decide
        self._open[lanes] = True
        state[lanes, DECIDES], state[lanes, NUMBER] = self._decides[lanes], numbers
        state[lanes, STEP] = state[lanes, HELD] = self._until_block = 0
        if self._batched:
            self._drawn[lanes] = 0
        else:
            self._drawn[0] = 0
        self._all_decide = bool((self._decides & self._open).all())

    # -- act -----------------------------------------------------------------------------------

    def act(self, observation: Any, lanes: npt.NDArray[np.bool_] | None = None) -> Any:
        """Decide in every lane that has an open episode: observation -> key -> action.

        Args:
            observation: The observation, or the stack of all lanes' observations.
            lanes: A mask of the lanes that act; all with an open episode by default.

        Returns:
            The action, or the stack of all lanes' actions; those of idle lanes are meaningless.
        """
        if self._batched:
            return self._act_together(observation, lanes)
        step = self._step  # from here on with as little Python as possible
        if step == self._drawn[0]:
            self._prepare_step(0)
        if self._all_decide:
            if self._is_plain:
                # the decision itself refuses what is not finite
                self._flattener.into(observation, self._key)
            else:
                self._flattener.into(observation, self._vector)
                self._embed(0, self._vector, self._key)
            if self._method.decide(self._lanes, self._keys) >= 0:
                raise ValueError(f"expected a finite observation, got {observation!r}")
        else:
            self._observe(0, observation)
            self._act_at_random(0)
        return self._codec.decode(self._actions[step])

    def _act_together(self, observation: Any, lanes: npt.NDArray[np.bool_] | None) -> Any:
        """The same for a stack of observations."""
        if self._all_decide and lanes is None:
            self._prepare_steps()
            self._flattener.into_batch(observation, self._vectors)
            self._lanes.state[:, DECIDES] = 1  # a lane may have waited before
            self._decide(self._observe_all())
            return self._codec.decode_many(self._lanes.actions[self._all, self._steps])
        active = np.flatnonzero(self._open if lanes is None else self._open & lanes)
        self._prepare_steps()
        self._flattener.into_batch(observation, self._vectors)
        self._act_some(active)
        # lanes that are idle repeat some possible action, which is not recorded
        steps = np.minimum(self._steps, self._length - 1)
        return self._codec.decode_many(self._lanes.actions[self._all, steps])

    def _decide(self, keys: Floats) -> None:
        bad = self._method.decide(self._lanes, keys)
        if bad >= 0:
            raise ValueError(f"expected a finite observation, got one whose key is {keys[bad]}")

    def _act_some(self, active: npt.NDArray[np.intp]) -> None:
        """Act when some lanes are idle or do not decide from the memory yet."""
        state, vectors = self._lanes.state, self._vectors[active]
        if not np.isfinite(vectors).all():
            raise ValueError(f"expected finite observations, got {vectors}")
        keys = np.zeros((len(active), self._keys.shape[1]))
        self._embedding.observe_batch(vectors, keys)
        self._keys[active] = keys
        for lane in active[~self._decides[active]]:
            self._act_at_random(lane)
        state[:, DECIDES] = 0
        state[active, DECIDES] = self._decides[active]
        if state[:, DECIDES].any():
            self._decide(self._keys)

    def _act_at_random(self, lane: int) -> None:
        """A uniform action, as long as the memory cannot decide."""
        lanes, method = self._lanes, self._method
        step = lanes.state[lane, STEP]
        row = self._keys[lane] if self._has_keys[lane] else self._vectors[lane]
        self._rows[lane][step:] = [row.copy()]
        lanes.numbers[lane, step, DISTANCE : WEIGHT + 1] = NOT_SEARCHED, 0.0
        if lanes.state[lane, HELD] > 0:
            lanes.state[lane, HELD] -= 1
            lanes.actions[lane, step] = lanes.actions[lane, step - 1]
            lanes.trace[lane, step, CHOICE] = Choice.HELD
            return
        draws = lanes.draws[lane, step % BLOCK]
        codec = self._codec
        # the first two uniform numbers are for epsilon and for the choice of a neighbour
        write_uniform_action(codec.bounds, codec.discrete, draws[2:], lanes.actions[lane, step])
        lanes.trace[lane, step, CHOICE] = Choice.NO_NEIGHBOR
        lanes.state[lane, HELD] = method.random_duration(draws) - 1

    # -- observations --------------------------------------------------------------------------

    def _observe(self, lane: int, observation: Any) -> None:
        """Flatten and embed a training observation, from which the embedding may learn."""
        vector = self._vectors[lane]
        self._flattener.into(observation, vector)
        self._embed(lane, vector, self._keys[lane])

    def _embed(self, lane: int, vector: Floats, key: Floats) -> None:
        if self._keeps_frames:
            self._frames.keep(lane, vector)
        if not is_finite(vector):
            raise ValueError(f"expected a finite observation, got {vector}")
        if self._kept is not None:
            self._kept.append(vector.copy())
        self._embedding.observe(vector, key)

    def _observe_all(self) -> Floats:
        if self._is_plain:
            return self._vectors  # the decision itself refuses what is not finite
        if self._keeps_frames:
            self._frames.keep_all(self._vectors)
        if not is_finite(self._vectors.reshape(-1)):
            raise ValueError(f"expected finite observations, got {self._vectors}")
        self._embedding.observe_batch(self._vectors, self._keys)
        return self._keys

    # -- steps ---------------------------------------------------------------------------------

    def _prepare_steps(self) -> None:
        """Draw a block of random numbers for the open lanes that have used up theirs."""
        self._until_block -= 1
        if self._until_block > 0:
            return
        lanes = np.flatnonzero(self._open & (self._steps >= self._drawn))
        together = np.array([lane for lane in lanes if self._rngs[lane] is None], np.int64)
        for lane in lanes if len(together) < len(lanes) else ():
            if self._rngs[lane] is not None:
                self._prepare_step(int(lane))
        if len(together):
            if (self._drawn[together] == self._length).any():
                self._grow()
            self._drawn[together] += BLOCK
            draw_lanes(self._streams, together, self._method.notes.uniforms, self._lanes.draws)
        left = self._drawn - self._steps
        self._until_block = int(left[self._open].min(initial=BLOCK))

    def _prepare_step(self, lane: int) -> None:
        """At the start of every block of steps: make room for it and draw its random numbers."""
        if self._drawn[lane] == self._length:
            self._grow()
        self._drawn[lane] += BLOCK
        notes, rng = self._method.notes, self._rngs[lane]
        draws = self._lanes.draws[lane]
        draws[:, : notes.uniforms] = rng.random((BLOCK, notes.uniforms))
        if notes.normals:
            draws[:, notes.uniforms :] = rng.standard_normal((BLOCK, notes.normals))

    def _grow(self) -> None:
        n_lanes, old = self._rewards.shape
        grown = empty_lanes(self._method, n_lanes, 2 * old)
        for name in ("keys", "actions", "numbers", "trace"):
            getattr(grown, name)[:, :old] = getattr(self._lanes, name)
        kept = {name: getattr(self._lanes, name) for name in ("draws", "state", "scales", "room")}
        self._lanes = grown._replace(**kept)
        self._rewards = np.concatenate([self._rewards, np.zeros_like(self._rewards)], axis=1)
        self._length = 2 * old
        self._view_lane()

    def record(self, reward: Any, lanes: npt.NDArray[np.bool_] | None = None) -> None:
        """Record the reward of the last action, or the rewards of all lanes.

        Args:
            reward: A finite number, or one for each lane.
            lanes: A mask of the lanes that acted; all with an open episode by default.
        """
        if not self._batched:
            try:
                finite = math.isfinite(reward)
            except TypeError:
                raise TypeError(f"expected a number as reward, got {reward!r}") from None
            if not finite:
                raise ValueError(f"expected a finite reward, got {reward!r}")
            step = self._step
            self._alone_rewards[step] = reward
            self._step = step = step + 1
            self._state[STEP] = step
            self._method.num_timesteps += 1
            return
        rewards = np.ascontiguousarray(reward, np.float64)
        if lanes is None and self._all_decide:
            self._check_rewards(rewards)
            self._rewards[self._all, self._steps] = rewards
            self._steps += 1
            self._method.num_timesteps += len(self._all)
            return
        active = np.flatnonzero(self._open if lanes is None else self._open & lanes)
        self._check_rewards(rewards[active])
        self._rewards[active, self._steps[active]] = rewards[active]
        self._steps[active] += 1
        self._method.num_timesteps += len(active)

    def _check_rewards(self, rewards: Floats) -> None:
        if not is_finite(rewards.reshape(-1)):
            raise ValueError(f"expected finite rewards, got {rewards}")

    def replace_action(self, action: Any, lane: int = 0) -> None:
        """Record that another action was executed; no effect if it is the decided one."""
        lanes = self._lanes
        step = lanes.state[lane, STEP]
        executed = self._codec.encode(action)
        if np.array_equal(executed, lanes.actions[lane, step]):
            return
        lanes.actions[lane, step] = executed
        lanes.trace[lane, step, 1:] = -1  # no row was followed
        lanes.trace[lane, step, CHOICE] = Choice.GIVEN
        lanes.state[lane, HELD] = 0

    # -- finish --------------------------------------------------------------------------------

    def finish(self, observation: Any, terminated: bool = True, lane: int = 0) -> dict[str, float]:
        """Learn from a lane's finished episode and close it.

        Everything is computed and checked first, then written, then the episode is closed: an error
        before the write leaves memory and counters as they were when the episode began.

        Args:
            observation: The last observation, after the last action.
            terminated: False if the episode was truncated, by a time limit for example.
            lane: The lane of the episode.

        Returns:
            Counts of decisions and writes, which the log sums up.
        """
        method = self._method
        self._observe(lane, observation)
        episode = self._experience(lane, terminated)
        learned = method.finish_episode(self._as_recorded(episode, lane))
        method.close_episode(self._environments[lane])
        self._close(lane)
        totals = count_choices(episode) | count_outcomes(learned)
        if episode.decided:
            method.watch(episode)
        return totals

    def end(self, observation: Any, terminated: bool = True) -> tuple[Experience, Floats | None]:
        """End the episode of the first lane without learning from it, which another process does.

        Args:
            observation: The last observation, after the last action.
            terminated: False if the episode was truncated, by a time limit for example.

        Returns:
            The episode, as views that the next one overwrites, and all its observations as vectors,
            or None if they are not kept.
        """
        self._observe(0, observation)
        episode = self._with_last(self._experience(0, terminated), 0)
        kept = self._kept
        self._close(0)
        if kept is None:
            return episode, None
        self._kept = []
        return episode, np.array(kept)

    def _close(self, lane: int) -> None:
        self._open[lane] = self._all_decide = False
        self._lanes.state[lane, DECIDES] = 0

    def length(self, lane: int = 0) -> int:
        """The number of steps of a lane's episode so far."""
        return int(self._lanes.state[lane, STEP])

    def longest(self) -> int:
        """The number of steps of the longest open episode."""
        return int(self._steps[self._open].max(initial=0))

    def total_reward(self, lane: int = 0) -> float:
        """The sum of a lane's rewards so far, added up in their order."""
        rewards = self._rewards[lane, : self.length(lane)]
        return float(np.add.accumulate(rewards)[-1]) if len(rewards) else 0.0

    def experience(self, lane: int = 0) -> Experience:
        """The open episode of a lane so far, as views: copy what you need after the episode."""
        return self._experience(lane, terminated=True)

    def _experience(self, lane: int, terminated: bool) -> Experience:
        lanes = self._lanes
        n = lanes.state[lane, STEP]
        return Experience(
            lanes.keys[lane, :n], lanes.actions[lane, :n], self._rewards[lane, :n],
            lanes.trace[lane, :n], lanes.numbers[lane, :n], terminated, bool(self._decides[lane]),
            frames=self._frames.frames(lane, n),
        )  # fmt: skip

    def _as_recorded(self, episode: Experience, lane: int) -> Experience | HeldEpisode:
        episode = self._with_last(episode, lane)
        if episode.decided:
            return episode
        rows = np.array(self._rows[lane]).reshape(len(episode.rewards), -1)
        # copies, because the buffers are the next episode's
        actions, rewards = episode.actions.copy(), episode.rewards.copy()
        if self._has_keys[lane]:
            return episode._replace(keys=rows, actions=actions, rewards=rewards)
        return HeldEpisode(rows, actions, rewards, episode.terminated, self._vectors[lane].copy())

    def _with_last(self, episode: Experience, lane: int) -> Experience:
        """The episode with what was observed after its last action, where it records keys."""
        if not self._has_keys[lane]:
            return episode
        return episode._replace(last_key=self._keys[lane].copy())


# ---------------------------------------------------------------- arrays and counts


def empty_lanes(method: Method, n_lanes: int, n_steps: int) -> Lanes:
    """Buffers for that many lanes and steps."""
    notes, shape = method.notes, (n_lanes, n_steps)
    return Lanes(
        keys=np.zeros((*shape, method.embedding.key_dim), np.float32),
        # an idle lane of a vector environment executes this one, so it must be a possible action
        actions=np.tile(method.codec.bounds[0], (*shape, 1)),
        numbers=np.zeros((*shape, notes.numbers)),
        trace=np.zeros((*shape, notes.trace), np.int64),
        draws=np.zeros((n_lanes, BLOCK, notes.uniforms + notes.normals)),
        state=np.zeros((n_lanes, 4), np.int64),
        scales=np.ones(n_lanes),
        room=np.zeros((n_lanes, notes.room)),
    )


def is_identity(embedding: Embedding) -> bool:
    """Whether keys are the flattened observations themselves; a subclass may have other keys."""
    kind = type(embedding)
    return kind.embed is Identity.embed and kind.observe is Identity.observe


def count_choices(episode: Experience) -> dict[str, float]:
    """How an episode's actions were chosen, and how far the nearest rows were."""
    choices, distance, weight = sum_choices(episode.trace, episode.numbers)
    memory, noise, uniform, no_neighbor, held, _ = choices.astype(np.float64).tolist()
    return {
        "decisions": float(len(episode.rewards)),
        "random": uniform + no_neighbor + held,
        "looked": memory + noise + no_neighbor,
        "no_neighbor": no_neighbor,
        "distance": distance,
        "distances": weight,
    }


@compiled()
def sum_choices(trace: npt.NDArray[np.int64], numbers: Floats) -> tuple[Any, float, float]:
    """How often each choice was made, the weighted sum of nearest distances, and of weights."""
    choices = np.zeros(N_CHOICES, np.int64)
    distance, weight = 0.0, 0.0
    for t in range(len(trace)):
        # a method may write anything there
        choices[min(max(trace[t, CHOICE], 0), N_CHOICES - 1)] += 1
        if numbers[t, WEIGHT] > 0.0:
            distance += numbers[t, WEIGHT] * numbers[t, DISTANCE]
            weight += numbers[t, WEIGHT]
    return choices, distance, weight


def count_outcomes(learned: list[Learned]) -> dict[str, float]:
    """The outcomes of all writes of an episode, and of those learned together with it."""
    counts = np.zeros(len(Outcome), np.int64)
    for each in learned:
        counts += np.bincount(each.outcomes, minlength=len(Outcome))
    added, replaced, kept, evicted = counts.astype(np.float64).tolist()
    return {
        "repeated": float(sum(each.n_repeated for each in learned)),
        "writes": added + replaced + kept + evicted,
        "hits": replaced + kept,
        "added": added + evicted,
        "replaced": replaced,
        "evicted": evicted,
    }

"""Training on several environments at once, against a naive account of every single step.

A `Witness` stands between the loop and the recorder. It embeds every observation with a second
embedding of its own, follows the identity of each row by the outcomes of the writes, and computes
the values of each episode in plain Python, without looking at clocks or stamps.
"""

import copy
from collections import Counter
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from neutral import neutral_plus, remember

from probes import Counting, Drift, Handmade
from scrubjay import CEC, CECPlus
from scrubjay.agents.cec_plus_kernels import BEST, CLOSENESS, FOLLOWED
from scrubjay.agents.recorder import BLOCK, CHOICE, Choice
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.embedding import (
    BoundsScaler,
    Chain,
    FrozenNormalizer,
    Identity,
    RandomProjection,
    RunningNormalizer,
)

ACTIONS = {
    "box": gym.spaces.Box(-1, 1, (1,), np.float32),
    "discrete": gym.spaces.Discrete(3, start=-1),
    "multi": gym.spaces.MultiDiscrete([3, 2], start=[-1, 7]),
}


def as_stored(action, space):
    """The numbers that a memory keeps of an action: those of a Box, indices of others."""
    start = 0 if isinstance(space, gym.spaces.Box) else space.start
    return np.ravel(action - start)


class Ring(gym.Env):
    """Six places in a circle, left or right; episodes of given lengths, rewards drawn at random."""

    def __init__(self, lengths, jitter=0.02, actions="box"):
        self.observation_space = gym.spaces.Box(-10, 10, (2,), np.float64)
        self.action_space = ACTIONS[actions]
        self.lengths, self.jitter = lengths, jitter
        self.episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.place, self.time = 0, 0
        self.length = self.lengths[self.episodes % len(self.lengths)]
        self.episodes += 1
        return self._observe(), {}

    def _observe(self):
        noise = self.jitter * self.np_random.choice([0.0, 1.0], 2)
        return np.array([self.place, self.place % 2], np.float64) + noise

    def step(self, action):
        assert self.action_space.contains(action)
        self.place = (self.place + (1 if np.ravel(action)[0] > 0 else -1)) % 6
        self.time += 1
        reward = float(self.np_random.choice([0.0, 0.0, 1.0]))
        return self._observe(), reward, self.time == self.length, False, {}


class Witness:
    """Sees all episodes of one agent and keeps its own account of them."""

    def __init__(self, agent):
        self.agent = agent
        self.shadow = copy.deepcopy(agent.embedding)
        self.identities = {}
        self.n_identities = 0
        self.waiting = []  # steps whose keys the shadow cannot tell yet
        self.taken, self.offered = Counter(), Counter()
        self.promises = self.finished = 0
        self.expected = None
        self._recorder, agent.recorder = agent.recorder, self.recorder
        self._write, agent.memory.write_many = agent.memory.write_many, self.write_many

    def recorder(self, n_lanes, batched):
        return WitnessedRecorder(self, self._recorder(n_lanes, batched), n_lanes, batched)

    def write_many(self, keys, values, *, action, **others):
        if self.expected is not None:
            np.testing.assert_array_equal(np.asarray(values), self.expected)
            self.expected = None
        self.offered.update(zip(as_bytes(keys), as_bytes(action), strict=True))
        rows, outcomes = self._write(keys, values, action=action, **others)
        for row, outcome in zip(rows, outcomes, strict=True):
            if outcome != 2:  # anything but KEPT makes it another row
                self.n_identities += 1
                self.identities[int(row)] = self.n_identities
        return rows, outcomes

    @property
    def decides(self):
        """Whether an episode that begins now is decided from the memory."""
        return self.shadow.ready and self.agent.memory.distance_threshold > 0


class WitnessedRecorder:
    """A recorder whose every call is also told to the witness, lane by lane."""

    def __init__(self, witness, inner, n_lanes, batched):
        self.witness, self.inner, self.batched = witness, inner, batched
        self.episodes = [None] * n_lanes
        self.length, self.total_reward = inner.length, inner.total_reward
        self.longest = inner.longest

    def begin(self, lane=0):
        self.episodes[lane] = WitnessedEpisode(self.witness)
        return self.inner.begin(lane)

    def begin_many(self, lanes):
        for lane in lanes:
            self.episodes[lane] = WitnessedEpisode(self.witness)
        return self.inner.begin_many(lanes)

    def _active(self, lanes):
        return [
            (lane, episode)
            for lane, episode in enumerate(self.episodes)
            if episode is not None and (lanes is None or lanes[lane])
        ]

    def act(self, observation, lanes=None):
        seen = observation if self.batched else [observation]
        active = self._active(lanes)
        for lane, episode in active:
            episode.see(seen[lane])
        actions = self.inner.act(observation, lanes)
        for lane, episode in active:
            episode.take(actions[lane] if self.batched else actions)
        return actions

    def record(self, reward, lanes=None):
        for lane, episode in self._active(lanes):
            episode.rewards.append(reward[lane] if self.batched else reward)
        self.inner.record(reward, lanes)
        for lane, episode in self._active(lanes):
            episode.note(self.inner.experience(lane))

    def finish(self, observation, terminated=True, lane=0):
        self.episodes[lane].end(observation)
        totals = self.inner.finish(observation, terminated, lane)
        assert totals["repeated"] == 0
        self.episodes[lane] = None
        self.witness.finished += 1
        return totals


class WitnessedEpisode:
    def __init__(self, witness):
        self.witness = witness
        self.has_keys, self.decides = witness.shadow.ready, witness.decides
        self.steps, self.rewards, self.traces = [], [], []

    def see(self, observation):
        self.seen, self.key = observation.copy(), np.zeros(self.witness.shadow.key_dim)
        self.witness.shadow.observe(observation, self.key)

    def take(self, action):
        stored = as_stored(action.copy(), self.witness.agent.action_space)
        self.steps.append((self.key if self.has_keys else self.seen, stored))

    def note(self, experience):
        """What the agent noted of its last decision, with the identities of the rows by now."""
        assert experience.decided == self.decides
        trace, identities = experience.trace[-1], self.witness.identities
        # a plain CEC notes no row
        notes = self.decides and len(trace) > BEST
        best = int(trace[BEST]) if notes else -1
        closeness = float(experience.numbers[-1, CLOSENESS]) if notes else 0.0
        self.traces.append(((best, identities.get(best)), closeness))

    def end(self, observation):
        witness = self.witness
        witness.shadow.observe(observation, np.zeros(witness.shadow.key_dim))
        witness.shadow.end_episode()
        self._account()
        if self.decides:
            witness.expected = self._naive_values()

    def _account(self):
        witness = self.witness
        steps = self.steps
        if not self.has_keys:
            witness.waiting += steps
            steps = []
            if witness.shadow.ready:
                steps, witness.waiting = witness.waiting, []
                keys = witness.shadow.embed_batch(np.array([vector for vector, _ in steps]))
                steps = [(key, action) for key, (_, action) in zip(keys, steps, strict=True)]
        for key, action in steps:
            witness.taken[as_bytes([key])[0], as_bytes([action])[0]] += 1

    def _same(self, place):
        row, identity = place
        return row >= 0 and self.witness.identities.get(row) == identity

    def _naive_values(self):
        """The values that must be written."""
        witness, agent = self.witness, self.witness.agent
        stitching = getattr(agent, "stitching", False)
        memory = [np.float32(value) for value in agent.memory.values]
        # of all values there ever were
        lowest = agent._value_range[0] if stitching else 0.0
        returns, after = [], 0.0
        for t in reversed(range(len(self.rewards))):
            if stitching and t + 1 < len(self.rewards) and self._same(self.traces[t + 1][0]):
                (best, _), closeness = self.traces[t + 1]
                promise = lowest + (float(memory[best]) - lowest) * closeness
                witness.promises += promise > after
                after = max(after, promise)
            after = self.rewards[t] + agent.gamma * after
            returns.append(after)
        return np.array(returns)


def as_bytes(rows):
    return [np.asarray(row, np.float32).tobytes() for row in rows]


def vector_of(lengths_by_lane, kind="sync", actions="box"):
    makers = [partial(Ring, lengths, actions=actions) for lengths in lengths_by_lane]
    if kind == "single":
        return makers[0]()
    if kind == "sync":
        return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED)
    return Handmade(makers, kind)


# handmade ones in three modes: lanes that wait for a dummy step are the hard case
VECTORS = ["single", "sync", *(mode.value for mode in AutoresetMode)]


EMBEDDINGS = {
    "identity": Identity,
    "running": RunningNormalizer,
    "frozen": partial(FrozenNormalizer, 20),
    "bounds": BoundsScaler,
    "projected": lambda: Chain([RandomProjection(2), RunningNormalizer()]),
    "frozen chain": lambda: Chain([FrozenNormalizer(15), RandomProjection(3)]),
}
AGENTS = {
    "paper": partial(CEC, epsilon=0.3, exploration="uniform"),
    "noise": partial(CEC, epsilon=0.3),
    "neutral": partial(neutral_plus, epsilon=0.3),
    "step": partial(neutral_plus, epsilon=0.2, distance_threshold="step", hold=4),
    "stitched": partial(
        neutral_plus, epsilon=0.1, stitching=True, gamma=0.9, exploration="uniform"
    ),
    "small": partial(neutral_plus, epsilon=0.1, capacity=8, stitching=True, gamma=0.9),
    # sweeps change values between episodes, which the witness does not follow
    "plus": partial(CECPlus, planning=0.0),
}


@settings(max_examples=100, deadline=None)
@given(
    lengths=st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=3), min_size=1, max_size=5),
    embedding=st.sampled_from(sorted(EMBEDDINGS)),
    agent=st.sampled_from(sorted(AGENTS)),
    kind=st.sampled_from(VECTORS),
    actions=st.sampled_from(sorted(ACTIONS)),
    n_episodes=st.integers(1, 25),
    seed=st.integers(0, 5),
)
def test_every_step_is_offered_once_with_the_value_that_it_has(
    lengths, embedding, agent, kind, actions, n_episodes, seed
):
    """Defects 1, 2 and 9."""
    env = vector_of(lengths, kind, actions)
    agent = AGENTS[agent](env, embedding=EMBEDDINGS[embedding](), seed=seed)
    witness = Witness(agent)
    agent.learn(total_episodes=n_episodes)
    assert witness.finished == agent.n_episodes == n_episodes
    assert agent.num_timesteps == witness.taken.total() + len(witness.waiting)
    assert witness.offered == witness.taken
    agent.memory.check_invariants()


def test_the_witness_sees_promises():
    """The property above is not empty: neighbours promise more than the episode made of it."""
    agent = AGENTS["stitched"](vector_of([[5, 9], [7], [12, 3]]), seed=1)
    witness = Witness(agent)
    agent.learn(total_episodes=60)
    assert witness.promises > 50


def test_defect_1_an_embedding_that_becomes_ready_leaves_open_episodes_alone():
    """0.1.0 wrote 25 of 40 keys as zeros here."""
    env = SyncVectorEnv([partial(Counting, 1, (5,)), partial(Counting, 2, (40,))])
    agent = CEC(env, embedding=FrozenNormalizer(20), distance_threshold=1e-9, seed=0)
    agent.learn(total_episodes=5)
    keys = agent.memory.keys
    assert len(np.unique(keys, axis=0)) == len(keys) == agent.num_timesteps


@pytest.mark.parametrize("kind", [CEC, neutral_plus, CECPlus])
def test_defect_1_arrays_that_grow_keep_what_they_have(kind):
    """Lanes of very different lengths, so that one grows while the others are in the middle."""
    lengths = [[3 * BLOCK + 5, 2], [7], [BLOCK], [5 * BLOCK]]
    agent = kind(vector_of(lengths), embedding=FrozenNormalizer(20), seed=3)
    witness = Witness(agent)
    agent.learn(total_episodes=60)
    assert witness.offered == witness.taken
    assert agent.num_timesteps > 8 * BLOCK


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_defect_1_a_step_without_a_search_notes_nothing(n_lanes):
    """Rows of notes are used again and again: an old one must not be taken for a new one."""
    agent = neutral_plus(
        vector_of([[5]] * n_lanes), distance_threshold=0.1, stitching=True,
        gamma=0.9, epsilon=1.0, hold=50, exploration="uniform", seed=0,
    )  # fmt: skip
    recorder = agent.recorder(n_lanes, batched=True)
    places = np.tile([3.0, 1.0], (n_lanes, 1))
    followed = set()
    for epsilon in (0.0, 0.0, 1.0):
        agent.epsilon = LinearSchedule(epsilon, epsilon, 1)
        for lane in range(n_lanes):
            recorder.begin(lane)
        for step in range(200):
            recorder.act(places + 0.02 * (step % 2))  # what moves nothing is not held
            recorder.record(np.ones(n_lanes))
        trace = recorder.experience().trace
        followed.add(bool((trace[:, FOLLOWED] >= 0).any()))
        held = trace[:, CHOICE] == Choice.HELD
        assert (trace[held][:, [FOLLOWED, BEST]] == -1).all()
        assert epsilon == 0.0 or held.sum() > 20
        for lane in range(n_lanes):
            recorder.finish(places[lane], lane=lane)
    assert followed == {True, False}


class OneStep(gym.Env):
    """A single step that is never worth anything."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.zeros(1), {}

    def step(self, action):  # noqa: ARG002
        return np.zeros(1), 0.0, True, False, {}


def noting_plus(env):
    """It follows the row that it finds, notes where that led to, and does not sweep values."""
    agent = neutral_plus(
        env, epsilon=0.0, distance_threshold=0.1, planning=0.25, stitching=True, gamma=0.9, seed=0
    )
    remember(agent, 0.0, 0.5, action=0.5, led_to=0.7)
    return agent


@pytest.mark.parametrize("replaced", [False, True])
def test_defect_2_a_row_is_the_same_until_it_is_replaced(replaced):
    """Between the two ends of two episodes, another one writes: elsewhere, or in its place."""
    agent = noting_plus(OneStep())
    first, second = agent.begin_episode(0), agent.begin_episode(1)
    for episode in (first, second):
        episode.act(np.zeros(1))
        episode.record(0.0)
    remember(agent, 0.05 if replaced else 5.0, 0.9, action=-0.5, led_to=0.6)
    first.finish(np.full(1, 0.2))
    second.finish(np.full(1, 0.3))
    assert agent.memory.columns["next"][0] == np.float32(0.6 if replaced else 0.3)


@pytest.mark.parametrize("replaced", [False, True])
def test_defect_2_a_promise_counts_until_its_row_is_replaced(replaced):
    agent = noting_plus(OneStep())
    episode = agent.begin_episode(0)
    for place in (3.0, 0.0):
        episode.act(np.array([place]))
        episode.record(0.0)
    remember(agent, 0.05 if replaced else 5.0, 0.9, action=-0.5, led_to=0.6)
    episode.finish(np.zeros(1))
    rows, _ = agent.memory.neighbors([3.0], 1)
    assert agent.memory.values[rows[0]] == np.float32(0.0 if replaced else 0.45)


@pytest.mark.parametrize(("n_lanes", "n_episodes"), [(8, 9), (8, 3), (1, 5), (3, 7)])
def test_defect_9_the_number_of_episodes_is_exact(n_lanes, n_episodes):
    env = SyncVectorEnv([partial(Counting, lane, (3, 5)) for lane in range(n_lanes)])
    agent = CEC(env, seed=0).learn(total_episodes=n_episodes)
    assert agent.n_episodes == n_episodes
    agent.learn(total_episodes=2)
    assert agent.n_episodes == n_episodes + 2


def test_choices_are_recorded_while_there_are_no_keys():
    env = SyncVectorEnv([partial(Drift, 2, 10)] * 2)
    agent = CEC(env, embedding=FrozenNormalizer(50), seed=0)
    episode = agent.begin_episode()
    episode.act(np.zeros(2))
    episode.record(0.0)
    assert not episode.experience.decided
    assert episode.experience.trace[0, CHOICE] == Choice.NO_NEIGHBOR

"""Defects of 0.1.0 in agents and training, by their numbers."""

import threading
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from neutral import KINDS

from probes import Corridor, Counting, Drift, Faulty
from scrubjay import CEC, CECPlus
from scrubjay.agents.recorder import CHOICE, Choice
from scrubjay.agents.scale_check import ScaleCheck
from scrubjay.embedding import Chain, Identity, Periodic, RandomProjection, RunningNormalizer
from scrubjay.training.environments import EpisodeLimit, time_limit
from scrubjay.training.records import success_of

# -- 3: rewards that overflow ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CEC, CECPlus])
@pytest.mark.parametrize("n_lanes", [1, 3])
def test_defect_3_an_overflowing_reward_changes_nothing(kind, n_lanes, tmp_path):
    """0.1.0 left infinite values in CECPlus's memory and in the last checkpoint."""

    def make():
        return Faulty(Drift(limit=30), 1501, "1e300 reward")

    env = make() if n_lanes == 1 else SyncVectorEnv([Drift, make, Drift])
    agent = kind(env, seed=3)
    digests = []

    def remember(local_variables, global_variables):  # noqa: ARG001
        digests.append(agent.memory.digest())

    message = r"expected returns that float32 can hold, got .*1e\+300 at step \d+ of the episode"
    with pytest.raises(ValueError, match=message):
        agent.learn(10_000, callback=remember, run_folder=tmp_path / "run", checkpoint_freq=100)
    assert len(agent.memory) > 0
    assert agent.memory.digest() == digests[-1]
    assert np.isfinite(agent.memory.values).all()
    saved = kind.load(tmp_path / "run" / "checkpoints" / "last.scrub")
    assert saved.memory.digest() == agent.memory.digest()
    assert saved.num_timesteps == agent.num_timesteps


@pytest.mark.parametrize("kind", [CEC, CECPlus])
def test_defect_3_a_reward_near_the_largest_float32_is_stored(kind):
    agent = kind(Faulty(Drift(limit=30), 1501, "3.4e38 reward"), seed=3).learn(4000)
    assert np.isfinite(agent.memory.values).all()
    assert agent.memory.values.max() > 1e38


def test_defect_3_two_large_rewards_in_a_row_are_refused():
    agent = CEC(Corridor([0.0, 3.4e38, 3.4e38]), seed=0)
    with pytest.raises(ValueError, match=r"got 6\.766e\+38 at step 1 .*reward is 3\.4e\+38"):
        agent.learn(10)
    assert len(agent.memory) == 0
    assert agent.num_timesteps == 0


def test_defect_3_a_held_episode_is_refused_before_it_is_held():
    agent = CECPlus(Faulty(Drift(limit=30), 55, "1e300 reward"), seed=3)
    with pytest.raises(ValueError, match="float32"):
        agent.learn(10_000)
    agent.set_env(Drift(limit=30))
    agent.learn(3000)
    assert np.isfinite(agent.memory.values).all()


# -- 5: threads ------------------------------------------------------------------------------------


def threaded_predictions(agent, observations, n_threads, n_each):
    """How many of the deterministic actions of all threads differ from those of one."""
    expected = [agent.predict(row, deterministic=True)[0] for row in observations]
    wrong = []

    def work(offset):
        for i in range(n_each):
            index = (offset + i * 7) % len(observations)
            action, _ = agent.predict(observations[index], deterministic=True)
            if not np.array_equal(action, expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(k * 31,)) for k in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(wrong)


CHAINED = {
    "identity": lambda: None,
    "chain": lambda: Chain([Periodic([0]), RandomProjection(3), RunningNormalizer()]),
}


@pytest.mark.parametrize("embedding", CHAINED)
@pytest.mark.parametrize(
    "n_each", [4_000, pytest.param(125_000, marks=pytest.mark.hard, id="million")]
)
def test_defect_5_eight_threads_get_the_answers_of_one(embedding, n_each):
    agent = CEC(Drift(4), embedding=CHAINED[embedding](), distance_threshold=0.05, seed=1)
    agent.learn(3000)
    observations = np.random.default_rng(0).uniform(-1, 1, (500, 4))
    assert threaded_predictions(agent, observations, 8, n_each) == 0


# -- 6: subclasses of Identity ---------------------------------------------------------------------


class Tenfold(Identity):
    name = "tenfold"

    def embed(self, vector, out):
        out[:] = 10.0 * vector


def test_defect_6_a_subclass_of_identity_gives_its_own_keys():
    agent = CEC(Corridor([0.0, 0.0, 1.0]), embedding=Tenfold(), distance_threshold=0.1, seed=0)
    agent.learn(3)
    assert sorted(agent.memory.keys[:, 0]) == [0.0, 10.0, 20.0]


# -- 7: an error after the write -------------------------------------------------------------------


def test_defect_7_a_warning_as_an_error_leaves_counters_and_rows_consistent():
    """In 0.1.0 the rows of the last episode were written and its steps not counted."""
    agent = CEC(Counting(0, (1000,)), distance_threshold=1e-3, epsilon=0.0, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="no neighbour"):
            agent.learn(20_000)
    assert agent.num_timesteps == len(agent.memory) == 1000 * agent.n_episodes


# -- 10: None as an observation --------------------------------------------------------------------


class Forgetful(gym.Wrapper):
    def step(self, action):
        observation, *rest = self.env.step(action)
        return (None if rest[0] == 0.0 else observation, *rest)


def test_defect_10_none_is_not_an_observation():
    with pytest.raises(ValueError, match="shape"):
        CEC(Forgetful(Corridor([1.0, 0.0, 0.0, 1.0])), seed=0).learn(100)


# -- 11: the scale warning -------------------------------------------------------------------------


class Scripted(gym.Env):
    """Ten steps: always the same start, then what `observe` says of the number of the call."""

    observation_space = gym.spaces.Box(-1e6, 1e6, (1,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, observe):
        self.observe, self.calls = observe, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.time = 0
        return np.zeros(1), {}

    def step(self, action):  # noqa: ARG002
        self.time += 1
        self.calls += 1
        return np.array([self.observe(self.calls)]), 0.0, self.time == 10, False, {}


def test_defect_11_random_steps_do_not_count_as_without_neighbour():
    """A row that is always in range, though not within a third of it: 0.1.0 warned."""
    agent = CEC(
        Scripted(lambda _: 0.0), distance_threshold=0.6, exploration="uniform", epsilon=0.9, seed=0
    )
    agent.memory.write_many([[0.5]], [100.0], action=[[0.0]])
    agent.memory_changed()
    agent.learn(60_000)  # warnings are errors here


def test_defect_11_the_median_distance_is_a_number_in_short_episodes():
    """0.1.0 measured at the first step only, which is always near."""
    agent = CEC(Scripted(lambda call: 5.0 * call), epsilon=0.0, seed=0)
    with pytest.warns(UserWarning, match=r"90% of .* the median nearest distance is \d+:"):
        agent.learn(12_000)


def test_defect_11_the_warning_does_without_a_median_it_does_not_know():
    check = ScaleCheck()
    with pytest.warns(UserWarning, match=r"no neighbour within 0\.1: scale the observations"):
        check.add(np.full(5000, np.nan), 0.1, 5000)


def test_defect_11_the_share_without_neighbour_is_of_the_steps_that_looked():
    agent = CEC(Counting(0, (10,)), exploration="uniform", epsilon=0.9, distance_threshold=1e-3,
                seed=0)  # fmt: skip
    agent.learn(200)
    episode = agent.begin_episode()
    for i in range(50):
        episode.act(np.array([5000.0 + i, 0.0]))
        episode.record(0.0)
    kinds = episode.experience.trace[:, CHOICE]
    totals = episode.finish(np.zeros(2))
    assert (kinds == Choice.UNIFORM).sum() > 30
    assert agent.metrics(totals)["policy/no_neighbor_fraction"] == 1.0


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_defect_11_exploration_does_not_change_the_share_without_neighbour(kind):
    """Every other step is near a row, whether it explores or not."""
    agent = kind(Scripted(float), exploration="uniform", epsilon=0.9, seed=0)
    agent.memory.write_many([[0.0]], [1.0], action=[[0.0]])
    agent.memory_changed()
    episode = agent.begin_episode()
    for i in range(4000):
        episode.act(np.array([i % 2 * 100.0]))
        episode.record(0.0)
    totals = episode.finish(np.zeros(1))
    assert totals["looked"] == pytest.approx(400, abs=60)
    share = agent.metrics(totals)["policy/no_neighbor_fraction"]
    assert share == pytest.approx(0.5, abs=0.1)


# -- 12: episodes that never end -------------------------------------------------------------------


def endless():
    return Counting(0, (2**40,))


def test_defect_12_an_endless_episode_is_noticed_and_learn_returns():
    agent = CEC(endless(), capacity=500, seed=0)
    with pytest.warns(UserWarning, match="10,000 steps and nothing limits its length"):
        agent.learn(2000)
    assert agent.n_episodes == 1
    assert agent.num_timesteps == EpisodeLimit.LONG
    assert len(agent.memory) == 500


@pytest.mark.parametrize("n_lanes", [1, 3])
def test_defect_12_a_cap_ends_episodes_as_time_outs(n_lanes):
    env = endless() if n_lanes == 1 else SyncVectorEnv([endless] * n_lanes)
    agent = CEC(env, seed=0)
    agent.learn(600, max_episode_steps=50, eval_env=endless(), eval_freq=200, n_eval_episodes=2)
    assert agent.num_timesteps == 600
    assert agent.n_episodes == 12


@pytest.mark.parametrize("cap", [0, -3, 2.5, True, "many"])
def test_defect_12_a_cap_is_a_number_of_steps(cap):
    with pytest.raises(ValueError, match="expected max_episode_steps to be a whole number"):
        CEC(Corridor(), seed=0).learn(10, max_episode_steps=cap)


def test_defect_12_declared_limits_are_known():
    assert time_limit(gym.make("CartPole-v1")) == 500
    assert time_limit(gym.wrappers.TimeLimit(endless(), 70)) == 70
    assert time_limit(SyncVectorEnv([lambda: gym.wrappers.TimeLimit(endless(), 70)])) == 70
    assert time_limit(endless()) is None


# -- 13: success as an array -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [(np.array([True]), True), (np.array([1.0, 0.0]), False), ([True, True], True), (0, False),
     (np.float32(1), True), (None, None)],
)  # fmt: skip
def test_defect_13_success_may_be_an_array(said, expected):
    assert success_of({"is_success": said}) is expected

"""The public episode interface: people's own loops write what `learn` writes, bit for bit."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from neutral import KINDS, neutral_plus, remember

from probes import Corridor, Drift, Keys, Mixed
from scrubjay import CEC, CECPlus
from scrubjay.agents.cec_stale import StaleIndexCEC
from scrubjay.agents.recorder import CHOICE, Choice
from scrubjay.embedding import FrozenNormalizer, RunningNormalizer
from scrubjay.randomness import Stream, reset_seed

METHODS = {
    **KINDS,
    "CECPlus": CECPlus,
    "stale": StaleIndexCEC,
    "running": partial(CEC, embedding=RunningNormalizer()),
    "frozen": partial(CEC, embedding=FrozenNormalizer(200)),
    "held": partial(neutral_plus, hold=20, epsilon=0.5, distance_threshold="step"),
}
TASKS = {
    "Box": Drift,
    "float64": partial(Drift, 3, 100, np.float64, 1e6),  # long episodes: several blocks
    "Discrete": Keys,
    "Discrete with a start": partial(Keys, gym.spaces.Discrete(5, start=-2)),
    "MultiDiscrete": partial(Keys, gym.spaces.MultiDiscrete([[2], [3]], start=[[1], [0]])),
    "Dict": Mixed,
}


@pytest.fixture(params=METHODS.values(), ids=METHODS)
def method(request):
    return request.param


@pytest.fixture(params=TASKS.values(), ids=TASKS)
def make_env(request):
    return request.param


def first_observation(agent, env, episode, lane=0):
    seed = reset_seed(agent.seed, Stream.ENVIRONMENT, lane, episode.number)
    return env.reset(seed=seed)[0]


def drive(agent, env, n_steps, execute=None):
    """A loop as one would write it for a robot; `execute` may put another action in place."""
    goal = agent.num_timesteps + n_steps
    while agent.num_timesteps < goal:
        episode = agent.begin_episode()
        observation, over = first_observation(agent, env, episode), False
        while not over:
            action = episode.act(observation)
            executed = action if execute is None else execute(action)
            observation, reward, terminated, truncated, _ = env.step(executed)
            episode.record(reward, None if execute is None else executed)
            over = terminated or truncated
        episode.finish(observation, terminated)
    return agent


def assert_same(one, other):
    assert one.memory.digest() == other.memory.digest()
    assert (one.num_timesteps, one.n_episodes) == (other.num_timesteps, other.n_episodes)
    assert one.counters() == other.counters()
    for name, array in one.embedding.state().items():
        np.testing.assert_array_equal(array, other.embedding.state()[name])


def test_a_loop_of_ones_own_writes_what_learn_writes(method, make_env):
    learned = method(make_env(), seed=5).learn(2500)
    driven = drive(method(make_env(), seed=5), make_env(), 2500)
    assert len(driven.memory) > 0
    assert_same(driven, learned)
    # the two may take turns
    assert_same(driven.learn(300), drive(learned, make_env(), 300))


def test_no_environment_is_needed(tmp_path):
    CEC(Drift(), seed=5).save(tmp_path / "agent.scrub")
    agent = CEC.load(tmp_path / "agent.scrub")
    assert agent.env is None
    assert_same(drive(agent, Drift(), 300), CEC(Drift(), seed=5).learn(300))


@pytest.mark.parametrize("make_env", [Drift, Keys], ids=["Box", "Discrete"])
@pytest.mark.parametrize("kind", [CEC, CECPlus])
def test_several_episodes_at_a_time_are_a_vector_of_environments(kind, make_env):
    n_lanes, n_ticks = 3, 1500
    learned = kind(SyncVectorEnv([make_env] * n_lanes), seed=5)
    learned.learn(10**9, callback=lambda *_: learned.num_timesteps < n_lanes * n_ticks)
    driven, envs = kind(make_env(), seed=5), [make_env() for _ in range(n_lanes)]
    episodes, observations = [None] * n_lanes, [None] * n_lanes
    for _ in range(n_ticks):
        for lane, env in enumerate(envs):
            if episodes[lane] is None:
                episodes[lane] = driven.begin_episode(lane)
                observations[lane] = first_observation(driven, env, episodes[lane], lane)
        # all act before any is recorded, as in a vector
        actions = [one.act(seen) for one, seen in zip(episodes, observations, strict=True)]
        steps = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        for lane, (_, reward, *_) in enumerate(steps):
            episodes[lane].record(reward)
        for lane, (observation, _, terminated, truncated, _) in enumerate(steps):
            observations[lane] = observation
            if terminated or truncated:
                episodes[lane].finish(observation, terminated)
                episodes[lane] = None
    assert driven.memory.digest() == learned.memory.digest()
    assert driven.n_episodes == learned.n_episodes > 50


# ---------------------------------------------------------------- actions of somebody else


@pytest.mark.parametrize("method", [CEC, CECPlus])
@pytest.mark.parametrize("make_env", [Drift, Keys], ids=["Box", "Discrete"])
def test_saying_what_was_executed_changes_nothing_if_it_was_that(make_env, method):
    agents = [method(make_env(), seed=5) for _ in range(2)]
    drive(agents[0], make_env(), 800)
    drive(agents[1], make_env(), 800, execute=lambda action: action)
    assert_same(*agents)


@pytest.mark.parametrize("method", [CEC, neutral_plus, CECPlus])
@pytest.mark.parametrize(
    ("make_env", "space"),
    [(Drift, Drift().action_space), (Keys, Keys().action_space),
     (TASKS["MultiDiscrete"], TASKS["MultiDiscrete"]().action_space)],
    ids=["Box", "Discrete", "MultiDiscrete"],
)  # fmt: skip
def test_the_action_of_somebody_else_is_stored(method, make_env, space):
    """Whatever the agent decides, another action is executed, and that one is remembered."""
    space.seed(0)
    agent, given = method(make_env(), seed=5), []

    def execute(_):
        given.append(space.sample())
        return given[-1]

    drive(agent, make_env(), 1500, execute)
    stored = {agent.codec.decode(row).tobytes() for row in agent.memory.columns["action"]}
    assert stored <= {np.asarray(action, space.dtype).tobytes() for action in given}
    assert np.isfinite(agent.memory.values).all()


def remembering_plus():
    """One row at 0, worth 1, whose action is 0.5."""
    agent = neutral_plus(Corridor([0.0]), epsilon=0.0, distance_threshold=0.1, planning=0.25)
    remember(agent, 0.0, 1.0, action=0.5, led_to=0.0)
    return agent


@pytest.mark.parametrize(("given", "led_to"), [(None, 0.3), ([0.5], 0.3), ([-0.5], 0.0)])
def test_a_row_does_not_keep_where_another_action_led_to(given, led_to):
    """The action that was decided, 0.5, may be given too: it is still the row's."""
    agent = remembering_plus()
    episode = agent.begin_episode()
    assert episode.act(np.zeros(1)) == np.float32(0.5)
    episode.record(0.0, given)
    followed = given in (None, [0.5])
    assert episode.experience.trace[0, CHOICE] == (Choice.MEMORY if followed else Choice.GIVEN)
    episode.finish(np.full(1, 0.3))
    assert agent.memory.columns["next"][0] == np.float32(led_to)


def test_the_action_of_somebody_else_ends_one_that_is_held():
    agent = neutral_plus(Corridor([0.0]), epsilon=1.0, exploration="uniform", hold=10**6, seed=3)
    agent.memory.write([0.0], 1.0, action=[0.5])
    agent.memory_changed()
    episode = agent.begin_episode()
    decided = []
    for step in range(200):
        decided.append(episode.act(np.full(1, 0.05 * (step % 2)))[0])
        episode.record(0.0, [0.25] if step % 20 == 19 else None)
    choices = episode.experience.trace[:, CHOICE]
    assert (choices == Choice.HELD).any()
    assert (choices[19::20] == Choice.GIVEN).all()
    assert (choices[20::20] == Choice.UNIFORM).all(), "after it a new action is drawn"


def test_an_action_outside_of_the_space_is_refused_and_can_be_given_again(tmp_path):
    """A stored action outside its Box would make the file unreadable."""
    agent = CEC(Corridor([0.0]), seed=0)
    episode = agent.begin_episode()
    episode.act(np.zeros(1))
    with pytest.raises(ValueError, match=r"expected an action of Box.*clip it first"):
        episode.record(1.0, [1.5])
    episode.record(1.0, [1.0])
    episode.finish(np.ones(1))
    assert agent.memory.columns["action"].tolist() == [[1.0]]
    agent.save(tmp_path / "agent.scrub")
    CEC.load(tmp_path / "agent.scrub")


# ---------------------------------------------------------------- order and mistakes


def steps(episode, *names):
    calls = {
        "act": lambda: episode.act(np.zeros(1)),
        "record": lambda: episode.record(0.0),
        "finish": lambda: episode.finish(np.zeros(1)),
    }
    for name in names:
        calls[name]()


@pytest.mark.parametrize("embedding", [None, FrozenNormalizer(100)])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["record"], r"expected act\(\)"),
        (["act", "act"], r"expected record\(\)"),
        (["act", "record", "record"], r"expected act\(\)"),
        (["finish"], "at least one act and record"),
        (["act", "finish"], "at least one act and record"),
        (["act", "record", "act", "finish"], r"expected record\(\)"),
        (["act", "record", "finish", "finish"], "this episode is finished"),
        (["act", "record", "finish", "act"], "this episode is finished"),
        (["act", "record", "finish", "record"], "this episode is finished"),
    ],
)
def test_calls_in_another_order_are_refused(names, message, embedding):
    episode = CEC(Corridor(), embedding=embedding, seed=0).begin_episode()
    steps(episode, *names[:-1])
    with pytest.raises(RuntimeError, match=message):
        steps(episode, names[-1])


def test_after_a_refused_call_the_episode_goes_on():
    agent, untroubled = CEC(Corridor([0.0] * 3), seed=1), CEC(Corridor([0.0] * 3), seed=1)
    for one in (agent, untroubled):
        episode = one.begin_episode()
        for place in range(3):
            episode.act(np.array([float(place)]))
            if one is agent:
                for bad in (np.nan, np.inf):
                    with pytest.raises(ValueError, match="finite reward"):
                        episode.record(bad)
                with pytest.raises(TypeError, match="number as reward, got None"):
                    episode.record(None)
                with pytest.raises(RuntimeError, match="record"):
                    episode.act(np.zeros(1))
            episode.record(float(place))
        episode.finish(np.array([3.0]))
    assert_same(agent, untroubled)


@pytest.mark.parametrize("embedding", [None, RunningNormalizer()])
def test_a_bad_observation_is_refused_and_a_good_one_taken_instead(embedding):
    agent = CEC(Corridor([0.0] * 3), embedding=embedding, seed=1)
    episode = agent.begin_episode()
    for place in range(3):
        with pytest.raises(ValueError, match="finite"):
            episode.act(np.array([np.nan]))
        episode.act(np.array([float(place)]))
        episode.record(1.0)
    with pytest.raises(ValueError, match="finite"):
        episode.finish(np.array([np.inf]))
    episode.finish(np.array([3.0]))
    assert (agent.num_timesteps, agent.n_episodes) == (3, 1)
    assert len(np.unique(agent.memory.keys, axis=0)) == len(agent.memory)
    agent.memory.check_invariants()


def test_an_episode_that_is_given_up_leaves_no_trace():
    agent, other = CEC(Drift(), embedding=RunningNormalizer(), seed=5), None
    drive(agent, Drift(), 200)
    episode = agent.begin_episode()
    for _ in range(5):
        episode.act(np.ones(2))
        episode.record(1.0)
    assert agent.rewind() == 1
    other = drive(CEC(Drift(), embedding=RunningNormalizer(), seed=5), Drift(), 200)
    assert_same(agent, other)
    assert_same(drive(agent, Drift(), 200), drive(other, Drift(), 200))


def test_what_is_recorded_can_be_read():
    agent = CEC(Corridor([0.0] * 3), seed=1)
    episode = agent.begin_episode()
    assert episode.number == 0
    assert len(episode.experience.rewards) == 0
    for place in range(3):
        action = episode.act(np.array([float(place)]))
        episode.record(place / 2)
        assert episode.experience.actions[-1] == action
    assert episode.experience.keys[:, 0].tolist() == [0, 1, 2]
    assert episode.experience.rewards.tolist() == [0, 0.5, 1]
    episode.finish(np.array([3.0]))
    assert agent.begin_episode().number == 1
    assert agent.begin_episode(environment=7).number == 0


# ---------------------------------------------------------------- failures at the end


@pytest.mark.parametrize("terminated", [True, False])
@pytest.mark.parametrize("kind", [CEC, CECPlus])
def test_an_overflow_in_the_episode_that_brings_keys_leaves_the_others(kind, terminated, tmp_path):
    """Its episodes wait on, and a checkpoint of that moment can be loaded."""
    agent = kind(Drift(), embedding=FrozenNormalizer(20), seed=5)

    def live(agent, environment, n, reward):
        episode = agent.begin_episode(environment)
        for i in range(n):
            episode.act(np.array([i / 10, environment / 10]))
            episode.record(reward)
        return episode

    live(agent, 9, 3, 0.0)  # left open, so that there is no boundary to go back to
    live(agent, 0, 10, 1.0).finish(np.zeros(2), terminated)
    failing = live(agent, 1, 15, 1e300)
    with pytest.raises(ValueError, match="float32 can hold"):
        failing.finish(np.zeros(2), terminated)
    assert (len(agent.held), len(agent.memory)) == (1, 0)
    agent.rewind()
    agent.save(tmp_path / "agent.scrub")
    loaded = kind.load(tmp_path / "agent.scrub")
    for one in (agent, loaded):
        live(one, 2, 15, 1.0).finish(np.zeros(2), terminated)
        assert one.held == []
        assert len(one.memory) > 0
        assert np.isfinite(one.memory.values).all()
    assert_same(agent, loaded)

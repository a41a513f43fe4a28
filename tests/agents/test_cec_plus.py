"""What the paper's rule does not have: each part alone, and all together."""

import json
import re

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neutral import neutral_plus

from probes import Drift
from scrubjay.agents import CEC, CECPlus
from scrubjay.agents.cec_plus_kernels import (
    BEST,
    CLOSENESS,
    FOLLOWED,
    SEEN,
    back_up,
)
from scrubjay.agents.files import NEUTRAL
from scrubjay.agents.metric import median_step
from scrubjay.agents.recorder import CHOICE, Choice, EpisodeRecorder, Experience
from scrubjay.agents.returns import timeout_value
from scrubjay.agents.sampling import duration
from scrubjay.agents.settings import settings_of
from scrubjay.embedding import Chain, FrozenNormalizer, GoalDifference, Identity, Periodic
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.randomness import Stream, generator


class Line(gym.Env):
    """A walk on [0, 10]: 0 pays nothing, 10 pays `prize`, each step `wage`."""

    def __init__(self, prize=1.0, wage=0.0, horizon=60):
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.prize, self.wage, self.horizon = prize, wage, horizon

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.t = 0.0, 0
        return np.array([self.x]), {}

    def step(self, action):
        self.x = float(np.clip(self.x + action[0], 0, 10))
        self.t += 1
        done = self.x >= 9.5
        reward = self.wage + (self.prize if done else 0.0)
        return np.array([self.x]), reward, done, self.t >= self.horizon, {"is_success": done}


def greedy_steps(agent, env):
    observation, _ = env.reset(seed=0)
    for step in range(env.horizon):
        observation, _, done, _, _ = env.step(agent.predict(observation, deterministic=True)[0])
        if done:
            return step + 1
    return None


def memory_of(agent):
    return agent.memory.digest()


CHANGED = {
    "measure_keys": True,
    "planning": 0.25,
    "discovery": True,
    "goal_planning": True,
    "epsilon_spread": 20.0,
    "hold": 50,
    "skip_worthless": True,
    "detour_cost": 3.0,
    "stitching": True,
    "temperature_unit": "best",
    "timeouts": "continue",
}
START = {
    "distance_threshold": 0.3,
    "radius_factor": 3.0,
    "epsilon": 0.3,
    "temperature": 0.1,
    "exploration": "uniform",
}


def trained(wage=-0.01, kind=neutral_plus, **options):
    return kind(Line(wage=wage, prize=4.0), **{**START, **options}, seed=3).learn(3000)


@pytest.mark.parametrize("exploration", ["uniform", "noise"])
@pytest.mark.parametrize("options", [{}, {"capacity": 20, "recency": "hit"}, {"n_neighbors": 1}])
def test_with_neutral_values_it_is_cec(exploration, options):
    options = {**options, "exploration": exploration}
    plus, plain = trained(**options), trained(kind=CEC, **options)
    assert memory_of(plus) == memory_of(plain)
    places = np.linspace(0, 10, 50)[:, None]
    np.testing.assert_array_equal(
        plus.predict(places, deterministic=True)[0], plain.predict(places, deterministic=True)[0]
    )


def test_the_additions_are_no_settings_of_cec():
    assert not NEUTRAL.keys() & settings_of(CEC).keys()
    assert settings_of(CECPlus).keys() - settings_of(CEC).keys() == {*NEUTRAL, "periodic"}
    for name, value in CHANGED.items():
        with pytest.raises(TypeError, match=name):
            CEC(Line(), **{name: value})
    assert not issubclass(CECPlus, CEC)


# this task has neither noise nor goals, is soon solved, and acts alike from near and far
ELSEWHERE = {"detour_cost", "measure_keys", "goal_planning", "discovery"}


@pytest.mark.parametrize("name", sorted(CHANGED.keys() - ELSEWHERE))
def test_each_part_alone_changes_what_is_learnt(name):
    wage = 0.0 if name == "skip_worthless" else -0.01
    assert memory_of(trained(wage, **{name: CHANGED[name]})) != memory_of(trained(wage))


@pytest.mark.parametrize("name", CHANGED)
def test_each_part_alone_survives_a_file(name, tmp_path):
    agent = trained(**{name: CHANGED[name]})
    agent.save(tmp_path / "agent.scrub")
    loaded = CECPlus.load(tmp_path / "agent.scrub", Line(wage=-0.01, prize=4.0))
    assert loaded.config() == agent.config()
    assert memory_of(agent.learn(500)) == memory_of(loaded.learn(500))


def test_all_together_solve_a_line_and_resume_exactly(tmp_path):
    env = Line()
    agent = CECPlus(env, seed=1).learn(1500)
    agent.save(tmp_path / "plus.scrub")
    loaded = CECPlus.load(tmp_path / "plus.scrub", Line())
    assert loaded.memory.distance_threshold == agent.memory.distance_threshold > 0
    assert memory_of(agent.learn(2500)) == memory_of(loaded.learn(2500))
    assert greedy_steps(agent, env) <= 14


@pytest.mark.parametrize("scale", [0.01, 1000.0])
def test_the_scale_of_returns_does_not_matter(scale):
    """A power of two would be exact; these are near enough for the same decisions."""
    small, large = Line(prize=scale), Line(prize=1.0)
    steps = [greedy_steps(CECPlus(env, seed=2).learn(4000), env) for env in (small, large)]
    assert steps[0] is not None
    assert max(steps) <= 16


def test_the_scale_of_returns_does_not_matter_exactly():
    one, other = (CECPlus(Line(prize=prize), seed=2).learn(3000) for prize in (1.0, 1024.0))
    np.testing.assert_array_equal(one.memory.keys, other.memory.keys)
    np.testing.assert_array_equal(one.memory.values * 1024, other.memory.values)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_the_scale_of_observations_does_not_matter(factor):
    env = gym.wrappers.TransformObservation(Line(), lambda o: o * factor, Line().observation_space)
    agent = CECPlus(env, seed=1).learn(4000)
    env.unwrapped.t = 0
    observation, _ = env.reset(seed=0)
    for _ in range(16):
        observation, _, done, _, _ = env.step(agent.predict(observation, deterministic=True)[0])
        if done:
            return
    pytest.fail("not at the goal after 16 steps")


def test_a_task_that_only_costs_is_solved():
    """-1 a step until the goal: failures look alike only when time-outs do not end the bill."""
    env = Line(prize=0.0, wage=-1.0)
    agent = CECPlus(env, seed=1).learn(6000)
    assert greedy_steps(agent, env) <= 16


# -- exploration ---------------------------------------------------------------------------------


def test_durations_have_a_heavy_tail_and_an_end():
    draws = (np.arange(100_000) + 0.5) / 100_000
    lengths = np.array([duration(draw, 100) for draw in draws])
    assert lengths.min() == 1
    assert lengths.max() == 100
    for n in (1, 2, 10, 99):
        assert np.mean(lengths >= n) == pytest.approx(1 / n, abs=2e-5)
    assert duration(0.999, 1) == 1


def test_an_action_that_moves_nothing_is_not_held():
    agent = neutral_plus(Line(horizon=10**9), hold=30, epsilon=1.0, exploration="uniform", seed=5)
    agent.memory.write([0.0], 1.0, action=[0.0])
    agent.memory_changed()
    episode = agent.begin_episode()
    for _ in range(100):
        episode.act(np.zeros(1))
        episode.record(0.0)
    assert (episode.experience.trace[:, CHOICE] != Choice.HELD).all()


def test_an_exploratory_action_is_held_as_long_as_it_was_drawn():
    agent = neutral_plus(Line(horizon=10**9), hold=30, epsilon=1.0, exploration="uniform", seed=5)
    agent.memory.write([0.0], 1.0, action=[0.0])
    agent.memory_changed()
    episode = agent.begin_episode()
    for place in range(400):
        episode.act(np.full(1, float(place)))
        episode.record(0.0)
    actions, choices = episode.experience.actions[:, 0], episode.experience.trace[:, CHOICE]
    runs = np.diff(np.flatnonzero(np.append(choices != Choice.HELD, True)))
    assert runs.max() > 5
    held = np.flatnonzero(choices == Choice.HELD)
    np.testing.assert_array_equal(actions[held], actions[held - 1])
    fresh = np.flatnonzero(choices == Choice.UNIFORM)
    assert len(set(actions[fresh])) == len(fresh)


def test_every_episode_has_an_epsilon_of_its_own():
    agent = neutral_plus(Line(), epsilon_spread=20.0, seed=0)
    factors = np.array(
        [agent.exploration_scale(generator(0, Stream.POLICY, 0, number)) for number in range(2000)]
    )
    assert factors.min() >= 1 / 20
    assert factors.max() <= 20
    logs = np.log(factors) / np.log(20)
    assert abs(logs.mean()) < 0.05
    assert abs(logs.std() - 1 / np.sqrt(3)) < 0.03
    rng = generator(0, Stream.POLICY, 0, 0)
    assert neutral_plus(Line(), seed=0).exploration_scale(rng) == 1
    assert CEC(Line(), seed=0).exploration_scale(rng) == 1


class Scaled(CECPlus):
    """Its episodes explore with probability 1 or 0 in turn."""

    def exploration_scale(self, rng):  # noqa: ARG002
        self.count = getattr(self, "count", 0) + 1
        return self.count % 2 * 2.0


@pytest.mark.parametrize("n_lanes", [1, 2])
def test_an_episode_explores_with_its_own_epsilon(n_lanes):
    agent = Scaled(
        Line(), epsilon=0.5, distance_threshold=0.5, hold=1, skip_worthless=False,
        embedding=Identity(), planning=0.0, discovery=False, seed=0,
    )  # fmt: skip
    agent.memory.write([0.0], 1.0, action=[0.25])
    agent.memory_changed()
    recorder = EpisodeRecorder(agent, range(n_lanes), batched=True)
    for episode in range(4):
        for lane in range(n_lanes):
            recorder.begin(lane)
        for _ in range(100):
            recorder.act(np.zeros((n_lanes, 1)))
            recorder.record(np.zeros(n_lanes))
        for lane in range(n_lanes):
            choices = recorder.experience(lane).trace[:, CHOICE]
            explores = (episode * n_lanes + lane) % 2 == 0
            assert set(choices) == {Choice.UNIFORM if explores else Choice.MEMORY}


# -- greedy --------------------------------------------------------------------------------------


def three_rows(**options):
    agent = neutral_plus(Line(), distance_threshold=0.5, radius_factor=3.0, **options)
    agent.memory.write_many([[0.0], [1.0], [9.0]], [0.7, 0.8, 0.1], action=[[0.1], [0.2], [0.3]])
    agent.memory_changed()
    return agent


def test_greedy_is_the_nearest_row_or_the_best_neighbour():
    def action(agent, x):
        return agent.predict(np.array([x]), deterministic=True)[0][0]

    assert action(three_rows(), 0.4) == np.float32(0.1)
    assert action(three_rows(detour_cost=0.0), 0.4) == np.float32(0.2)
    # the better one is two thresholds away: a high price of detours makes the nearer one win
    assert action(three_rows(detour_cost=60.0), 0.0) == np.float32(0.1)
    # nobody within reach: the nearest after all
    assert action(three_rows(detour_cost=0.0), 4.0) == np.float32(0.2)


def test_rows_of_the_lowest_value_are_nobody_s_neighbours():
    agent = three_rows(skip_worthless=True, detour_cost=0.0)
    assert agent.predict(np.array([9.2]), deterministic=True)[0][0] == np.float32(0.2)
    episode = agent.begin_episode()
    episode.act(np.array([9.2]))
    episode.record(0.0)
    assert episode.experience.trace[0, CHOICE] == Choice.NO_NEIGHBOR


@pytest.mark.parametrize(("n", "action"), [(1, 0.9), (10, 0.9), (63, 0.9), (64, 0.1), (80, 0.1)])
def test_where_no_neighbour_knows_anything_the_next_64_rows_are_asked(n, action):
    agent = neutral_plus(
        Line(), distance_threshold=0.01, radius_factor=1.0, skip_worthless=True, detour_cost=0.0
    )
    keys = [*0.02 * np.arange(1, n + 1), 9.0]
    actions = [[0.1]] * n + [[0.9]]
    agent.memory.write_many(np.array(keys)[:, None], [0.0] * n + [1.0], action=actions)
    agent.memory_changed()
    assert agent.predict(np.zeros(1), deterministic=True)[0][0] == np.float32(action)


# -- learning ------------------------------------------------------------------------------------


def naive_back_up(rewards, gamma, promises):
    """The same in plain words."""
    returns, after = [], 0.0
    for t in reversed(range(len(rewards))):
        promised = [after, *promises[t + 1 : t + 2]]
        after = rewards[t] + gamma * max(promised)
        returns.insert(0, after)
    return returns


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 12))
def test_backing_up_is_the_naive_one(data, n):
    number = st.floats(-5, 5, width=32)
    rewards = np.array(data.draw(st.lists(number, min_size=n, max_size=n)))
    promise = number | st.just(-np.inf)
    promises = np.array(data.draw(st.lists(promise, min_size=n, max_size=n)))
    np.testing.assert_array_equal(
        back_up(rewards, 0.9, promises), naive_back_up(rewards, 0.9, promises)
    )


def experienced(keys, actions, rewards, terminated=True, **notes):
    """A decided episode that followed nothing, but for the notes of its last step."""
    n = len(rewards)
    trace, numbers = np.zeros((n, 4), np.int64), np.zeros((n, 3))
    trace[:, [FOLLOWED, BEST]] = -1
    episode = Experience(
        np.array(keys, np.float32), np.array(actions, np.float32), np.array(rewards, float),
        trace, numbers, terminated, decided=True,
    )  # fmt: skip
    numbers[-1, CLOSENESS] = notes.pop("closeness", 0.0)
    columns = {"followed": FOLLOWED, "best": BEST, "seen": SEEN}
    for name, value in notes.items():
        trace[-1, columns[name]] = value
    return episode


def learn(agent, episode):
    learned = agent.learn_from(episode)
    agent.memory_changed()
    return learned


def test_a_row_keeps_where_it_led_to_when_it_was_followed_from_where_it_stands():
    agent = neutral_plus(
        Line(), distance_threshold=0.3, radius_factor=3.0, epsilon=0.0, planning=0.25
    )
    learn(agent, experienced([[0.0]], [[1.0]], [1.0]))
    for distance, followed in ((0.2, True), (0.6, False)):
        episode = agent.begin_episode()
        assert episode.act(np.array([distance])) == 1.0
        episode.record(0.0)
        assert (episode.experience.trace[0, FOLLOWED] == 0) == followed
        episode.finish(np.array([5.0 + distance]))
    assert agent.memory.columns["next"][0] == np.float32(5.2)


def test_a_promise_of_a_row_that_was_replaced_meanwhile_does_not_count():
    agent = neutral_plus(Line(), distance_threshold=0.5, gamma=0.9, stitching=True)
    agent.memory.write_many([[5.0]], [0.8], action=[[0.5]])
    seen = agent.memory.clock
    agent.memory.write_many([[5.2]], [0.9], action=[[0.5]])
    agent.memory_changed()
    learn(agent, experienced([[4.0], [5.1]], [[0], [0]], [0, 0], best=0, closeness=1.0, seen=seen))
    rows, _ = agent.memory.neighbors([4.0], 1)
    assert agent.memory.values[rows[0]] == 0.0


def test_stitching_joins_two_halves():
    agent = neutral_plus(Line(), distance_threshold=0.5, gamma=0.9, stitching=True)
    agent.memory.write_many([[5.0]], [0.8], action=[[0.5]])
    agent.memory_changed()
    clock = agent.memory.clock
    learn(agent, experienced([[4.0], [5.1]], [[0], [0]], [0, 0], best=0, closeness=1.0, seen=clock))
    rows, _ = agent.memory.neighbors([4.0], 1)
    assert agent.memory.values[rows[0]] == pytest.approx(0.72)


def test_time_outs_go_on_as_they_ended():
    assert timeout_value(np.full(50, -1.0), 0.99) == pytest.approx(-100.0)
    assert timeout_value(np.array([-1.0] * 45 + [0.0] * 5), 0.99) == 0.0
    assert timeout_value(np.ones(3), 1.0) == 0.0


def test_the_threshold_is_the_median_step():
    keys = [np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [1.0, 2.0]])]
    assert median_step(keys) == 3.0  # of 5 and 1; a step that does not move is none
    assert median_step([np.zeros((4, 2))]) == 1.0
    agent = neutral_plus(Line(), distance_threshold="step", seed=0)
    assert agent.radius == 0
    agent.learn(200)
    assert 0 < agent.memory.distance_threshold < 1


# -- keys ----------------------------------------------------------------------------------------


class Goals(gym.Env):
    observation_space = gym.spaces.Dict(
        observation=gym.spaces.Box(-5, 5, (2,)),
        achieved_goal=gym.spaces.Box(-1, 1, (2,)),
        desired_goal=gym.spaces.Box(-2, 2, (2,)),
    )
    action_space = gym.spaces.Box(-1, 1, (1,))


def test_goals_become_their_difference():
    agent = CECPlus(Goals(), seed=0, goal_planning=False)
    assert agent.embedding.key_dim == 2
    assert isinstance(agent.embedding, Chain)
    seen = {"observation": [1, 2], "achieved_goal": [0.5, -1], "desired_goal": [2, 1]}
    observation = {name: np.array(value, np.float32) for name, value in seen.items()}
    for keys, expected in (((), [1.5, 2.0]), (("observation",), [1.5, 2.0, 1.0, 2.0])):
        agent = CEC(Goals(), embedding=GoalDifference(keys), seed=0)
        vector, key = np.empty(agent.flattener.size), np.empty(agent.embedding.key_dim)
        agent.flattener.into(observation, vector)
        agent.embedding.embed(vector, key)
        np.testing.assert_allclose(key, expected)
        assert GoalDifference(keys).config() == {"name": "goal_difference", "keys": list(keys)}


def test_bounds_of_differences_and_angles():
    stage = GoalDifference()
    bounds = stage.bind(stage.flattener(Goals.observation_space).bounds, 0)
    np.testing.assert_allclose(bounds, ([-3, -3], [3, 3]))
    low, high = Periodic([1]).bind((np.array([-9.0, -4.0]), np.array([9.0, 4.0])), 0)
    np.testing.assert_allclose((low, high), ([-9, -1, -1], [9, 1, 1]))


def test_angles_have_no_seam():
    stage = Periodic([1])
    stage.bind((np.full(2, -np.inf), np.full(2, np.inf)), 0)
    keys = stage.embed_batch(np.array([[7.0, np.pi - 1e-6], [7.0, -np.pi + 1e-6], [7.0, 0.0]]))
    np.testing.assert_allclose(keys[0], keys[1], atol=1e-5)
    np.testing.assert_allclose(keys[2], [7.0, 1.0, 0.0])
    agent = CECPlus(Line(), periodic=[0], seed=0)
    assert agent.embedding.key_dim == 2


@pytest.mark.parametrize("dimensions", [[], [1, 1], [5], [-1]])
def test_wrong_angles_are_refused(dimensions):
    with pytest.raises(ValueError, match="dimensions"):
        Periodic(dimensions).bind((np.zeros(2), np.ones(2)), 0)


@pytest.mark.parametrize("periodic", [(), (1,), (1, 0)])
def test_defect_17_angles_are_saved_and_come_back(periodic, tmp_path):
    agent = CECPlus(Drift(), periodic=periodic, seed=2).learn(1500)
    config = json.loads(json.dumps(agent.config()))
    assert config.get("periodic", []) == list(periodic)
    again = CECPlus.from_config(Drift(), config)
    assert (again.periodic, again.config()) == (periodic, agent.config())
    agent.save(tmp_path / "agent.scrub")
    loaded = CECPlus.load(tmp_path / "agent.scrub", env=Drift())
    assert (loaded.periodic, loaded.config()) == (periodic, agent.config())
    assert memory_of(loaded.learn(300)) == memory_of(agent.learn(300))


def test_defect_17_a_file_of_0_1_0_that_does_not_name_its_angles_loads(tmp_path):
    agent = CECPlus(Drift(), periodic=[1], seed=2).learn(1500)
    agent.save(tmp_path / "agent.scrub")
    manifest, arrays = read_archive(tmp_path / "agent.scrub", "agent")
    del manifest["format"], manifest["schema"], manifest["config"]["periodic"]
    write_archive(tmp_path / "old.scrub", manifest, arrays)
    loaded = CECPlus.load(tmp_path / "old.scrub")
    assert loaded.config() == agent.config()
    manifest["config"]["periodic"] = [0]
    write_archive(tmp_path / "contradiction.scrub", manifest, arrays)
    with pytest.raises(ArchiveError, match=r"contradiction\.scrub.*periodic dimensions"):
        CECPlus.load(tmp_path / "contradiction.scrub")


def test_wrong_settings_are_refused():
    for name, value in (
        ("hold", 0), ("skip_worthless", 1), ("detour_cost", -1.0),
        ("stitching", "yes"),
        ("temperature_unit", "values"), ("timeouts", "never"), ("distance_threshold", "auto"),
        ("epsilon_spread", 0.5), ("periodic", 3), ("periodic", "0"), ("periodic", [0.5]),
    ):  # fmt: skip
        message = f"expected {name} to be .*, got {re.escape(repr(value))}"
        with pytest.raises(ValueError, match=message):
            CECPlus(Line(), **{name: value})
    with pytest.raises(ValueError, match="one of both"):
        CECPlus(Line(), periodic=[0], embedding=FrozenNormalizer(), seed=0)
    for stitching in (True, np.True_):
        with pytest.raises(ValueError, match="stitching requires gamma < 1"):
            CECPlus(Line(), gamma=1.0, stitching=stitching, seed=0)
    CECPlus(Line(), gamma=1.0, stitching=False, seed=0)
    with pytest.raises(TypeError, match="unknown"):
        CECPlus(Line(), unknown=1, seed=0)
    with pytest.raises(TypeError, match="Dict"):
        CEC(Line(), embedding=GoalDifference(), seed=0)
    with pytest.raises(TypeError, match="names"):
        GoalDifference("observation")


def test_several_environments_learn_together():
    envs = gym.vector.SyncVectorEnv([Line] * 3)
    agent = CECPlus(envs, seed=0, capacity=60).learn(4000)
    assert len(agent.memory) <= 60
    agent.memory.check_invariants()
    assert np.isfinite(agent.memory.values).all()
    single = CECPlus(Line(), seed=0).learn(1000)
    one = CECPlus(gym.vector.SyncVectorEnv([Line]), seed=0).learn(1000)
    assert memory_of(single) == memory_of(one)


class Pictures(gym.Env):
    observation_space = gym.spaces.Box(0, 255, (32, 40, 3), np.uint8)
    action_space = gym.spaces.Box(-1, 1, (1,))


def test_images_become_a_few_blocks():
    assert CECPlus(Pictures(), seed=0).embedding.key_dim == 8 * 10

"""One decision at a time: who is near, with what probability, and what is executed."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest
from neutral import KINDS

from probes import Corridor, Drift, Mixed
from scrubjay.agents import LinearSchedule
from scrubjay.agents.actions import BoxCodec
from scrubjay.agents.episode import sample_actions
from scrubjay.agents.recorder import (
    CHOICE,
    DECIDES,
    DISTANCE,
    NOT_SEARCHED,
    STEP,
    Choice,
    empty_lanes,
)
from scrubjay.agents.sampling import sample_softmax
from scrubjay.agents.scale_check import SAMPLED
from scrubjay.embedding import SelectKeys


class Plane(gym.Env):
    """Only spaces: two numbers are seen, an asymmetric box is acted in."""

    def __init__(self, low=(-1.0, 0.0), high=(3.0, 10.0), dtype=np.float32):
        self.observation_space = gym.spaces.Box(-100, 100, (2,), np.float64)
        self.action_space = gym.spaces.Box(np.array(low, dtype), np.array(high, dtype), dtype=dtype)


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def kind(request):
    return request.param


def agent_with(kind, keys, values, actions, **settings):
    agent = kind(Plane(), **settings)
    agent.memory.write_many(np.array(keys, float), np.array(values), action=np.array(actions))
    agent.memory_changed()
    return agent


def decide(
    agent, observation, *, epsilon=0.0, uniforms=(0.5, 0.5, 0.5, 0.5), normals=(0.0, 0.0), step=0
):
    """One decision with given random numbers: where it came from, the action, the distance."""
    agent.epsilon = LinearSchedule(epsilon, epsilon, 1)
    lanes = empty_lanes(agent, 1, step + 1)
    lanes.draws[0, step] = [*uniforms, *normals][: lanes.draws.shape[2]]
    lanes.state[0, [DECIDES, STEP]] = 1, step
    assert agent.decide(lanes, np.array([observation], float)) == -1
    choice, numbers = lanes.trace[0, step, CHOICE], lanes.numbers[0, step]
    return Choice(choice), lanes.actions[0, step], numbers[DISTANCE]


KEYS = [[0, 0], [0.3, 0], [0, 0.4], [0.5, 0], [2, 0]]
VALUES = [1.0, 2.0, 0.5, 3.0, 9.0]
ACTIONS = [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5]]


def softmax_edges(values, temperature):
    """Where in [0, 1) the choice changes from one row to the next, in higher precision."""
    weights = [np.exp(np.longdouble(v - max(values)) / temperature) for v in values]
    return [0.0, *(float(sum(weights[: i + 1]) / sum(weights)) for i in range(len(values)))]


@pytest.mark.parametrize("temperature", [0.1, 1.0, 10.0])
def test_softmax_probabilities_are_the_lengths_of_the_draws_that_choose_a_row(temperature):
    values = np.array([0.5, 1.0, 3.0, 2.0])
    edges = softmax_edges(values, temperature)
    for i, (start, end) in enumerate(pairwise(edges)):
        for share in (0.001, 0.5, 0.999):
            draw = start + share * (end - start)
            assert sample_softmax(values, 4, temperature, draw) == i
    assert sample_softmax(values, 4, temperature, 0.0) == 0
    assert sample_softmax(values, 4, temperature, np.nextafter(1.0, 0.0)) == 3


def test_large_values_and_a_low_temperature_do_not_overflow():
    for draw in (0.0, 0.3, 0.9999):
        assert sample_softmax(np.array([1e4, 9999.8, -1e30]), 3, 0.01, draw) == 0
        assert sample_softmax(np.array([1e4, 3e38]), 2, 0.1, draw) == 1
    close = np.array([1e4, 1e4 - 0.1])
    edge = softmax_edges(close, 0.1)[1]
    assert sample_softmax(close, 2, 0.1, edge - 1e-6) == 0
    assert sample_softmax(close, 2, 0.1, edge + 1e-6) == 1


def test_equal_values_are_equally_likely():
    values = np.full(4, 7.0, np.float32)
    chosen = [sample_softmax(values, 4, 1.0, (i + 0.5) / 8) for i in range(8)]
    assert chosen == [0, 0, 1, 1, 2, 2, 3, 3]


def chosen_rows(agent, observation):
    draws = np.linspace(0, 1, 400, endpoint=False)
    found = {tuple(decide(agent, observation, uniforms=(1, u, 0, 0))[1]) for u in draws}
    return {ACTIONS.index([int(x) for x in action]) for action in found}


@pytest.mark.parametrize(
    ("k", "n", "expected"),
    [
        (1, 10.0, {0}),
        (2, 10.0, {0, 1}),
        (3, 10.0, {0, 1, 2}),
        (4, 10.0, {0, 1, 2, 3}),
        (50, 10.0, {0, 1, 2, 3, 4}),  # fewer rows than k is normal
        (4, 0.9, {0, 1, 2}),
        (4, 1.0, {0, 1, 2, 3}),  # a row at exactly the radius is near
        (2, 1.0, {0, 1}),  # of the k nearest those within, not the k best within
    ],
)
def test_the_k_nearest_of_them_those_within_the_radius(kind, k, n, expected):
    # a small threshold, so that no two of the rows are one; the radius is n / 2
    agent = far_agent(kind, n_neighbors=k, radius_factor=n * 0.5 / 0.01, temperature=5.0)
    assert len(agent.memory) == 5
    assert chosen_rows(agent, [0, 0]) == expected


def far_agent(kind, **settings):
    return agent_with(kind, KEYS, VALUES, ACTIONS, distance_threshold=0.01, **settings)


def test_a_uniform_action_when_nobody_is_near(kind):
    agent = far_agent(kind, radius_factor=1.0)
    choice, action, distance = decide(agent, [0.1, 0], uniforms=(0.9, 0.9, 0.25, 0.75))
    assert choice == Choice.NO_NEIGHBOR
    assert action.tolist() == [-1 + 0.25 * 4, 7.5]
    assert distance == pytest.approx(0.1, rel=1e-6)
    choice, action, distance = decide(kind(Plane()), [0, 0], uniforms=(0, 0, 0, 0))
    assert (choice, action.tolist(), distance) == (Choice.NO_NEIGHBOR, [-1, 0], NOT_SEARCHED)


def test_beyond_the_radius_one_step_in_a_few_measures_the_distance(kind):
    agent = far_agent(kind, radius_factor=1.0)
    distances = [decide(agent, [0.1, 0], step=step)[2] for step in range(2 * SAMPLED)]
    measured = [step for step, distance in enumerate(distances) if not np.isnan(distance)]
    assert measured == [0, SAMPLED]


def test_noise_is_scaled_to_the_box_and_clipped(kind):
    agent = far_agent(kind, radius_factor=10, noise_std=0.5, n_neighbors=1)
    # [-1, 3] is 4 wide and [0, 10] is 10 wide: a deviation of 0.5 is 1 and 2.5
    choice, action, _ = decide(agent, [0, 0], epsilon=1.0, normals=(1.0, -0.2))
    assert (choice, action.tolist()) == (Choice.NOISE, [1.0, 0.5])
    _, action, _ = decide(agent, [0, 0], epsilon=1.0, normals=(9.0, -9.0))
    assert action.tolist() == [3.0, 0.0]


def test_noise_comes_with_probability_epsilon(kind):
    agent = far_agent(kind, radius_factor=10, n_neighbors=1)
    kinds = [
        decide(agent, [0, 0], epsilon=0.3, uniforms=(u, 0, 0, 0), normals=(1, 1))[0]
        for u in (0.0, 0.2999, 0.3, 0.9)
    ]
    assert kinds == [Choice.NOISE, Choice.NOISE, Choice.MEMORY, Choice.MEMORY]


def test_zero_noise_repeats_the_stored_action(kind):
    agent = far_agent(kind, radius_factor=10, noise_std=0.0, n_neighbors=1)
    _, action, _ = decide(agent, [0, 0], epsilon=1.0, normals=(3.0, 3.0))
    assert action.tolist() == ACTIONS[0]


def test_uniform_exploration_takes_a_uniform_action(kind):
    agent = far_agent(kind, radius_factor=10, exploration="uniform")
    choice, action, _ = decide(agent, [0, 0], epsilon=0.5, uniforms=(0.4, 0.9, 0.5, 0.1))
    assert (choice, action.tolist()) == (Choice.UNIFORM, [1.0, 1.0])
    assert decide(agent, [0, 0], epsilon=0.5, uniforms=(0.5, 0.9, 0.5, 0.1))[0] == Choice.MEMORY


def test_evaluation_takes_the_closest_row_whatever_its_distance_or_value(kind):
    agent = far_agent(kind)
    for observation, row in (([0.14, 0], 0), ([0.16, 0], 1), ([-90, -90], 0), ([90, 1], 4)):
        action, state = agent.predict(np.array(observation, float), state="s", deterministic=True)
        assert action.tolist() == ACTIONS[row]
        assert state == "s"


def test_prediction_with_chance_is_the_training_rule_at_the_current_epsilon(kind):
    agent = far_agent(kind, exploration="uniform", radius_factor=10, epsilon=(1.0, 0.0, 100))
    here = np.zeros(2)
    stored = [list(a) for a in ACTIONS]
    before = [agent.predict(here)[0].tolist() for _ in range(20)]
    assert not any(action in stored for action in before)
    agent.num_timesteps = 100
    assert all(agent.predict(here)[0].tolist() in stored for _ in range(20))


def test_prediction_changes_no_training(kind):
    agents = [kind(Drift(), seed=3) for _ in range(2)]
    for agent in agents:
        agent.learn(200)
    for _ in range(10):
        agents[0].predict(np.zeros(2))
        agents[0].predict(np.zeros(2), deterministic=True)
    for agent in agents:
        agent.learn(200)
    assert agents[0].memory.digest() == agents[1].memory.digest()


def test_a_stack_of_observations_gives_a_stack_of_actions(kind):
    agent = far_agent(kind)
    batch = np.array([[0, 0], [90, 0], [0.31, 0]], float)
    actions, _ = agent.predict(batch, deterministic=True)
    assert actions.tolist() == [ACTIONS[0], ACTIONS[4], ACTIONS[1]]
    one, _ = agent.predict(batch[1], deterministic=True)
    assert one.tolist() == actions[1].tolist()
    assert one.shape == (2,)
    assert agent.predict(batch[:0], deterministic=True)[0].shape == (0, 2)


@pytest.mark.parametrize("embedding", [None, SelectKeys(["goal"])])
def test_dict_observations_alone_and_stacked(kind, embedding):
    agent = kind(Mixed(), embedding=embedding).learn(50)
    space = agent.observation_space
    singles = [space.sample() for _ in range(3)]
    expected = [agent.predict(single, deterministic=True)[0] for single in singles]
    stack = {key: np.stack([single[key] for single in singles]) for key in space.spaces}
    np.testing.assert_array_equal(agent.predict(stack, deterministic=True)[0], expected)


@pytest.mark.parametrize("deterministic", [True, False])
def test_an_empty_memory_gives_the_centre_and_warns_once(kind, deterministic, recwarn):
    agent = kind(Plane())
    with pytest.warns(UserWarning, match="memory is empty"):
        action, _ = agent.predict(np.zeros(2), deterministic=deterministic)
    assert action.tolist() == [1.0, 5.0]
    assert action.dtype == np.float32
    agent.predict(np.zeros(2), deterministic=deterministic)
    for n in (0, 3):
        actions, _ = agent.predict(np.zeros((n, 2)), deterministic=deterministic)
        assert (actions.tolist(), actions.dtype) == ([[1.0, 5.0]] * n, np.float32)
    assert not recwarn.list


class Recorder(Drift):
    """Keeps everything it was told, step by step."""

    def reset(self, **options):
        observation, info = super().reset(**options)
        self.seen = observation
        return observation, info

    def step(self, action):
        self.history.append((self.seen.astype(np.float32), action.copy()))
        answer = super().step(action)
        self.seen = answer[0]
        return answer


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exploration", ["noise", "uniform"])
def test_the_action_stored_is_the_action_executed_bit_for_bit(kind, dtype, exploration):
    env = Recorder(dtype=dtype)
    env.history = []
    # no two keys are within 1e-9, so every step is a row of its own
    agent = kind(
        env, distance_threshold=1e-9, radius_factor=1e8, exploration=exploration, noise_std=2.0,
    ).learn(500)  # fmt: skip
    assert len(agent.memory) == len(env.history) == agent.num_timesteps
    stored = {
        key.tobytes(): action
        for key, action in zip(agent.memory.keys, agent.memory.columns["action"], strict=True)
    }
    at_bound = 0
    for key, action in env.history:
        assert action.dtype == dtype
        assert env.action_space.contains(action), "the executed action must be legal"
        assert stored[key.tobytes()].astype(dtype).tobytes() == action.tobytes()
        assert stored[key.tobytes()].tolist() == action.tolist()
        at_bound += bool((np.abs(action - env.action_space.high) < 1e-6).any())
    assert exploration == "uniform" or at_bound > 20, "clipping must have happened"


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(-0.1, 0.1, np.float64), (-0.1, 0.1, np.float32), (0.3, 0.7, np.float64), (-2, 5, np.float64)],
)
def test_bounds_are_rounded_inwards(low, high, dtype):
    box = gym.spaces.Box(low, high, (3,), dtype)
    codec = BoxCodec(box)
    low, high = codec.bounds
    for bound in (low, high, (low + high) / np.float32(2)):
        assert bound.dtype == np.float32
        assert box.contains(codec.decode(bound))
    assert box.contains(codec.default())
    np.testing.assert_allclose(low, box.low, rtol=1e-6)
    np.testing.assert_allclose(high, box.high, rtol=1e-6)


def test_actions_keep_the_shape_of_their_space(kind):
    class Matrix(Corridor):
        def __init__(self):
            super().__init__([0.0, 1.0])
            self.action_space = gym.spaces.Box(-1, 1, (2, 3), np.float64)

        def step(self, action):
            assert self.action_space.contains(action)
            return super().step(action)

    agent = kind(Matrix()).learn(20)
    assert agent.predict(np.zeros(1))[0].shape == (2, 3)
    assert agent.memory.columns["action"].shape == (2, 6)


def test_an_executed_action_is_the_environments_own(kind):
    class Vandal(Drift):
        def step(self, action):
            answer = super().step(action)
            action[:] = 77.0
            return answer

    agent = kind(Vandal()).learn(100)
    assert np.abs(agent.memory.columns["action"]).max() <= 1.0
    assert agent.predict(np.zeros(2), deterministic=True)[0].max() <= 1.0


def test_a_wrong_scale_is_said_once(kind):
    agent = kind(Drift(), distance_threshold=1e-5)
    with pytest.warns(UserWarning, match=r"\d+% of decisions had no neighbour within 1e-05") as got:
        agent.learn(20_000)
    assert len(got) == 1
    assert "raise distance_threshold" in str(got[0].message)


def test_threads_that_draw_actions_share_nothing(kind):
    """A kernel runs without the GIL, so shared room for the neighbours would mix their answers."""
    rng = np.random.default_rng(0)
    settings = {"n_neighbors": 5, "distance_threshold": 0.2}
    n = 2_000
    agent = kind(Plane(), seed=0, **settings)
    columns = {
        name: rng.uniform(-1, 1, (n, *column.shape[1:])).astype(column.dtype)
        for name, column in agent.memory.column_arrays.items()
    }
    agent.memory.write_many(rng.uniform(-1, 1, (n, 2)), rng.uniform(0, 1, n), **columns)
    agent.memory_changed()
    keys = rng.uniform(-1, 1, (20, 500, 2))

    def draw(i):
        return sample_actions(agent, keys[i], np.random.default_rng(i))

    expected = [draw(i) for i in range(len(keys))]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(draw, range(len(keys))))
    assert all(map(np.array_equal, found, expected))

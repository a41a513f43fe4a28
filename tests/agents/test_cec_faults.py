"""Bad input gets a clear error and loses nothing."""

import gymnasium as gym
import numpy as np
import pytest
from neutral import KINDS

from probes import Corridor, Drift, Faulty, Mixed
from scrubjay.agents import CEC, LinearSchedule
from scrubjay.embedding import FrozenNormalizer, RunningNormalizer


def with_actions(space):
    env = Corridor()
    env.action_space = space
    return env


BAD_SETTINGS = [
    ({"capacity": 0}, r"capacity.*at least 1 and at most 2147483647, got 0"),
    ({"capacity": 10.0}, r"capacity.*whole number.*got 10\.0"),
    ({"capacity": 2**31}, r"capacity.*at most 2147483647, got 2147483648"),
    ({"n_neighbors": 0}, r"n_neighbors.*at least 1.*got 0"),
    ({"n_neighbors": -3}, r"n_neighbors.*at least 1.*got -3"),
    ({"n_neighbors": True}, r"n_neighbors.*got True"),
    ({"temperature": 0}, r"temperature.*greater than 0, got 0"),
    ({"temperature": -1.0}, r"temperature.*greater than 0, got -1\.0"),
    ({"temperature": float("inf")}, r"temperature.*finite.*inf"),
    ({"temperature": float("nan")}, r"temperature.*finite.*nan"),
    ({"temperature": 10**400}, r"temperature.*finite"),
    ({"temperature": "hot"}, r"temperature.*number.*'hot'"),
    ({"noise_std": -0.1}, r"noise_std.*at least 0.*-0\.1"),
    ({"noise_std": float("nan")}, r"noise_std.*finite.*nan"),
    ({"distance_threshold": 0}, r"distance_threshold.*greater than 0, got 0"),
    ({"distance_threshold": -1}, r"distance_threshold.*greater than 0, got -1"),
    ({"distance_threshold": float("inf")}, r"distance_threshold.*finite"),
    ({"distance_threshold": "step"}, r"distance_threshold.*finite number.*'step'"),
    ({"radius_factor": 0.0}, r"radius_factor.*greater than 0"),
    ({"gamma": 1.1}, r"gamma.*at most 1, got 1\.1"),
    ({"gamma": -0.1}, r"gamma.*at least 0.*-0\.1"),
    ({"epsilon": 1.5}, r"epsilon.*between 0 and 1.*1\.5"),
    ({"epsilon": float("nan")}, r"epsilon.*between 0 and 1.*nan"),
    ({"epsilon": True}, r"epsilon.*a number.*True"),
    ({"epsilon": (0.9, 0.1)}, r"epsilon.*start, end, steps"),
    ({"epsilon": (0.9, 0.1, 0)}, r"epsilon.*at least 1 step.*got \(0\.9, 0\.1, 0\)"),
    ({"epsilon": (0.9, 0.1, 10.7)}, r"epsilon.*got \(0\.9, 0\.1, 10\.7\)"),
    ({"epsilon": (0.9, 0.1, float("inf"))}, r"epsilon.*got \(0\.9, 0\.1, inf\)"),
    ({"epsilon": {"start": 1.0}}, r"epsilon.*got \{'start': 1\.0\}"),
    ({"epsilon": "linear"}, r"epsilon.*a number.*'linear'"),
    ({"exploration": "curious"}, r"exploration.*'noise' or 'uniform', got 'curious'"),
    ({"recency": "often"}, r"recency.*'write' or 'hit'.*'often'"),
    ({"seed": -1}, r"seed.*at least 0.*-1"),
    ({"seed": 1.5}, r"seed.*whole number.*1\.5"),
    ({"seed": "random"}, r"seed.*whole number or None, got 'random'"),
    ({"embedding": "running"}, r"embedding.*Embedding such as.*'running'"),
    ({"embedding": RunningNormalizer}, r"embedding.*Embedding such as.*RunningNormalizer"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings_say_what_was_expected_and_what_came(settings, message):
    with pytest.raises(ValueError, match=f"(?s)expected {message}"):
        CEC(Corridor(), **settings)


def test_good_settings_at_the_edge_are_taken():
    CEC(Corridor(), noise_std=0, n_neighbors=1, capacity=1, gamma=1, epsilon=0, seed=0).learn(10)
    CEC(Corridor(), gamma=0, epsilon=LinearSchedule(1, 0, 1), seed=2**70).learn(10)
    CEC(
        Corridor(),
        n_neighbors=np.int64(2),
        temperature=np.float32(0.5),
        epsilon=np.float32(0.5),
        seed=0,
    )


@pytest.mark.parametrize(
    ("env", "error", "message"),
    [
        (with_actions(gym.spaces.MultiBinary(3)), TypeError, r"Box, Disc.*MultiBinary\(3\)"),
        (with_actions(gym.spaces.Text(3)), TypeError, r"CEC acts in .*Box, Discrete.*Text"),
        (with_actions(gym.spaces.Box(0, 9, (2,), np.int64)), TypeError, r"float32.*int64"),
        (with_actions(gym.spaces.Box(0, 9, (2,), np.float16)), TypeError, r"float32.*float16"),
        (with_actions(gym.spaces.Box(-np.inf, 1, (1,))), ValueError, r"finite.*inf.*Transform"),
        (42, TypeError, r"expected an id.*environment.*got int"),
        (None, TypeError, r"expected an id.*environment.*got NoneType"),
    ],
)
def test_environments_that_cannot_be_acted_in(env, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        CEC(env, seed=0)


class Unbounded(Corridor):
    def __init__(self, dtype=np.float32):
        super().__init__()
        self.action_space = gym.spaces.Box(-np.inf, np.inf, (2,), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_defect_18_the_hint_for_unbounded_actions_works(dtype):
    """The message ends with a line of code, which is run here as it is."""
    env = Unbounded(dtype)
    with pytest.raises(ValueError, match="for example") as caught:
        CEC(env, seed=0)
    line = str(caught.value).partition("for example: env = ")[2]
    wrapped = eval(line, {"gymnasium": gym, "numpy": np, "env": env})
    agent = CEC(wrapped, seed=0).learn(30)
    assert wrapped.action_space.contains(agent.predict(np.zeros(1, np.float32))[0])


def test_observations_of_text_are_refused():
    env = Corridor()
    env.observation_space = gym.spaces.Text(5)
    with pytest.raises(TypeError, match=r"Box, Discrete.*Text\("):
        CEC(env, seed=0)


FAULTS = ["nan observation", "inf observation", "1e39 observation", "nan reward", "-inf reward"]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("embedding", [None, RunningNormalizer, lambda: FrozenNormalizer(500)])
def test_numbers_that_are_not_finite_end_the_training_and_spoil_nothing(kind, fault, embedding):
    if "1e39" in fault and embedding is not None:
        pytest.skip("finite for a normaliser, which takes float64")

    def trained(env, steps):
        agent = kind(env, embedding=embedding and embedding(), seed=4)
        return agent.learn(steps)

    agent = kind(Faulty(Drift(), 301, fault), embedding=embedding and embedding(), seed=4)
    number = fault.split()[0].replace("1e39", r"1\.?e\+39")
    with pytest.raises(ValueError, match=f"finite.*{number}|{number}.*finite"):
        agent.learn(1000)
    expected = trained(Drift(), agent.num_timesteps)
    assert 0 < agent.num_timesteps <= 301
    assert agent.memory.digest() == expected.memory.digest()
    for name, array in expected.embedding.state().items():
        np.testing.assert_array_equal(agent.embedding.state()[name], array)
    # and it can go on as if nothing had been
    agent.set_env(Drift())
    agent.learn(1000)
    expected.learn(1000)
    assert agent.memory.digest() == expected.memory.digest()


def test_a_return_too_large_for_the_memory_loses_nothing():
    agent = CEC(Faulty(Drift(), 301, "1e300 reward"), seed=4)
    with pytest.raises(ValueError, match="returns that float32 can hold, got 1e\\+300 at step 12"):
        agent.learn(1000)
    expected = CEC(Drift(), seed=4).learn(agent.num_timesteps)
    assert agent.memory.digest() == expected.memory.digest()


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e39])
def test_prediction_from_bad_numbers(bad, deterministic):
    agent = CEC(Drift(), embedding=None, seed=0).learn(100)
    before = agent.memory.digest()
    with pytest.raises(ValueError, match="finite"):
        agent.predict(np.array([0.0, bad]), deterministic=deterministic)
    assert agent.memory.digest() == before


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        (np.zeros(3), ValueError, r"\(2,\), got shape \(3,\)"),
        (np.zeros((4, 3)), ValueError, r"\(4, 2\), got shape \(4, 3\)"),
        (np.zeros((1, 1, 2)), ValueError, r"\(2,\), got shape \(1, 1, 2\)"),
        (np.array(["a", "b"]), TypeError, "numeric"),
        ({"a": 1}, (TypeError, ValueError), r"\(2,\), got|numeric"),
    ],
)
def test_prediction_from_the_wrong_kind(observation, error, message):
    agent = CEC(Drift(), seed=0).learn(100)
    with pytest.raises(error, match=message):
        agent.predict(observation)


def test_prediction_from_a_dict_without_an_entry():
    agent = CEC(Mixed(), seed=0).learn(20)
    with pytest.raises(ValueError, match=r"entries.*got"):
        agent.predict({"goal": np.zeros(2)})
    with pytest.raises(ValueError, match=r"entries.*got"):
        agent.predict(np.zeros(7))


@pytest.mark.parametrize(
    ("amounts", "message"),
    [
        ({}, "one of the two"),
        ({"total_timesteps": 5, "total_episodes": 5}, "one of the two"),
        ({"total_timesteps": -1}, r"whole number.*-1"),
        ({"total_timesteps": 1e3 + 0.5}, r"whole number.*1000\.5"),
        ({"total_episodes": True}, r"whole number.*True"),
    ],
)
def test_budgets_that_are_none(amounts, message):
    with pytest.raises(ValueError, match=message):
        CEC(Corridor(), seed=0).learn(**amounts)


def test_a_budget_may_be_a_numpy_integer():
    assert CEC(Corridor(), seed=0).learn(np.int64(6)).num_timesteps == 6

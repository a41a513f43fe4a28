"""Which dimensions of keys tell nothing."""

import gymnasium
import numpy as np
import pytest

from scrubjay import CECPlus
from scrubjay.agents import metric
from scrubjay.agents.metric import intrinsic_dimensions, median_step, noise_dimensions


def walk(rng, n=1200):
    actions = rng.uniform(-1, 1, (n, 1))
    return np.vstack([np.zeros((1, 1)), np.cumsum(actions, axis=0)]), actions


@pytest.mark.parametrize("seed", range(10))
def test_only_white_noise_is_noise(seed):
    rng = np.random.default_rng(seed)
    keys, actions = walk(rng)
    n = len(keys)
    trembling = (
        rng.standard_normal((n, 1)) * np.repeat(rng.uniform(0.1, 2, n // 50 + 1), 50)[:n, None]
    )
    pushed = np.vstack([[[0.0]], actions]) + 0.3 * rng.standard_normal((n, 1))
    noise = [rng.standard_normal((n, 1)), rng.uniform(-1, 1, (n, 1))]
    constant = np.ones((n, 1))
    found = noise_dimensions([(np.hstack([keys, trembling, pushed, constant, *noise]), actions)])
    assert found.tolist() == [False, False, False, False, True, True]


def test_places_of_a_grid_are_no_noise():
    """A robot that jumps between twelve places, none of which follows from the last one."""
    rng = np.random.default_rng(0)
    keys = np.hstack([np.eye(12)[rng.integers(12, size=1201)], rng.standard_normal((1201, 1))])
    found = noise_dimensions([(keys, rng.uniform(size=(1200, 1)))])
    assert found.tolist() == [False] * 12 + [True]


def test_many_dimensions_are_compared_in_blocks(monkeypatch):
    """Images of 84 x 84 x 3 in a dictionary would need 14 GB for all pairs at once."""
    rng = np.random.default_rng(0)
    keys, actions = walk(rng)
    noise = rng.standard_normal((len(keys), 6))
    noise[:, 4] = noise[:, 1] + 0.5 * noise[:, 4]  # two sensors of the same noise
    episodes = [(np.hstack([keys, noise]), actions)]
    expected = [False, True, False, True, True, False, True]
    assert noise_dimensions(episodes).tolist() == expected
    monkeypatch.setattr(metric, "BLOCK", 4)
    assert noise_dimensions(episodes).tolist() == expected


def test_actions_may_be_as_large_as_float32_can_be():
    rng = np.random.default_rng(0)
    keys, actions = walk(rng)
    pushed = np.vstack([[[0.0]], actions]) + 0.3 * rng.standard_normal((len(keys), 1))
    huge = (3e38 * actions).astype(np.float32)
    keys = np.hstack([keys, pushed, rng.standard_normal((len(keys), 1))])
    assert noise_dimensions([(keys, huge)]).tolist() == [False, False, True]


def test_if_all_is_noise_nothing_is():
    rng = np.random.default_rng(0)
    assert not noise_dimensions(
        [(rng.standard_normal((1000, 2)), rng.uniform(size=(999, 1)))]
    ).any()


def test_few_steps_decide_nothing():
    rng = np.random.default_rng(0)
    episodes = [
        (np.hstack([walk(rng, 5)[0], rng.standard_normal((6, 1))]), rng.uniform(size=(5, 1)))
    ]
    assert not noise_dimensions(episodes * 30).any()


def test_jitter_is_no_step():
    keys = np.array([[0.0], [1e-9], [2e-9], [1.0], [1.0 + 1e-9], [3.0]])
    assert median_step([keys]) == pytest.approx(1.5)
    assert median_step([keys[:3]]) == pytest.approx(1e-9)  # if nothing else ever moves
    assert median_step([keys[:1]]) == 1.0


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_intrinsic_dimensions_are_those_of_what_keys_show(dim):
    rng = np.random.default_rng(dim)
    shown = rng.uniform(size=(2000, dim)) @ rng.standard_normal((dim, 30))
    assert intrinsic_dimensions(np.sin(shown)) == pytest.approx(dim, rel=0.1)


def test_without_different_keys_all_dimensions_count():
    assert intrinsic_dimensions(np.ones((100, 4))) == 4
    assert intrinsic_dimensions(np.eye(4)) == 4


def test_the_dimensions_of_images_are_measured_and_kept(tmp_path):
    env = gymnasium.make("scrubjay/PointUMaze-v0", pixels=24)
    agent = CECPlus(env, seed=1).learn(1500)
    agent.save(tmp_path / "agent.scrub")
    loaded = CECPlus.load(tmp_path / "agent.scrub")
    assert 1 < agent._dimensions < 6
    assert loaded._dimensions == agent._dimensions


def test_sensors_of_noise_change_nothing():
    rows = []
    for name, options in (("SparseMountainCar", {}), ("SensorMountainCar", {"n_sensors": 2})):
        env = gymnasium.make(f"scrubjay/{name}-v0", **options)
        agent = CECPlus(env, seed=1).learn(2000)
        rows.append(agent.memory.keys)
    assert not rows[1][:, 2:].any()
    assert rows[1][:, :2].any()


class Point(gymnasium.Env):
    """A point in a square, with some dimensions that never change."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, n_constant):
        self.observation_space = gymnasium.spaces.Box(
            -np.inf, np.inf, (2 + n_constant,), np.float64
        )
        self.rest = np.full(n_constant, 3.0)

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.t = np.zeros(2), 0
        return np.append(self.x, self.rest), {}

    def step(self, action):
        self.x, self.t = np.clip(self.x + action, -5, 5), self.t + 1
        done = bool(self.x.min() > 4)
        return np.append(self.x, self.rest), float(done), done, self.t >= 50, {}


def test_dimensions_that_never_change_make_no_detour_longer():
    actions = []
    for n_constant in (0, 7):
        agent = CECPlus(Point(n_constant), seed=0).learn(2_500)
        observations = np.random.default_rng(0).uniform(-5, 5, (50, 2))
        observations = np.hstack([observations, np.full((50, n_constant), 3.0)])
        actions.append(agent.predict(observations, deterministic=True)[0])
    assert np.array_equal(*actions)

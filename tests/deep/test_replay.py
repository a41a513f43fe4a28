"""The buffer: when it fills, what it draws, what it puts into a batch."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer

from scrubjay.deep import EMAC, EpisodicReplayBuffer
from scrubjay.deep.replay import DictEpisodicReplayBuffer, priorities

OBSERVATION = spaces.Box(-1, 1, (3,), np.float64)
ACTION = spaces.Box(-1, 1, (2,), np.float32)


def make_buffer(size=100, **settings):
    return EpisodicReplayBuffer(size, OBSERVATION, ACTION, device="cpu", **settings)


def add_episode(buffer, rewards, rng, timed_out=False):
    for t, reward in enumerate(rewards):
        last = t == len(rewards) - 1
        buffer.add(
            rng.normal(size=(1, 3)),
            rng.normal(size=(1, 3)),
            rng.uniform(-1, 1, size=(1, 2)).astype(np.float32),
            np.array([reward], np.float32),
            np.array([last]),
            [{"TimeLimit.truncated": last and timed_out}],
        )


def naive_returns(rewards, gamma, last_value=0.0):
    n = len(rewards)
    return [
        sum(gamma ** (j - i) * rewards[j] for j in range(i, n)) + gamma ** (n - i) * last_value
        for i in range(n)
    ]


def test_filled_at_episode_ends_only():
    buffer, rng = make_buffer(), np.random.default_rng(0)
    for t in range(5):
        buffer.add(
            rng.normal(size=(1, 3)), rng.normal(size=(1, 3)), np.zeros((1, 2), np.float32),
            np.ones(1, np.float32), np.array([t == 4]), [{}],
        )  # fmt: skip
        assert buffer.size() == len(buffer.memory) == (5 if t == 4 else 0)


def test_returns_are_discounted_sums_in_rows_order():
    buffer, rng = make_buffer(gamma=0.9), np.random.default_rng(0)
    episodes = [[1.0, 0.0, 2.0], [0.5], [-1.0, 3.0]]
    for rewards in episodes:
        add_episode(buffer, rewards, rng)
    expected = np.concatenate([naive_returns(rewards, 0.9) for rewards in episodes])
    np.testing.assert_allclose(buffer.returns[:6], expected, rtol=1e-12)
    np.testing.assert_allclose(buffer.memory.rows.values, expected, rtol=1e-6)


def test_ring_keeps_returns_beside_their_transitions():
    buffer, rng = make_buffer(size=4, gamma=0.5), np.random.default_rng(0)
    add_episode(buffer, [1.0, 2.0, 3.0], rng)
    add_episode(buffer, [4.0, 5.0, 6.0], rng)
    rewards = buffer.rewards[:, 0]
    assert list(rewards) == [5.0, 6.0, 3.0, 4.0]
    assert list(buffer.returns) == [8.0, 6.0, 3.0, 8.0]
    assert len(buffer.memory) == 4


@pytest.mark.parametrize(("timeouts", "done", "value"), [("terminal", 1, 0), ("bootstrap", 0, 7)])
def test_timeouts(timeouts, done, value):
    buffer = make_buffer(timeouts=timeouts, gamma=0.9)
    buffer.last_value = 7.0
    add_episode(buffer, [1.0, 2.0], np.random.default_rng(0), timed_out=True)
    np.testing.assert_allclose(buffer.returns[:2], naive_returns([1, 2], 0.9, value))
    batch = buffer._get_samples(np.array([0, 1]))
    assert batch.dones.flatten().tolist() == [0, done]


def test_a_real_end_is_never_bootstrapped():
    buffer = make_buffer(timeouts="bootstrap", gamma=0.9)
    buffer.last_value = 7.0
    add_episode(buffer, [1.0, 2.0], np.random.default_rng(0))
    np.testing.assert_allclose(buffer.returns[:2], naive_returns([1, 2], 0.9))


@pytest.mark.parametrize(
    "returns",
    [[3.0, 1.0, 0.0, 2.0], [-3.0, 1.0, -1.0], [-2.0, -2.0], [0.0, 0.0], [5.0]],
)
@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
def test_priorities_equal_the_formula(returns, beta):
    shift = max(0.0, -min(returns))
    expected = [(q + shift) ** beta for q in returns]
    if not any(expected):
        expected = [1.0] * len(returns)
    np.testing.assert_allclose(priorities(np.array(returns), beta), expected, rtol=1e-14)


def test_draws_follow_the_priorities():
    buffer = make_buffer(beta=0.5)
    rewards = [-2.0, 0.0, 7.0, 2.0]
    for reward in rewards:  # one-step episodes: the return is the reward
        add_episode(buffer, [reward], np.random.default_rng(0))
    np.random.seed(0)  # noqa: NPY002
    counts = np.bincount(buffer._draw(40_000), minlength=4)
    expected = np.sqrt([0.0, 2.0, 9.0, 4.0])
    assert counts[0] == 0
    np.testing.assert_allclose(counts / 40_000, expected / expected.sum(), atol=0.01)


def test_draws_know_the_newest_episode():
    buffer, rng = make_buffer(beta=1.0), np.random.default_rng(0)
    add_episode(buffer, [1.0], rng)
    assert set(buffer._draw(50)) == {0}
    add_episode(buffer, [1e9], rng)
    assert set(buffer._draw(50)) == {1}


def test_first_draws_are_uniform():
    buffer, rng = make_buffer(alpha=0.0, beta=1.0, uniform_draws=2), np.random.default_rng(0)
    for reward in (1.0, 1e9):
        add_episode(buffer, [reward], rng)
    batches = [set(buffer.sample(64).rewards.flatten().tolist()) for _ in range(3)]
    assert batches == [{1.0, 1e9}, {1.0, 1e9}, {1e9}]


def test_batch_carries_the_mixed_target():
    buffer, rng = make_buffer(alpha=0.25, beta=0.0, gamma=0.9), np.random.default_rng(0)
    add_episode(buffer, rng.normal(size=30), rng)
    indices = np.arange(30)
    plain = buffer._get_samples(indices)
    mixed = buffer._with_memory(plain)
    pairs = np.concatenate([plain.observations.numpy(), plain.actions.numpy()], axis=1)
    q_m = buffer.memory.read(pairs)[:, None]
    rewards = 0.75 * plain.rewards.numpy() + 0.25 * q_m
    np.testing.assert_allclose(mixed.rewards.numpy(), rewards, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mixed.discounts.numpy(), 0.75 * 0.9, rtol=1e-6)
    assert torch.equal(mixed.dones, plain.dones)


def test_one_update_has_the_gradient_of_the_two_term_loss():
    """(1 - alpha) MSE(Q, y) + alpha MSE(Q, Q_M), written out, against a step of plain SGD."""
    alpha = 0.3
    model = EMAC(
        "MlpPolicy",
        gymnasium.make("Pendulum-v1"),
        alpha=alpha,
        learning_starts=10_000,  # and so many uniform draws
        batch_size=64,
        seed=0,
        device="cpu",
        learning_rate=0.1,
        policy_kwargs={"net_arch": [16], "optimizer_class": torch.optim.SGD},
    )
    model.learn(400)
    gradients = two_term_gradients(model, alpha)
    before = [parameter.detach().clone() for parameter in model.critic.parameters()]
    np.random.seed(5)  # noqa: NPY002
    model.train(gradient_steps=1, batch_size=64)
    for old, new, gradient in zip(before, model.critic.parameters(), gradients, strict=True):
        step = (old - new.detach()) / 0.1
        scale = float(gradient.abs().max())
        torch.testing.assert_close(step, gradient, rtol=1e-3, atol=1e-4 * scale)


def two_term_gradients(model, alpha):
    buffer = model.replay_buffer
    np.random.seed(5)  # noqa: NPY002
    batch = ReplayBuffer.sample(buffer, 64)
    pairs = np.concatenate([batch.observations.numpy(), batch.actions.numpy()], axis=1)
    q_m = torch.as_tensor(buffer.memory.read(pairs)[:, None], dtype=torch.float32)
    with torch.no_grad():
        next_actions = model.actor_target(batch.next_observations)
        next_q = model.critic_target(batch.next_observations, next_actions)[0]
        y = batch.rewards + (1 - batch.dones) * model.gamma * next_q
    q = model.critic(batch.observations, batch.actions)[0]
    mse = torch.nn.functional.mse_loss
    loss = (1 - alpha) * mse(q, y) + alpha * mse(q, q_m)
    return torch.autograd.grad(loss, list(model.critic.parameters()))


def test_empty_buffer_says_what_to_do():
    with pytest.raises(RuntimeError, match="none has ended yet"):
        make_buffer().sample(4)


def test_dict_observations_are_joined_in_the_order_of_the_space():
    space = spaces.Dict({"b": spaces.Box(-1, 1, (2,)), "a": spaces.Box(-1, 1, (1,))})
    buffer = DictEpisodicReplayBuffer(10, space, ACTION, device="cpu", alpha=0.5, beta=0.5)
    observation = {"b": np.array([[1.0, 2.0]]), "a": np.array([[3.0]])}
    for done in (False, True):
        buffer.add(
            observation, observation, np.array([[0.5, -0.5]], np.float32),
            np.ones(1, np.float32), np.array([done]), [{}],
        )  # fmt: skip
    vector = np.concatenate([*(observation[name][0] for name in space.spaces), [0.5, -0.5]])
    keys = np.float32(vector @ buffer.memory.projection)
    np.testing.assert_allclose(buffer.memory.rows.keys, [keys, keys], rtol=1e-6)
    batch = buffer.sample(8)
    assert set(batch.observations) == {"a", "b"}
    assert batch.discounts is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_envs": 2}, "expected 1 environment, got 2"),
        ({"alpha": 1.5}, "between 0 and 1"),
        ({"alpha": float("nan")}, "between 0 and 1"),
        ({"beta": -1.0}, "at least 0"),
        ({"timeouts": "never"}, "terminal or bootstrap"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_buffer(**settings)

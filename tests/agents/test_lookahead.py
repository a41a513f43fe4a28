"""Deciding by the predicted next state where most steps are rewarded, against a naive copy."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from scrubjay import CECPlus
from scrubjay.agents import lookahead
from scrubjay.agents.actions import make_codec
from scrubjay.agents.lookahead import (
    IN_TURN,
    LINKS,
    MODEL,
    MOSTLY,
    RARE,
    RIDGE,
    STATES,
    Lookahead,
    action_features,
    can_look_ahead,
    candidates,
    evaluated,
    look_ahead,
    n_rewarded,
    plays,
)

BOX = make_codec(gymnasium.spaces.Box(-2.0, 4.0, (1,), np.float32), "test")
PLANE = make_codec(gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32), "test")
CHOICES = make_codec(gymnasium.spaces.Discrete(3), "test")
PAIRS = make_codec(gymnasium.spaces.MultiDiscrete([2, 3]), "test")
CODECS = [BOX, PLANE, CHOICES, PAIRS]
GAMMA = 0.95


def steps_of(known, seed, n=150, dim=3):
    """A memory of random steps, some of them terminal states."""
    rng = np.random.default_rng(seed)
    memory = known.make_memory(dim, 1000)
    ended = rng.random(n) < 0.1
    memory.write_many(
        rng.normal(size=(n, dim)), np.where(ended, 0.0, rng.normal(size=n)),
        move=known.features[rng.integers(len(known.features), size=n)],
        next=rng.normal(size=(n, dim)), reward=rng.normal(size=(n, 1)), ended=ended[:, None],
    )  # fmt: skip
    return memory


def nearest(memory, key, k):
    squared = ((memory.keys.astype(float) - key) ** 2).sum(1)
    rows = np.lexsort((np.arange(len(squared)), squared))[:k]
    return rows, (1 - squared[rows] / (1.2 * squared[rows[-1]] + 1e-12)) ** 2, squared[rows[-1]]


def regression(x, y, weights):
    """Weighted least squares, with a ridge on all coefficients but that of 1."""
    x = np.hstack([np.ones((len(x), 1)), x])
    ridge = 1e-9 + RIDGE * weights.sum() * (np.arange(x.shape[1]) > 0)
    return np.linalg.solve(
        x.T @ (weights[:, None] * x) + np.diag(ridge), x.T @ (weights[:, None] * y)
    )


def naive_scores(known, memory, key):
    """The score of each action, with matrices."""
    columns, key = memory.columns, np.float32(key).astype(float)
    rows, weights, farthest = nearest(memory, key, MODEL)
    steps = ~columns["ended"][rows, 0]
    rows, weights = rows[steps], weights[steps]
    away = (memory.keys[rows] - key) / np.sqrt(1.2 * farthest + 1e-12)
    rewards = columns["reward"][rows]
    targets = np.hstack([columns["next"][rows].astype(float) - memory.keys[rows], rewards])
    effect = regression(np.hstack([away, columns["move"][rows]]), targets, weights)
    scores = []
    for action in known.features:
        *moved, reward = effect[0] + action @ effect[1 + len(key) :]
        predicted = np.float32(key + moved).astype(float)
        near, weights, farthest = nearest(memory, predicted, STATES)
        values = memory.values[near].astype(float)
        away = (memory.keys[near] - predicted) / np.sqrt(1.2 * farthest + 1e-12)
        value = regression(away, values[:, None], weights)[0, 0]
        scores.append(
            np.clip(reward, rewards.min(), rewards.max())
            + GAMMA * np.clip(value, values.min(), values.max())
        )
    return np.array(scores)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(3))
def test_the_action_with_the_best_predicted_state_is_taken(codec, seed):
    known = Lookahead(codec)
    memory = steps_of(known, seed)
    keys = np.random.default_rng(seed + 100).normal(size=(8, 3))
    found = np.full((8, codec.size), np.nan, np.float32)
    look_ahead(*known.arguments(memory, GAMMA), keys, found)
    for key, action in zip(keys, found, strict=True):
        scores = naive_scores(known, memory, key)
        chosen = np.flatnonzero((known.actions == action).all(1))[0]
        assert scores[chosen] == pytest.approx(scores.max(), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_averages_of_what_steps_led_to(seed):
    memory = steps_of(Lookahead(BOX), seed)
    columns = memory.columns
    matrix, rewards = np.zeros((len(memory), len(memory))), columns["reward"][:, 0].copy()
    for i in np.flatnonzero(~columns["ended"][:, 0]):
        rows, weights, _ = nearest(memory, columns["next"][i].astype(float), LINKS)
        matrix[i, rows] = weights / weights.sum()
    rewards[columns["ended"][:, 0]] = 0.0
    exact = np.linalg.solve(np.eye(len(memory)) - GAMMA * matrix, rewards)
    # a pass that changes little is the last
    np.testing.assert_allclose(evaluated(memory, GAMMA), exact, atol=0.1)


@pytest.mark.parametrize("codec", CODECS)
def test_candidates_are_actions_of_the_space(codec):
    stored = candidates(codec)
    assert len(np.unique(stored, axis=0)) == len(stored)
    for action in stored:
        codec.encode(codec.decode(action))
    features = action_features(codec, stored)
    assert np.abs(features).max() <= 1.0
    assert len(np.unique(features, axis=0)) == len(stored)


def test_not_where_a_model_would_have_more_numbers_than_steps():
    assert can_look_ahead(BOX, 10)
    assert not can_look_ahead(BOX, MODEL)
    assert not can_look_ahead(make_codec(gymnasium.spaces.Discrete(100), "test"), 1)


def test_who_plays():
    numbers = range(40)
    assert sum(plays(n, IN_TURN) for n in numbers) == 20
    assert sum(plays(n, RARE) for n in numbers) == 10
    assert sum(plays(n, MOSTLY) for n in numbers) == 30
    assert [plays(-1, turn) for turn in (IN_TURN, RARE, MOSTLY)] == [False, False, True]


def test_the_rule_with_the_higher_returns_plays():
    known = Lookahead(BOX)
    assert known.turn == IN_TURN
    known.returns = ([5.0] * 20, [9.0] * 9)
    assert known.turn == IN_TURN
    known.returns = ([0.0, 1.0] * 10, [0.3, 1.3] * 10)
    assert known.turn == MOSTLY
    known.returns = ([-200.0] * 20, [-200.0] * 20)
    assert known.turn == RARE


def digests(agent):
    return {name: memory.digest() for name, memory in agent.memories.items()}


def balancing(n=1):
    if n > 1:
        return SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * n)
    return gymnasium.make("CartPole-v1")


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ([0, 0, 0, 1], 1),
        ([-1, -1, -1, -1], 0),
        ([-1, -1, -1, 0], 1),
        ([1, 1, 1, 1], 4),
        ([-0.3, -0.2, -0.4, -0.4], 2),
        ([-1], 0),
    ],
)
def test_which_steps_are_rewarded(rewards, expected):
    assert n_rewarded(np.array(rewards, float)) == expected


def test_a_cost_of_every_step_changes_nothing():
    agents = [CECPlus("MountainCar-v0", seed=100, lookahead=on).learn(2000) for on in (True, False)]
    assert digests(agents[0]) == digests(agents[1])


def test_rare_rewards_change_nothing():
    task = "scrubjay/SparseMountainCar-v0"
    agents = [CECPlus(task, seed=100, lookahead=on).learn(3000) for on in (True, False)]
    assert digests(agents[0]) == digests(agents[1])
    assert agents[0].memories.keys() == {"memory"}


def test_switched_off_all_steps_are_those_of_the_other_rule():
    agent = CECPlus(balancing(), seed=1, lookahead=False).learn(2000)
    assert agent.memories.keys() == {"memory"}
    assert agent._ahead_arguments is None


def test_training_goes_on_after_loading(tmp_path):
    agent = CECPlus(balancing(), seed=100).learn(2500)
    assert min(map(len, agent._ahead.returns)) > 0
    agent.save(tmp_path / "agent.scrub")
    loaded = CECPlus.load(tmp_path / "agent.scrub", balancing())
    assert digests(loaded) == digests(agent)
    agent.learn(1500)
    loaded.learn(1500)
    assert digests(loaded) == digests(agent)
    assert loaded._ahead.state() == agent._ahead.state()
    observations = np.random.default_rng(0).normal(size=(50, 4)) * 0.2
    for observation in observations:
        one, other = (each.predict(observation, deterministic=True)[0] for each in (agent, loaded))
        assert one == other


def test_several_environments():
    agent = CECPlus(balancing(4), seed=100).learn(4000)
    assert min(map(len, agent._ahead.returns)) > 0
    assert len(agent.memories["steps"]) > 2000


def test_an_explanation_has_the_greedy_action(monkeypatch):
    monkeypatch.setattr(lookahead.Lookahead, "turn", MOSTLY)
    agent = CECPlus(balancing(), seed=100).learn(2000)
    for observation in np.random.default_rng(0).normal(size=(20, 4)) * 0.1:
        action = agent.predict(observation, deterministic=True)[0]
        explained = agent.explain(observation)
        assert agent.codec.decode(explained.action) == action
        assert explained.followed == -1


def test_other_threads_may_predict_while_an_episode_is_learned(monkeypatch):
    """The arguments of a decision are never missing in between, not even for a moment."""
    agent = CECPlus(balancing(), seed=100).learn(2000)
    assert agent._ahead_arguments is not None
    seen = []
    arguments = lookahead.Lookahead.arguments

    def watched(known, *given):
        seen.append(agent._ahead_arguments)
        return arguments(known, *given)

    monkeypatch.setattr(lookahead.Lookahead, "arguments", watched)
    agent.memory_changed()
    assert len(seen) == 1
    assert seen[0] is not None

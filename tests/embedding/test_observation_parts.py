"""Observations of all kinds become vectors, as Gymnasium flattens them."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from scrubjay import CEC, MFEC, CECPlus
from scrubjay.embedding.flatten import Flattener

BOX = spaces.Box(-2, 3, (2, 3), np.float32)
SPACES = {
    "box": BOX,
    "discrete": spaces.Discrete(7),
    "start": spaces.Discrete(5, start=-2),
    "many": spaces.MultiDiscrete([3, 2, 4]),
    "table": spaces.MultiDiscrete([[3, 2], [4, 1]]),
    "bits": spaces.MultiBinary([2, 3]),
    "tuple": spaces.Tuple((BOX, spaces.Discrete(4))),
    "dict": spaces.Dict({"a": spaces.Discrete(3), "b": BOX}),
    "nested": spaces.Dict({"a": spaces.Tuple((BOX, spaces.Dict({"c": spaces.MultiBinary(2)})))}),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_vectors_are_those_of_gymnasium(space):
    flattener = Flattener(space)
    space.seed(0)
    observations = [space.sample() for _ in range(20)]
    expected = np.array([spaces.flatten(space, each) for each in observations], np.float64)
    found = np.empty((20, flattener.size))
    for observation, row in zip(observations, found, strict=True):
        flattener.into(observation, row)
    assert np.array_equal(found, expected)
    low, high = flattener.bounds
    assert ((low <= found) & (found <= high)).all()

    batch = gymnasium.vector.utils.batch_space(space, 20)
    stack = gymnasium.vector.utils.create_empty_array(space, 20)
    stack = gymnasium.vector.utils.concatenate(space, observations, stack)
    assert batch.contains(stack)
    assert flattener.is_batch(stack)
    assert not flattener.is_batch(observations[0])
    assert np.array_equal(flattener.batch_of(stack), expected)


@pytest.mark.parametrize(
    ("space", "observation", "words"),
    [
        (spaces.Discrete(5), 5, "expected an observation of Discrete.5., got 5"),
        (spaces.Discrete(5, start=2), 1, "got 1"),
        (spaces.Discrete(5), [1, 2], "expected an observation of shape .., got shape .2,."),
        (spaces.Discrete(5), 1.5, "expected whole numbers for Discrete.5., got dtype float64"),
        (spaces.MultiDiscrete([2, 2]), [0, 2], "expected an observation of MultiDiscrete"),
        (spaces.Tuple((BOX, BOX)), (np.zeros((2, 3)),), "expected an observation with the entries"),
    ],
)
def test_what_is_not_in_the_space_is_refused(space, observation, words):
    flattener = Flattener(space)
    with pytest.raises((ValueError, TypeError), match=words):
        flattener.into(observation, np.empty(flattener.size))


def test_spaces_without_numbers_are_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"got Text.*; return numbers, for example by"):
        Flattener(spaces.Text(3))
    with pytest.raises(TypeError, match=r"at most 4,096 categories.*got Discrete\(5000\)"):
        Flattener(spaces.Dict({"a": spaces.Discrete(5000)}))


@pytest.mark.parametrize("method", [CEC, CECPlus, MFEC])
def test_a_grid_of_numbered_cells_is_learned(method, tmp_path):
    """Neighbouring numbers are no neighbouring cells; CECPlus confused all of them at first."""
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    agent = method(env, seed=0).learn(10_000)
    path = tmp_path / "lake.scrub"
    agent.save(path)
    agent = method.load(path)
    observation, _ = env.reset(seed=0)
    for step in range(1, 20):  # noqa: B007
        action, _ = agent.predict(observation, deterministic=True)
        observation, reward, terminated, _, _ = env.step(action)
        if terminated:
            break
    assert (step, reward) == (6, 1.0)


def test_lanes_of_numbered_cells():
    envs = gymnasium.make_vec("FrozenLake-v1", num_envs=3, is_slippery=False)
    agent = CECPlus(envs, seed=0).learn(3_000)
    assert len(agent.memory) <= 16
    actions, _ = agent.predict(np.array([0, 1, 4]), deterministic=True)
    assert actions.shape == (3,)

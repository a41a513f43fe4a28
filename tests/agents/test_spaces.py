"""Every kind of space that Gymnasium has values for comes back from plain data."""

import inspect
import json

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from probes import mixed_space
from scrubjay.agents import CEC, MemoryAgent
from scrubjay.agents.base import Spaces
from scrubjay.agents.spaces import build_space, describe_space
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive

KNOWN = {
    "box": spaces.Box(-1, 1, (2, 3), np.float32),
    "unbounded": spaces.Box(-np.inf, np.inf, (2,), np.float64),
    "pixels": spaces.Box(0, 255, (4, 4, 3), np.uint8),
    "scalar": spaces.Box(0, 1, (), np.float64),
    "discrete": spaces.Discrete(5),
    "start": spaces.Discrete(5, start=-2),
    "multi": spaces.MultiDiscrete([3, 4, 5]),
    "multi start": spaces.MultiDiscrete([3, 4], start=[-1, 2]),
    "multi matrix": spaces.MultiDiscrete([[2, 3], [4, 5]], dtype=np.int16),
    "binary": spaces.MultiBinary(7),
    "binary list": spaces.MultiBinary([7]),
    "binary matrix": spaces.MultiBinary([2, 3]),
    "dict": mixed_space(),
    "in an order": spaces.Dict([("z", spaces.Discrete(2)), ("a", spaces.Box(0, 1, (1,)))]),
    "tuple": spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1, (2,)), spaces.MultiBinary(3)]),
    "empty tuple": spaces.Tuple([]),
    "nested": spaces.Dict(
        outer=spaces.Tuple([spaces.Dict(inner=spaces.Discrete(3)), spaces.MultiDiscrete([2, 2])]),
        other=spaces.Box(-1, 1, (1,)),
    ),
}
if "dtype" in inspect.signature(spaces.Discrete).parameters:  # not in older versions of Gymnasium
    KNOWN["int32"] = spaces.Discrete(5, start=3, dtype=np.int32)


def round_trip(space):
    description, arrays = describe_space(space, "it")
    return build_space(json.loads(json.dumps(description)), arrays, "it")


def assert_same(space, again):
    assert again == space
    assert type(again) is type(space)
    assert again.dtype == space.dtype
    if isinstance(space, spaces.Dict):
        assert list(again.spaces) == list(space.spaces)
    space.seed(3), again.seed(3)
    assert str(again.sample()) == str(space.sample())


@pytest.mark.parametrize("name", KNOWN)
def test_a_space_comes_back(name):
    assert_same(KNOWN[name], round_trip(KNOWN[name]))


LEAVES = st.one_of(
    st.builds(lambda n, s: spaces.Discrete(n, start=s), st.integers(1, 9), st.integers(-9, 9)),
    st.builds(spaces.MultiDiscrete, st.lists(st.integers(1, 5), min_size=1, max_size=3)),
    st.builds(spaces.MultiBinary, st.integers(1, 4)),
    st.builds(
        lambda low, n, dtype: spaces.Box(low, low + 1, (n,), dtype),
        st.integers(-5, 5), st.integers(1, 3), st.sampled_from([np.float32, np.float64, np.int8]),
    ),
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(spaces.Tuple, st.lists(inner, max_size=3)),
        st.builds(spaces.Dict, st.dictionaries(st.sampled_from("abcd/"), inner, max_size=3)),
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_any_tree_of_spaces_comes_back(space):
    assert_same(space, round_trip(space))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(4),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.Graph(spaces.Discrete(2), None),
        spaces.Dict(inner=spaces.Tuple([spaces.Text(4)])),
    ],
    ids=str,
)
def test_other_spaces_are_refused(space):
    with pytest.raises(TypeError, match=r"expected a Box, Discrete.*got \w+\("):
        describe_space(space, "it")


CONTRADICTIONS = {
    "nothing": ({}, {}),
    "unknown": ({"graph": 3}, {}),
    "no bounds": ({"box": "float32"}, {}),
    "no actions": ({"discrete": "int64", "n": 0, "start": 0}, {}),
    "a fraction": ({"discrete": "int64", "n": 2.5, "start": 0}, {}),
    "a truth": ({"discrete": "int64", "n": True, "start": 0}, {}),
    "no start": ({"discrete": "int64", "n": 2}, {}),
    "beyond the dtype": ({"discrete": "int8", "n": 300, "start": 0}, {}),
    "start beyond the dtype": ({"discrete": "int8", "n": 10, "start": 120}, {}),
    "beyond all integers": ({"discrete": "int64", "n": 10**30, "start": 0}, {}),
    "not an integer dtype": ({"discrete": "float32", "n": 2, "start": 0}, {}),
    "not a dtype": ({"discrete": "int65", "n": 2, "start": 0}, {}),
    "no counts": ({"multi_discrete": "int64"}, {}),
    "a count of 0": (
        {"multi_discrete": "int64"}, {"it/nvec": np.array([2, 0]), "it/start": np.zeros(2, int)},
    ),
    "counts of another type": (
        {"multi_discrete": "int64"}, {"it/nvec": np.ones(2), "it/start": np.zeros(2)},
    ),
    "starts of another shape": (
        {"multi_discrete": "int64"}, {"it/nvec": np.array([2, 2]), "it/start": np.zeros(3, int)},
    ),
    "binary of nothing": ({"multi_binary": [0], "flat": True}, {}),
    "binary of a word": ({"multi_binary": "ab", "flat": False}, {}),
    "flat in two dimensions": ({"multi_binary": [2, 2], "flat": True}, {}),
    "flat or not": ({"multi_binary": [2]}, {}),
    "a number as a tuple": ({"tuple": 3}, {}),
    "a word as a part": ({"tuple": ["box"]}, {}),
    "a number as a name": ({"dict": [[3, {"discrete": "int64", "n": 2, "start": 0}]]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_descriptions_that_contradict_themselves_are_refused(name):
    with pytest.raises((ValueError, TypeError, LookupError, OverflowError)):
        build_space(*CONTRADICTIONS[name], "it")


# ---------------------------------------------------------------- in files


ACTIONS = [
    spaces.Box(-1, 1, (2, 2), np.float64),
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3], start=[1, -1]),
]


@pytest.mark.parametrize("action", ACTIONS, ids=str)
def test_an_agent_is_loaded_without_its_environment(action, tmp_path):
    observation = spaces.Dict([("z", spaces.Box(-1, 1, (2,))), ("a", spaces.Box(0, 1, (1,)))])
    agent = CEC(Spaces(observation, action), seed=0)
    agent.save(tmp_path / "agent.scrub")
    loaded = MemoryAgent.load(tmp_path / "agent.scrub")
    assert (loaded.observation_space, loaded.action_space) == (observation, action)
    assert list(loaded.observation_space.spaces) == ["z", "a"]


def test_a_file_as_0_1_0_wrote_it_is_read(tmp_path):
    """Boxes and Dicts of Boxes are described as they were."""
    agent = CEC(Spaces(mixed_space(), spaces.Box(-1, 1, (2,), np.float32)), seed=0)
    agent.save(tmp_path / "agent.scrub")
    manifest, arrays = read_archive(tmp_path / "agent.scrub", "agent")
    assert manifest["spaces"] == {
        "observation": {
            "dict": [["arm", {"box": "float64"}], ["body", {"box": "float32"}],
                     ["goal", {"box": "float64"}]]
        },
        "action": {"box": "float32"},
    }  # fmt: skip
    assert {"spaces/observation/1/low", "spaces/action/high"} <= arrays.keys()


@pytest.mark.parametrize(
    "change",
    [
        {"discrete": "int64", "n": 2, "start": 0},  # an action that was taken is gone
        {"discrete": "int64", "n": 0, "start": 0},
        {"discrete": "int64", "n": "3", "start": 0},
        {"multi_discrete": "int64"},
    ],
)
def test_a_file_whose_actions_are_not_those_of_its_space_is_refused(change, tmp_path):
    agent = CEC(Spaces(spaces.Box(-1, 1, (1,)), spaces.Discrete(3)), seed=0)
    agent.memory.write([0.5], 1.0, action=[2])
    agent.save(tmp_path / "agent.scrub")
    manifest, arrays = read_archive(tmp_path / "agent.scrub", "agent")
    del manifest["format"], manifest["schema"]
    manifest["spaces"]["action"] = change
    write_archive(tmp_path / "agent.scrub", manifest, arrays)
    with pytest.raises(ArchiveError, match=r"agent\.scrub"):
        MemoryAgent.load(tmp_path / "agent.scrub")


def test_a_stored_number_between_two_discrete_actions_is_refused(tmp_path):
    agent = CEC(Spaces(spaces.Box(-1, 1, (1,)), spaces.Discrete(3)), seed=0)
    agent.memory.write([0.5], 1.0, action=[1.5])
    agent.save(tmp_path / "agent.scrub")
    with pytest.raises(ArchiveError, match=r"whole numbers from .*0.* to .*2.*got .*1\.5"):
        MemoryAgent.load(tmp_path / "agent.scrub")

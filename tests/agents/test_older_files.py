"""Agents of version 0.1.0, where CECPlus was CEC with other settings."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from scrubjay.agents import CEC, CECPlus, MemoryAgent
from scrubjay.agents.cec_stale import StaleIndexCEC
from scrubjay.agents.files import NEUTRAL, upgraded
from scrubjay.agents.settings import settings_of

FILES = Path(__file__).parents[1] / "data" / "0.1.0"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))["agents"]
CLASSES = {"CEC": CEC, "CECPlus": CECPlus, "StaleIndexCEC": StaleIndexCEC}
WITH_OPTIONS = "cec-with-options-of-plus"


def path_of(name):
    return FILES / "agents" / f"{name}.scrub"


def as_observation(content, space):
    if isinstance(space, spaces.Dict):
        return {name: as_observation(content[name], part) for name, part in space.items()}
    return np.array(content, space.dtype)


def predictions(agent, expected):
    with warnings.catch_warnings():
        # an agent whose episodes are all held back warns that its memory is empty
        warnings.simplefilter("ignore", UserWarning)
        return [
            agent.predict(as_observation(seen, agent.observation_space), deterministic=True)[0]
            for seen in expected["observations"]
        ]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_agent_opens_as_the_method_that_it_was(name, tmp_path):
    expected = EXPECTED[name]
    cls = CECPlus if name == WITH_OPTIONS else CLASSES[expected["class"]]
    agent = MemoryAgent.load(path_of(name))
    assert type(agent) is cls
    assert agent.config().keys() <= settings_of(cls).keys()
    agent.save(tmp_path / "again.scrub")
    for one in (agent, cls.load(tmp_path / "again.scrub")):
        assert (one.num_timesteps, one.n_episodes, len(one.memory)) == (
            expected["num_timesteps"], expected["n_episodes"], expected["rows"],
        )  # fmt: skip
        np.testing.assert_array_equal(predictions(one, expected), expected["actions"])
        one.memory.check_invariants()


def test_a_cec_with_options_of_plus_opens_as_plus():
    """Whoever wrote `CEC.load` in a script need not change it."""
    for cls in (CEC, CECPlus, MemoryAgent):
        agent = cls.load(path_of(WITH_OPTIONS))
        assert type(agent) is CECPlus
        changed = {name for name, value in NEUTRAL.items() if getattr(agent, name) != value}
        assert changed
    expected = EXPECTED[WITH_OPTIONS]
    np.testing.assert_array_equal(predictions(agent, expected), expected["actions"])
    before = agent.num_timesteps
    agent.set_env(expected["env"])
    assert agent.learn(500).num_timesteps >= before + 500
    agent.memory.check_invariants()


OPTIONS = {
    "epsilon_spread": 20.0, "hold": 5, "skip_worthless": True, "detour_cost": 0.0,
    "stitching": True, "temperature_unit": "best", "timeouts": "continue",
    "distance_threshold": "step",
}  # fmt: skip


@pytest.mark.parametrize("option", OPTIONS)
def test_any_option_of_plus_makes_it_plus(option):
    config = {**NEUTRAL, "gamma": 0.9, "distance_threshold": 0.1, option: OPTIONS[option]}
    assert upgraded("cec", config) == ("cec-plus", config)
    # options that the file does not have did nothing
    given = {"gamma": 0.9, option: OPTIONS[option]}
    assert upgraded("cec", given) == ("cec-plus", {**NEUTRAL, **given})


def test_settings_that_exist_no_more_are_dropped():
    given = {"gamma": 0.9, "stitching": True, "correction": 0.3}
    expected = {"gamma": 0.9, "stitching": True}
    assert upgraded("cec-plus", given) == ("cec-plus", expected)
    assert upgraded("cec", given) == ("cec-plus", {**NEUTRAL, **expected})
    assert upgraded("cec", {"gamma": 0.9, "correction": 0.0}) == ("cec", {"gamma": 0.9})


def test_a_plain_cec_loses_the_options_that_did_nothing():
    given = {"gamma": 0.9, "distance_threshold": 0.1}
    for name in ("cec", "cec-stale"):
        assert upgraded(name, {**NEUTRAL, **given}) == (name, given)
        assert upgraded(name, given) == (name, given)


def test_other_methods_are_left_as_they_are():
    config = {**NEUTRAL, "gamma": 0.9}
    for name in ("cec-plus", "sac", "something-else"):
        assert upgraded(name, config) == (name, config)
    later = {
        "measure_keys": False, "planning": 0.0, "discovery": False, "goal_planning": False,
        "lookahead": False,
    }  # fmt: skip
    assert later | {
        "epsilon_spread": 1.0, "hold": 1, "skip_worthless": False, "detour_cost": None,
        "stitching": False, "temperature_unit": "return", "timeouts": "end",
    } == NEUTRAL, "the values that did nothing in 0.1.0 are a fact about its files"  # fmt: skip

"""`warm_up` compiles everything: what comes after it compiles nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import scrubjay

SCRIPT = """
import sys

from numba.core.dispatcher import Dispatcher
import gymnasium as gym
import numpy as np
from probes import Corridor, Drift, Mixed
from scrubjay.agents import CEC, CECPlus
from scrubjay.agents.cec_stale import StaleIndexCEC
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.embedding import *

class ReadOnly(gym.ObservationWrapper):
    def observation(self, observation):
        observation.flags.writeable = False
        return observation

class Buttons(Corridor):
    def __init__(self, space):
        super().__init__([0.0, 0.0, 1.0])
        self.action_space = space

def signatures():
    return {
        f"{name}.{key}": list(value.signatures)
        for name, module in list(sys.modules.items()) if name.startswith("scrubjay")
        for key, value in vars(module).items() if isinstance(value, Dispatcher)
    }

agent = AGENT
agent.warm_up()
before = signatures()
assert any("select_actions" in name and found for name, found in before.items())
agent.learn(N_STEPS)
assert len(agent.memory) > 0
for deterministic in (True, False):
    agent.predict(agent.observation_space.sample(), deterministic=deterministic)
agent.memory.digest()
after = signatures()
print([name for name in after if after[name] != before.get(name, [])])
"""

AGENTS = {
    "identity": ("CEC(Drift())", 30),
    "goals": ("CECPlus(gym.make('scrubjay/SparseFetchReach-v0'))", 1500),
    "uniform": ("CEC(Drift(), exploration='uniform', epsilon=LinearSchedule(1, 0, 9))", 30),
    "held": (
        "CECPlus(Drift(), embedding=Identity(), distance_threshold=0.1, "
        "exploration='uniform', hold=5, epsilon=LinearSchedule(1, 0, 9))",
        30,
    ),
    "plus with noise": ("CECPlus(Drift(), embedding=Identity(), exploration='noise')", 90),
    "stale": ("StaleIndexCEC(Drift())", 60),
    "discrete": ("CEC(Buttons(gym.spaces.Discrete(3)))", 30),
    "discrete plus": ("CECPlus(Buttons(gym.spaces.MultiDiscrete([2, 3])))", 1500),
    "vector": ("CEC(gym.vector.SyncVectorEnv([Drift] * 3))", 90),
    "vector of plus": ("CECPlus(gym.vector.SyncVectorEnv([Drift] * 3))", 1500),
    "read-only": ("CEC(ReadOnly(Drift()))", 60),
    "running": ("CEC(Drift(), embedding=RunningNormalizer())", 30),
    "frozen": ("CEC(Drift(), embedding=FrozenNormalizer(20))", 60),
    "chain": (
        "CEC(Drift(), embedding=Chain([FrozenNormalizer(20), RandomProjection(3), "
        "RunningNormalizer()]))",
        60,
    ),
    "dict": ("CEC(Mixed(), embedding=SelectKeys(['goal', 'arm']))", 30),
    "plus": ("CECPlus(Drift(), periodic=[1])", 1500),
}


@pytest.mark.parametrize("name", AGENTS)
def test_defect_18_nothing_is_compiled_after_warm_up(name):
    """In a process of its own, where no other test has compiled anything."""
    agent, n_steps = AGENTS[name]
    folders = [Path(scrubjay.__file__).parents[1], Path(__file__).parents[1]]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("AGENT", agent).replace("N_STEPS", str(n_steps))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_warm_up_changes_nothing():
    from probes import Drift
    from scrubjay.agents import CECPlus

    agents = [CECPlus(Drift(), seed=1).learn(700) for _ in range(2)]
    agents[0].warm_up()
    digests = [agent.learn(900).memory.digest() for agent in agents]
    assert digests[0] == digests[1]

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
from probes import Drift, Mixed
from scrubjay.agents import CEC, CECPlus
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.embedding import *

def signatures():
    return {
        f"{name}.{key}": list(value.signatures)
        for name, module in list(sys.modules.items()) if name.startswith("scrubjay")
        for key, value in vars(module).items() if isinstance(value, Dispatcher)
    }

agent = AGENT
agent.warm_up()
before = signatures()
assert any("decide" in name and found for name, found in before.items())
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
    "uniform": ("CEC(Drift(), exploration='uniform', hold=5, epsilon=LinearSchedule(1, 0, 9))", 30),
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

"""MFEC learns what it is known to learn."""

import gymnasium as gym
import pytest

import scrubjay.envs  # noqa: F401
from scrubjay import MFEC
from scrubjay.agents.mfec import preset
from scrubjay.training.evaluation import Evaluator

TASK = "scrubjay/FourRoomsGrid-v0"


@pytest.mark.parametrize("seed", range(2))
def test_four_rooms_by_10_000_steps(seed):
    agent = MFEC(gym.make(TASK), **preset(TASK), seed=seed).learn(10_000)
    (record,) = Evaluator(gym.make(TASK), 1, seed=0).run(agent, 0)
    assert record.is_success

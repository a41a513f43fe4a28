"""An environment that hangs is named, with its step; a healthy training hears nothing."""

import threading
import time

import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.training.watchdog import Watchdog

REWARDS = [0.0, 0.0, 1.0]


class Stuck(Corridor):
    """Hangs once, in `step` or in `reset`, at a call of a given number."""

    def __init__(self, call, number, seconds=1.0):
        super().__init__(REWARDS)
        self.waits = {call: number}
        self.calls = {"step": 0, "reset": 0}
        self.seconds = seconds

    def _count(self, call):
        self.calls[call] += 1
        if self.waits.get(call) == self.calls[call]:
            time.sleep(self.seconds)

    def step(self, action):
        self._count("step")
        return super().step(action)

    def reset(self, **options):
        self._count("reset")
        return super().reset(**options)


def learn(env, **settings):
    said = []
    CEC(env, seed=0).learn(30, callback=Watchdog(0.2, said.append), **settings)
    return said


def test_a_hanging_step_is_named_with_its_number_and_the_stack():
    said = learn(Stuck("step", 8))
    assert said[0].startswith("step() of the environment has not returned for 0.2")
    assert "at step 8 in episode 3." in said[0]
    assert "time.sleep(self.seconds)" in said[0]
    assert "goes on after" in said[-1]
    # after 0.2, 0.4 and 0.8 seconds, unless the machine is slow
    assert 2 <= len(said) <= 5


def test_a_hanging_reset_is_named():
    assert learn(Stuck("reset", 4))[0].startswith("reset() of the environment")


def test_a_hanging_evaluation_is_named():
    said = learn(Corridor(REWARDS), eval_env=Stuck("step", 2), eval_freq=9, n_eval_episodes=1)
    assert said[0].startswith("step() of the evaluation environment")


def test_a_healthy_training_hears_nothing_and_the_thread_ends():
    said = []
    CEC(Corridor(REWARDS), seed=0).learn(30, callback=Watchdog(30, said.append))
    assert said == []
    assert "watchdog" not in {thread.name for thread in threading.enumerate()}


def test_the_thread_ends_when_the_environment_fails():
    class Failing(Corridor):
        def step(self, action):  # noqa: ARG002
            raise RuntimeError("the robot is off")

    with pytest.raises(RuntimeError, match="robot"):
        CEC(Failing(REWARDS), seed=0).learn(30, callback=Watchdog(30))
    assert "watchdog" not in {thread.name for thread in threading.enumerate()}


def test_it_costs_no_call_per_step():
    from scrubjay.training.callbacks import CallbackList

    assert not CallbackList(Watchdog())
    assert CallbackList([Watchdog(), lambda *_: True])


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout):
    with pytest.raises(ValueError, match="expected a timeout"):
        Watchdog(timeout)


def test_training_with_networks_is_watched_too():
    deep = pytest.importorskip("scrubjay.deep", reason="an extra: scrubjay[deep]")
    said = []
    agent = deep.SAC(Stuck("step", 5, 0.6), seed=0, learning_starts=1000)
    agent.learn(12, callback=Watchdog(0.2, said.append))
    assert said[0].startswith("step() of the environment")
    assert "at step 5 in episode 2." in said[0]

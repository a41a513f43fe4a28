"""An environment that hangs is named, with its step; a healthy training hears nothing."""

import re
import threading

import pytest

from probes import Corridor
from scrubjay.agents import CEC
from scrubjay.training.watchdog import Watchdog

REWARDS = [0.0, 0.0, 1.0]


class Stuck(Corridor):
    """Hangs once, in `step` or in `reset`, at a call of a given number, until it is released."""

    def __init__(self, call, number, n_warnings=1):
        super().__init__(REWARDS)
        self.waits = {call: number}
        self.calls = {"step": 0, "reset": 0}
        self.n_warnings = n_warnings
        self.said = []
        self.released = threading.Event()

    def hear(self, text):
        """The watchdog's `on_warning`. On a loaded machine other steps may be slow too."""
        if "released.wait" in text or (self.said and "goes on" in text):
            self.said.append(text)
        if len(self.said) >= self.n_warnings:
            self.released.set()

    def _count(self, call):
        self.calls[call] += 1
        if self.waits.get(call) == self.calls[call]:
            assert self.released.wait(60)

    def step(self, action):
        self._count("step")
        return super().step(action)

    def reset(self, **options):
        self._count("reset")
        return super().reset(**options)


def learn(stuck, env=None, **settings):
    CEC(env or stuck, seed=0).learn(30, callback=Watchdog(0.05, stuck.hear), **settings)
    return stuck.said


def seconds(text):
    return float(re.search(r"has not returned for ([\d.]+) s", text)[1])


def test_a_hanging_step_is_named_with_its_number_and_the_stack():
    said = learn(Stuck("step", 8, n_warnings=3))
    assert said[0].startswith("step() of the environment has not returned for ")
    assert "at step 8 in episode 3." in said[0]
    assert "self.released.wait(60)" in said[0]
    first, second, third = map(seconds, said[:3])
    assert first >= 0.05
    assert second >= 0.1
    assert third >= 0.2
    assert "the training goes on after" in said[3]


def test_the_end_of_a_hang_is_said_when_nothing_comes_after_it():
    """The last step hangs: the training is over before the watchdog looks again."""
    said = learn(Stuck("step", 30))
    assert "at step 30 in episode 10." in said[0]
    assert "the training goes on after" in said[-1]


def test_a_hanging_reset_is_named():
    assert learn(Stuck("reset", 4))[0].startswith("reset() of the environment")


def test_a_hanging_evaluation_is_named():
    stuck = Stuck("step", 2)
    said = learn(stuck, Corridor(REWARDS), eval_env=stuck, eval_freq=9, n_eval_episodes=1)
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
    stuck = Stuck("step", 5)
    agent = deep.SAC(stuck, seed=0, learning_starts=1000)
    agent.learn(12, callback=Watchdog(0.05, stuck.hear))
    assert stuck.said[0].startswith("step() of the environment")
    assert "at step 5 in episode 2." in stuck.said[0]

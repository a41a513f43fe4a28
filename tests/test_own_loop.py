"""The episode interface: what people write who have no `env.step`, and that it learns the same."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from scrubjay import CEC, CECPlus, Identity, MemoryAgent, RunningNormalizer, Spaces

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "own_loop.py"
SPEC = importlib.util.spec_from_file_location("own_loop", EXAMPLE)
assert SPEC is not None
assert SPEC.loader is not None
own_loop: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(own_loop)

SPACES = Spaces(own_loop.SENSORS, own_loop.MOTOR)
AGENTS = {
    "cec": lambda env: CEC(env, distance_threshold=0.02, seed=3),
    "running keys": lambda env: CEC(env, embedding=RunningNormalizer(), seed=3),
    "cec-plus": lambda env: CECPlus(env, seed=3),
    "cec-plus, keys known": lambda env: CECPlus(
        env, embedding=Identity(), distance_threshold=0.02, seed=3
    ),
}


class Rail(gymnasium.Env[Any, Any]):
    """The robot of the example as an environment, without its safety layer."""

    observation_space, action_space = own_loop.SENSORS, own_loop.MOTOR

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.robot, self.time = own_loop.Robot(), 0
        return self.robot.sense(), {}

    def step(self, action):
        self.robot.push(float(action[0]))
        self.time += 1
        docked = self.robot.docked
        cut_off = not docked and self.time == own_loop.LONGEST
        return self.robot.sense(), float(docked), docked, cut_off, {}


def run_episodes(agent: MemoryAgent, n: int, **record: Any) -> None:
    """The loop of `Rail` and `learn`, written by hand."""
    for _ in range(n):
        env, episode, over = Rail(), agent.begin_episode(), False
        observation, _ = env.reset()
        while not over:
            action = episode.act(observation)
            observation, reward, terminated, truncated, _ = env.step(action)
            given = {"action": action} if record.get("always_given") else {}
            episode.record(reward, **given)
            over = terminated or truncated
        episode.finish(observation, terminated)


def knowledge(agent: MemoryAgent) -> tuple[Any, ...]:
    """All that decides what an agent does next."""
    embedding = {name: array.tolist() for name, array in agent.embedding.state().items()}
    return agent.memory.digest(), agent.counters(), embedding


def test_the_example_runs(tmp_path):
    words = [sys.executable, str(EXAMPLE), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "of the next 40 episodes reached the dock" in done.stdout
    assert CECPlus.load(tmp_path / "carriage.scrub").n_episodes == 40


@pytest.mark.parametrize("name", AGENTS)
def test_it_writes_the_same_memory_as_learn(name):
    mine, theirs = AGENTS[name](SPACES), AGENTS[name](Rail())
    run_episodes(mine, 25)
    theirs.learn(total_episodes=25)
    assert len(mine.memory) > 100
    assert knowledge(mine) == knowledge(theirs)


@pytest.mark.parametrize("name", AGENTS)
def test_saved_and_loaded_it_goes_on_as_if_it_had_never_stopped(name, tmp_path):
    whole, first = AGENTS[name](SPACES), AGENTS[name](SPACES)
    run_episodes(whole, 24)
    run_episodes(first, 12)
    episode = first.begin_episode()
    for _ in range(3):  # in the middle of an episode, which is lost
        episode.act(np.zeros(2))
        episode.record(0.0)
    first.save(tmp_path / "agent.scrub")
    second = MemoryAgent.load(tmp_path / "agent.scrub")
    run_episodes(second, 12)
    assert knowledge(second) == knowledge(whole)


@pytest.mark.parametrize("name", AGENTS)
def test_an_episode_that_is_given_up_leaves_nothing(name):
    with_it, without = AGENTS[name](SPACES), AGENTS[name](SPACES)
    for agent in (with_it, without):
        run_episodes(agent, 5)
    episode = with_it.begin_episode()
    for _ in range(30):
        episode.act(np.ones(2))
        episode.record(1.0)
    assert with_it.rewind() == 1
    for agent in (with_it, without):
        run_episodes(agent, 15)
    assert knowledge(with_it) == knowledge(without)


@pytest.mark.parametrize("name", AGENTS)
def test_the_decided_action_may_always_be_given(name):
    told, untold = AGENTS[name](SPACES), AGENTS[name](SPACES)
    run_episodes(told, 25, always_given=True)
    run_episodes(untold, 25)
    assert knowledge(told) == knowledge(untold)


def test_the_executed_action_is_remembered_not_the_decided_one():
    agent = AGENTS["cec"](SPACES)
    executed = []
    episode = agent.begin_episode()
    for i in range(20):
        action = np.clip(episode.act(np.array([0.1 * i, 0.0])), -0.25, 0.25)
        episode.record(float(i == 19), action=action)
        executed.append(action[0])
    episode.finish(np.zeros(2))
    order = np.argsort(agent.memory.keys[:, 0])
    assert agent.memory.columns["action"][order, 0].tolist() == executed


@pytest.mark.parametrize("name", AGENTS)
def test_an_overridden_action_in_the_very_first_episode(name):
    """It follows no row; CECPlus took it for the first row of a memory that had none."""
    agent = AGENTS[name](SPACES)
    for _ in range(2):
        for _ in range(12):
            episode = agent.begin_episode()
            for i in range(100):
                episode.act(np.array([0.01 * i, 0.1]))
                episode.record(1.0, action=np.array([0.25], np.float32))
            episode.finish(np.zeros(2))
    assert set(agent.memory.columns["action"][:, 0].tolist()) == {0.25}
    agent.memory.check_invariants()


def test_an_agent_without_an_environment_says_what_it_needs():
    with pytest.raises(ValueError, match=r"call set_env\(env\) first"):
        CEC(SPACES, seed=0).learn(10)

"""Collectors: rounds against one process, free-running ones, and everything that fails."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from scrubjay import CEC, MFEC, CECPlus, Collectors, FrozenNormalizer, RunningNormalizer, resume
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start
from scrubjay.training import CollectorError
from scrubjay.training.collecting import as_collectors, factory, warn_of_cores
from scrubjay.training.collector import Collected, Collector

TREE = "scrubjay/GrowingTree-v0"


class Line(gymnasium.Env):
    """Walk to the right; fails as it is told, by a file that is there or by the episode's seed."""

    observation_space = gymnasium.spaces.Box(-10, 10, (1,), np.float64)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self, trouble: str = "", flag: str = ""):
        self.trouble, self.flag = trouble, flag

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.place, self.steps = np.zeros(1), 0
        return self.place.copy(), {}

    def step(self, action):
        self.steps += 1
        if self.trouble and self.steps == 5 and self._is_my_turn():
            self._fail()
        self.place = np.clip(self.place + 0.3 * action + self.np_random.normal(0, 0.01, 1), -9, 9)
        done = bool(self.place[0] > 1)
        return self.place.copy(), float(done), done, self.steps >= 30, {"is_success": done}

    def _is_my_turn(self) -> bool:
        if self.trouble == "always":
            return True
        try:
            os.unlink(self.flag)
        except FileNotFoundError:
            return False
        return True

    def _fail(self) -> None:
        if self.trouble == "hang":
            time.sleep(1000)
        if self.trouble == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("the motor is hot")


def cec(env=TREE, seed=0, **settings):
    return CEC(env, seed=seed, distance_threshold=0.05, epsilon=(0.9, 0.1, 2000), **settings)


def episodes(folder: Path) -> bytes:
    return (folder / "episodes.csv").read_bytes()


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())


class InThisProcess:
    """A naive transport: the collectors are called one after the other, on copies of the memory."""

    ahead = 1

    def __init__(self, opening):
        self.opening = opening
        self.collectors, self.done = [], []
        for index in range(opening.n):
            job = opening.job._replace(agent=opening.job.agent.collector())
            vars(job.agent)["embedding"] = copy.deepcopy(job.agent.embedding)
            self.collectors.append(Collector(job, index))
        self.publish()

    def publish(self):
        for collector in self.collectors:
            memories = {name: memory.copy() for name, memory in self.opening.memories.items()}
            collector.agent.use_memories(memories)

    def begin(self, index, order):
        found = self.collectors[index].run(order)
        self.done.append((index, pickle.loads(pickle.dumps(found))))  # its arrays are views

    def wait(self, _seconds):
        done, self.done = self.done, []
        return reversed(done)  # the order of arrival must not matter

    def close(self): ...


# ---------------------------------------------------------------- rounds


def test_one_collector_in_rounds_learns_what_one_process_learns(tmp_path):
    settings = {"embedding": RunningNormalizer()}
    plain, collected = cec(**settings), cec(**settings)
    plain.learn(1500, run_folder=tmp_path / "plain")
    collected.learn(1500, run_folder=tmp_path / "collected", collectors=1)
    assert collected.memory.digest() == plain.memory.digest()
    assert episodes(tmp_path / "plain") == episodes(tmp_path / "collected")
    assert collected.counters() == plain.counters()
    for name, array in plain.embedding.state().items():
        np.testing.assert_array_equal(collected.embedding.state()[name], array)


def plus():
    """Neither frozen nor with a threshold at first: the writer runs the first episodes itself."""
    return CECPlus(Line(), seed=3, embedding=FrozenNormalizer(100))


def mfec():
    return MFEC("CartPole-v1", seed=2, epsilon=0.2)


@pytest.mark.parametrize("make", [plus, mfec, lambda: cec(embedding=RunningNormalizer())])
def test_rounds_depend_on_nothing_but_seed_and_number(make):
    agents = [make() for _ in range(3)]
    naive = Collectors(2, open_transport=InThisProcess)
    for agent, collectors in zip(agents, [2, 2, naive], strict=True):
        agent.learn(600, collectors=collectors)
    digests = [
        [memory.digest() for memory in agent.memories.values()] + [agent.num_timesteps]
        for agent in agents
    ]
    assert digests[0] == digests[1] == digests[2]
    assert len(agents[0].memory) > 5
    assert agents[0].n_dropped_episodes == 0


def train(words: str) -> subprocess.Popen:
    """`scrubjay WORDS` in a process of its own."""
    script = (
        "import sys; from scrubjay.cli.main import main; sys.exit(main(sys.argv[1:]))\n"
        'if __name__ == "__main__": pass'
    )
    return subprocess.Popen([sys.executable, "-c", script, *words.split()], stderr=-1)


def wait_for(condition) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def test_a_killed_run_in_rounds_goes_on_bit_for_bit(tmp_path):
    config = RunConfig(
        "cec", "GrowingTree", steps=8_000, collectors=2, checkpoint_freq=500, eval_freq=0
    )
    whole = start(config, tmp_path / "whole")
    process = train(
        "train cec GrowingTree --steps 8000 --collectors 2 --checkpoint-freq 500 --eval-freq 0 "
        f"--out {tmp_path / 'killed'}"
    )
    wait_for((tmp_path / "killed" / "checkpoints" / "last.scrub").exists)
    process.kill()
    process.communicate()
    assert manifest(tmp_path / "killed")["status"] == "running"
    again = resume(tmp_path / "killed")
    assert again.memory.digest() == whole.memory.digest()
    assert episodes(tmp_path / "killed") == episodes(tmp_path / "whole")
    assert manifest(tmp_path / "killed")["dropped_episodes"] == 0


def collectors_of(pid: int) -> list[int]:
    """The processes that a writer has started, its resource tracker apart."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(n) for n in children if b"spawn_main" in Path(f"/proc/{n}/cmdline").read_bytes()]


def shared_blocks(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return sorted({line.split()[5] for line in lines if "/dev/shm/sj" in line})


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="finds processes in /proc")
def test_kill_9_of_a_collector_and_then_of_the_writer(tmp_path):
    folder = tmp_path / "run"
    process = train(
        "train cec GrowingTree --steps 60000 --collectors 2 --collector-mode free "
        f"--checkpoint-freq 500 --eval-freq 0 --out {folder}"
    )
    last = folder / "checkpoints" / "last.scrub"
    wait_for(lambda: last.exists() and len(collectors_of(process.pid)) == 2)
    first = collectors_of(process.pid)
    os.kill(first[0], signal.SIGKILL)
    wait_for(lambda: manifest(folder)["dropped_episodes"] >= 1)
    wait_for(lambda: len(set(collectors_of(process.pid)) - {first[0]}) == 2)
    running, blocks = collectors_of(process.pid), shared_blocks(process.pid)
    assert len(blocks) >= 3
    process.kill()
    _, errors = process.communicate()
    assert b"collector 0 was replaced" in errors or b"collector 1 was replaced" in errors
    # no collector and no shared memory is left
    wait_for(lambda: not any(map(is_alive, running)))
    wait_for(lambda: not any(map(os.path.exists, blocks)))
    assert manifest(folder)["status"] == "running"
    agent = resume(folder)
    assert manifest(folder)["status"] == "finished"
    assert agent.num_timesteps >= 60_000
    assert agent.n_dropped_episodes >= 1
    # every step that was counted is one of a whole episode, and each episode is there once
    rows = [line.split(",") for line in episodes(folder).decode().split()[1:]]
    assert sum(int(row[3]) for row in rows) == agent.num_timesteps
    assert [int(row[0]) for row in rows] == list(range(agent.n_episodes))
    agent.memory.check_invariants()


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


# ---------------------------------------------------------------- free-running, and its log


def test_free_collectors_learn_and_their_staleness_is_logged(tmp_path):
    agent = cec()
    agent.learn(
        3000, run_folder=tmp_path / "run", log_freq=500, collectors=Collectors(2, mode="free"),
        eval_env=TREE, eval_freq=1000, n_eval_episodes=1,
    )  # fmt: skip
    assert agent.num_timesteps >= 3000
    header, *rows = (tmp_path / "run" / "progress.csv").read_text().split()
    staleness = header.split(",").index("collectors/staleness")
    found = [float(row.split(",")[staleness]) for row in rows]
    assert len(found) >= 5
    # how far apart they run depends on the machine's load
    assert 0 <= min(found) <= max(found) < 20
    lanes = [line.split(",")[1] for line in episodes(tmp_path / "run").decode().split()[1:]]
    assert set(lanes) == {"0", "1"}
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["collectors"], config["collector_mode"]) == (2, "free")
    # every transition was offered to the memory exactly once
    lengths = [int(line.split(",")[3]) for line in episodes(tmp_path / "run").decode().split()[1:]]
    assert sum(lengths) == agent.num_timesteps


class Queue:
    """A transport without collectors: it remembers what was given to whom."""

    ahead = 3

    def __init__(self, lengths):
        self.given, self.lengths, self.most = [[], []], iter(lengths), 0

    def begin(self, index, order):
        self.given[index].append(order.number)
        self.most = max(self.most, *map(len, self.given))

    def wait(self, _seconds):
        index = max((0, 1), key=lambda i: len(self.given[i]))
        self.given[index].pop(0)
        n = next(self.lengths)
        experience = cec().recorder(1, False).experience()._replace(rewards=np.zeros(n))
        return [(index, Collected(experience, None, 0.0, True, False, None))]

    def publish(self): ...
    def close(self): ...


@pytest.mark.parametrize(("mode", "most"), [("free", 3), ("rounds", 1)])
def test_free_collectors_have_episodes_ahead_but_not_beyond_the_budget(mode, most):
    transport = Queue([100] * 50)
    agent = cec()
    agent.learn_collected = lambda environment, *_, **__: agent.close_episode(environment) or {}
    agent.learn(2000, collectors=Collectors(2, mode=mode, open_transport=lambda _: transport))
    assert transport.most == most
    assert 2000 <= agent.num_timesteps <= 2100  # as many as begin while one is open
    assert transport.given == [[], []]


class LargeState(RunningNormalizer):
    """Its state is larger than a pipe holds, and another one after every episode."""

    name = "large state"

    def state(self):
        found = super().state()
        return {**found, "large": np.full(100_000, found["count"][0])}


class Wide(Line):
    """Episodes that are larger than a pipe holds."""

    observation_space = gymnasium.spaces.Box(-10, 10, (2000,), np.float64)

    def reset(self, **settings):
        observation, info = super().reset(**settings)
        return np.resize(observation, 2000), info

    def step(self, action):
        observation, *rest = super().step(action)
        return np.resize(observation, 2000), *rest


def test_large_orders_and_large_episodes_do_not_wait_for_each_other():
    agent = CEC(Wide(), seed=0, distance_threshold=0.05, embedding=LargeState())
    agent.learn(900, collectors=Collectors(2, mode="free"))
    assert agent.num_timesteps >= 900
    assert agent.n_dropped_episodes == 0


def test_callbacks_are_called_for_each_episode_and_can_stop():
    seen = []

    def callback(locals_, _globals):
        seen.append([info["episode"]["l"] for info in locals_["infos"] if info])
        return len(seen) < 4

    agent = cec()
    agent.learn(10_000, callback=callback, collectors=Collectors(2))
    assert [len(each) for each in seen] == [2, 2, 2, 2]
    assert agent.num_timesteps == sum(map(sum, seen))


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("raise", "RuntimeError: the motor is hot"),
        ("die", "its process was ended by SIGKILL"),
        ("hang", "it made no step for 1 s"),
    ],
)
def test_a_collector_that_fails_is_replaced(tmp_path, monkeypatch, trouble, reason):
    name = f"{os.getpid()}{trouble}"
    monkeypatch.setattr("scrubjay.memory.shared.secrets.token_hex", lambda _: name)
    flag = tmp_path / "flag"
    flag.touch()
    env = Line(trouble, str(flag))
    agent = CEC(env, seed=0, distance_threshold=0.05)
    with pytest.warns(UserWarning, match=f"was replaced and its open episode dropped: {reason}"):
        agent.learn(
            400, collectors=Collectors(2, mode="free", timeout=1.0), run_folder=tmp_path / "run"
        )
    assert agent.num_timesteps >= 400
    assert agent.n_dropped_episodes == 1 == manifest(tmp_path / "run")["dropped_episodes"]
    agent.memory.check_invariants()
    assert len(episodes(tmp_path / "run").split()) == agent.n_episodes + 1
    assert not [found for found in os.listdir("/dev/shm") if found.startswith(f"sj{name}")]


def test_one_that_fails_again_and_again_ends_the_training(tmp_path):
    agent = CEC(Line("always"), seed=0)
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(CollectorError, match="failed 3 times in a row: RuntimeError: the motor"),
    ):
        agent.learn(400, collectors=Collectors(1), run_folder=tmp_path / "run")
    assert manifest(tmp_path / "run")["status"] == "failed"


def broken_factory():
    raise OSError("no robot is connected")


def test_one_that_cannot_start_says_why():
    agent = CEC(Line(), seed=0)
    with pytest.raises(CollectorError, match="could not be started: OSError: no robot"):
        agent.learn(100, collectors=Collectors(1, make_env=broken_factory))


class NotPickled(Line):
    def __reduce__(self):
        raise TypeError("cannot pickle a motor")


def test_an_environment_that_cannot_travel_is_refused_at_once(tmp_path):
    agent = CEC(NotPickled(), seed=0)
    with pytest.raises(
        TypeError,
        match=r"got NotPickled \(TypeError: cannot pickle a motor\); name a function of a module "
        r"that makes it: collectors=Collectors\(2, make_env=my_module.make_env\)",
    ):
        agent.learn(100, collectors=2, run_folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    agent.learn(60, collectors=Collectors(1, make_env=Line))
    assert agent.num_timesteps >= 60
    with pytest.raises(TypeError, match="expected a single environment with collectors"):
        CEC(gymnasium.make_vec("Pendulum-v1", 2), seed=0).learn(10, collectors=2)


def test_an_environment_is_made_again_as_it_was_made():
    env = gymnasium.make("scrubjay/GrowingTree-v0", max_episode_steps=7)
    made = factory(env, None)()
    assert made.spec.max_episode_steps == 7
    wrapped = gymnasium.wrappers.TransformReward(env, abs)
    assert factory(wrapped, None)().spec is not None


@pytest.mark.parametrize("n", [-1, True, 1.5, "two"])
def test_numbers_that_are_none(n):
    with pytest.raises(ValueError, match="expected a whole number of collectors of at least 1"):
        as_collectors(n)
    assert as_collectors(0) is None is as_collectors(None)


def test_other_bad_settings():
    with pytest.raises(ValueError, match="expected the mode rounds or free, got 'fast'"):
        Collectors(2, mode="fast")
    with pytest.raises(ValueError, match="expected a timeout above 0 seconds"):
        Collectors(2, timeout=0)
    with pytest.warns(UserWarning, match="1000 collectors share .* more of them are not faster"):
        warn_of_cores(1000)
    with pytest.raises(ValueError, match="expected collectors=0 for a run of cec that has n_envs"):
        RunConfig("cec", "GrowingTree", n_envs=2, collectors=2)
    with pytest.raises(ValueError, match="sac that trains in one process here, got 2"):
        RunConfig("sac", "GrowingTree", collectors=2)

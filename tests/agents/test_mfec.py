"""MFEC against a naive copy, its files, its lanes and what it refuses."""

import copy
import pickle
import signal
import subprocess
import sys
import time

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_mfec import NaiveMFEC

from scrubjay import CEC, MFEC, LinearSchedule, RandomProjection
from scrubjay.agents import Spaces
from scrubjay.agents.mfec import PRESETS, preset
from scrubjay.cli.main import main
from scrubjay.registry import agent_spec, make


class Lattice(gym.Env):
    """A walk on whole numbers, with chance and many ways to come back to the same state."""

    def __init__(self, n_actions=3, width=4, start=0):
        self.observation_space = gym.spaces.Box(-100, 100, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(n_actions, start=start)
        self.width, self.first = width, start

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.place = self.np_random.integers(-1, 2, 2)
        return self.place.astype(np.float32), {}

    def step(self, action):
        moves = ((1, 0), (0, 1), (-1, 0), (0, -1))
        self.place = self.place + moves[(int(action) - self.first) % 4]
        if self.np_random.random() < 0.2:
            self.place = self.place + self.np_random.integers(-1, 2, 2)
        reward = float(self.np_random.integers(-2, 3)) + 0.1 * self.place[0]
        outside = bool(np.abs(self.place).max() > self.width)
        over = self.np_random.random() < 0.02
        return self.place.astype(np.float32), reward, outside, bool(over), {}


def agent_and_naive(seed, k=3, gamma=0.9, capacity=1000, epsilon=0.1, d=0.0, project=False, hold=1):
    env = Lattice()
    embedding = RandomProjection(3) if project else None
    agent = MFEC(
        env, n_neighbors=k, gamma=gamma, capacity=capacity, epsilon=epsilon, seed=seed,
        embedding=embedding, distance_threshold=d, hold=hold,
    )  # fmt: skip

    def embed(observation):
        key = np.empty(agent.embedding.key_dim)
        agent.embedding.embed(observation.astype(np.float64), key)
        return key

    schedule = LinearSchedule(epsilon, epsilon, 1)
    naive = NaiveMFEC(
        3, k=k, gamma=gamma, capacity=capacity, epsilon=schedule, seed=seed, embed=embed, d=d,
        hold=hold,
    )  # fmt: skip
    return agent, naive


def assert_same(agent, naive):
    for memory, table, order in zip(
        agent.memories.values(), naive.tables, naive.orders, strict=True
    ):
        assert len(memory) == len(table)
        if table:
            np.testing.assert_array_equal(memory.keys, [key for key, _ in table])
            np.testing.assert_array_equal(memory.values, [value for _, value in table])
        np.testing.assert_array_equal(memory.recency_order(), order)
        memory.check_invariants()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 6),
    gamma=st.sampled_from([0.0, 0.9, 1.0]),
    capacity=st.sampled_from([1, 5, 17, 1000]),
    epsilon=st.sampled_from([0.0, 0.1, 1.0]),
    project=st.booleans(),
    hold=st.sampled_from([1, 2, 50]),
)
def test_training_is_that_of_a_naive_copy(seed, k, gamma, capacity, epsilon, project, hold):
    agent, naive = agent_and_naive(seed, k, gamma, capacity, epsilon, project=project, hold=hold)
    agent.learn(300)
    naive.train(Lattice(), 300)
    assert agent.num_timesteps == naive.steps
    assert_same(agent, naive)
    for place in np.random.default_rng(seed).integers(-6, 7, (20, 2)).astype(np.float32):
        action, _ = agent.predict(place, deterministic=True)
        assert action == naive.greedy(naive.embed(place).astype(np.float32))


def test_a_long_training_that_evicts_is_that_of_a_naive_copy():
    agent, naive = agent_and_naive(7, k=4, capacity=20)
    agent.learn(2500)
    naive.train(Lattice(), 2500)
    assert_same(agent, naive)
    assert max(map(len, agent.memories.values())) == 20


def test_states_within_a_threshold_are_the_same_state_and_keep_their_key():
    agent, naive = agent_and_naive(3, d=1.0)
    agent.learn(1500)
    naive.train(Lattice(), 1500)
    assert_same(agent, naive)


def test_one_state_has_the_best_return_of_each_action():
    spaces = Spaces(gym.spaces.Box(-1, 1, (1,), np.float32), gym.spaces.Discrete(2, start=5))
    agent = MFEC(spaces, n_neighbors=2, gamma=0.5, epsilon=0.0, seed=0)
    here, after = np.zeros(1, np.float32), np.ones(1, np.float32)
    for rewards in ([0.0, 8.0], [0.0, 2.0]):
        episode = agent.begin_episode()
        for observation, reward in zip((here, after), rewards, strict=True):
            episode.act(observation)
            episode.record(reward, action=5)
        episode.finish(here)
    left, right = agent.memories.values()
    np.testing.assert_array_equal(left.values, [8.0, 4.0])  # backwards: the last step first
    assert len(right) == 0
    # the other action was never tried: training tries it, evaluation does not
    assert agent.predict(here)[0] == 6
    assert agent.predict(here, deterministic=True)[0] == 5


def test_fewer_rows_than_neighbors_count_as_never_tried_unless_the_state_is_known():
    spaces = Spaces(gym.spaces.Box(-1, 9, (1,), np.float32), gym.spaces.Discrete(2))
    agent = MFEC(spaces, n_neighbors=3, epsilon=0.0, seed=0)
    agent.memories["action_0"].write_many(np.arange(3.0)[:, None], [1.0, 2.0, 6.0])
    agent.memories["action_1"].write_many([[0.0], [8.0]], [-5.0, 4.0])
    agent.memory_changed()
    # known in both: 1 against -5
    assert agent.predict(np.array([0.0], np.float32))[0] == 0
    # unknown: 3, the mean of all, against infinity in training and -0.5 in evaluation
    unknown = np.array([0.5], np.float32)
    assert {int(agent.predict(unknown)[0]) for _ in range(20)} == {1}
    assert agent.predict(unknown, deterministic=True)[0] == 0


def test_equal_estimates_are_chosen_equally_often():
    spaces = Spaces(gym.spaces.Box(-1, 1, (1,), np.float32), gym.spaces.Discrete(3))
    agent = MFEC(spaces, n_neighbors=1, epsilon=0.0, seed=0)
    for name, value in (("action_0", 1.0), ("action_1", 2.0), ("action_2", 2.0)):
        agent.memories[name].write([0.0], value)
    agent.memory_changed()
    actions = agent.predict(np.zeros((3000, 1), np.float32))[0]
    counts = np.bincount(actions, minlength=3)
    assert counts[0] == 0
    assert abs(counts[1] - counts[2]) < 250


def test_saved_and_loaded_it_goes_on_as_it_would_have(tmp_path):
    whole = MFEC(Lattice(), n_neighbors=3, capacity=30, epsilon=0.1, seed=4).learn(3000)
    half = MFEC(Lattice(), n_neighbors=3, capacity=30, epsilon=0.1, seed=4).learn(1500)
    half.save(tmp_path / "half")
    loaded = MFEC.load(tmp_path / "half", env=Lattice())
    assert loaded.config() == half.config()
    for again in (loaded, copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        again.set_env(Lattice())
        again.learn(3000 - again.num_timesteps)
        for name, memory in whole.memories.items():
            assert again.memories[name].digest() == memory.digest()


def test_several_environments_are_decided_together():
    def envs():
        return SyncVectorEnv([Lattice] * 3, autoreset_mode=AutoresetMode.DISABLED)

    agent = MFEC(envs(), n_neighbors=3, epsilon=0.1, seed=2).learn(2000)
    again = MFEC(envs(), n_neighbors=3, epsilon=0.1, seed=2).learn(2000)
    assert agent.num_timesteps >= 2000
    for name, memory in agent.memories.items():
        assert memory.digest() == again.memories[name].digest()
    keys = np.random.default_rng(0).integers(-4, 5, (9, 2)).astype(np.float32)
    together = agent.predict(keys, deterministic=True)[0]
    assert together.tolist() == [agent.predict(key, deterministic=True)[0] for key in keys]


def test_agents_with_different_numbers_of_actions_live_side_by_side():
    agents = [MFEC(Lattice(n), n_neighbors=2, seed=0) for n in (2, 3, 4)]
    for agent in agents:
        agent.learn(200)
        assert len(agent.memories) == agent.action_space.n


KILLED = {
    "numbers": "FourRoomsGrid --steps 20000 --n-neighbors 3 --capacity 60 --epsilon 0.2",
    # an image, whose keys are searched by the scan, and the pictures of the best rows
    "images": "MinAtarBreakout --steps 6000 --embedding project:16 --hold 8 --capacity 60",
}


@pytest.mark.parametrize("kind", KILLED)
def test_killed_and_resumed_a_run_is_the_run_that_was_never_killed(kind, tmp_path):
    if kind == "images":
        pytest.importorskip("minatar")
    words = f"train mfec {KILLED[kind]} --eval-freq 2000 --checkpoint-freq 500 --quiet --out"
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main([*words.split(), str(whole)]) == 0
    last = killed / "checkpoints" / "last.scrub"
    command = [sys.executable, "-m", "scrubjay", *words.split(), str(killed)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not last.exists():
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert main(["train", "--quiet", "--resume", str(killed)]) == 0
    for name in ("progress.csv", "episodes.csv", "eval.csv"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    mine, theirs = (MFEC.load(run / "checkpoints" / "last.scrub") for run in (killed, whole))
    for name, memory in theirs.memories.items():
        assert mine.memories[name].digest() == memory.digest()
    assert (mine.album is None) == (kind == "numbers")
    if mine.album is not None:
        state = theirs.album.state()
        assert len(state) > 0
        for name, array in mine.album.state().items():
            np.testing.assert_array_equal(array, state[name])


@pytest.mark.parametrize(
    "space", [gym.spaces.Box(-1, 1, (2,), np.float32), gym.spaces.MultiDiscrete([2, 2])]
)
def test_other_action_spaces_are_refused_with_the_methods_that_can(space):
    spaces = Spaces(gym.spaces.Box(-1, 1, (2,), np.float32), space)
    with pytest.raises(TypeError, match=r"MFEC acts in Discrete spaces only, got .*cec, cec-plus"):
        MFEC(spaces)
    CEC(spaces)


def test_observations_that_are_not_finite_are_refused():
    agent = MFEC(Lattice(), n_neighbors=1, seed=0).learn(50)
    with pytest.raises(ValueError, match="expected a finite observation"):
        agent.predict(np.array([np.nan, 0.0], np.float32), deterministic=True)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("task", ["FourRoomsGrid", "scrubjay/MsPacman-v0", "CartPole-v1"])
def test_presets(task, name):
    given = preset(task, name)
    assert set(given) <= set(agent_spec("mfec").load().preset(task, name)) | {"embedding"}
    MFEC("CartPole-v1", **{**given, "embedding": None})
    if name == "paper":
        assert (given["n_neighbors"], given["gamma"], given["epsilon"]) == (11, 1.0, 0.005)


def test_it_has_a_name_and_warms_up():
    agent = make("mfec", Lattice(), seed=0)
    assert isinstance(agent, MFEC)
    agent.warm_up()
    assert agent.num_timesteps == 0
    with pytest.raises(ValueError, match="presets default, paper, got 'papre'"):
        preset("MsPacman", "papre")

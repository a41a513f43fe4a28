"""Every step counted once, in one environment or in many, however they are reset."""

import signal
import threading
from collections import defaultdict
from functools import partial

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import scrubjay.envs  # noqa: F401
from probes import Corridor, Counting, Drift, Handmade, Mixed
from scrubjay.agents import CEC
from scrubjay.embedding import RunningNormalizer
from scrubjay.training import BaseCallback

MODES = [mode.value for mode in AutoresetMode]
LENGTHS = ((5,), (2, 3), (7, 1), (4,))


@pytest.mark.parametrize(
    ("asked", "taken"), [(0, 0), (1, 5), (5, 5), (6, 10), (99, 100), (100, 100)]
)
def test_steps_are_a_lower_bound_and_end_with_an_episode(asked, taken):
    agent = CEC(Corridor([0.0] * 5), seed=0).learn(asked)
    assert (agent.num_timesteps, agent.n_episodes) == (taken, taken // 5)


def test_episodes_can_be_counted_instead():
    agent = CEC(Corridor([0.0] * 5), seed=0).learn(total_episodes=7)
    assert (agent.num_timesteps, agent.n_episodes) == (35, 7)


def test_the_counter_goes_on_from_call_to_call():
    env = Drift()
    agent = CEC(env, seed=2)
    for _ in range(3):
        agent.learn(total_episodes=5)
    assert agent.memory.digest() == CEC(Drift(), seed=2).learn(total_episodes=15).memory.digest()
    assert agent.num_timesteps == len(env.received)


# ---------------------------------------------------------------- vectors


def vector(kind, mode, lengths=LENGTHS):
    makers = [partial(Counting, lane, length) for lane, length in enumerate(lengths)]
    if kind == "handmade":
        return Handmade(makers, mode)
    cls = SyncVectorEnv if kind == "sync" else AsyncVectorEnv
    return cls(makers, autoreset_mode=AutoresetMode(mode))


def expected_episodes(lengths, budget):
    """How many steps are taken, and how many episodes finish in each lane, stepping together."""
    steps, finished = 0, [0] * len(lengths)
    left = [length[0] for length in lengths]
    while any(left):
        running = [i for i, n in enumerate(left) if n]
        steps += len(running)
        for i in running:
            left[i] -= 1
        for i in [i for i in running if not left[i]]:
            finished[i] += 1
            if steps < budget:
                left[i] = lengths[i][finished[i] % len(lengths[i])]
    return steps, finished


def logged_episodes(log):
    """The episodes that an environment lived through: lists of (observation, action)."""
    episodes = defaultdict(list)
    for observation, action, reset in log:
        episodes[reset].append((observation, action))
    return list(episodes.values())


VECTORS = [
    *(("sync", mode) for mode in MODES),
    *(("async", mode) for mode in MODES),
    ("handmade", "NextStep"),
    ("handmade", "SameStep"),
    ("handmade", "Disabled"),
]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(("kind", "mode"), VECTORS)
def test_every_transition_is_stored_and_counted_exactly_once(kind, mode):
    env = vector(kind, mode)
    records = []

    class Watch(BaseCallback):
        def _on_rollout_end(self):
            records.append(self.model.n_episodes)

    agent = CEC(env, distance_threshold=0.1, gamma=0.5, seed=0).learn(60, callback=Watch())
    logs = env.get_attr("log") if kind != "handmade" else [e.log for e in env.envs]
    env.close()
    stored = {}
    memory = agent.memory
    for key, action, value in zip(
        memory.keys, memory.columns["action"], memory.values, strict=True
    ):
        stored[tuple(key.tolist())] = float(action[0]), float(value)
    expected = {}
    for lane, log in enumerate(logs):
        for episode in logged_episodes(log):
            value = 0.0
            for observation, action in reversed(episode):
                # the reward of a step is the number of the observation that it led to
                value = observation + 1 + 0.5 * value
                expected[100.0 * lane, float(observation)] = action, float(np.float32(value))
    # each environment's log may go on after its last episode, while it waits for the others
    assert stored.items() <= expected.items()
    assert len(stored) == len(memory) == agent.num_timesteps
    if (kind, mode) != ("handmade", "NextStep"):
        steps, finished = expected_episodes(LENGTHS, 60)
        assert agent.num_timesteps == steps
        assert agent.n_episodes == sum(finished) == len(records)
        for lane, n in enumerate(finished):
            whole = logged_episodes(logs[lane])[:n]
            assert all((100.0 * lane, float(o)) in stored for episode in whole for o, _ in episode)
            assert len(logged_episodes(logs[lane])) >= n
    else:
        # dummy steps shift the lanes against each other, but whole episodes are stored
        for lane, log in enumerate(logs):
            present = [
                [(100.0 * lane, float(o)) in stored for o, _ in episode]
                for episode in logged_episodes(log)
            ]
            assert all(all(flags) or not any(flags) for flags in present)
            counts = [all(flags) for flags in present]
            assert counts == sorted(counts, reverse=True)
        assert agent.num_timesteps >= 60


@pytest.mark.parametrize("mode", MODES)
def test_all_modes_of_gymnasiums_vectors_learn_the_same(mode):
    def digest(mode):
        env = SyncVectorEnv([Drift] * 3, autoreset_mode=AutoresetMode(mode))
        return CEC(env, seed=5).learn(600).memory.digest()

    assert digest(mode) == digest("Disabled")


SINGLES = {
    "drift": Drift,
    "mountain car": partial(gym.make, "scrubjay/SparseMountainCar-v0"),
    "dict": Mixed,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", SINGLES.values(), ids=SINGLES)
def test_a_vector_of_one_learns_what_the_single_environment_does(make, mode):
    def trained(env):
        agent = CEC(env, seed=7, embedding=RunningNormalizer(), distance_threshold=0.3)
        return agent.learn(1500)

    single = trained(make())
    one = trained(SyncVectorEnv([make], autoreset_mode=AutoresetMode(mode)))
    assert one.memory.digest() == single.memory.digest()
    assert (one.num_timesteps, one.n_episodes) == (single.num_timesteps, single.n_episodes)
    for name, array in single.embedding.state().items():
        np.testing.assert_array_equal(one.embedding.state()[name], array)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_sync_and_async_learn_the_same():
    digests = set()
    for cls in (SyncVectorEnv, AsyncVectorEnv):
        env = cls([Drift, Drift])
        digests.add(CEC(env, seed=5).learn(300).memory.digest())
        env.close()
    assert len(digests) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_handmade_vector_of_one_learns_what_the_single_environment_does(mode):
    # the corridor has no chance, so seeds do not matter
    single = CEC(Corridor([0.0, 1.0, 2.0]), seed=0).learn(100)
    one = CEC(Handmade([lambda: Corridor([0.0, 1.0, 2.0])], mode), seed=0).learn(100)
    assert one.memory.digest() == single.memory.digest()
    assert one.num_timesteps == single.num_timesteps


@pytest.mark.parametrize("mode", MODES)
def test_a_handmade_vector_is_reproducible(mode):
    digests = {
        CEC(Handmade([Drift] * 3, mode), seed=3).learn(300).memory.digest() for _ in range(2)
    }
    assert len(digests) == 1


def test_episodes_that_end_together_are_written_in_the_order_of_environments():
    env = SyncVectorEnv([lambda: Corridor([1.0, 1.0])] * 3)
    agent = CEC(env, epsilon=1.0, exploration="uniform", seed=0).learn(6)
    # all three see the same two states; the first writes, the others find them no better
    assert len(agent.memory) == 2
    solo = CEC(Corridor([1.0, 1.0]), epsilon=1.0, exploration="uniform", seed=0).learn(2)
    np.testing.assert_array_equal(agent.memory.columns["action"], solo.memory.columns["action"])


# ---------------------------------------------------------------- evaluation and callbacks


@pytest.mark.parametrize("embedding", [None, RunningNormalizer])
def test_how_often_one_evaluates_never_changes_what_is_learned(embedding):
    def digest(**options):
        agent = CEC(Drift(), seed=1, embedding=embedding and embedding())
        return agent.learn(800, **options).memory.digest()

    plain = digest()
    assert digest(eval_env=Drift(), eval_freq=50, n_eval_episodes=2) == plain
    assert digest(eval_env=Drift(), eval_freq=1, n_eval_episodes=1) == plain
    assert digest(eval_env=Drift()) == plain


def test_a_function_is_called_at_every_step_and_may_stop():
    calls = []
    agent = CEC(Corridor([0.0] * 5), seed=0)
    agent.learn(100, callback=lambda inner, outer: calls.append((inner["self"], outer)))
    assert len(calls) == agent.num_timesteps == 100
    assert calls[0][0] is agent
    agent = CEC(Corridor([0.0] * 5), seed=0)
    agent.learn(100, callback=lambda *_: agent.num_timesteps < 12)
    assert agent.num_timesteps == 10, "the open episode is given up"


class Events(BaseCallback):
    def __init__(self):
        self.events = []

    def _init_callback(self):
        self.events.append("init")

    def _on_training_start(self):
        self.events.append(f"start {self.num_timesteps}")

    def _on_rollout_start(self):
        self.events.append("episode")

    def _on_step(self):
        self.events.append(self.num_timesteps)
        return True

    def _on_rollout_end(self):
        self.events.append(f"end {self.model.n_episodes}")

    def _on_training_end(self):
        self.events.append("over")


def test_an_object_is_told_everything_in_order():
    callback = Events()
    CEC(Corridor([0.0, 0.0]), seed=0).learn(3, callback=callback)
    assert callback.events == [
        "init", "start 0", "episode", 1, "end 1", 2, "episode", 3, "end 2", 4, "over",
    ]  # fmt: skip
    assert callback.n_calls == 4


def test_lists_of_callbacks_are_all_told_even_when_one_stops():
    first, last = Events(), Events()
    CEC(Corridor([0.0] * 5), seed=0).learn(50, callback=[first, lambda *_: False, [last]])
    assert first.events == last.events == ["init", "start 0", "episode", 1, "over"]


def test_something_that_is_no_callback_is_refused_before_anything_happens(tmp_path):
    agent = CEC(Corridor(), seed=0)
    with pytest.raises(TypeError, match=r"expected a callback.*got int"):
        agent.learn(10, callback=[3], run_folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_evaluation_needs_an_environment_of_its_own():
    env = Drift()
    with pytest.raises(ValueError, match="expected eval_env"):
        CEC(env, seed=0).learn(10, eval_freq=5)
    with pytest.raises(ValueError, match="of its own"):
        CEC(env, seed=0).learn(10, eval_freq=5, eval_env=env)
    with pytest.raises(TypeError, match=r"expected one Gymnasium environment.*got SyncVectorEnv"):
        CEC(env, seed=0).learn(10, eval_freq=5, eval_env=SyncVectorEnv([Drift]))


@pytest.mark.parametrize("position", [3, None, (1.0, 2.0, 3.0), ([1.0], [2.0, 3.0]), len, "ab"])
def test_what_a_task_of_ones_own_calls_its_position_is_its_own_affair(position, tmp_path):
    env = Drift()
    env.position = position
    CEC(Drift(), seed=0).learn(
        100, eval_env=env, eval_freq=50, n_eval_episodes=1, run_folder=tmp_path / "run"
    )
    assert not (tmp_path / "run" / "trajectories.csv").exists()


def test_the_way_of_a_task_in_the_plane_is_kept(tmp_path):
    class Moving(Drift):
        @property
        def position(self):
            return float(self.point[0]), float(self.point[1])

    CEC(Drift(), seed=0).learn(
        100, eval_env=Moving(), eval_freq=50, n_eval_episodes=4, run_folder=tmp_path / "run"
    )
    ways = pd.read_csv(tmp_path / "run" / "trajectories.csv")
    episodes = pd.read_csv(tmp_path / "run" / "eval.csv")
    last = ways.groupby(["timestep", "episode"]).step.max()
    lengths = episodes[episodes.episode < 3].set_index(["timestep", "episode"]).length
    assert last.to_dict() == lengths.to_dict()
    assert (ways.groupby(["timestep", "episode"]).step.min() == 0).all()


def test_training_works_in_a_thread_where_signals_cannot_be_asked_for():
    agent = CEC(Drift(), seed=2)
    thread = threading.Thread(target=agent.learn, args=(200,))
    thread.start()
    thread.join()
    assert agent.memory.digest() == CEC(Drift(), seed=2).learn(200).memory.digest()


def test_the_handlers_of_signals_are_given_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    CEC(Drift(), seed=0).learn(20)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eval_freq": -1}, r"eval_freq.*-1"),
        ({"log_freq": -5}, r"log_freq.*-5"),
        ({"checkpoint_freq": -5}, r"checkpoint_freq.*-5"),
        ({"checkpoint_steps": (0, 5)}, r"checkpoint_steps.*0, 5"),
        ({"eval_env": "scrubjay/GrowingTree-v0", "n_eval_episodes": 0}, r"at least 1.*got 0"),
        ({"tensorboard": True}, r"expected run_folder"),
    ],
)
def test_bad_plans_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        CEC(Corridor(), seed=0).learn(10, **options)

"""A method with several memories, written as somebody outside of scrubjay would write one."""

import copy
import pickle
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from probes import Drift, Keys
from scrubjay.agents import CEC, MemoryAgent
from scrubjay.agents.recorder import CHOICE, DECIDES, STEP, Choice, Learned, Notes
from scrubjay.agents.settings import Range
from scrubjay.embedding import Embedding, FrozenNormalizer
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.memory.writing import discounted_returns


class PerAction(MemoryAgent):
    """One memory for each discrete action; the action whose nearest row is worth most is taken.

    Args:
        env: an environment with Discrete actions
        rows: rows of each memory
        epsilon: probability of a random action
    """

    name = "per-action"

    def __init__(
        self,
        env: Any,
        *,
        rows: Annotated[int, Range(1)] = 1000,
        epsilon: Annotated[float, Range(0, 1)] = 0.2,
        gamma: Annotated[float, Range(0, 1)] = 0.9,
        embedding: Embedding | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(env, locals())

    notes = Notes(uniforms=3)

    def make_memories(self):
        return {
            f"action_{i}": EpisodicMemory(
                self.embedding.key_dim, capacity=self.rows, distance_threshold=0.1, columns={}
            )
            for i in range(self.action_space.n)
        }

    def memory_changed(self):
        self.n_changes = getattr(self, "n_changes", 0) + 1

    def best_action(self, key):
        def worth(memory):
            return memory.values[memory.nearest(key)[0]] if len(memory) else -np.inf

        return int(np.argmax([worth(memory) for memory in self.memories.values()]))

    def decide(self, lanes, keys):
        for lane in np.flatnonzero(lanes.state[:, DECIDES]):
            step = lanes.state[lane, STEP]
            draws = lanes.draws[lane, step % lanes.draws.shape[1]]
            lanes.keys[lane, step] = keys[lane]
            explore = draws[0] < self.epsilon
            action = (
                int(draws[2] * self.action_space.n) if explore else self.best_action(keys[lane])
            )
            lanes.actions[lane, step] = action
            lanes.trace[lane, step, CHOICE] = Choice.UNIFORM if explore else Choice.MEMORY
        return -1

    def greedy_actions(self, keys):
        return np.array([[self.best_action(key)] for key in keys], np.float32)

    def learn_from(self, experience):
        returns = discounted_returns(experience.rewards, self.gamma, 0.0)
        outcomes = []
        for i, memory in enumerate(self.memories.values()):
            taken = np.flatnonzero(experience.actions[:, 0] == i)[::-1]
            outcomes.append(memory.write_many(experience.keys[taken], returns[taken])[1])
        return Learned(np.concatenate(outcomes))


EMBEDDINGS = {"identity": lambda: None, "frozen": lambda: FrozenNormalizer(100)}
OBSERVATIONS = np.random.default_rng(0).uniform(-1.5, 1.5, (30, 2))


@pytest.fixture(params=EMBEDDINGS.values(), ids=EMBEDDINGS)
def agent(request):
    return PerAction(Keys(), embedding=request.param(), seed=4).learn(600)


def digests(agent):
    return {name: memory.digest() for name, memory in agent.memories.items()}


def test_all_memories_are_written_and_counted(agent):
    sizes = [len(memory) for memory in agent.memories.values()]
    assert len(sizes) == 4
    assert min(sizes) > 0
    assert agent.memory is agent.memories["action_0"]
    assert agent.nbytes == sum(memory.nbytes for memory in agent.memories.values())
    assert agent.metrics({})["memory/size"] == agent.gauges()["memory"] == sum(sizes)


def test_all_memories_are_saved_and_loaded(agent, tmp_path):
    agent.save(tmp_path / "agent.scrub")
    for cls in (PerAction, MemoryAgent):
        loaded = cls.load(tmp_path / "agent.scrub", env=Keys())
        assert type(loaded) is PerAction
        assert digests(loaded) == digests(agent)
        assert loaded.nbytes == sum(memory.nbytes for memory in loaded.memories.values())
        np.testing.assert_array_equal(
            loaded.predict(OBSERVATIONS, deterministic=True)[0],
            agent.predict(OBSERVATIONS, deterministic=True)[0],
        )
        assert digests(loaded.learn(200)) == digests(copy.deepcopy(agent).learn(200))
    with pytest.raises(ArchiveError, match=r"saved by PerAction.*use PerAction\.load"):
        CEC.load(tmp_path / "agent.scrub")


def test_only_what_was_written_changes_between_copies(agent):
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        before = digests(agent)
        other.learn(100)
        assert digests(agent) == before != digests(other)


def test_a_method_is_told_of_every_change(agent):
    before, episodes = agent.n_changes, agent.n_episodes
    agent.learn(200)
    assert agent.n_changes - before == agent.n_episodes - episodes


def test_memories_share_one_embedding_and_wait_for_it_together():
    agent = PerAction(Keys(), embedding=FrozenNormalizer(10_000), seed=4).learn(300)
    assert digests(agent).keys() == {f"action_{i}" for i in range(4)}
    assert not any(len(memory) for memory in agent.memories.values())
    assert sum(len(episode.rewards) for episode in agent.held) == agent.num_timesteps


def test_vectors_and_single_environments_are_the_same_method():
    single = PerAction(Keys(), seed=4).learn(600)
    one = PerAction(SyncVectorEnv([Keys]), seed=4).learn(600)
    assert digests(one) == digests(single)
    several = PerAction(SyncVectorEnv([Keys] * 3), seed=4).learn(600)
    assert min(len(memory) for memory in several.memories.values()) > 0


def test_warm_up_and_run_folders_work(agent, tmp_path):
    before = digests(agent)
    agent.warm_up()
    assert digests(agent) == before
    agent.learn(200, run_folder=tmp_path / "run")
    last = PerAction.load(tmp_path / "run" / "checkpoints" / "last.scrub")
    assert digests(last) == digests(agent)


def test_spaces_that_the_codec_does_not_know_are_refused_by_the_methods_name():
    class Cube(Keys):
        def __init__(self):
            super().__init__(gym.spaces.MultiBinary(3))

    with pytest.raises(TypeError, match="PerAction acts in the spaces Box"):
        PerAction(Cube())


@pytest.mark.parametrize("name", ["action 1", "left-hand", "left/right", "", "..", "größe"])
def test_a_name_that_a_file_cannot_have_is_refused_at_once(name):
    class Misnamed(PerAction):
        def make_memories(self):
            return {name: next(iter(super().make_memories().values()))}

    with pytest.raises(ValueError, match="expected the name of a memory"):
        Misnamed(Keys())


# ---------------------------------------------------------------- files that contradict themselves


def change_memories(manifest, arrays, how):
    name = "action_1"
    if how == "one missing":
        del manifest["memories"][name]
    elif how == "one more":
        manifest["memories"]["action_9"] = manifest["memories"][name]
        arrays |= {
            key.replace(name, "action_9"): array for key, array in arrays.items() if name in key
        }
    elif how == "another name":
        manifest["memories"]["left"] = manifest["memories"].pop(name)
    elif how == "another layout":
        manifest["memories"][name]["capacity"] = 77
    elif how == "no rows of one":
        for key in [key for key in arrays if name in key]:
            del arrays[key]


@pytest.mark.parametrize(
    "how", ["one missing", "one more", "another name", "another layout", "no rows of one"]
)
def test_memories_that_contradict_the_method_are_refused(how, agent, tmp_path):
    path = tmp_path / "agent.scrub"
    agent.save(path)
    manifest, arrays = read_archive(path, "agent")
    del manifest["format"], manifest["schema"]
    write_archive(path, manifest, arrays)
    assert digests(MemoryAgent.load(path)) == digests(agent)
    change_memories(manifest, arrays, how)
    write_archive(path, manifest, arrays)
    with pytest.raises(ArchiveError, match=r"agent\.scrub"):
        MemoryAgent.load(path)


def test_a_method_with_one_memory_has_a_file_with_one():
    agent = CEC(Drift(), seed=0).learn(50)
    assert list(agent.memories) == ["memory"]
    assert agent.memories["memory"] is agent.memory

"""A saved agent is the agent: it predicts the same and learns on as if never stopped."""

import copy
import json
import pickle
import zipfile

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import scrubjay.envs  # noqa: F401
from probes import Corridor, Counting, Drift, Mixed
from scrubjay.agents import CEC, MemoryAgent
from scrubjay.embedding import (
    Chain,
    FrozenNormalizer,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
)
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.training import BaseCallback

EMBEDDINGS = {
    "identity": lambda: None,
    "running": RunningNormalizer,
    "frozen": lambda: FrozenNormalizer(100),
    "not yet frozen": lambda: FrozenNormalizer(100_000),
    "chain": lambda: Chain([RandomProjection(3), RunningNormalizer()]),
}


def make(embedding=lambda: None, env=None, **settings):
    return CEC(env or Drift(), embedding=embedding(), seed=6, **settings)


def assert_same_agent(one, other):
    assert other.config() == one.config()
    assert other.memory.digest() == one.memory.digest()
    assert other.num_timesteps == one.num_timesteps
    assert other.n_episodes == one.n_episodes
    assert other.embedding.state().keys() == one.embedding.state().keys()
    for name, array in one.embedding.state().items():
        np.testing.assert_array_equal(other.embedding.state()[name], array)


@pytest.mark.filterwarnings("ignore:the memory is empty")
@pytest.mark.parametrize("embedding", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_predict_before_saving_equals_predict_after_loading(embedding, tmp_path):
    agent = make(embedding).learn(600)
    observations = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    expected, _ = agent.predict(observations, deterministic=True)
    agent.save(tmp_path / "agent.scrub")
    loaded = CEC.load(tmp_path / "agent.scrub")
    assert loaded.env is None
    assert_same_agent(agent, loaded)
    np.testing.assert_array_equal(loaded.predict(observations, deterministic=True)[0], expected)
    assert loaded.observation_space == agent.observation_space
    assert loaded.action_space == agent.action_space


@pytest.mark.parametrize("embedding", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_learning_goes_on_after_loading_as_if_never_stopped(embedding, tmp_path):
    whole = make(embedding).learn(400)
    whole.save(tmp_path / "agent.scrub")
    loaded = CEC.load(tmp_path / "agent.scrub", env=Drift())
    assert_same_agent(whole.learn(500), loaded.learn(500))


class SaveAt(BaseCallback):
    """Saves in the middle of an episode."""

    def __init__(self, step, path):
        self.step, self.path = step, path

    def _on_step(self):
        if self.num_timesteps == self.step:
            self.model.save(self.path)
        return True


@pytest.mark.parametrize("embedding", EMBEDDINGS.values(), ids=EMBEDDINGS)
@pytest.mark.parametrize("step", [7, 333, 334, 335, 336])
def test_saving_in_an_episode_writes_the_last_boundary(embedding, step, tmp_path):
    path = tmp_path / "agent.scrub"
    whole = make(embedding).learn(700, callback=SaveAt(step, path))
    loaded = MemoryAgent.load(path, env=Drift())
    assert loaded.num_timesteps <= step
    boundary = make(embedding)
    if loaded.num_timesteps:
        boundary.learn(loaded.num_timesteps)
    assert_same_agent(boundary, loaded)
    loaded.learn(700 - loaded.num_timesteps)
    assert_same_agent(whole, loaded)


@pytest.mark.parametrize("step", [13, 58, 100, 119, 121, 123, 125, 127])
def test_saving_a_vector_training_keeps_counters_and_memory_together(step, tmp_path):
    lengths = ((30,), (7,), (11,))
    env = SyncVectorEnv([lambda i=i, n=n: Counting(i, n) for i, n in enumerate(lengths)])
    path = tmp_path / "agent.scrub"

    class Save(BaseCallback):
        saved, n_open = None, 0

        def _on_rollout_start(self):
            self.n_open += 1

        def _on_rollout_end(self):
            self.n_open -= 1

        def _on_step(self):
            if self.num_timesteps >= step and self.saved is None:
                self.model.save(path)
                self.saved = (
                    len(self.model.memory), self.num_timesteps, self.model.n_episodes, self.n_open,
                )  # fmt: skip
            return True

    callback = Save()
    agent = CEC(env, seed=6)
    agent.learn(100, callback=callback)
    loaded = CEC.load(path)
    rows, timesteps, episodes, n_open = callback.saved
    manifest, _ = read_archive(path, "agent")
    begun = sum(manifest["counters"]["next_episodes"].values())
    dropped = manifest["counters"]["n_dropped_episodes"]
    assert (len(loaded.memory), loaded.n_episodes) == (rows, episodes)
    # before the first end of an episode nothing is lost by going back to the very start
    assert loaded.num_timesteps == (timesteps if episodes else 0)
    assert dropped == (n_open if episodes else 0)
    assert begun == episodes + dropped


def test_dict_spaces_come_back_with_their_order(tmp_path):
    agent = CEC(Mixed(), embedding=SelectKeys(["goal", "arm"]), seed=0).learn(50)
    agent.save(tmp_path / "agent.scrub")
    loaded = CEC.load(tmp_path / "agent.scrub")
    assert list(loaded.observation_space.spaces) == list(agent.observation_space.spaces)
    assert loaded.observation_space == agent.observation_space
    observation = agent.observation_space.sample()
    expected = agent.predict(observation, deterministic=True)[0]
    np.testing.assert_array_equal(loaded.predict(observation, deterministic=True)[0], expected)


def test_many_held_episodes_can_be_saved_and_loaded(tmp_path):
    agent = CEC(Corridor(), embedding=FrozenNormalizer(9000), seed=1).learn(6000)
    agent.save(tmp_path / "agent.scrub")
    loaded = CEC.load(tmp_path / "agent.scrub", env=Corridor())
    assert_same_agent(agent.learn(6000), loaded.learn(6000))
    assert len(agent.memory) == 3


def test_equal_agents_make_equal_files(tmp_path):
    for name in ("a.scrub", "b.scrub"):
        make(RunningNormalizer).learn(300).save(tmp_path / name)
    assert (tmp_path / "a.scrub").read_bytes() == (tmp_path / "b.scrub").read_bytes()


def test_an_environment_with_other_spaces_is_refused(tmp_path):
    agent = make().learn(100)
    env, before = agent.get_env(), agent.memory.digest()
    for other in (Drift(3), Drift(dtype=np.float64), Corridor()):
        with pytest.raises(ValueError, match=r"(?s)expected the spaces .*Box.*, got .*Box"):
            agent.set_env(other)
    assert agent.get_env() is env
    agent.save(tmp_path / "agent.scrub")
    with pytest.raises(ValueError, match="expected the spaces"):
        CEC.load(tmp_path / "agent.scrub", env=Drift(3))
    assert agent.memory.digest() == before


def test_learning_without_an_environment_says_what_to_do(tmp_path):
    make().save(tmp_path / "agent.scrub")
    with pytest.raises(ValueError, match=r"set_env\(env\)"):
        CEC.load(tmp_path / "agent.scrub").learn(10)


def test_an_agent_can_be_made_and_loaded_by_the_id_of_its_task(tmp_path):
    agent = CEC("scrubjay/GrowingTree-v0", distance_threshold=0.01, seed=0).learn(200)
    agent.save(tmp_path / "agent.scrub")
    loaded = CEC.load(tmp_path / "agent.scrub", env="scrubjay/GrowingTree-v0")
    assert_same_agent(agent.learn(200), loaded.learn(200))


def test_the_vector_of_a_loaded_agent_may_replace_its_environment(tmp_path):
    make().save(tmp_path / "agent.scrub")
    loaded = CEC.load(tmp_path / "agent.scrub", env=SyncVectorEnv([Drift, Drift]))
    assert loaded.learn(100).num_timesteps >= 100


# ---------------------------------------------------------------- damaged files


def damage(path, how):
    whole = path.read_bytes()
    if how == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "flipped bit":
        at = len(whole) // 2
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    elif how == "foreign":
        path.write_bytes(b"PK\x03\x04 this is something else")
    elif how == "foreign zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data.txt", "hello")
    elif how == "memory":
        make().memory.save(path)
    elif how == "newer":
        text = whole.replace(b'"schema": 2', b'"schema": 9')
        with zipfile.ZipFile(path) as old:
            members = {name: old.read(name) for name in old.namelist()}
        manifest = json.loads(members["manifest.json"])
        manifest["schema"] = 9
        members["manifest.json"] = json.dumps(manifest).encode()
        assert text != whole
        with zipfile.ZipFile(path, "w") as new:
            for name, content in members.items():
                new.writestr(name, content)
    else:
        manifest, arrays = read_archive(path, "agent")
        manifest.pop("format"), manifest.pop("schema")
        change_content(manifest, arrays, how)
        write_archive(path, manifest, arrays)


def change_content(manifest, arrays, how):
    if how == "other agent":
        manifest["agent"] = "DQN"
    elif how == "no counters":
        del manifest["counters"]
    elif how == "no agent":
        del manifest["agent"]
    elif how == "unknown option":
        manifest["config"]["telepathy"] = True
    elif how == "bad option":
        manifest["config"]["temperature"] = -1
    elif how == "no embedding state":
        del arrays["embedding/mean"]
    elif how == "unknown embedding":
        manifest["config"]["embedding"] = {"name": "magic"}
    elif how == "bad counters":
        manifest["counters"]["num_timesteps"] = "many"
    else:
        del arrays["spaces/action/low"]


DAMAGES = [
    "truncated", "empty", "flipped bit", "foreign", "foreign zip", "memory", "newer",
    "other agent", "no counters", "no agent", "unknown option", "bad option",
    "no embedding state", "unknown embedding", "bad counters", "no space",
]  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_foreign_or_newer_file_gives_one_kind_of_error(how, tmp_path):
    path = tmp_path / "agent.scrub"
    make(RunningNormalizer).learn(100).save(path)
    damage(path, how)
    before = path.read_bytes()
    with pytest.raises(ArchiveError, match=r"agent\.scrub"):
        CEC.load(path)
    assert path.read_bytes() == before


def test_a_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        CEC.load(tmp_path / "nowhere.scrub")


def test_saving_where_nothing_can_be_written_leaves_the_older_file(tmp_path):
    agent = make().learn(50)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match=r"could not write .*file"):
        agent.save(tmp_path / "file" / "agent.scrub")
    assert (tmp_path / "file").read_text() == "in the way"


# ---------------------------------------------------------------- copies


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))])
@pytest.mark.parametrize("embedding", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_a_copy_is_independent_and_learns_the_same(copied, embedding):
    agent = make(embedding).learn(300)
    other = copied(agent)
    before = agent.memory.digest()
    other.learn(300)
    assert agent.memory.digest() == before
    assert_same_agent(agent.learn(300), other)


def test_agents_that_were_given_the_same_embedding_do_not_disturb_each_other():
    shared = RunningNormalizer()
    first, second = (CEC(Drift(), embedding=shared, seed=6) for _ in range(2))
    first.learn(100)
    second.learn(300)
    first.learn(200)
    CEC(Drift(3), embedding=shared, seed=0)
    assert_same_agent(second, CEC(Drift(), embedding=RunningNormalizer(), seed=6).learn(300))
    whole = CEC(Drift(), embedding=RunningNormalizer(), seed=6).learn(100)
    assert_same_agent(first, whole.learn(200))


# ---------------------------------------------------------------- fitted embeddings


def test_defect_17_the_embedding_of_another_agent_keeps_what_it_knows():
    first = CEC(Drift(), embedding=Chain([RandomProjection(3), RunningNormalizer()]), seed=1)
    known = first.learn(200).embedding.state()
    second = CEC(Drift(), embedding=first.embedding, seed=2)
    for name, array in second.embedding.state().items():
        np.testing.assert_array_equal(array, known[name])
    second.learn(100)
    np.testing.assert_array_equal(first.embedding.state()["1/mean"], known["1/mean"])


def test_defect_17_a_normaliser_fitted_by_hand_is_ready_at_once():
    embedding = FrozenNormalizer(20)
    embedding.bind((np.full(2, -10.0), np.full(2, 10.0)), 0)
    for vector in np.random.default_rng(0).normal(3.0, 2.0, (50, 2)):
        embedding.observe(vector, np.empty(2))
    embedding.end_episode()
    agent = CEC(Drift(), embedding=embedding, seed=0)
    assert agent.embedding.ready
    np.testing.assert_array_equal(agent.embedding.state()["mean"], embedding.state()["mean"])
    agent.learn(1)
    assert len(agent.memory) > 0


@pytest.mark.parametrize("stage", [RunningNormalizer(), Chain([RunningNormalizer()])])
def test_defect_17_an_embedding_fitted_to_another_dimension_is_refused(stage):
    fitted = CEC(Drift(), embedding=stage, seed=0).learn(50).embedding
    with pytest.raises(ValueError, match=r"fitted to other observations.*2.*3.*pass a new one"):
        CEC(Drift(3), embedding=fitted, seed=0)


def test_an_embedding_that_knows_nothing_fits_everywhere():
    used = CEC(Drift(), seed=0).learn(50).embedding
    assert CEC(Drift(3), embedding=used, seed=0).embedding.key_dim == 3


# ---------------------------------------------------------------- subclasses


class Unnamed(CEC):
    """Saves under the name that it inherits."""


class Named(CEC):
    name = "cec named for this test"


@pytest.mark.parametrize("cls", [Unnamed, Named])
def test_defect_17_a_subclass_loads_itself(cls, tmp_path):
    agent = cls(Drift(), seed=6).learn(100)
    agent.save(tmp_path / "agent.scrub")
    loaded = cls.load(tmp_path / "agent.scrub")
    assert type(loaded) is cls
    assert_same_agent(agent, loaded)
    assert type(CEC.load(tmp_path / "agent.scrub")) is (CEC if cls is Unnamed else Named)


def test_defect_17_loading_says_which_class_is_needed(tmp_path):
    path = tmp_path / "agent.scrub"
    make().learn(50).save(path)
    with pytest.raises(ArchiveError, match=r"agent\.scrub.*saved by CEC.*use CEC\.load"):
        Named.load(path)
    manifest, arrays = read_archive(path, "agent")
    del manifest["format"], manifest["schema"]
    write_archive(path, {**manifest, "agent": "cec-of-someone"}, arrays)
    for cls in (CEC, Named, MemoryAgent):
        with pytest.raises(ArchiveError, match=r"name = 'cec-of-someone'.*import the module"):
            cls.load(path)


def test_gym_make_ids_keep_their_time_limit():
    env = gym.make("scrubjay/GrowingTree-v0")
    assert CEC(env, epsilon=1.0, noise_std=0, seed=0).learn(1).num_timesteps <= 200


def test_a_pickled_agent_decides_from_its_own_memory():
    agent = CEC("scrubjay/GrowingTree-v0", distance_threshold=0.01, seed=1).learn(200)
    twin = pickle.loads(pickle.dumps(agent))
    for each in (agent, twin, copy.deepcopy(agent)):
        each.learn(500)
        assert each.memory.digest() == agent.memory.digest()

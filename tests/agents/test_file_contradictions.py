"""Files whose checksums are right and whose content is not: every contradiction is refused."""

import copy
import zipfile

import numpy as np
import pytest

from probes import Drift, Mixed
from scrubjay.agents import CEC, CECPlus, MemoryAgent
from scrubjay.embedding import (
    BoundsScaler,
    Chain,
    FrozenNormalizer,
    Periodic,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
)
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive

AGENTS = {
    "identity": lambda: CEC(Drift(), seed=6),
    "running": lambda: CEC(Drift(), embedding=RunningNormalizer(), seed=6),
    "frozen": lambda: CEC(Drift(), embedding=FrozenNormalizer(50), seed=6),
    "waiting": lambda: CEC(Drift(), embedding=FrozenNormalizer(100_000), seed=6),
    "chain": lambda: CEC(
        Drift(), embedding=Chain([BoundsScaler(), RandomProjection(3), RunningNormalizer()]), seed=6
    ),
    "dict": lambda: CEC(Mixed(), embedding=SelectKeys(["goal", "arm"]), seed=6),
    "plus": lambda: CECPlus(Drift(), seed=6),
    "angles": lambda: CECPlus(
        Drift(), embedding=Chain([Periodic([1]), FrozenNormalizer(50)]), seed=6
    ),
}


def content_of(path, kind="agent"):
    manifest, arrays = read_archive(path, kind)
    del manifest["format"], manifest["schema"]
    return manifest, arrays


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Manifest and arrays of a saved agent, by the name of its maker."""
    folder = tmp_path_factory.mktemp("agents")
    contents = {}

    def content(name):
        if name not in contents:
            AGENTS[name]().learn(150).save(folder / f"{name}.scrub")
            contents[name] = content_of(folder / f"{name}.scrub")
        return copy.deepcopy(contents[name])

    return content


def assert_refused(path, manifest, arrays, message=""):
    write_archive(path, manifest, arrays)
    with pytest.raises(ArchiveError, match=r"(?s)agent\.scrub.*" + message):
        MemoryAgent.load(path)


@pytest.mark.parametrize("name", AGENTS)
def test_a_file_that_is_written_again_loads(name, saved, tmp_path):
    write_archive(tmp_path / "agent.scrub", *saved(name))
    MemoryAgent.load(tmp_path / "agent.scrub")


# ---------------------------------------------------------------- memory against agent


def put_memory(manifest, arrays, memory):
    """Another memory in place of the agent's own."""
    manifest["memories"] = {}
    manifest["memories"]["memory"], found = memory.state()
    for name in [name for name in arrays if name.startswith("memories/")]:
        del arrays[name]
    arrays.update({f"memories/memory/{name}": array for name, array in found.items()})


def other_memory(**changes):
    settings = {"capacity": 1_000_000, "distance_threshold": 0.1, "columns": {"action": 2}}
    settings |= changes
    memory = EpisodicMemory(settings.pop("key_dim", 2), **settings)
    columns = {
        name: np.zeros((3, *column.shape[1:]), column.dtype)
        for name, column in memory.column_arrays.items()
    }
    memory.write_many(np.arange(3 * memory.key_dim).reshape(3, -1), np.ones(3), **columns)
    return memory


MEMORIES = {
    "key_dim": {"key_dim": 5},
    "action width": {"columns": {"action": 3}},
    "action type": {"columns": {"action": (2, np.float64)}},
    "another column": {"columns": {"action": 2, "more": 1}},
    "no action": {"columns": {"steps": 2}},
    "capacity": {"capacity": 10},
    "distance_threshold": {"distance_threshold": 0.2},
    "rule": {"rule": "append"},
    "recency": {"recency": "hit"},
}


@pytest.mark.parametrize("name", MEMORIES)
def test_defect_14_a_memory_that_contradicts_its_agent_is_refused(name, saved, tmp_path):
    manifest, arrays = saved("identity")
    put_memory(manifest, arrays, other_memory())
    write_archive(tmp_path / "same.scrub", manifest, arrays)
    assert len(CEC.load(tmp_path / "same.scrub").memory) == 3
    put_memory(manifest, arrays, other_memory(**MEMORIES[name]))
    assert_refused(tmp_path / "agent.scrub", manifest, arrays, "contradict")


def test_defect_14_stored_actions_outside_of_the_action_space_are_refused(saved, tmp_path):
    manifest, arrays = saved("identity")
    arrays["memories/memory/columns/action"][1, 0] = 1e6
    assert_refused(
        tmp_path / "agent.scrub", manifest, arrays, r"stored actions of numbers from .*1.*e\+06"
    )


def test_defect_14_rows_without_a_ready_embedding_are_refused(saved, tmp_path):
    manifest, arrays = saved("frozen")
    arrays["embedding/frozen"][0] = False
    assert_refused(tmp_path / "agent.scrub", manifest, arrays, "no keys yet")


# ---------------------------------------------------------------- embeddings


def change(arrays, name, do):
    arrays[name] = do(arrays[name])


def filled(value):
    return lambda array: np.full_like(array, value)


STATES = {
    "NaN mean": ("running", "mean", filled(np.nan)),
    "infinite mean": ("running", "mean", filled(np.inf)),
    "NaN variance": ("running", "variance", filled(np.nan)),
    "negative variance": ("running", "variance", filled(-1.0)),
    "negative count": ("running", "count", filled(-1.0)),
    "NaN count": ("running", "count", filled(np.nan)),
    "scalar mean": ("running", "mean", lambda array: array[:1]),
    "wide mean": ("running", "mean", lambda array: np.append(array, 0.0)),
    "float32 mean": ("running", "mean", lambda array: array.astype(np.float32)),
    "integer count": ("running", "count", lambda array: array.astype(np.int64)),
    "zero frozen variance": ("frozen", "variance", filled(0.0)),
    "frozen as a number": ("frozen", "frozen", lambda array: array.astype(np.int64)),
    "no frozen": ("frozen", "frozen", lambda array: array[:0]),
    "narrow matrix": ("chain", "1/matrix", lambda array: array[:, :2]),
    "turned matrix": ("chain", "1/matrix", lambda array: np.ascontiguousarray(array.T)),
    "NaN matrix": ("chain", "1/matrix", filled(np.nan)),
    "NaN in a chain": ("chain", "2/variance", filled(np.nan)),
}


@pytest.mark.parametrize("name", STATES)
def test_defect_14_bad_statistics_are_refused(name, saved, tmp_path):
    agent, array, do = STATES[name]
    manifest, arrays = saved(agent)
    change(arrays, f"embedding/{array}", do)
    assert_refused(tmp_path / "agent.scrub", manifest, arrays)


@pytest.mark.parametrize("name", AGENTS)
def test_defect_14_missing_and_foreign_arrays_of_an_embedding_are_refused(name, saved, tmp_path):
    manifest, arrays = saved(name)
    arrays["embedding/foreign"] = np.zeros(2)
    assert_refused(tmp_path / "agent.scrub", manifest, arrays, "foreign")
    del arrays["embedding/foreign"]
    for own in [own for own in arrays if own.startswith("embedding/")]:
        assert_refused(
            tmp_path / "agent.scrub", manifest, {key: arrays[key] for key in arrays if key != own}
        )


# ---------------------------------------------------------------- held episodes, spaces


HELD = {
    "wide vectors": ("vectors", lambda array: np.hstack([array, array])),
    "wide actions": ("actions", lambda array: np.hstack([array, array])),
    "wide rewards": ("rewards", lambda array: array[:, None]),
    "few rewards": ("rewards", lambda array: array[1:]),
    "long lengths": ("lengths", lambda array: array + 1),
    "huge lengths": ("lengths", filled(1 << 62)),
    "negative lengths": ("lengths", lambda array: np.append(array, [-1, 1])),
    "no lengths": ("lengths", lambda array: array[:0]),
    "float lengths": ("lengths", lambda array: array.astype(np.float64)),
    "NaN vectors": ("vectors", filled(np.nan)),
    "NaN rewards": ("rewards", filled(np.nan)),
    "far actions": ("actions", filled(9.0)),
    "float64 actions": ("actions", lambda array: array.astype(np.float64)),
}


@pytest.mark.parametrize("name", HELD)
def test_defect_14_bad_held_episodes_are_refused(name, saved, tmp_path):
    array, do = HELD[name]
    manifest, arrays = saved("waiting")
    change(arrays, f"held/{array}", do)
    assert_refused(tmp_path / "agent.scrub", manifest, arrays)


def test_defect_14_held_episodes_of_an_agent_with_keys_are_refused(saved, tmp_path):
    manifest, arrays = saved("identity")
    arrays |= {name: a for name, a in saved("waiting")[1].items() if name.startswith("held/")}
    assert_refused(tmp_path / "agent.scrub", manifest, arrays, "wait for keys")


SPACES = {
    "NaN bound": ("action/low", filled(np.nan)),
    "bounds the wrong way round": ("action/low", filled(9.0)),
    "narrow bound": ("action/low", lambda array: array[:1]),
    "bound of another type": ("action/high", lambda array: array.astype(np.float64)),
    "infinite bound": ("action/high", filled(np.inf)),
    "box below the stored actions": ("action/high", lambda array: array - 0.4),
    "NaN observations": ("observation/high", filled(np.nan)),
    "narrow observations": ("observation/low", lambda array: array[:1]),
}


@pytest.mark.parametrize("name", SPACES)
def test_defect_14_bad_spaces_are_refused(name, saved, tmp_path):
    array, do = SPACES[name]
    manifest, arrays = saved("identity")
    change(arrays, f"spaces/{array}", do)
    assert_refused(tmp_path / "agent.scrub", manifest, arrays)


# ---------------------------------------------------------------- odd values in the manifest

COUNTERS = ["x", "7", -1, 7.0, 1e308, 10**18 * 10, 10**400, None, [], {}, True]


@pytest.mark.parametrize("odd", COUNTERS, ids=lambda odd: str(odd)[:20])
@pytest.mark.parametrize("name", ["num_timesteps", "n_episodes", "n_dropped_episodes"])
def test_defect_14_odd_counters_are_refused(name, odd, saved, tmp_path):
    manifest, arrays = saved("identity")
    manifest["counters"][name] = odd
    assert_refused(tmp_path / "agent.scrub", manifest, arrays)


@pytest.mark.parametrize("odd", [{"x": 1}, {"-1": 1}, {"0": -1}, {"0": 1.5}, [1], None])
def test_defect_14_odd_episode_numbers_are_refused(odd, saved, tmp_path):
    manifest, arrays = saved("identity")
    manifest["counters"]["next_episodes"] = odd
    assert_refused(tmp_path / "agent.scrub", manifest, arrays)


ODD = ["x", -1, 0, 0.5, 1e308, 10**18, 10**400, None, True, [], {}, [[]], {"name": "identity"}]


def places(tree, path=()):
    """The path of every entry of nested dicts and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def replaced(tree, path, value):
    changed = copy.deepcopy(tree)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def load_or_none(load, path):
    """What is in a file, None if it is refused with a message that names it."""
    try:
        return load(path)
    except ArchiveError as error:
        message = str(error)
    assert path.name in message
    return None


def is_written(manifest):
    """Whether an archive takes this manifest at all: its kind must be a word."""
    return isinstance(manifest["kind"], str)


@pytest.mark.filterwarnings("ignore:the memory is empty")
@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.hard)])
def test_defect_14_odd_manifest_values_are_refused_or_harmless(name, share, saved, tmp_path):
    """Each place of the manifest gets one value in `share`."""
    manifest, arrays = saved(name)
    path = tmp_path / "agent.scrub"
    refused = 0
    for number, place in enumerate(places(manifest)):
        for odd in ODD[number % share :: share]:
            changed = replaced(manifest, place, odd)
            if not is_written(changed):
                continue
            write_archive(path, changed, arrays)
            agent = load_or_none(MemoryAgent.load, path)
            if agent is None:
                refused += 1
                continue
            observation = agent.observation_space.sample()
            for deterministic in (True, False):
                action, _ = agent.predict(observation, deterministic=deterministic)
                assert agent.action_space.contains(action), (place, odd)
    assert refused > 100 / share


def put_text(path, mark, text):
    """Write text into a manifest in place of a word, however deep it nests."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["manifest.json"] = members["manifest.json"].replace(f'"{mark}"'.encode(), text.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


NESTED = {
    "embedding": (("config", "embedding"), '{"name": "chain", "stages": [', "]}"),
    "space": (("spaces", "observation"), '{"dict": [["a", ', "]]}"),
    "training": (("training",), '{"a": [', "]}"),
}


@pytest.mark.parametrize("depth", [50, 300, 450, 900, 100_000])
@pytest.mark.parametrize("name", NESTED)
def test_defect_14_deeply_nested_entries_are_refused_or_harmless(name, depth, saved, tmp_path):
    place, start, end = NESTED[name]
    manifest, arrays = saved("identity")
    inner = '{"box": "float64"}' if name == "space" else '{"name": "identity"}'
    path = tmp_path / "agent.scrub"
    write_archive(path, replaced(manifest, place, "MARK"), arrays)
    put_text(path, "MARK", depth * start + inner + depth * end)
    agent = load_or_none(MemoryAgent.load, path)
    assert agent is None or agent.action_space.contains(agent.predict(np.zeros(2))[0])


# ---------------------------------------------------------------- memory files


def test_defect_14_odd_values_in_a_memory_file_are_refused_or_harmless(tmp_path):
    path = tmp_path / "memory.scrub"
    other_memory().save(path)
    manifest, arrays = content_of(path, "memory")
    refused = 0
    for place in places(manifest):
        for odd in ODD:
            changed = replaced(manifest, place, odd)
            if not is_written(changed):
                continue
            write_archive(path, changed, arrays)
            memory = load_or_none(EpisodicMemory.load, path)
            if memory is None:
                refused += 1
                continue
            memory.check_invariants()
            memory.write(np.zeros(2), 1.0, action=np.zeros(2))
            assert memory.nearest(np.zeros(2))[0] >= 0
    assert refused > 50

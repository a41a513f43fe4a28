"""The file format: nothing lost, nothing executed, every kind of damage told."""

import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scrubjay.memory import ArchiveError, EpisodicMemory, archive, read_archive, write_archive

ARRAYS = {
    "memory/keys": np.arange(6, dtype=np.float32).reshape(2, 3),
    "flags": np.array([True, False]),
    "scalar": np.array(7, np.int64),
    "nothing": np.empty((0, 4)),
}
MANIFEST = {"kind": "test", "config": {"gamma": 0.99, "name": "größer"}}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.scrub"
    write_archive(path, MANIFEST, ARRAYS)
    return path


def assert_same(path):
    manifest, arrays = read_archive(path, "test")
    assert manifest == {**MANIFEST, "format": "scrubjay", "schema": 1}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].flags.writeable


def test_round_trip(file):
    assert_same(file)


def test_equal_content_gives_equal_bytes(file, tmp_path):
    reordered = dict(reversed([(name, np.array(a, order="F")) for name, a in ARRAYS.items()]))
    write_archive(tmp_path / "b", dict(reversed(MANIFEST.items())), reordered)
    assert (tmp_path / "b").read_bytes() == file.read_bytes()


def test_numpy_reads_it_too(file):
    with np.load(file) as arrays:
        np.testing.assert_array_equal(arrays["memory/keys"], ARRAYS["memory/keys"])


def test_truncated_at_every_length(file, tmp_path):
    data = file.read_bytes()
    for length in [*range(0, len(data), 9), *range(len(data) - 30, len(data))]:
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(ArchiveError, match="cannot load"):
            read_archive(tmp_path / "cut", "test")


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_is_told_or_harmless(file, tmp_path, mask):
    """Some bytes of a zip mean nothing (dates, permissions); the others must not pass."""
    data = file.read_bytes()
    places = range(mask % 5, len(data), 5)
    told = 0
    for i in places:
        (tmp_path / "flipped").write_bytes(data[:i] + bytes([data[i] ^ mask]) + data[i + 1 :])
        try:
            assert_same(tmp_path / "flipped")
        except ArchiveError:
            told += 1
    assert told > 0.75 * len(places)


def rewritten(path, change, compression=zipfile.ZIP_STORED):
    """The file with its members changed, as a zip that is itself sound."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    manifest = json.loads(members["manifest.json"])
    change(SimpleNamespace(members=members, manifest=manifest))
    if "manifest.json" in members:
        members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", compression) as new:
        for name, content in members.items():
            new.writestr(name, content)
    return path


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def huge_header():
    out = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue()


def with_array(name, content):
    return lambda f: f.members.update({f"{name}.npy": content})


FAULTS = {
    "no manifest": (lambda f: f.members.pop("manifest.json"), "not a file written by scrubjay"),
    "missing member": (lambda f: f.members.pop("flags.npy"), "do not match the manifest"),
    "extra member": (lambda f: f.members.update(x=b"1"), "do not match the manifest"),
    "path out of the folder": (lambda f: f.members.update({"../x": b"1"}), "do not match"),
    "odd array name": (lambda f: f.manifest["arrays"].update({"../x": {}}), "invalid names"),
    "newer schema": (lambda f: f.manifest.update(schema=99), "upgrade scrubjay"),
    "no schema": (lambda f: f.manifest.pop("schema"), "unknown schema"),
    "text schema": (lambda f: f.manifest.update(schema="1"), "unknown schema"),
    "other kind": (lambda f: f.manifest.update(kind="agent"), "holds 'agent', expected 'test'"),
    "foreign": (lambda f: f.manifest.pop("format"), "not written by scrubjay"),
    "no arrays": (lambda f: f.manifest.update(arrays=3), "lists no arrays"),
    "not a number": (lambda f: f.manifest.update(x=float("nan")), "contains NaN"),
    "wrong checksum": (lambda f: f.manifest["arrays"]["flags"].update(sha256="0" * 64), "checksum"),
    "no checksum": (lambda f: f.manifest["arrays"]["flags"].pop("sha256"), "damaged"),
    "other shape": (lambda f: f.manifest["arrays"]["flags"].update(shape=[3]), "its description"),
    "changed array": (
        with_array("flags", npy(np.array([True] * 2))),
        "checksum",
    ),
    "objects": (
        with_array("flags", npy(np.array([{}, {}]), allow_pickle=True)),
        "never writes",
    ),
    "text": (with_array("flags", npy(np.array(["a"]))), "never writes"),
    "fortran order": (
        lambda f: f.members.update(
            {"memory/keys.npy": npy(np.array(ARRAYS["memory/keys"], order="F"))}
        ),
        "never",
    ),
    "npy version": (
        with_array("flags", npy(ARRAYS["flags"], version=(2, 0))),
        "unknown npy version",
    ),
    "no npy": (with_array("flags", b"hello"), "damaged"),
    "defect 14: header that does not end": (
        with_array("flags", npy(ARRAYS["flags"]).replace(b"(2,)", b"((2,")),
        "damaged",
    ),
    "too short": (
        with_array("flags", npy(ARRAYS["flags"])[:-1]),
        "size it declares",
    ),
    "absurd size": (
        lambda f: (
            f.members.update({"flags.npy": huge_header()}),
            f.manifest["arrays"]["flags"].update(dtype="<f8", shape=[10**12]),
        ),
        "size it declares",
    ),
    "negative shape": (
        lambda f: (
            f.members.update({"flags.npy": npy(ARRAYS["flags"]).replace(b"(2,)", b"(-2,)")}),
            f.manifest["arrays"]["flags"].update(shape=[-2]),
        ),
        "shape|damaged",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(file, fault):
    change, message = FAULTS[fault]
    rewritten(file, change)
    with pytest.raises(ArchiveError, match=message):
        read_archive(file, "test")


def test_compressed_members_are_refused(file):
    rewritten(file, lambda f: f.members.update(bomb=bytes(10**7)), zipfile.ZIP_DEFLATED)
    with pytest.raises(ArchiveError, match="compressed"):
        read_archive(file, "test")


@pytest.mark.parametrize("content", [b"", b"hello", bytes(1000), b"PK\x05\x06" + bytes(18)])
def test_foreign_files(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ArchiveError, match=r"cannot load .*not a file written by scrubjay"):
        read_archive(tmp_path / "x", "test")


def test_deeply_nested_json(file):
    with zipfile.ZipFile(file, "w") as new:
        new.writestr("manifest.json", b"[" * 100_000)
    with pytest.raises(ArchiveError, match="cannot load"):
        read_archive(file, "test")


def test_oversized_files_are_refused_before_reading(file, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(archive, "MAX_TOTAL_BYTES", 100)
        with pytest.raises(ArchiveError, match="more than the 100 allowed"):
            read_archive(file, "test")
    with monkeypatch.context() as patch:
        patch.setattr(archive, "MAX_MANIFEST_BYTES", 10)
        with pytest.raises(ArchiveError, match="manifest has"):
            read_archive(file, "test")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "none", "test")
    with pytest.raises(FileNotFoundError, match="could not write"):
        write_archive(tmp_path / "no" / "folder", MANIFEST, ARRAYS)


@pytest.mark.parametrize(
    ("manifest", "arrays", "error", "message"),
    [
        ({}, {}, ValueError, '"kind"'),
        ({"kind": "x", "schema": 3}, {}, ValueError, "schema"),
        ({"kind": "x", "a": float("nan")}, {}, ValueError, "JSON"),
        ({"kind": "x"}, {"../a": np.zeros(1)}, ValueError, "name"),
        ({"kind": "x"}, {"a": np.array([None])}, TypeError, "real numbers"),
        ({"kind": "x"}, {"a": np.array(["b"])}, TypeError, "real numbers"),
    ],
)
def test_nothing_else_can_be_written(tmp_path, manifest, arrays, error, message):
    with pytest.raises(error, match=message):
        write_archive(tmp_path / "x", manifest, arrays)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_alone(file):
    before = file.read_bytes()
    with pytest.raises(TypeError):
        write_archive(file, {"kind": "test", "odd": object()}, {})
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


FULL_DISK = """
import resource, sys
import numpy as np
from scrubjay.memory import write_archive
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    write_archive(sys.argv[1], {"kind": "test"}, {"big": np.zeros(100_000)})
except OSError as error:
    print("OSError:", error)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_leaves_the_old_file_alone(file):
    assert resource.RLIMIT_FSIZE is not None
    before = file.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(file)], capture_output=True, text=True, check=True
    )
    assert "could not write" in done.stdout
    assert "an older file of that name is unchanged" in done.stdout
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder nobody may write to")
def test_an_unwritable_folder():
    with pytest.raises(OSError, match="could not write /proc/self/x"):
        write_archive("/proc/self/x", MANIFEST, ARRAYS)


def test_a_folder_in_the_way(tmp_path):
    (tmp_path / "taken" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="could not write"):
        write_archive(tmp_path / "taken", MANIFEST, ARRAYS)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


# ---------------------------------------------------------------- the memory's own file


def small_memory():
    memory = EpisodicMemory(
        3,
        capacity=100,
        distance_threshold=0.25,
        columns={"action": 2, "count": ((), np.int32)},
        recency="hit",
    )
    rng = np.random.default_rng(0)
    for _ in range(6):
        memory.write_episode(
            np.cumsum(rng.integers(-1, 2, (40, 3)), 0) * 0.25,
            rng.integers(0, 2, 40),
            0.5,
            action=rng.integers(-8, 8, (40, 2)) / 8,
            count=rng.integers(0, 99, 40),
        )
    return memory


RELEASED = Path(__file__).parent.parent / "data" / "0.1.0" / "memory.scrub"
RELEASED_DIGEST = "f83e70ac89de42bedffdaf474003d98ee0b2dab36a69ee7b9031efd30e24ee73"


def test_the_file_of_a_released_version_still_loads():
    memory = EpisodicMemory.load(RELEASED)
    memory.check_invariants()
    assert memory.digest() == RELEASED_DIGEST
    assert memory.digest() == small_memory().digest()


def test_what_is_written_today_is_what_was_released(tmp_path):
    small_memory().save(tmp_path / "now")
    assert (tmp_path / "now").read_bytes() == RELEASED.read_bytes()


def test_a_loaded_memory_goes_on_as_if_never_saved(tmp_path):
    memory = small_memory()
    memory.save(tmp_path / "m")
    loaded = EpisodicMemory.load(tmp_path / "m")
    rng = np.random.default_rng(1)
    for _ in range(5):
        keys, rewards = rng.integers(0, 9, (50, 3)) * 0.5, rng.integers(0, 3, 50)
        columns = {"action": np.zeros((50, 2)), "count": np.zeros(50, int)}
        for ours, theirs in zip(
            memory.write_episode(keys, rewards, 0.9, **columns),
            loaded.write_episode(keys, rewards, 0.9, **columns),
            strict=True,
        ):
            np.testing.assert_array_equal(ours, theirs)
    assert memory.digest() == loaded.digest()


def test_an_empty_memory_is_saved_too(tmp_path):
    memory = EpisodicMemory(4, capacity=7, columns={})
    memory.save(tmp_path / "m")
    loaded = EpisodicMemory.load(tmp_path / "m")
    assert len(loaded) == 0
    assert loaded.digest() == memory.digest()
    assert loaded.write(np.zeros(4), 0.0) == (0, 0)


INCONSISTENT = {
    "row too many": lambda s: s.config.update(capacity=3),
    "other dimension": lambda s: s.config.update(key_dim=4),
    "missing": lambda s: s.arrays.pop("values"),
    "unknown": lambda s: s.arrays.update(more=np.zeros(3)),
    "short": lambda s: s.arrays.update(values=s.arrays["values"][:-1]),
    "type": lambda s: s.arrays.update(values=s.arrays["values"].astype(np.float64)),
    "key type": lambda s: s.arrays.update(keys=s.arrays["keys"].astype(np.float64)),
    "nan key": lambda s: s.arrays.update(keys=s.arrays["keys"] * np.float32("nan")),
    "nan value": lambda s: s.arrays.update(values=s.arrays["values"] * np.float32("nan")),
    "equal stamps": lambda s: s.arrays.update(stamps=s.arrays["stamps"] * 0 + 1),
    "future stamps": lambda s: s.config.update(clock=3),
    "order": lambda s: s.arrays.update(recency_order=s.arrays["recency_order"] * 0),
    "order type": lambda s: s.arrays.update(recency_order=s.arrays["recency_order"] * 1.0),
    "rule": lambda s: s.config.update(rule="none"),
    "columns": lambda s: s.config.update(columns={"action": 3}),
    "clock": lambda s: s.config.update(clock="x"),
    "option": lambda s: s.config.update(more=1),
    "no clock": lambda s: s.config.pop("clock"),
}


@pytest.mark.parametrize("fault", INCONSISTENT)
def test_a_sound_file_with_an_unsound_memory(tmp_path, fault):
    config, arrays = small_memory().state()
    INCONSISTENT[fault](SimpleNamespace(config=config, arrays=arrays))
    write_archive(tmp_path / "m", {"kind": "memory", "memory": config}, arrays)
    with pytest.raises(ArchiveError, match="stored memory is inconsistent"):
        EpisodicMemory.load(tmp_path / "m")


def test_a_file_without_a_memory(tmp_path):
    write_archive(tmp_path / "m", {"kind": "memory"}, {})
    with pytest.raises(ArchiveError, match="cannot load"):
        EpisodicMemory.load(tmp_path / "m")

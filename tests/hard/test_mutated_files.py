"""Whatever a file says, it is loaded or refused with an error of ours; nothing else happens.

`make test` tries 25 files of each format, `make test-hard` 1,000.
"""

import json
import os
import shutil
import sys
import warnings
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest
from mutations import N_MUTATIONS, N_SLOW, absurd, damaged, odd_arrays, odd_table

from scrubjay.agents import MemoryAgent
from scrubjay.agents.files import read_memories
from scrubjay.analysis.reading import load_run
from scrubjay.memory import ArchiveError, EpisodicMemory
from scrubjay.memory.archive import OWN_ENTRIES, write_archive
from scrubjay.report.page import write_report
from scrubjay.runs.launch import config_of, load_agent
from scrubjay.training import RunFolder
from scrubjay.training.errors import RunError

FORBIDDEN = ("os.system", "subprocess.Popen", "socket.connect", "pickle.find_class")
OF_NUMBA = ("numba", "llvmlite", "numpy", "scrubjay", "builtins", "_codecs", "copyreg")
watched: list[str] | None = None


def _audit(event, arguments):
    """Python itself reports programs that are started, connections and what pickle looks up."""
    if watched is None or event not in FORBIDDEN:
        return
    # Numba keeps its compiled kernels in files of its own, in its cache
    if event != "pickle.find_class" or str(arguments[0]).split(".")[0] not in OF_NUMBA:
        watched.append(f"{event} {arguments}")


sys.addaudithook(_audit)


@pytest.fixture(autouse=True)
def nothing_is_executed():
    global watched
    watched = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd file may well deserve a warning
        yield
    found, watched = watched, None
    assert found == []


def mutants(make):
    """Each mutation has a seed, which a failure names."""
    for seed in range(N_MUTATIONS):
        yield seed, make(np.random.default_rng(seed))


@contextmanager
def only(seed, *allowed):
    """Errors of ours are as they should be; all others fail the test, with the mutation's seed."""
    try:
        yield
    except allowed:
        pass
    except Exception as error:
        raise AssertionError(f"mutation {seed}: {type(error).__name__}: {error}") from error


def load_and_use(path):
    """Load an agent; one that loads can act."""
    try:
        agent = MemoryAgent.load(path)
        read_memories(path)
    except ArchiveError:
        return False
    agent.predict(agent.observation_space.sample(), deterministic=True)
    for memory in agent.memories.values():
        memory.check_invariants()
    return True


def test_check_06_damaged_agents_are_refused(agent_files, tmp_path):
    originals = [file.read_bytes() for file in agent_files]
    path, loaded = tmp_path / "mutant.scrub", 0
    for seed, data in mutants(lambda rng: damaged(originals[rng.integers(len(originals))], rng)):
        path.write_bytes(data)
        with only(seed):
            loaded += load_and_use(path)
    # a change in the padding of the zip is harmless; one in the content has another checksum
    assert loaded < 0.1 * N_MUTATIONS + 3


def parts(path):
    """The manifest and the arrays of a file, without any check."""
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        with_arrays = {
            name.removesuffix(".npy"): np.lib.format.read_array(archive.open(name))
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    return {k: v for k, v in manifest.items() if k not in OWN_ENTRIES}, with_arrays


def write_signed(path, manifest, arrays):
    """A file that is whole by all checksums, whatever it says; False if there is no such file."""
    try:
        write_archive(path, {**manifest, "kind": manifest.get("kind", "agent")}, arrays)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return False
    return True


def test_check_06_agents_that_contradict_themselves_are_refused(agent_files, tmp_path):
    originals = [parts(file) for file in agent_files]
    path = tmp_path / "mutant.scrub"

    def mutate(rng):
        manifest, arrays = originals[rng.integers(len(originals))]
        if rng.random() < 0.6:
            return absurd(manifest, rng), arrays
        return manifest, odd_arrays(arrays, rng)

    for seed, (manifest, arrays) in mutants(mutate):
        if not write_signed(path, manifest, arrays):
            continue
        with only(seed):
            load_and_use(path)


def test_check_06_mutated_memories_are_refused(memory_file, tmp_path):
    original, (manifest, arrays) = memory_file.read_bytes(), parts(memory_file)
    path = tmp_path / "mutant.scrub"
    for seed in range(N_MUTATIONS):
        rng = np.random.default_rng(seed)
        if seed % 2:
            path.write_bytes(damaged(original, rng))
        elif not write_signed(path, absurd(manifest, rng), odd_arrays(arrays, rng)):
            continue
        with only(seed, ArchiveError):
            EpisodicMemory.load(path).check_invariants()


JSON_FILES = ("manifest.json", "config.json")
CSV_FILES = (
    *("progress.csv", "episodes.csv", "eval.csv", "time.csv", "logged.csv", "trajectories.csv"),
)


def mutate_file(path, rng):
    if not path.exists():
        return
    if rng.random() < 0.3 or path.suffix not in (".json", ".csv"):
        path.write_bytes(damaged(path.read_bytes(), rng))
    elif path.suffix == ".json":
        path.write_text(json.dumps(absurd(json.loads(path.read_text()), rng)))
    else:
        path.write_text(odd_table(path.read_text(), rng))


@pytest.fixture
def copied(run_folder, tmp_path):
    """Copies the run anew for each mutation; files are linked until they are changed."""

    def copy(names, rng):
        target = tmp_path / "mutant"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(run_folder, target, copy_function=os.link)
        for name in names:
            path = target / name
            if path.exists():
                content = path.read_bytes()
                path.unlink()
                path.write_bytes(content)
            mutate_file(path, rng)
        return target

    return copy


def test_mutated_json_of_a_run_is_read_or_refused(copied):
    for seed in range(N_MUTATIONS):
        rng = np.random.default_rng(seed)
        target = copied([JSON_FILES[rng.integers(2)]], rng)
        with only(seed, RunError):
            config_of(RunFolder.open(target))
        with only(seed, RunError, ArchiveError, ImportError):
            load_agent(target)


def test_mutated_tables_of_a_run_are_read_or_refused(copied):
    for seed in range(N_MUTATIONS):
        rng = np.random.default_rng(seed)
        target = copied([CSV_FILES[rng.integers(len(CSV_FILES))]], rng)
        folder = RunFolder.open(target)
        with only(seed, RunError):
            load_run(target, allow_unfinished=True)
        with only(seed, RunError):
            folder.cut(300)
        folder.close()


def test_a_report_of_mutated_runs_is_written_or_refused(copied, run_folder, tmp_path):
    every = (*JSON_FILES, *CSV_FILES, "checkpoints/last.scrub")
    for seed in range(N_SLOW):
        rng = np.random.default_rng(seed)
        target = copied([every[rng.integers(len(every))]], rng)
        page = tmp_path / "report.html"
        with only(seed):
            write_report([target, run_folder], page)
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert text.rstrip().endswith("</html>")


def test_mutated_studies_are_continued_or_refused(tmp_path):
    pytest.importorskip("optuna")
    from scrubjay.runs.config import RunConfig
    from scrubjay.runs.tuning import Study, TuneConfig

    run = RunConfig("cec", "GrowingTree", steps=100, eval_freq=100, n_eval_episodes=1)
    config = TuneConfig(run, ("n_neighbors",), 1)
    original = tmp_path / "original"
    Study(config, original).run(2)
    for seed in range(N_SLOW):
        rng = np.random.default_rng(seed)
        target = tmp_path / "mutant"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name in ("study.db", "study.json"):
            shutil.copy(original / name, target / name)
        mutate_file(target / ("study.db" if rng.random() < 0.8 else "study.json"), rng)
        with only(seed, RunError):
            Study(config, target).rows()

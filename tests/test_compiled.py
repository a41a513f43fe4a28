"""The cache of compiled code: whatever source changes, no old code goes on running."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scrubjay
from scrubjay.compiled import PACKAGES, compiled, stamp, without_dispatch

SOURCE = Path(scrubjay.__file__).parent

SCRIPT = """
import numpy as np
from scrubjay.agents.scale_check import note_distance
from scrubjay.memory import KDTree

numbers = np.zeros(2)
note_distance(KDTree(1).arrays, np.zeros(1, np.float32), 1, np.array([25.0]), 0, numbers)
print(numbers.tolist(), note_distance.stats.cache_hits)
"""


def test_a_constant_of_another_file_is_compiled_anew(tmp_path):
    """`note_distance` writes into columns whose numbers `recorder.py` gives."""
    copy = tmp_path / "scrubjay"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    surroundings = {**os.environ, "PYTHONPATH": str(tmp_path)}
    surroundings.pop("NUMBA_CACHE_DIR", None)

    def answer() -> str:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=surroundings, cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip

    assert answer() == "[5.0, 1.0] Counter()"
    assert answer().startswith("[5.0, 1.0] Counter({")
    recorder = copy / "agents" / "recorder.py"
    text = recorder.read_text(encoding="utf-8")
    changed = text.replace("DISTANCE, WEIGHT = 0, 1", "DISTANCE, WEIGHT = 1, 0")
    assert changed != text
    recorder.write_text(changed, encoding="utf-8")
    assert answer() == "[1.0, 5.0] Counter()"


def test_all_compiled_functions_are_in_the_stamp():
    files = [path for path in SOURCE.rglob("*.py") if "@compiled(" in path.read_text("utf-8")]
    assert {path.relative_to(SOURCE).parts[0] for path in files} == set(PACKAGES)
    direct = [path for path in SOURCE.rglob("*.py") if "import njit" in path.read_text("utf-8")]
    assert [path.name for path in direct] == ["compiled.py"]
    assert len(stamp()) == 64


# ---------------------------------------------------------------- caches that fail

TRAINING = """
import gymnasium as gym
import numpy as np
from scrubjay.agents import CEC
from scrubjay.agents.cec import select_actions
from scrubjay.embedding import RunningNormalizer

class Walk(gym.Env):
    observation_space = gym.spaces.Box(-2.0, 2.0, (2,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.point, self.time = self.np_random.uniform(-1, 1, 2), 0
        return self.point.copy(), {}

    def step(self, action):
        self.point, self.time = np.clip(self.point + 0.3 * action, -2, 2), self.time + 1
        return self.point.copy(), float(self.point[0]), self.time >= 25, False, {}

agent = CEC(Walk(), embedding=RunningNormalizer(), seed=1).learn(300)
print(agent.memory.digest(), len(select_actions.stats.cache_hits))
"""


def train(folder: Path, **variables: str) -> tuple[str, int]:
    """Train in another process; the digest of its memory and how often its kernel was cached."""
    surroundings = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    surroundings |= {"PYTHONPATH": str(folder), **variables}
    done = subprocess.run(
        [sys.executable, "-c", TRAINING],
        env=surroundings, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    digest, hits = done.stdout.split()
    return digest, int(hits)


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """A copy of the package with a cache that a training has filled, and that training's digest."""
    folder = tmp_path_factory.mktemp("cached")
    shutil.copytree(SOURCE, folder / "scrubjay")  # with what other tests have compiled so far
    train(folder)
    digest, hits = train(folder)
    assert hits == 1
    return folder, digest


def test_defect_15_training_needs_no_folder_for_the_cache(cached, tmp_path):
    """Files in the place of folders: they stop even root, whom permissions do not bind."""
    copy = tmp_path / "scrubjay"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()
    (tmp_path / "no_home").touch()
    home = str(tmp_path / "no_home" / "user")
    digest, hits = train(tmp_path, HOME=home, NUMBA_OPT="0")  # compiles everything, so quickly
    assert (digest, hits) == (cached[1], 0)
    assert not list(tmp_path.rglob("*.nb*"))


def test_defect_15_a_damaged_cache_is_rebuilt(cached):
    """Of one function the index is cut off, of the next the code, each at another length."""
    folder, expected = cached
    indexes = sorted(folder.rglob("*.nbi"))
    assert len(indexes) > 20
    for i, index in enumerate(indexes):
        codes = sorted(index.parent.glob(f"{index.name.removesuffix('.nbi')}.*.nbc"))
        assert codes
        for path in [index] if i % 2 else codes:
            size = path.stat().st_size
            os.truncate(path, (0, 1, size // 3, 2 * size // 3, size - 1)[i // 2 % 5])
    assert train(folder) == (expected, 0)
    assert train(folder) == (expected, 1)


def test_machine_code_is_that_of_the_arguments():
    @compiled()
    def second(array):
        return array[1]

    together = np.arange(4.0)
    apart = together[::2]
    for array in (together, apart, together):
        assert without_dispatch(second, array)(array) == array[1]

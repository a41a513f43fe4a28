"""The cache of compiled code: whatever source changes, no old code goes on running."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import scrubjay
from scrubjay.compiled import PACKAGES, stamp

SOURCE = Path(scrubjay.__file__).parent

SCRIPT = """
import numpy as np
from scrubjay.agents.backup import back_up

rows = np.array([[0, -1], [-1, 1]])
values = np.array([0.0, 10.0], np.float32)
returns = back_up(np.zeros(2), 0.5, True, 0.0, rows, rows >= 0, np.ones(2), values, 0.0)
print(returns.tolist(), back_up.stats.cache_hits)
"""


def test_a_constant_of_another_file_is_compiled_anew(tmp_path):
    """`back_up` reads the columns of a trace, whose numbers `decision.py` gives."""
    copy = tmp_path / "scrubjay"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    surroundings = {**os.environ, "PYTHONPATH": str(tmp_path)}
    surroundings.pop("NUMBA_CACHE_DIR", None)

    def answer() -> str:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=surroundings, cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip

    assert answer() == "[5.0, 0.0] Counter()"
    assert answer().startswith("[5.0, 0.0] Counter({")
    decision = copy / "agents" / "decision.py"
    text = decision.read_text(encoding="utf-8")
    changed = text.replace(
        "FOLLOWED, BEST, REPEATED, SEEN = range(4)", "BEST, FOLLOWED, REPEATED, SEEN = range(4)"
    )
    assert changed != text
    decision.write_text(changed, encoding="utf-8")
    assert answer() == "[0.0, 0.0] Counter()"


def test_all_compiled_functions_are_in_the_stamp():
    files = [path for path in SOURCE.rglob("*.py") if "@compiled(" in path.read_text("utf-8")]
    assert {path.relative_to(SOURCE).parts[0] for path in files} == set(PACKAGES)
    direct = [path for path in SOURCE.rglob("*.py") if "import njit" in path.read_text("utf-8")]
    assert [path.name for path in direct] == ["compiled.py"]
    assert len(stamp()) == 64

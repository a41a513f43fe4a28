"""Shared by all tests: a numba cache that a change of any source file makes anew.

numba notices a change of a function's own file, not of the functions that it calls in other files;
a cache folder named after the content of `src` can never be stale.
"""

import hashlib
import os
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"


def source_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.py")):
        digest.update(path.relative_to(SOURCE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


os.environ["NUMBA_CACHE_DIR"] = str(
    Path(tempfile.gettempdir()) / f"scrubjay-numba-cache-{source_digest()}"
)
os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("MPLBACKEND", "Agg")

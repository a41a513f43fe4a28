"""`make demo` draws its pictures, also when nothing was learned."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo.py"


@pytest.mark.parametrize("steps", [200, 2500])
def test_the_demo_leaves_pictures_and_says_what_to_do_next(tmp_path, steps):
    command = [sys.executable, str(DEMO), str(tmp_path), "--steps", str(steps)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert answer.returncode == 0, answer.stderr
    assert "Traceback" not in answer.stderr
    assert steps == 200 or "Warning" not in answer.stderr  # predict warns about an empty memory
    assert answer.stdout.splitlines()[-1].startswith("Next")
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.width > 1000
    with Image.open(tmp_path / "greedy.gif") as film:
        assert film.n_frames > 1
        assert film.info["loop"] == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"cec", "cec-plus"}

"""The built wheel in an empty environment, with the core's dependencies and nothing else.

About 20 seconds of processor time, most of it pip's.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import scrubjay
from scrubjay.envs.catalog import TASKS

SOURCE = Path(scrubjay.__file__).parent
ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("mujoco", "gymnasium_robotics", "imageio", "PIL", "matplotlib", "jinja2", "tensorboard",
          "torch", "stable_baselines3", "scipy", "pandas", "pytest")  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    return file


def copy_cache(package):
    """Give an installed package what the tests have compiled: its sources are the same."""
    for file in SOURCE.rglob("*.nb[ic]"):
        place = package / file.relative_to(SOURCE)
        place.parent.mkdir(exist_ok=True)
        shutil.copy(file, place)


@pytest.fixture(scope="module")
def call(wheel, tmp_path_factory):
    """Calls a program of the empty environment, in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")
    home, work = folder / "venv", folder / "work"
    work.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    copy_cache(next((home / "lib").glob("python*")) / "site-packages" / "scrubjay")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}

    def run(program, *words):
        command = [str(home / "bin" / program), *words]
        return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)

    return run


def readme_example():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    return next(block for block in blocks if ".learn(" in block)


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].removesuffix(".dist-info") for name in names} == {
        "scrubjay",
        "-".join(wheel.name.split("-")[:2]),
    }
    assert "scrubjay/py.typed" in names
    assert any(name.endswith("licenses/NOTICE") for name in names)
    kinds = ("*.py", "*.html", "*.css", "*.js")
    files = [path for kind in kinds for path in (ROOT / "src").rglob(kind)]
    sources = {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert "scrubjay/report/templates/page.html" in sources
    assert sources <= set(names)


def test_only_the_core_is_there(call):
    program = f"import importlib.util as u; print([m for m in {EXTRAS} if u.find_spec(m)])"
    assert call("python", "-c", program).stdout.strip() == "[]"


def test_the_example_of_the_readme(call):
    # the maze needs MuJoCo, which is an extra
    example = readme_example().replace("PointUMaze", "SparseMountainCar")
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    done = call("python", "-W", "error", "-c", example + "\nprint(agent.num_timesteps, action)")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) >= 10_000


def test_the_command_line(call):
    done = call("scrubjay", "--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    done = call("scrubjay", "train", "cec", "GrowingTree", "--steps", "2000", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "done: 2," in done.stdout
    for words in (["evaluate", "run"], ["inspect", "run"], ["doctor"]):
        done = call("scrubjay", *words)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_tasks_are_listed_with_what_they_need(call):
    done = call("scrubjay", "tasks")
    assert done.returncode == 0
    assert all(task.name in done.stdout for task in TASKS)
    said = " ".join(done.stdout.split())
    assert said.count("(needs mujoco)") == sum(task.extra == "mujoco" for task in TASKS)


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        ("train cec PointUMaze --out new", "mujoco", "mujoco"),
        ("train cec SafexpCarGoal --out new", "mujoco", "mujoco"),
        ("train cec FetchReach --out new", "mujoco", "mujoco"),
        ("train sac GrowingTree --out new", "torch", "deep"),
        ("train cec GrowingTree --tensorboard --out new", "tensorboard", "tensorboard"),
        ("report run --out new.html", "jinja2", "plots"),
        ("watch PointUMaze --random --out new", "mujoco", "mujoco"),
        ("watch GrowingTree --random --out new.gif", "PIL", "mujoco"),
    ],
)
def test_what_needs_an_extra_says_how_to_get_it(words, package, extra, call):
    done = call("scrubjay", *words.split())
    message = f'{package} is needed for this and is not installed: pip install "scrubjay[{extra}]"'
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"scrubjay {words.split()[0]}: {message}"
    assert "Traceback" not in done.stderr
    found = call("python", "-c", "import glob; print(glob.glob('new*'))")
    assert found.stdout.strip() == "[]", "nothing is created"

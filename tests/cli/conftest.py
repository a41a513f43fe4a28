import shutil

import pytest
from console import in_process

from scrubjay.cli.main import main


@pytest.fixture
def scrubjay(capsys, tmp_path, monkeypatch):
    """Runs one command in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: in_process(capsys, *words)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A small finished run; nobody changes it."""
    folder = tmp_path_factory.mktemp("runs") / "tree"
    words = ["train", "cec", "GrowingTree", "--steps", "1000", "--eval-freq", "500"]
    assert main([*words, "--checkpoint-steps", "300", "--quiet", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it, to do things to."""
    return shutil.copytree(finished, tmp_path / "run")

"""A small finished run, made once, and its page."""

import pytest
from web_pages import serving

from scrubjay.cli.main import main


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run with three checkpoints, of a task that draws frames."""
    folder = tmp_path_factory.mktemp("runs") / "tree"
    words = ["train", "cec-plus", "GrowingTree", "--steps", "3000", "--eval-freq", "0", "--quiet"]
    assert main([*words, "--checkpoint-steps", "1000", "2000", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def page(finished):
    """The address of the run's page."""
    pytest.importorskip("uvicorn")
    with serving(finished) as (_, address):
        yield address

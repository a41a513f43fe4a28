"""Which checkpoints the server keeps open, and that none of them holds up the others."""

import threading
import time

import numpy as np
import pytest

from scrubjay import EpisodicMemory
from scrubjay.web import source as sources
from scrubjay.web.source import Checkpoints, Source


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


class Files:
    """Eight checkpoints; notes what is read, and waits before it reads those of `slow`."""

    def __init__(self, *slow):
        self.read, self.slow, self.go_on = [], slow, threading.Event()
        names = tuple(str(number) for number in range(8))
        self.source = Source("files", "", names, 7, self.load, None)

    def load(self, name):
        if name in self.slow:
            assert self.go_on.wait(30)
        if name == "6":
            raise ValueError("it is damaged")
        self.read.append(name)
        memory = EpisodicMemory(3, capacity=10)
        memory.write_many(np.eye(3), np.zeros(3), action=np.zeros((3, 2)))
        return memory


def test_an_open_checkpoint_answers_while_another_one_is_read():
    files = Files("2")
    checkpoints = Checkpoints(files.source)
    shown = checkpoints[1]
    reader = threading.Thread(target=lambda: checkpoints[2])
    reader.start()
    found = []
    asking = threading.Thread(target=lambda: found.append(checkpoints[1]))
    asking.start()
    asking.join(10)
    assert found == [shown]
    files.go_on.set()
    reader.join()


def test_a_checkpoint_is_read_once_however_many_ask():
    files = Files("2")
    checkpoints = Checkpoints(files.source)
    found = []
    threads = [threading.Thread(target=lambda: found.append(checkpoints[2])) for _ in range(4)]
    for thread in threads:
        thread.start()
    files.go_on.set()
    for thread in threads:
        thread.join()
    assert files.read == ["2"]
    assert len({id(checkpoint) for checkpoint in found}) == 1


def test_all_are_read_in_the_background_the_nearest_first():
    files = Files()
    checkpoints = Checkpoints(files.source)
    checkpoints[3]
    checkpoints.prepare_around(3)
    until(lambda: len(files.read) == 7)
    assert files.read == ["3", "4", "2", "5", "1", "0", "7"]
    checkpoints[0]
    assert len(files.read) == 7
    with pytest.raises(ValueError, match="damaged"):
        checkpoints[6]


def test_large_ones_are_closed_again_and_the_neighbours_are_kept(monkeypatch):
    monkeypatch.setattr(sources, "MAX_BYTES", 1)
    files = Files()
    checkpoints = Checkpoints(files.source)
    checkpoints[3]
    checkpoints.prepare_around(3)
    until(lambda: len(files.read) == 4)
    time.sleep(0.05)
    assert files.read == ["3", "4", "2", "5"]
    checkpoints[0]
    checkpoints[4]
    assert files.read == ["3", "4", "2", "5", "0"]
    checkpoints[3]  # it was the one used least recently
    assert files.read == ["3", "4", "2", "5", "0", "3"]

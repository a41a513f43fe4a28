"""What a person at a terminal sees: a bar, notes above it, and a clean line afterwards."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pytest
from console import PROGRAM, in_shell

COLUMNS = 150
# no state of GrowingTree is within this of another: the scale check speaks up after 5,000 decisions
NARROW = "train cec GrowingTree --distance-threshold 1e-9 --eval-freq 2000 --eval-episodes 1 --out"


def at_a_terminal(*words, cwd, stop_at=()):
    """Run a command in a terminal of its own; returns its code and all that it wrote.

    It gets one Ctrl-C at the first appearance of each of the texts, in their order.
    """
    stop_at = list(stop_at)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(
        [*PROGRAM, *words], cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs
    )
    written = b""
    while process.poll() is None or has_more(ours):
        if has_more(ours):
            written += os.read(ours, 65536)
        if stop_at and stop_at[0] in written.decode(errors="replace"):
            process.send_signal(signal.SIGINT)
            del stop_at[0]
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)
    return process.returncode, written.decode()


def has_more(descriptor):
    return bool(select.select([descriptor], [], [], 0.05)[0])


def screen(written):
    """The lines that remain visible, and where the cursor stands."""
    lines, column = [""], 0
    for character in written:
        if character == "\n":
            lines.append("")
        elif character == "\r":
            column = 0
        else:
            line = lines[-1].ljust(column)
            lines[-1] = line[:column] + character + line[column + 1 :]
            column += 1
    return [line.rstrip() for line in lines], column


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    return at_a_terminal(*NARROW.split(), "run", "--steps", "12000", cwd=folder)


def test_a_bar_with_success_memory_and_speed(training):
    code, written = training
    assert code == 0
    bars = [part for part in written.split("\r") if "|" in part]
    assert len(bars) > 2, "it moves"
    pattern = r"100%\|.*\| 12\.0k/12\.0k \[.*steps/s, success=\d\.\d\d, memory=[\d,]+\]"
    assert re.search(pattern, bars[-1])


def test_the_terminal_is_clean_afterwards(training):
    lines, column = screen(training[1])
    assert (lines[-1], column) == ("", 0)
    assert sum("%|" in line for line in lines) == 1, "one bar remains, the last one"
    (done,) = [number for number, line in enumerate(lines) if line.startswith("done: 12,")]
    assert lines[-2].startswith("next: scrubjay evaluate")
    assert done == len(lines) - 5
    assert "\x1b[?25l" not in training[1], "the cursor is never hidden"


def test_lines_above_the_bar_are_whole(training):
    lines, _ = screen(training[1])
    evaluations = [line for line in lines if line.startswith("evaluation at step")]
    assert len(evaluations) == 6
    assert all(line.endswith("steps an episode") for line in evaluations)


def test_a_warning_is_one_readable_line(training):
    lines, _ = screen(training[1].replace("\r\n", "\n\r"))
    notes = [line for line in lines if "decisions had no neighbour" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: ")
    assert notes[0].endswith("raise distance_threshold")
    assert "warnings.warn" not in training[1]
    assert ".py" not in training[1]


def test_a_warning_in_a_log_is_one_readable_line_too(tmp_path):
    answer = in_shell(*NARROW.split(), "run", "--steps", "6000", "--quiet", cwd=tmp_path)
    assert re.search(r"^note: \d+% of decisions .* raise distance_threshold$", answer.err, re.M)
    assert answer.err.count("\n") == 2
    assert ".py" not in answer.err


def test_ctrl_c_leaves_the_terminal_clean(tmp_path):
    words = [*NARROW.split(), "run", "--steps", "10000000"]
    code, written = at_a_terminal(*words, cwd=tmp_path, stop_at=["evaluation at step 2,000"])
    lines, column = screen(written)
    assert code == 130
    assert (lines[-1], column) == ("", 0)
    assert lines[-2] == "interrupted; continue with: scrubjay train --resume run"
    assert not re.search("Traceback|KeyboardInterrupt", written)


HANGING = """
import time
from scrubjay.envs.growing_tree import GrowingTree

class Hanging(GrowingTree):
    n_steps = 0

    def step(self, action):
        Hanging.n_steps += 1
        if Hanging.n_steps == 700:
            print("hangs", flush=True)
            time.sleep(1000)
        return super().step(action)
"""


def test_ctrl_c_is_answered_at_once_while_an_environment_hangs(tmp_path):
    (tmp_path / "hanging.py").write_text(HANGING)
    words = ["train", "cec", "hanging:Hanging", "--max-episode-steps", "200", "--eval-freq", "0"]
    words += ["--distance-threshold", "0.01", "--out", "run"]
    # the second one only when the first is answered
    code, written = at_a_terminal(*words, cwd=tmp_path, stop_at=["hangs", "again to force"])
    lines, column = screen(written)
    assert code == 130
    assert (lines[-1], column) == ("", 0)
    assert lines[-2] == "interrupted; continue with: scrubjay train --resume run --trust-module"
    answer = in_shell("inspect", "run", cwd=tmp_path)
    assert "trained     6" in answer.out or "trained     5" in answer.out, "whole episodes"

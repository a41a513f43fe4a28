"""What a person sees: a bar on a terminal, lines elsewhere, never left open."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from probes import Corridor, Drift, Faulty
from scrubjay.agents import CEC
from scrubjay.training import progress as progress_module
from scrubjay.training.progress import (
    COMPILING,
    BarProgress,
    LineProgress,
    SilentProgress,
    open_progress,
    shown_if_slow,
)


def test_lines_when_not_on_a_terminal(capsys):
    CEC(Corridor(), seed=1).learn(10)  # compiles, which may take longer than a line's interval
    CEC(Corridor([0.0] * 4 + [1.0]), seed=1).learn(
        1000, progress_bar=True, eval_env=Corridor([1.0]), eval_freq=500, n_eval_episodes=1
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert "\r" not in err
    lines = err.splitlines()
    evaluations = [line for line in lines if line.startswith("evaluation")]
    assert evaluations == [
        "evaluation at step 500: success 1.00, return 1, 1 steps an episode",
        "evaluation at step 1,000: success 1.00, return 1, 1 steps an episode",
    ]
    last = [line for line in lines if line not in evaluations]
    assert len(last) == 1, "one line at the end, and a few seconds are not over yet"
    assert re.fullmatch(
        r"1,000 of 1,000 steps, [\d,]+ steps/s, success 1\.00, memory 5", last[0]
    ), last


def test_episodes_are_shown_as_episodes(capsys):
    CEC(Corridor([0.0] * 5), seed=0).learn(total_episodes=12, progress_bar=True)
    lines = [text for text in capsys.readouterr().err.splitlines() if text != COMPILING]
    assert len(lines) == 1
    assert lines[0].startswith("12 of 12 episodes, ")


def test_a_line_every_so_often(capsys):
    lines = LineProgress(100, 0, "steps", every=0.0)
    for step in (10, 20, 30):
        lines.update(step, {"success": None, "memory": 1234})
    lines.close()
    lines.close()
    texts = capsys.readouterr().err.splitlines()
    assert [text.split(" of ")[0] for text in texts] == ["10", "20", "30"]
    assert texts[0].endswith("success ?, memory 1,234")


def test_a_slow_compilation_is_announced(capsys):
    lines = LineProgress(100, 0, "steps")
    with shown_if_slow(lines, COMPILING, seconds=60.0):
        pass
    with shown_if_slow(lines, COMPILING, seconds=0.01):
        time.sleep(0.3)
    assert capsys.readouterr().err.splitlines() == [COMPILING]


def test_the_rate_does_not_include_the_compilation(capsys):
    lines = LineProgress(1000, 0, "steps", every=0.0)
    time.sleep(0.5)
    lines.update(0, {})
    time.sleep(0.05)
    lines.update(1000, {})
    last = capsys.readouterr().err.splitlines()[-1]
    rate = float(re.search(r"([\d,]+) steps/s", last)[1].replace(",", ""))
    assert rate > 2500, "1,000 steps in 0.05 seconds, with room; with the wait below 2,000"


def test_nothing_is_shown_unasked(capsys):
    CEC(Corridor(), seed=1).learn(100)
    assert capsys.readouterr() == ("", "")
    assert isinstance(open_progress(False, 1, 0, "steps"), SilentProgress)


class Remembered(LineProgress):
    closed = 0

    def close(self):
        super().close()
        Remembered.closed += 1


@pytest.mark.parametrize("how", ["end", "error", "interrupt", "stop"])
def test_it_is_closed_however_the_training_ends(how, monkeypatch, capsys):
    Remembered.closed = 0
    monkeypatch.setattr(progress_module, "LineProgress", Remembered)
    env = Faulty(Drift(), 100, "raise") if how == "error" else Drift()
    agent = CEC(env, seed=0)

    def callback(*_):
        if agent.num_timesteps == 60 and how == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        return not (agent.num_timesteps == 60 and how == "stop")

    errors = {"error": RuntimeError, "interrupt": KeyboardInterrupt}
    if how in errors:
        with pytest.raises(errors[how]):
            agent.learn(300, callback=callback, progress_bar=True)
    else:
        agent.learn(300, callback=callback, progress_bar=True)
    assert Remembered.closed == 1
    assert "of 300 steps" in capsys.readouterr().err


def test_the_bar_does_not_run_past_its_end():
    bar = BarProgress(100, 0, "steps")
    bar.update(140, {"success": 0.5, "memory": 3})
    assert bar._bar.n == 100
    bar.close()
    bar.close()


SCRIPT = """
import sys
from probes import Drift
from scrubjay.agents import CEC
print("ready", flush=True)
CEC(Drift(), seed=1).learn(int(sys.argv[1]), progress_bar=True, eval_env=Drift(), eval_freq=2000,
                           n_eval_episodes=2, run_folder=sys.argv[2])
"""


def start(steps, folder, stderr):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(steps), str(folder)],
        stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True,
    )  # fmt: skip


def read_terminal(master):
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux says EIO when the other side has closed
            return text.decode()
        if not part:
            return text.decode()
        text += part


@pytest.mark.parametrize("interrupt", [False, True])
def test_a_bar_on_a_terminal(interrupt, tmp_path):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    process = start(10_000_000 if interrupt else 3000, tmp_path / "run", slave)
    os.close(slave)
    if interrupt:
        process.stdout.readline()
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / "eval.csv").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    shown = read_terminal(master)
    os.close(master)
    process.communicate(timeout=60)
    assert "\r" in shown
    assert re.search(r"\d+%\|", shown), shown
    assert re.search(r"success=\d\.\d\d, memory=[\d,]+", shown)
    assert "steps/s" in shown
    assert "evaluation at step 2,000" in shown
    if interrupt:
        assert process.returncode != 0
        # the bar's line is ended before the traceback begins
        before = shown[: shown.index("Traceback")]
        assert before.endswith("\n")
    else:
        assert process.returncode == 0
        assert "100%|" in shown
        assert shown.endswith("\n")

"""Servers of the page in processes of their own."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def serving(*words, cwd="."):
    """The process that serves a page and its address; ended by Ctrl-C."""
    command = [sys.executable, "-m", "scrubjay", "inspect", *map(str, words), "--web"]
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=cwd, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address + process.stderr.read()
        yield process, address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        process.stdout.close()
        process.stderr.close()

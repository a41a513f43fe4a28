"""The command line as its users meet it: in a process of its own, or quickly within this one."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from scrubjay.cli.main import main

PROGRAM = [sys.executable, "-m", "scrubjay.cli.main"]
TABLES = ("progress.csv", "episodes.csv", "eval.csv")


class Answer(NamedTuple):
    """What a command leaves behind."""

    code: int
    out: str
    err: str


def in_process(capsys, *words):
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:  # --help and --version
        code = end.code
    return Answer(code, *capsys.readouterr())


def in_shell(*words, cwd):
    command = [*PROGRAM, *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    return Answer(done.returncode, done.stdout, done.stderr)


def content(folder):
    """Every file of a folder, byte for byte."""
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}

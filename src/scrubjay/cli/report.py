"""scrubjay report RUNS..."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scrubjay.cli.main import refuse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `scrubjay report`."""
    parser.epilog = "example:\n  scrubjay report runs/PointUMaze-v0/* --out report.html"
    parser.add_argument("runs", nargs="+", metavar="RUN", type=Path, help="run folders")
    parser.add_argument("--out", type=Path, default=Path("report.html"), metavar="FILE",
        help="file to write (default report.html)")  # fmt: skip


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Write the report."""
    from scrubjay.report.page import write_report

    refuse(unknown, arguments)
    report = write_report(arguments.runs, arguments.out)
    for note in report.notes:
        print(f"note: {note}", file=sys.stderr)
    runs = "1 run" if report.n_runs == 1 else f"{report.n_runs} runs"
    print(f"written: {report.path}, {runs}")
    return 0

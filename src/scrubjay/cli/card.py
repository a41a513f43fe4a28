"""scrubjay card RUN."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from scrubjay.cli.main import CommandError, refuse

EPILOG = """The folder contains README.md (the card), the agent, config.json, results.json
and a video of the run folder if there is one. Nothing is sent without --upload.

examples:
  scrubjay card runs/umaze
  scrubjay card runs/umaze --out umaze-card --checkpoint best
  scrubjay card runs/umaze --upload organisation/cec-plus-PointUMaze
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay card`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="a run folder with evaluations")
    add("--out", type=Path, metavar="FOLDER", help="where to write it (default RUN/card)")
    add("--checkpoint", default="last", metavar="NAME", help="last, best or step-N (default last)")
    add("--upload", metavar="REPO", help="upload it to this repository of the Hugging Face Hub")


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Write the card; upload it if requested."""
    from scrubjay.report.card import upload, write_card

    refuse(unknown, arguments)
    if arguments.upload and arguments.upload.count("/") != 1:
        raise CommandError(f"--upload: expected ORGANISATION/NAME, got {arguments.upload!r}")
    if arguments.upload:
        from scrubjay.optional import require

        require("huggingface_hub", "hub")
    folder = arguments.out or arguments.run / "card"
    files = write_card(arguments.run, folder, arguments.checkpoint)
    print(f"written: {', '.join(file.name for file in files)} in {folder}")
    if arguments.upload:
        print(f"uploaded: {upload(folder, arguments.upload)}")
    return 0

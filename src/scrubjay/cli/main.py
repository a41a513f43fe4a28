"""`scrubjay COMMAND ...`: the one entry point. Each command imports what it needs when it runs."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from scrubjay import __version__

# name: (module in this folder, one line)
COMMANDS = {
    "train": ("train", "train an agent on a task, or resume a run"),
    "evaluate": ("evaluate", "run greedy episodes of a trained agent"),
    "watch": ("watch", "write a video of a task or of a trained agent"),
    "report": ("report", "one HTML page about any set of runs"),
    "inspect": ("inspect_memory", "what is in a memory"),
    "tasks": ("tasks", "list the tasks"),
    "doctor": ("doctor", "versions, and combinations known to be broken"),
}

EXAMPLES = """examples:
  scrubjay train cec PointUMaze --steps 100000 --seed 1 --out runs/umaze-1
  scrubjay train --resume runs/umaze-1
  scrubjay evaluate runs/umaze-1 --episodes 20
  scrubjay inspect runs/umaze-1
  scrubjay watch runs/umaze-1 --out umaze.gif
"""

USAGE_ERROR, FAILURE, INTERRUPTED = 2, 1, 130


class CommandError(Exception):
    """What a user did wrong, in one line."""


def build_parser(command: str | None = None) -> argparse.ArgumentParser:
    """All commands by name; the arguments only of the one that is asked for."""
    parser = argparse.ArgumentParser(
        prog="scrubjay",
        description="Reinforcement learning that remembers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"scrubjay {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (module, line) in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=line,
            description=line[0].upper() + line[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == command:
            importlib.import_module(f"scrubjay.cli.{module}").add_arguments(sub)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in given if word in COMMANDS), None)
    parser = build_parser(command)
    known, unknown = parser.parse_known_args(given)
    module = importlib.import_module(f"scrubjay.cli.{COMMANDS[known.command][0]}")
    try:
        return int(module.run(known, unknown) or 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except CommandError as error:
        print(f"scrubjay {known.command}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except (ValueError, TypeError, ImportError, OSError) as error:
        if os.environ.get("SCRUBJAY_TRACEBACK"):
            raise
        print(f"scrubjay {known.command}: {error}", file=sys.stderr)
        return FAILURE


def refuse(unknown: Sequence[str], known: Sequence[str] = ()) -> None:
    """An argument that does not exist is an error that suggests the nearest one."""
    if unknown:
        raise CommandError(suggestion(unknown[0], known))


def suggestion(word: str, known: Sequence[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no option {word!r}{hint}"


if __name__ == "__main__":
    sys.exit(main())

"""`scrubjay COMMAND ...`: the one entry point. Each command imports what it needs when it runs."""

import argparse
import importlib
import os
import re
import shlex
import sys
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from scrubjay import __version__
from scrubjay.cli.errors import message
from scrubjay.cli.suggestions import unknown_command, unknown_option
from scrubjay.envs.catalog import UnknownTaskError

# name: (module in this folder, one line)
COMMANDS = {
    "train": ("train", "train a method on a task, or resume a run"),
    "evaluate": ("evaluate", "run greedy episodes of a trained agent"),
    "watch": ("watch", "write a video of a task or of a trained agent"),
    "tune": ("tune", "search for settings of a method on a task"),
    "card": ("card", "write a model card and its files, for the Hugging Face Hub"),
    "report": ("report", "write an HTML report of any number of runs"),
    "reproduce": ("reproduce", "reproduce the paper's figures and tables from new runs"),
    "inspect": ("inspect_memory", "show what is in a memory"),
    "tasks": ("tasks", "list the tasks"),
    "check-env": ("check_env", "check an environment for mistakes, and recommend a method"),
    "doctor": ("doctor", "print versions and known problems"),
}

EXAMPLES = """examples:
  scrubjay train cec-plus PointUMaze --steps 10000 --out runs/umaze
  scrubjay train cec-plus my_module:MyEnv --steps 10000
  scrubjay train --resume runs/umaze
  scrubjay evaluate runs/umaze --episodes 20
  scrubjay inspect runs/umaze
  scrubjay watch runs/umaze --out umaze.gif

exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted (Ctrl-C)
SCRUBJAY_TRACEBACK=1 in the environment shows where an error came from
"""

USAGE_ERROR, FAILURE, INTERRUPTED = 2, 1, 130


class CommandError(Exception):
    """Wrong usage of a command; the message is one line."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Names in one column, wide enough for most of them."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """Reports errors in one line; options cannot be abbreviated."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=HelpFormatter, allow_abbrev=False, **settings)

    @property
    def flags(self) -> list[str]:
        """All options, those of argument groups included."""
        return list(self._option_string_actions)

    def names(self, given: Sequence[str]) -> list[str]:
        """The words that are neither options nor the values of options that are known."""
        found, is_value = [], False
        for word in given:
            option = self._option_string_actions.get(word)
            if option is None and not is_value and not word.startswith("-"):
                found.append(word)
            is_value = option is not None and option.nargs is None
        return found

    def error(self, message: str) -> NoReturn:
        raise CommandError(message)


def build_parser(command: str, given: Sequence[str] = ()) -> Parser:
    """All commands by name, with the arguments of the given one only."""
    listed = "\n".join(f"  {name:<10} {line}" for name, (_, line) in COMMANDS.items())
    parser = Parser(
        prog="scrubjay",
        usage="scrubjay [-h] [--version] COMMAND ...",
        description=f"Reinforcement learning with episodic memory.\n\ncommands:\n{listed}",
        epilog=EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"scrubjay {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS, prog="scrubjay"
    )
    for name, (module, line) in COMMANDS.items():
        sub = commands.add_parser(name, description=line[0].upper() + line[1:] + ".")
        if name == command:
            found = importlib.import_module(f"scrubjay.cli.{module}")
            found.add_arguments(sub)
            if hasattr(found, "add_agent_arguments"):
                found.add_agent_arguments(sub, given)
            sub.set_defaults(flags=sub.flags)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The words after `scrubjay`; those of this process if None.

    Returns:
        The exit code: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
    """
    # with colorama installed, Numba's messages in colour write an escape sequence at the exit
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in given if not word.startswith("-")), "")
    name = f"scrubjay {command}" if command in COMMANDS else "scrubjay"
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_note
            code = run_command(command, given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has closed it; Python would complain when it flushes the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except (CommandError, UnknownTaskError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except Exception as error:
        said = "" if os.environ.get("SCRUBJAY_TRACEBACK") else message(error)
        if not said:
            raise
        print(f"{name}: {said}", file=sys.stderr)
        return FAILURE
    return code


def run_command(command: str, given: Sequence[str]) -> int:
    """Parse the words, import the command and run it."""
    if not given or command == "help":
        asked = next((word for word in given[1:] if word in COMMANDS), "")
        build_parser(asked).parse_args([*filter(None, [asked]), "--help"])
    if command and command not in COMMANDS:
        raise CommandError(unknown_command(command, list(COMMANDS)))
    known, unknown = build_parser(command, given).parse_known_args(given)
    known.line = shlex.join(["scrubjay", *given])
    module = importlib.import_module(f"scrubjay.cli.{COMMANDS[known.command][0]}")
    return int(module.run(known, unknown) or 0)


def show_note(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one readable line, above a progress bar if there is one."""
    from tqdm import tqdm

    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(message))  # Gymnasium's are yellow
    text = " ".join(plain.removeprefix("WARN: ").split())
    tqdm.write(f"note: {text}", file=sys.stderr)


def refuse(unknown: Sequence[str], arguments: argparse.Namespace) -> None:
    """An argument that does not exist is an error that suggests the right one."""
    if unknown:
        raise CommandError(unknown_option(unknown[0], arguments.flags, arguments.command))


if __name__ == "__main__":
    # `python -m` gives this file a second name; the commands know it by its first
    sys.exit(importlib.import_module("scrubjay.cli.main").main())

"""The command `scrubjay check-env TASK`."""

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrubjay.cli.layout import wrapped
from scrubjay.cli.loading import add_env_kwargs, add_success_key, parse_env_kwargs
from scrubjay.cli.main import FAILURE, refuse
from scrubjay.cli.options import whole

if TYPE_CHECKING:
    from scrubjay.training.env_check import Finding

EPILOG = """examples:
  scrubjay check-env my_module:MyEnv
  scrubjay check-env my_module:make_env --env-kwargs size=5 --success-key solved
  scrubjay check-env Pendulum-v1
"""
MARKS = {"ok": "ok", "advice": "note", "problem": "PROBLEM"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay check-env`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("task", metavar="TASK", help="a task, a Gymnasium id, or module:Name of your own")
    add("--steps", type=whole, metavar="N", default=5000, help="random steps (default 5000)")
    add_env_kwargs(parser)
    add_success_key(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Print what was found; the exit code is 1 if there is a problem."""
    from scrubjay.runs.config import RunConfig
    from scrubjay.training.env_check import (
        NO_SUCCESS_KEY,
        check_environment,
        method_to_try,
        worst,
    )

    refuse(unknown, arguments)
    task_options = parse_env_kwargs(arguments.env_kwargs)
    config = RunConfig("cec-plus", arguments.task, task_options=task_options)
    findings = check_environment(config.make_env, arguments.steps, arguments.success_key)
    print(f"{arguments.task}, {arguments.steps:,} random steps\n")
    for finding in findings:
        print_finding(finding)
    level = worst(findings)
    env = config.make_env()
    method, reason, options = method_to_try(env, findings)
    env.close()
    print()
    if level == "problem":
        print(wrapped("Fix the problems first, then check again."))
        return FAILURE
    print(wrapped(f"Try {method} first: {reason}."))
    if any(each.found.startswith(NO_SUCCESS_KEY) for each in findings):
        arguments.success_key = None  # it does not exist
    print(f"next: {command(method, options, arguments)}")
    return 0


def print_finding(finding: "Finding") -> None:
    """One line for a passed check; expected, found and fix for a failed one."""
    first = f"{MARKS[finding.level]:<8} {finding.what}: "
    if finding.level == "ok":
        print(wrapped(finding.found, first, " " * 9))
        return
    print(wrapped(f"expected {finding.expected}", first, " " * 9))
    print(wrapped(finding.found, f"{'':9}found: ", " " * 16))
    print(wrapped(finding.fix, f"{'':9}fix:   ", " " * 16))


def command(method: str, options: Sequence[str], arguments: argparse.Namespace) -> str:
    """The command that trains on it."""
    words = ["scrubjay", "train", method, arguments.task, *options, "--steps", "20000"]
    if arguments.env_kwargs:
        words += ["--env-kwargs", *arguments.env_kwargs]
    if arguments.success_key:
        words += ["--success-key", arguments.success_key]
    return shlex.join(words)

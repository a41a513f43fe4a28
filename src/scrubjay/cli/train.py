"""scrubjay train AGENT TASK, scrubjay train --resume RUN."""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.main import (
    INTERRUPTED,
    CommandError,
    Parser,
    add_trust_module,
    one_line,
    refuse,
)
from scrubjay.cli.options import add_settings, owner_of, whole

if TYPE_CHECKING:
    from scrubjay.registry import AgentSpec
    from scrubjay.runs.config import RunConfig

EPILOG = """examples:
  scrubjay train cec GrowingTree --steps 20000
  scrubjay train cec-plus PointUMaze --steps 10000
  scrubjay train cec PointUMaze --seed 1 --out runs/umaze-1 --checkpoint-steps 5000 50000
  scrubjay train cec Pendulum-v1 --embedding bounds --distance-threshold 0.05
  scrubjay train --resume runs/umaze-1
"""

NOTHING_MORE = "--resume takes everything from the run itself: no other arguments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    # what is not given is left out: the defaults are those of RunConfig
    add = partial(parser.add_argument, default=argparse.SUPPRESS)
    from scrubjay.registry import agent_specs

    specs = agent_specs().values()
    own = ", ".join(spec.name for spec in specs if not spec.extra)
    more = ", ".join(f"{spec.name} (extra {spec.extra})" for spec in specs if spec.extra)
    add("agent", nargs="?", help=f"{own}; {more}; with --help, its settings")
    add("task", nargs="?", help="a Gymnasium id, a bare name or the paper's name")
    add("--steps", type=whole, metavar="N", help="training steps (default 100000)")
    add("--seed", type=whole, metavar="S", help="decides every random number (default 0)")
    add("--out", type=Path, metavar="RUN", help="(default runs/TASK/AGENT-PRESET-seed-SEED)")
    add("--preset", metavar="NAME", help="the agent's settings for the task, by name")
    add("--n-envs", type=whole, metavar="N", help="environments stepped together (default 1)")
    add("--eval-freq", type=whole, metavar="N", help="steps between evaluations, 0: never (5000)")
    add("--eval-episodes", type=whole, metavar="N", dest="n_eval_episodes",
        help="episodes of an evaluation (default 10)")  # fmt: skip
    add("--log-freq", type=whole, metavar="N", help="steps between rows of progress.csv (1000)")
    add("--checkpoint-freq", type=whole, metavar="N", help="steps between checkpoints (10000)")
    add("--checkpoint-steps", type=whole, nargs="+", metavar="N", help="steps to keep for good")
    add("--max-episode-steps", type=whole, metavar="N",
        help="end longer episodes as time-outs, for tasks without a limit")  # fmt: skip
    add("--tensorboard", action="store_true", help="write TensorBoard files into the run folder")
    parser.add_argument("--quiet", action="store_true", help="no progress on the terminal")
    add("--resume", type=Path, metavar="RUN", help="continue this run instead")
    add_trust_module(parser)


def add_agent_arguments(parser: Parser, given: Sequence[str]) -> None:
    """The settings of the agent that is named, which only its own class knows."""
    from scrubjay.registry import agent_specs

    names = [name.lower() for name in parser.names(given)]
    agent = next((name for name in names if name in agent_specs()), "")
    if agent:
        add_settings(parser, agent)
    parser.set_defaults(named=agent)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    from scrubjay.runs.launch import resume, start

    given = vars(arguments)
    if "task" not in given and unknown and not unknown[0].startswith("-"):
        # up to Python 3.12, argparse does not see a second name behind an option
        given["task"], *unknown = unknown
    _refuse_unknown(unknown, arguments)
    show: dict[str, Any] = {"progress_bar": not arguments.quiet}
    if "resume" in given:
        _refuse_more(given)
        trust = arguments.trust_module
        return _guarded(
            arguments.resume, trust, lambda: resume(arguments.resume, trust_module=trust, **show)
        )
    if "task" not in given:
        raise CommandError("an agent and a task are needed, as in: scrubjay train cec PointUMaze")
    config = _config(given)
    out = given.get("out") or _default_folder(config)
    print(f"{config.agent} on {config.task}, seed {config.seed}: {out}", file=sys.stderr)
    # whoever named the module once is asked again, because a run folder may come from anywhere
    return _guarded(out, ":" in config.task, lambda: start(config, out, arguments.line, **show))


def _refuse_unknown(unknown: Sequence[str], arguments: argparse.Namespace) -> None:
    if not unknown:
        return
    if "resume" in arguments:
        if owner_of(unknown[0]):
            raise CommandError(NOTHING_MORE)
        refuse(unknown, arguments.flags)
    if not arguments.named and "agent" in arguments:
        _spec(arguments.agent)  # without a known agent there are no settings to compare with
    owner = owner_of(unknown[0]) if arguments.named else ""
    if owner:
        raise CommandError(
            f"there is no option {unknown[0]!r} for {arguments.named}; did you mean {owner}, "
            "which has it?"
        )
    refuse(unknown, arguments.flags)


def _spec(agent: str) -> "AgentSpec":
    from scrubjay.registry import UnknownAgentError, agent_spec

    try:
        return agent_spec(agent)
    except UnknownAgentError as error:
        raise CommandError(str(error)) from error


def _refuse_more(given: Mapping[str, Any]) -> None:
    if given.keys() - {"command", "line", "flags", "quiet", "resume", "trust_module", "named"}:
        raise CommandError(NOTHING_MORE)


def _config(given: Mapping[str, Any]) -> "RunConfig":
    from scrubjay.agents.settings import settings_of
    from scrubjay.runs.config import RunConfig

    entries = {entry.name for entry in fields(RunConfig)} & given.keys()
    try:
        settings = settings_of(_spec(given["agent"]).load())
        options = {name: given[name] for name in settings if name in given and name != "seed"}
        for name, value in options.items():
            settings[name].checked(value)
        return RunConfig(**{name: given[name] for name in entries}, options=options)
    except (ValueError, TypeError) as error:
        raise CommandError(one_line(error)) from error


def _default_folder(config: "RunConfig") -> Path:
    task = config.task.rpartition("/")[2]
    return Path("runs") / task / f"{config.agent}-{config.preset}-seed-{config.seed}"


def _guarded(folder: Path, trust_module: bool, train: Any) -> int:
    try:
        agent = train()
    except KeyboardInterrupt:
        if not (folder / "manifest.json").exists():
            raise
        words = ["scrubjay", "train", "--resume", str(folder)]
        again = shlex.join([*words, *(["--trust-module"] if trust_module else [])])
        print(f"interrupted; go on with: {again}", file=sys.stderr)
        return INTERRUPTED
    print(f"done: {agent.num_timesteps:,} steps, {agent.n_episodes:,} episodes in {folder}")
    return 0

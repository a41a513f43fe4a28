"""scrubjay train AGENT TASK, scrubjay train --resume RUN."""

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.errors import one_line
from scrubjay.cli.launchers import add_launcher, transport_of
from scrubjay.cli.loading import (
    add_env_kwargs,
    add_success_key,
    add_trust_module,
    parse_env_kwargs,
    take_task,
)
from scrubjay.cli.main import INTERRUPTED, CommandError, Parser, refuse
from scrubjay.cli.options import add_settings, owner_of, whole
from scrubjay.cli.suggestions import METHOD, TASK, from_other_tools
from scrubjay.cli.summary import print_summary

if TYPE_CHECKING:
    from scrubjay.registry import AgentSpec
    from scrubjay.runs.config import RunConfig

EPILOG = """examples:
  scrubjay train cec GrowingTree --steps 20000
  scrubjay train cec-plus PointUMaze --steps 10000
  scrubjay train cec-plus my_module:MyEnv --success-key reached
  scrubjay train cec PointUMaze --seed 1 --out runs/umaze-1
  scrubjay train cec Pendulum-v1 --embedding bounds --distance-threshold 0.05
  scrubjay train --resume runs/umaze-1
  scrubjay train --resume runs/umaze-1 --steps 200000   (extends a finished run)
"""

NOTHING_MORE = "--resume takes everything but --steps from the run itself: no other arguments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay train`."""
    parser.epilog = EPILOG
    # what is not given is left out: the defaults are those of RunConfig
    add = partial(parser.add_argument, default=argparse.SUPPRESS)
    from scrubjay.registry import agent_specs

    specs = agent_specs().values()
    own = ", ".join(spec.name for spec in specs if not spec.extra)
    more = ", ".join(f"{spec.name} (extra {spec.extra})" for spec in specs if spec.extra)
    add("agent", nargs="?", metavar="METHOD", help=f"{own}; {more}; with --help, its settings")
    add("task", nargs="?", metavar="TASK",
        help="a Gymnasium id, a name of `scrubjay tasks`, or module:Name for an environment of "
        "your own: a class, a function or an id of a module in the current folder")  # fmt: skip
    add_env_kwargs(parser, dest="task_options", default=argparse.SUPPRESS)
    add_success_key(parser, default=argparse.SUPPRESS)
    add("--steps", type=whole, metavar="N", help="training steps (default 100000)")
    add("--seed", type=whole, metavar="S", help="seed of all random numbers (default 0)")
    add("--out", type=Path, metavar="RUN",
        help="run folder (default runs/TASK/METHOD-PRESET-seed-SEED); gets a number if it exists, "
        "as in RUN-2")  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace the run in that folder")
    add("--preset", metavar="NAME", help="the method's settings for the task, by name")
    add("--n-envs", type=whole, metavar="N", help="environments stepped together (default 1)")
    add("--collectors", type=whole, metavar="N",
        help="processes that step environments, while one learns (docs/scale.md)")  # fmt: skip
    add("--collector-mode", choices=("rounds", "free"),
        help="rounds: the result depends on seed and N only (default); free: faster")  # fmt: skip
    add_launcher(parser)
    add("--eval-freq", type=whole, metavar="N",
        help="steps between evaluations, 0: never (default 5000)")  # fmt: skip
    add("--eval-episodes", type=whole, metavar="N", dest="n_eval_episodes",
        help="episodes of an evaluation (default 10)")  # fmt: skip
    add("--log-freq", type=whole, metavar="N",
        help="steps between rows of progress.csv (default 1000)")  # fmt: skip
    add("--checkpoint-freq", type=whole, metavar="N",
        help="steps between checkpoints (default 10000)")  # fmt: skip
    add("--checkpoint-steps", type=whole, nargs="+", metavar="N",
        help="steps at which a checkpoint is kept as step-N")  # fmt: skip
    add("--max-episode-steps", type=whole, metavar="N",
        help="end longer episodes as time-outs, for tasks without a limit")  # fmt: skip
    add("--tensorboard", action="store_true", help="write TensorBoard files into the run folder")
    parser.add_argument("--wandb", metavar="PROJECT",
        help="send the log to this project of Weights & Biases (WANDB_MODE=offline keeps it here)",
    )  # fmt: skip
    parser.add_argument("--watchdog", type=float, metavar="SECONDS",
        help="warn if no step has finished for this long, with the stack")  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress on the terminal")
    add("--resume", type=Path, metavar="RUN",
        help="continue this run instead; with --steps N, up to N steps in total")  # fmt: skip
    add_trust_module(parser)


def add_agent_arguments(parser: Parser, given: Sequence[str]) -> None:
    """Add the settings of the agent's class as options."""
    from scrubjay.registry import agent_specs

    names = [name.lower() for name in parser.names(given)]
    agent = next((name for name in names if name in agent_specs()), "")
    if agent:
        add_settings(parser, agent)
    parser.set_defaults(named=agent)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Start a run, or resume one."""
    refuse_unknown(take_task(arguments, unknown), arguments)
    return _resume(arguments) if "resume" in arguments else _start(arguments)


def _start(arguments: argparse.Namespace) -> int:
    from scrubjay.runs.launch import start

    given = vars(arguments)
    if "agent" not in given or "task" not in given:
        raise CommandError(_missing(given))
    config = _config(given)
    out = given.get("out") or _default_folder(config)
    folders: list[Path] = []  # where the run is, once that is known

    def started(folder: Path) -> None:
        folders.append(folder)
        if folder != out:
            _say(f"note: {out} exists; --overwrite would replace it")
        _say(f"{config.agent} on {config.task}, seed {config.seed}: {folder}")

    open_transport = transport_of(arguments, config.collectors)
    # later commands ask for the flag, because a run folder may come from anywhere
    arguments.trust_module = ":" in config.task
    train = partial(
        start,
        config,
        out,
        arguments.line,
        if_exists="overwrite" if arguments.overwrite else "number",
        on_start=started,
        callback=_watchdog(arguments),
        outputs=_outputs(arguments, asdict(config)),
        progress_bar=not arguments.quiet,
        open_transport=open_transport,
    )
    return _guarded(train, folders, arguments)


def _resume(arguments: argparse.Namespace) -> int:
    from scrubjay.runs.launch import resume

    given = vars(arguments)
    _refuse_more(given)
    folder = arguments.resume
    train = partial(
        resume,
        folder,
        steps=given.get("steps"),
        on_start=partial(_resumed, folder),
        callback=_watchdog(arguments),
        outputs=_outputs(arguments, _recorded_config(folder) if arguments.wandb else {}),
        trust_module=arguments.trust_module,
        progress_bar=not arguments.quiet,
        open_transport=transport_of(arguments, 1),
    )
    return _guarded(train, [folder], arguments)


def _outputs(arguments: argparse.Namespace, config: Mapping[str, Any]) -> list[Any]:
    """The output to Weights & Biases, if requested; fails before anything is created."""
    if not arguments.wandb:
        return []
    from scrubjay.training.wandb_output import WandbOutput

    task = str(config.get("task")).rpartition("/")[2]
    name = f"{config.get('agent')} on {task}, seed {config.get('seed')}"
    return [WandbOutput(arguments.wandb, name, config)]


def _recorded_config(folder: Path) -> Mapping[str, Any]:
    from scrubjay.training import RunFolder

    return RunFolder.open(folder).config


def _watchdog(arguments: argparse.Namespace) -> Any:
    if arguments.watchdog is None:
        return None
    from scrubjay.training.watchdog import Watchdog

    try:
        return Watchdog(arguments.watchdog)
    except ValueError as error:
        raise CommandError(f"--watchdog: {error}") from error


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _resumed(folder: Path, config: "RunConfig", done: int) -> None:
    """Say at which step a run is resumed."""
    if config.episodes is not None:
        _say(f"{config.agent} on {config.task}: {folder} from step {done:,}")
    elif done < config.steps:
        _say(f"{config.agent} on {config.task}: {folder} from step {done:,} to {config.steps:,}")
    else:
        _say(f"{folder} is finished, with {done:,} steps; --steps {2 * config.steps} extends it")


def _missing(given: Mapping[str, Any]) -> str:
    """The message for a missing method or task."""
    agent = given.get("agent")
    if agent is None:
        return "train needs a method and a task, as in: scrubjay train cec-plus PointUMaze"
    _spec(agent)
    return f"train needs a task too, as in: scrubjay train {agent} PointUMaze"


def refuse_unknown(unknown: Sequence[str], arguments: argparse.Namespace) -> None:
    """Refuse unknown arguments; the message names the method that has such a setting."""
    if not unknown:
        return
    option = unknown[0].partition("=")[0]
    if "resume" in arguments:
        if owner_of(option):
            raise CommandError(NOTHING_MORE)
        refuse(unknown, arguments)
    if option in (*METHOD, *TASK) or from_other_tools(option, arguments.flags):
        refuse(unknown, arguments)
    if not arguments.named and "agent" in arguments:
        _spec(arguments.agent)  # without a known method there are no settings to compare with
    owner = owner_of(option) if arguments.named else ""
    if owner:
        raise CommandError(
            f"there is no option {unknown[0]!r} for {arguments.named}; did you mean {owner}, "
            "which has it?"
        )
    refuse(unknown, arguments)


def _spec(agent: str, task: str = "") -> "AgentSpec":
    from scrubjay.registry import UnknownAgentError, agent_spec, agent_specs

    try:
        return agent_spec(agent)
    except UnknownAgentError as error:
        if task.lower() in agent_specs():
            raise CommandError(
                f"expected the method before the task; did you mean: scrubjay train {task} {agent}?"
            ) from error
        raise CommandError(str(error)) from error


def _refuse_more(given: Mapping[str, Any]) -> None:
    allowed = {"command", "line", "flags", "quiet", "resume", "steps", "trust_module", "named"}
    allowed |= {"launcher", "address", "watchdog", "wandb"}
    if given.keys() - allowed - {"overwrite"} or given["overwrite"]:
        raise CommandError(NOTHING_MORE)


def checked_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the method among the arguments.

    Args:
        given: The arguments, `agent` and `task` among them.

    Raises:
        ValueError: If one has a value that it may not have.
    """
    from scrubjay.agents.settings import settings_of

    settings = settings_of(_spec(given["agent"], given["task"]).load())
    options = {name: given[name] for name in settings if name in given and name != "seed"}
    for name, value in options.items():
        settings[name].checked(value)
    return options


def _config(given: Mapping[str, Any]) -> "RunConfig":
    from scrubjay.runs.config import RunConfig

    entries = {entry.name for entry in fields(RunConfig)} & given.keys()
    try:
        options = checked_options(given)
        values = {name: given[name] for name in entries}
        values["task_options"] = parse_env_kwargs(given.get("task_options"))
        return RunConfig(**values, options=options)
    except (ValueError, TypeError) as error:
        raise CommandError(one_line(error)) from error


def _default_folder(config: "RunConfig") -> Path:
    task = config.task.rpartition(":")[2].rpartition("/")[2]
    return Path("runs") / task / f"{config.agent}-{config.preset}-seed-{config.seed}"


def _guarded(train: Callable[[], Any], folders: list[Path], arguments: argparse.Namespace) -> int:
    """Train, and print how it ended and how to continue.

    Args:
        train: Trains and returns the agent.
        folders: The run folder, once it is known.
        arguments: Those of the command.
    """
    try:
        agent = train()
    except KeyboardInterrupt:
        if not folders or not (folders[0] / "manifest.json").exists():
            raise
        words = ["scrubjay", "train", "--resume", str(folders[0])]
        again = shlex.join([*words, *(["--trust-module"] if arguments.trust_module else [])])
        _say(f"interrupted; continue with: {again}")
        return INTERRUPTED
    except (TypeError, ValueError) as error:
        task = getattr(arguments, "task", "")
        if folders and ":" in task and type(error) in (TypeError, ValueError):
            _say(f"note: scrubjay check-env {task} finds common mistakes in environments")
        raise
    folder = folders[0]
    episodes = f"{agent.n_episodes:,} episode{'' if agent.n_episodes == 1 else 's'}"
    print(f"done: {agent.num_timesteps:,} steps, {episodes} in {folder}")
    if not arguments.quiet:
        print_summary(folder, arguments.trust_module)
    return 0

"""The trained agent of `evaluate`, `watch` and `inspect`, from a run folder or a saved file."""

import argparse
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.main import CommandError
from scrubjay.cli.options import parse_value
from scrubjay.cli.suggestions import nearest

if TYPE_CHECKING:
    import gymnasium

    from scrubjay.runs.config import RunConfig


@dataclass(frozen=True)
class LoadedAgent:
    """A trained agent and its task.

    Attributes:
        agent: The agent.
        config: The configuration of its run; for a file without a run, what is known of it.
        name: A short name for titles and files.
        source: The run folder or file.
        trusted: Whether the module of its task may be imported.
    """

    agent: Any
    config: "RunConfig"
    name: str
    source: Path
    trusted: bool

    def make_env(self, **more: Any) -> "gymnasium.Env[Any, Any]":
        """The task's environment, with more arguments, like render_mode."""
        from scrubjay.runs.launch import check_module

        check_module(self.source, self.config, self.trusted)
        env = self.config.make_env(**more)
        expected, found = self.agent.observation_space, env.observation_space
        if expected != found:
            raise CommandError(
                f"{self.config.task} is another task than the agent's: expected observations "
                f"{expected}, got {found}"
            )
        return env


def add_loading_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which agent, on which task."""
    add_checkpoint(parser)
    add_env_kwargs(parser)
    add_success_key(parser)
    add_trust_module(parser)


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """Which of a run's checkpoints, and whether a file may execute code."""
    add = parser.add_argument
    add("--checkpoint", default="last", metavar="NAME",
        help="checkpoint of a run folder: last, best or step-N (default last)")  # fmt: skip
    add("--trust-file", action="store_true",
        help="open a .zip with networks, which can execute code")  # fmt: skip


def add_env_kwargs(parser: argparse.ArgumentParser, **settings: Any) -> None:
    """Arguments of the task's constructor."""
    parser.add_argument(
        "--env-kwargs",
        nargs="+",
        metavar="NAME=VALUE",
        help="arguments of the task, as in size=5",
        **settings,
    )


def add_success_key(parser: argparse.ArgumentParser, **settings: Any) -> None:
    """The entry of `info` that says whether an episode was solved."""
    parser.add_argument(
        "--success-key",
        metavar="KEY",
        help="the entry of info that says whether an episode was solved "
        "(default is_success, then success)",
        **settings,
    )


def add_trust_module(parser: argparse.ArgumentParser) -> None:
    """Whether the module of a run's task may be imported."""
    parser.add_argument(
        "--trust-module",
        action="store_true",
        help="import the module that the run's task names (module:Name)",
    )


def parse_env_kwargs(words: list[str] | None) -> dict[str, Any]:
    """size=5 walls=true, or one JSON object."""
    found: dict[str, Any] = {}
    for word in words or []:
        name, sign, value = word.partition("=")
        if word.startswith("{"):
            parsed = parse_value(word)
            if not isinstance(parsed, Mapping):
                raise CommandError(f"--env-kwargs: expected a JSON object, got {word!r}")
            found.update(parsed)
        elif sign and name.isidentifier():
            found[name] = parse_value(value)
        else:
            raise CommandError(f"--env-kwargs: expected NAME=VALUE, as in size=5, got {word!r}")
    return found


def take_task(arguments: argparse.Namespace, unknown: Sequence[str]) -> Sequence[str]:
    """Find a task that is written behind options; returns the words that remain unknown.

    Up to Python 3.12, argparse does not see a second name behind an option.
    """
    if vars(arguments).get("task") is None and unknown and not unknown[0].startswith("-"):
        arguments.task = unknown[0]
        return unknown[1:]
    return unknown


def open_agent(path: Path, arguments: argparse.Namespace, *, with_task: bool = True) -> LoadedAgent:
    """The agent of a run folder or of a file.

    Args:
        path: The run folder or file.
        arguments: Those of `add_loading_arguments`, and `task`.
        with_task: Whether its task is needed too.
    """
    from scrubjay.runs.launch import load_agent

    folder, checkpoint = run_of(path, arguments.checkpoint)
    if folder is not None:
        agent, config = load_agent(folder, checkpoint)
        name = folder.resolve().name
    else:
        agent = load_file(path, arguments.trust_file)
        config = _config_of(agent)
        name = path.stem
        if with_task and not arguments.task:
            raise CommandError(
                f"{path} does not say its task; name it too: "
                f"scrubjay {arguments.command} {path} TASK"
            )
    return LoadedAgent(agent, _adjusted(config, arguments), name, path, _trusts(arguments))


def _trusts(arguments: argparse.Namespace) -> bool:
    return bool(arguments.trust_module or arguments.task)


def run_of(path: Path, checkpoint: str) -> tuple[Path | None, str]:
    """The run folder and the checkpoint that a path means, if it means any."""
    if path.is_dir():
        runs = sorted(manifest.parent for manifest in path.glob("*/manifest.json"))
        if runs and not (path / "manifest.json").exists():
            raise CommandError(f"{path} is not a run folder; did you mean {runs[0]}?")
        return path, checkpoint
    run = path.parent.parent
    if path.is_file() and path.parent.name == "checkpoints" and (run / "manifest.json").exists():
        return run, path.stem
    return None, checkpoint


def _adjusted(config: "RunConfig", arguments: argparse.Namespace) -> "RunConfig":
    """The configuration with the options of the command line."""
    from scrubjay.envs.catalog import find_task

    options = parse_env_kwargs(arguments.env_kwargs)
    if arguments.success_key is not None:
        config = replace(config, success_key=arguments.success_key)
    if arguments.task:
        task = find_task(arguments.task)
        known = config.task_options if task == config.task else {}
        config = replace(config, task=task, env_by_id=True, task_options=known)
    return replace(config, task_options={**config.task_options, **options}) if options else config


def _config_of(agent: Any) -> "RunConfig":
    from scrubjay.runs.config import RunConfig

    return RunConfig(agent.name, "", seed=agent.seed or 0, env_by_id=False)


def load_file(path: Path, trust_file: bool = False) -> Any:
    """A saved agent of any method.

    Args:
        path: A file of `save`.
        trust_file: Whether a file that can execute code may be opened.
    """
    from scrubjay.agents import MemoryAgent

    if not path.exists():
        names = [str(found) for found in sorted(path.parent.glob("*"))] if path.name else []
        near = nearest(str(path), names, cutoff=0.7)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise FileNotFoundError(f"there is no file or run folder {str(path)!r}{hint}")
    method = _network_method(path)
    if method is None:
        return MemoryAgent.load(path)
    if not trust_file:
        raise CommandError(
            f"{path} has networks in Stable-Baselines3's format, and such files can execute code: "
            "add --trust-file if you trust its origin"
        )
    from scrubjay.registry import agent_spec

    return agent_spec(method).load().load(path, trusted=True)


def _network_method(path: Path) -> str | None:
    """The name of the method that saved a zip of Stable-Baselines3; None for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if "policy.pth" not in archive.namelist():
                return None
            name = json.loads(archive.read("data")).get("agent_name")
    except (OSError, ValueError, KeyError, AttributeError, zipfile.BadZipFile):
        return None
    if not isinstance(name, str):
        raise CommandError(
            f"{path} does not say which method has saved it; open it from Python, as in "
            "SAC.load(path, trusted=True)"
        )
    return name

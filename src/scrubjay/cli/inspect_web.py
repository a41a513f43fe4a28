"""scrubjay inspect RUN|FILE --web: the page that shows a memory."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.inspect_memory import only_a_memory
from scrubjay.cli.loading import LoadedAgent, open_agent, run_of
from scrubjay.cli.main import CommandError
from scrubjay.optional import require

if TYPE_CHECKING:
    from scrubjay.memory import EpisodicMemory
    from scrubjay.web.source import Source

NETWORK_PACKAGES = ("uvicorn", "starlette")


def serve_page(arguments: argparse.Namespace) -> int:
    """Serve the page of a run folder, a saved agent or a saved memory."""
    for package in NETWORK_PACKAGES:
        require(package, "web")
    from scrubjay.web.server import serve

    serve(open_source(arguments), port=arguments.port, browser=not arguments.no_browser)
    return 0


def open_source(arguments: argparse.Namespace) -> "Source":
    """The data of the page, from a run folder, a saved agent or a saved memory."""
    memory = only_a_memory(arguments.path)
    return _of_agent(arguments) if memory is None else _of_memory(arguments.path, memory)


def _of_memory(path: Path, memory: "EpisodicMemory") -> "Source":
    from scrubjay.web.source import Source

    def make_env(**more: Any) -> Any:  # noqa: ARG001
        raise CommandError(f"{path} has no agent")

    return Source(path.stem, "", (path.stem,), 0, lambda _: memory, make_env)


def _of_agent(arguments: argparse.Namespace) -> "Source":
    from scrubjay.runs.launch import load_agent
    from scrubjay.web.source import Source

    loaded = open_agent(arguments.path, arguments, with_task=False)
    agent, config = loaded.agent, loaded.config
    if not agent.memories:
        raise CommandError(
            f"{agent.name} keeps no episodic memory, so there is nothing to show; scrubjay report "
            "shows its results, scrubjay watch its episodes"
        )
    folder, shown = run_of(arguments.path, arguments.checkpoint)
    names = [loaded.name] if folder is None else _checkpoints(folder, agent.suffix)
    shown = loaded.name if folder is None else shown

    def load(name: str) -> Any:
        return agent if folder is None or name == shown else load_agent(folder, name)[0]

    return Source(
        loaded.name, config.task, tuple(names), names.index(shown), load,
        _environments(loaded, arguments), config.seed, config.success_key,
    )  # fmt: skip


def _environments(loaded: LoadedAgent, arguments: argparse.Namespace) -> Any:
    """A function that makes the task's environment; its error says how to name an unknown task."""

    def make_env(**more: Any) -> Any:
        if not loaded.config.task:
            raise CommandError(
                f"the file does not say its task; name it too: scrubjay inspect {arguments.path} "
                "TASK --web"
            )
        return loaded.make_env(**more)

    return make_env


def _checkpoints(folder: Path, suffix: str) -> list[str]:
    """The names of a run's checkpoints: those of a step by their step, then best, then last."""

    def order(name: str) -> tuple[int, int, str]:
        step = re.fullmatch(r"step-(\d+)", name)
        return (0, int(step[1]), name) if step else (1 + (name == "last"), 0, name)

    return sorted((path.stem for path in (folder / "checkpoints").glob(f"*{suffix}")), key=order)

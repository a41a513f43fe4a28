"""Run what a figure or table needs, then write it."""

import difflib
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scrubjay.envs.catalog import find_task
from scrubjay.figures.layout import check_plots
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launchers import Launcher
from scrubjay.runs.sweep import SweepResult, sweep
from scrubjay.studies import ADDABLE, ALL, EXPERIMENTS, WITHOUT_FIGURES
from scrubjay.studies.shared.methods import METHODS
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.training.errors import RunError


def check_name(name: str) -> None:
    """Refuse what cannot be reproduced, with a suggestion."""
    _check_known("a figure or table", name, (*EXPERIMENTS, ALL))


def _check_known(what: str, name: str, names: Iterable[str]) -> None:
    known = list(names)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
        raise ValueError(f"expected the name of {what}, got {name!r}; {hint}")


def chosen_names(name: str, add: bool) -> list[str]:
    """The studies of a name; adding to stored numbers is possible where all of them are stored."""
    names = list(EXPERIMENTS) if name == ALL else [name]
    if add and name != ALL and name not in ADDABLE:
        raise ValueError(
            f"expected a result that runs can be added to, got {name!r}; there are "
            f"{', '.join(ADDABLE)}"
        )
    return [each for each in names if each in ADDABLE] if add else names


def check_agents(agents: tuple[str, ...]) -> None:
    """Refuse unknown agents, with a suggestion."""
    for name in agents:
        _check_known("an agent", name, METHODS)


def chosen_tasks(tasks: Sequence[str], planned: Sequence[str]) -> set[str]:
    """The ids of the named tasks, all if none is named; each must be planned."""
    ids = {find_task(task) for task in tasks}
    for task in ids - set(planned):
        known = ", ".join(dict.fromkeys(planned)) or "none for these agents"
        raise ValueError(f"expected tasks of this study, got {task!r}; it has {known}")
    return ids or set(planned)


def reproduce(
    name: str,
    workspace: Workspace,
    jobs: int | None = None,
    launcher: Launcher | None = None,
) -> SweepResult:
    """Run what is missing, then write every result of this name (or of all).

    Args:
        name: A figure, table or study, or "all".
        workspace: Where its runs and results are, and which methods may be run.
        jobs: Processes at a time; one for each core if not given.
        launcher: Where the runs are worked on; this machine if not given.

    Returns:
        How many runs are done, and which failed.

    Raises:
        ValueError: If there is nothing of that name, no such agent, or no such task.
        RunError: If there is nothing to draw.
    """
    check_name(name)
    check_agents(workspace.agents)
    names = chosen_names(name, workspace.add)
    if not set(names) <= set(WITHOUT_FIGURES):
        check_plots()
    modules = {each: _module(each) for each in names}
    plans: dict[Path, list[RunConfig]] = {}
    for module in modules.values():
        plans.setdefault(_root(module, workspace), []).extend(module.plan(workspace))
    planned = [config.task for configs in plans.values() for config in configs]
    tasks = chosen_tasks(workspace.tasks, planned)
    outcome = SweepResult(0)
    for root, configs in plans.items():
        chosen = [config for config in configs if config.task in tasks]
        part = sweep(chosen, root, jobs=jobs, command=workspace.command, launcher=launcher)
        outcome = SweepResult(outcome.n_done + part.n_done, {**outcome.failed, **part.failed})
    for each, module in modules.items():
        _make(each, module, workspace, alone=name != ALL)
    return outcome


def redraw(name: str, workspace: Workspace) -> list[Path]:
    """Draw the figures of this name (or of all) again, from the numbers that are stored with them.

    Args:
        name: A figure or study, or "all".
        workspace: Its `out` is the folder of the results.

    Returns:
        The files that were written.

    Raises:
        ValueError: If there is nothing of that name.
        RunError: If no numbers of it are stored there.
    """
    check_name(name)
    check_plots()
    written = []
    for each in list(EXPERIMENTS) if name == ALL else [name]:
        written += workspace.redraw(getattr(_module(each), "FIGURES", {}))
    if not written:
        raise RunError(
            f"expected the stored numbers of a figure of {name} in {workspace.out}, got none; name "
            "their folder with --out"
        )
    return written


def _root(module: Any, workspace: Workspace) -> Path:
    """Where the runs of an experiment lie: those of other lengths than the paper's lie apart."""
    return Path(module.folder(workspace)) if hasattr(module, "folder") else workspace.root


def _make(name: str, module: Any, workspace: Workspace, alone: bool) -> list[Path]:
    """Among all results, one without runs is only mentioned."""
    try:
        return list(module.make(workspace))
    except RunError as error:
        if alone:
            raise
        workspace.print_once(f"{name}: {error}")
        return []


def _module(name: str) -> Any:
    return importlib.import_module(f"{__package__}.{EXPERIMENTS[name][0]}")

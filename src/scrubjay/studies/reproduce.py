"""Run what a figure or table needs, then write it."""

import difflib
import importlib
from pathlib import Path
from typing import Any

from scrubjay.figures.layout import check_plots
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import SweepResult, sweep
from scrubjay.studies import ALL, EXPERIMENTS, WITHOUT_FIGURES
from scrubjay.studies.shared.methods import METHODS
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.training.errors import RunError


def check_name(name: str) -> None:
    names = (*EXPERIMENTS, ALL)
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise ValueError(f"there is nothing to reproduce called {name!r}; {hint}")


def check_agents(agents: tuple[str, ...]) -> None:
    for name in agents:
        if name not in METHODS:
            near = difflib.get_close_matches(name, METHODS, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METHODS)}"
            raise ValueError(f"there is no agent {name!r}; {hint}")


def reproduce(name: str, workspace: Workspace, jobs: int | None = None) -> SweepResult:
    """Run what is missing, then write every result of this name (or of all)."""
    check_name(name)
    check_agents(workspace.agents)
    names = list(EXPERIMENTS) if name == ALL else [name]
    if not set(names) <= set(WITHOUT_FIGURES):
        check_plots()
    modules = {each: _module(each) for each in names}
    plans: dict[Path, list[RunConfig]] = {}
    for module in modules.values():
        plans.setdefault(_root(module, workspace), []).extend(module.plan(workspace))
    outcome = SweepResult(0)
    for root, configs in plans.items():
        part = sweep(configs, root, jobs=jobs, command=workspace.command)
        outcome = SweepResult(outcome.n_done + part.n_done, {**outcome.failed, **part.failed})
    for each, module in modules.items():
        _make(each, module, workspace, alone=name != ALL)
    return outcome


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
        workspace.say(f"{name}: {error}")
        return []


def _module(name: str) -> Any:
    return importlib.import_module(f"{__package__}.{EXPERIMENTS[name][0]}")

"""Runs that belong together: those of one method on one task, whatever their seed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrubjay.agents.files import upgraded
from scrubjay.analysis.reading import RunData
from scrubjay.training.errors import RunError

# Settings in which runs of one method may differ: how long, how watched and where, never how.
BOOKKEEPING = (
    *("steps", "episodes", "start_timestep", "eval_freq", "n_eval_episodes", "log_freq"),
    *("checkpoint_freq", "checkpoint_steps", "tensorboard", "env_by_id"),
)
# Entries that older runs may not have, with the values that they had without them.
YOUNGER = {"max_episode_steps": None, "n_envs": 1}


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed only."""

    label: str
    task: str
    runs: tuple[RunData, ...]

    @property
    def finished(self) -> tuple[RunData, ...]:
        return tuple(run for run in self.runs if run.finished)


def group_runs(runs: Iterable[RunData]) -> list[Group]:
    """Put runs together that differ in their seed only, and name each group.

    The name is the agent's; where an agent comes with several settings on one task, the settings
    that differ are added to it.
    """
    by_task: dict[str, dict[str, list[RunData]]] = {}
    for run in runs:
        key = json.dumps(_settings(run), sort_keys=True, default=str)
        by_task.setdefault(run.task, {}).setdefault(key, []).append(run)
    return [
        Group(label, task, tuple(members))
        for task, groups in by_task.items()
        for label, members in _labelled(list(groups.values()))
    ]


def differences(runs: Sequence[RunData]) -> dict[str, list[Any]]:
    """The settings (dotted names) that are not the same in all runs, one value for each run."""
    flat = [_flatten(run.config) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    rows = {name: [settings.get(name) for settings in flat] for name in names}
    return {name: values for name, values in rows.items() if any(v != values[0] for v in values)}


def _settings(run: RunData) -> dict[str, Any]:
    """What makes the method: the configuration without the bookkeeping."""
    return {
        name: value
        for name, value in _flatten(_in_words_of_today(run)).items()
        if name not in BOOKKEEPING and name.rpartition(".")[2] != "seed"
    }


def _in_words_of_today(run: RunData) -> Mapping[str, Any]:
    """The configuration as today's version has it, so that runs of two can be one method's."""
    config = {**YOUNGER, **run.config, "agent": run.agent}
    options = config.get("options")
    if not isinstance(options, dict):
        return config
    agent, options = upgraded(run.agent, options)
    return {**config, "agent": agent, "options": options}


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        flat |= _flatten(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat


def _labelled(groups: list[list[RunData]]) -> list[tuple[str, list[RunData]]]:
    for members in groups:
        _check_seeds(members)
    firsts = [_settings(members[0]) for members in groups]
    peers = [[other for other in firsts if other["agent"] == mine["agent"]] for mine in firsts]
    labels = [_label(mine, others) for mine, others in zip(firsts, peers, strict=True)]
    return list(zip(labels, groups, strict=True))


def _label(mine: Mapping[str, Any], peers: Sequence[Mapping[str, Any]]) -> str:
    """The agent's name with what sets it apart: one setting if that is enough, else all."""
    names = dict.fromkeys(name for each in peers for name in each)
    values = {name: [str(each.get(name)) for each in peers] for name in names}
    differing = [name for name in names if len(set(values[name])) > 1]
    enough = [name for name in differing if len(set(values[name])) == len(peers)]
    details = [f"{name.rpartition('.')[2]}={mine.get(name)}" for name in enough[:1] or differing]
    return f"{mine['agent']} ({', '.join(details)})" if details else str(mine["agent"])


def _check_seeds(runs: Sequence[RunData]) -> None:
    first: dict[int, RunData] = {}
    for run in runs:
        if run.seed in first:
            raise RunError(
                f"{first[run.seed].path} and {run.path} are the same method, task and seed: "
                "a run counted twice makes intervals too narrow; leave one out"
            )
        first[run.seed] = run

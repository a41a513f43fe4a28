"""Runs that belong together: those of one method on one task, whatever their seed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrubjay.agents.files import upgraded
from scrubjay.analysis.reading import RunData

# Settings in which runs of one method may differ: how long, how watched and where, never how.
BOOKKEEPING = (
    *("steps", "episodes", "start_timestep", "eval_freq", "n_eval_episodes", "log_freq"),
    *("checkpoint_freq", "checkpoint_steps", "tensorboard", "env_by_id"),
)
# Entries that older runs may not have, with the values that they had without them.
ADDED_SETTINGS = {"max_episode_steps": None, "n_envs": 1, "success_key": None}


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed only.

    Attributes:
        label: The method's name, with the settings that set it apart.
        task: The task's id.
        runs: One run for each seed.
        repeats: Further runs of the same seeds. They are not used, because a seed that is counted
            twice makes intervals too narrow.
    """

    label: str
    task: str
    runs: tuple[RunData, ...]
    repeats: tuple[RunData, ...] = ()

    @property
    def finished(self) -> tuple[RunData, ...]:
        """Those of its runs that are finished."""
        return tuple(run for run in self.runs if run.finished)


def group_runs(runs: Iterable[RunData]) -> list[Group]:
    """Put runs together that differ in their seed only, and name each group.

    The name is the agent's; where an agent comes with several settings on one task, the settings
    that differ are added to it. Of several runs with the same seed one counts: a finished one, and
    among those the first; the others are the group's `repeats`.

    Args:
        runs: Runs of any methods and tasks.

    Returns:
        The groups, in the order of their first runs.
    """
    by_task: dict[str, dict[str, list[RunData]]] = {}
    for run in runs:
        key = json.dumps(_settings(run), sort_keys=True, default=str)
        by_task.setdefault(run.task, {}).setdefault(key, []).append(run)
    return [
        Group(label, task, *_without_repeats(members))
        for task, groups in by_task.items()
        for label, members in _labelled(list(groups.values()))
    ]


def differences(runs: Sequence[RunData]) -> dict[str, list[Any]]:
    """The settings (dotted names) that are not the same in all runs, one value for each run."""
    flat = [_flatten(run.config, whole=True) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    rows = {name: [settings.get(name) for settings in flat] for name in names}
    return {name: values for name, values in rows.items() if any(v != values[0] for v in values)}


def _settings(run: RunData) -> dict[str, Any]:
    """What makes the method: the configuration without the bookkeeping."""
    return {
        name: value
        for name, value in _flatten(_upgraded_config(run)).items()
        if name not in BOOKKEEPING and name.rpartition(".")[2] != "seed"
    }


def _upgraded_config(run: RunData) -> Mapping[str, Any]:
    """The configuration in the form of this version, to compare runs of different versions."""
    config = {**ADDED_SETTINGS, **run.config, "agent": run.agent}
    options = config.get("options")
    if not isinstance(options, dict):
        return config
    agent, options = upgraded(run.agent, options)
    return {**config, "agent": agent, "options": options}


def plain(value: object) -> str:
    """A setting as a person writes it, in place of Python's notation.

    >>> plain({"name": "chain", "stages": [{"name": "select", "keys": ["a", "b"]}]})
    'chain (stages: select (keys: a, b))'
    >>> plain([0.9, 0.05, 100000]), plain(True), plain(None)
    ('0.9, 0.05, 100,000', 'yes', 'none')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value)) or "none"
    if isinstance(value, Mapping):
        rest = ", ".join(f"{k}: {plain(v)}" for k, v in value.items() if k != "name")
        name = str(value.get("name", "")).replace("_", " ")
        return f"{name} ({rest})" if name and rest else name or rest or "none"
    return "none" if value is None else str(value)


def _flatten(settings: Mapping[str, Any], prefix: str = "", whole: bool = False) -> dict[str, Any]:
    """Settings by dotted name; `whole` keeps those together that have a name, as embeddings do."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        apart = isinstance(value, Mapping) and not (whole and "name" in value)
        flat |= _flatten(value, f"{name}.", whole) if apart else {name: value}
    return flat


def _labelled(groups: list[list[RunData]]) -> list[tuple[str, list[RunData]]]:
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
    details = [_detail(name, mine.get(name)) for name in enough[:1] or differing]
    return f"{mine['agent']} ({', '.join(details)})" if details else str(mine["agent"])


def _detail(name: str, value: object) -> str:
    *above, last = name.split(".")
    # an embedding's name is not clear without the word embedding
    return f"{above[-1] if last == 'name' and above else last}={plain(value)}"


def _without_repeats(runs: Sequence[RunData]) -> tuple[tuple[RunData, ...], tuple[RunData, ...]]:
    """One run for each seed, in the given order, and the others."""
    kept: dict[int, RunData] = {}
    for run in sorted(runs, key=lambda run: not run.finished):  # a stable order
        kept.setdefault(run.seed, run)
    counted = {id(run) for run in kept.values()}
    return (
        tuple(run for run in runs if id(run) in counted),
        tuple(run for run in runs if id(run) not in counted),
    )

"""Run folders as data: reading them, and lining up the curves of many seeds.

Everything that is drawn or tabulated starts here, so that the unit is always the run: evaluation
episodes are averaged inside a run (`Evaluations`), and several runs of one method become one
matrix of seeds x steps (`Curve`).
"""

import glob
import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.agents import CEC
from scrubjay.experiments.launch import MEMORY_AGENTS
from scrubjay.experiments.tables import Array, RunError, Table, column, read_table
from scrubjay.training.run_folder import SCHEMA

__all__ = [
    "Curve",
    "Evaluations",
    "Group",
    "RunData",
    "RunError",
    "differences",
    "evaluation_curve",
    "find_runs",
    "group_runs",
    "load_run",
    "load_runs",
    "one_task",
    "progress_curve",
]

METRICS = ("success", "return", "length")
# Settings in which runs of one method may differ: how long, how watched and where, never how.
BOOKKEEPING = (
    *("steps", "episodes", "start_timestep", "eval_freq", "n_eval_episodes", "log_freq"),
    *("checkpoint_freq", "checkpoint_steps", "tensorboard"),
)


@dataclass(frozen=True)
class Evaluations:
    """Evaluation means of one run, one entry per timestep; success is NaN where unknown."""

    timesteps: Array
    returns: Array
    success: Array
    lengths: Array
    n_episodes: Array

    def metric(self, name: str) -> Array:
        """One of `METRICS` by its name."""
        return {"success": self.success, "return": self.returns, "length": self.lengths}[name]


@dataclass(frozen=True)
class RunData:
    """One run folder. `notes` says what was left out or is unusual, in full sentences."""

    path: Path
    manifest: Mapping[str, Any]
    config: Mapping[str, Any]
    evaluations: Evaluations
    episodes: Table
    progress: Table
    time: Table
    notes: tuple[str, ...] = ()

    @property
    def agent(self) -> str:
        return str(self.manifest["agent"])

    @property
    def task(self) -> str:
        return str(self.manifest["task"])

    @property
    def seed(self) -> int:
        return int(self.manifest["seed"])

    @property
    def finished(self) -> bool:
        return bool(self.manifest["status"] == "finished")


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed only."""

    label: str
    task: str
    runs: tuple[RunData, ...]

    @property
    def finished(self) -> tuple[RunData, ...]:
        return tuple(run for run in self.runs if run.finished)


@dataclass(frozen=True, eq=False)
class Curve:
    """Values of one method on one task, a matrix of seeds x steps."""

    label: str
    task: str
    metric: str
    steps: Array
    values: Array
    seeds: tuple[int, ...]
    notes: tuple[str, ...] = field(default=())


def load_run(path: str | Path, allow_unfinished: bool = False) -> RunData:
    """Read one run folder; one that is not finished only when the caller allows it."""
    folder = Path(path)
    manifest = _manifest(folder)
    status = manifest["status"]
    if status != "finished" and not allow_unfinished:
        raise RunError(
            f"{folder} is not finished (status {status!r}): resume it, leave it out, "
            "or allow unfinished runs"
        )
    tables, notes = _tables(folder)
    evaluations, more = _evaluations(folder / "eval.csv", tables["eval"], status == "finished")
    run = RunData(
        path=folder,
        manifest=manifest,
        config=_json(folder / "config.json"),
        evaluations=evaluations,
        episodes=tables["episodes"],
        progress=tables["progress"],
        time=tables["time"],
        notes=(*notes, *more),
    )
    if run.finished:
        _check_complete(run)
        return run
    return replace(run, notes=(f"not finished (status {status!r})", *run.notes))


def load_runs(
    paths: str | Path | Iterable[str | Path], allow_unfinished: bool = False
) -> list[RunData]:
    """Read all runs in the given folders or globs, ordered by task, agent, seed and path."""
    runs = [load_run(folder, allow_unfinished) for folder in find_runs(paths)]
    return sorted(runs, key=lambda run: (run.task, run.agent, run.seed, str(run.path)))


def find_runs(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """The run folders that are named, matched by a glob, or lie anywhere below; each once."""
    names = [paths] if isinstance(paths, str | Path) else list(paths)
    found: dict[Path, Path] = {}
    for name in names:
        below = _runs_below(str(name))
        if not below:
            raise RunError(
                f"no run was found in {str(name)!r}: a run folder (with manifest.json), a folder "
                "of them or a glob was expected"
            )
        found.update((folder.resolve(), folder) for folder in below)
    if not found:
        raise RunError("no run was given: name at least one run folder, or a glob of them")
    return list(found.values())


def one_task(items: Iterable[RunData | Curve]) -> str:
    """The task of all the runs or curves; those of several do not belong in one plot."""
    tasks = sorted({item.task for item in items})
    if len(tasks) != 1:
        raise RunError(
            f"runs of one task were expected, {len(tasks)} tasks came ({', '.join(tasks)}): "
            "make one plot for each"
        )
    return tasks[0]


def group_runs(runs: Iterable[RunData]) -> list[Group]:
    """Put runs together that differ in their seed only, and name each group.

    The name is the agent's; where an agent comes with several settings on one task, the settings
    that differ are added to it.
    """
    by_task: dict[str, dict[str, list[RunData]]] = {}
    for run in runs:
        key = json.dumps([run.agent, _settings(run)], sort_keys=True, default=str)
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


def evaluation_curve(group: Group, metric: str = "success") -> Curve:
    """One of `METRICS` for the seeds of a group, at the steps where all of them were evaluated.

    Nothing is interpolated and nothing continued: runs of unequal length are cut to the shortest,
    and the curve's notes say so.
    """
    if metric not in METRICS:
        raise ValueError(f"one of {', '.join(METRICS)} was expected, {metric!r} came")
    series = [(run.evaluations.timesteps, run.evaluations.metric(metric)) for run in group.runs]
    return _aligned(group, metric, series)


def progress_curve(group: Group, name: str, n_steps: int = 101) -> Curve:
    """A column of progress.csv for the seeds of a group, on a grid of steps that all have logged.

    Runs log at the ends of episodes, each at steps of its own; a value holds until the next line.
    """
    series = [_logged(run, name) for run in group.runs]
    start, end = max(where[0] for where, _ in series), min(where[-1] for where, _ in series)
    grid = np.linspace(start, end, n_steps, dtype=np.int64)
    steps = np.unique(grid).astype(np.float64)
    values = [found[np.searchsorted(where, steps, side="right") - 1] for where, found in series]
    return _curve(group, name, steps, np.stack(values), [where for where, _ in series])


def _runs_below(name: str) -> list[Path]:
    roots = [Path(name)] if Path(name).exists() else [Path(p) for p in glob.glob(name)]
    return sorted(
        manifest.parent
        for root in roots
        for manifest in (
            [root / "manifest.json"]
            if (root / "manifest.json").exists()
            else root.rglob("manifest.json")
        )
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(
            f"{path} is missing: {path.parent} is no run folder, or an incomplete one"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged ({error}): repeat the run or leave it out") from error
    if not isinstance(content, dict):
        raise RunError(f"{path} is damaged: an object was expected, {type(content).__name__} came")
    return content


def _manifest(folder: Path) -> dict[str, Any]:
    manifest = _json(folder / "manifest.json")
    for key, kind in (("status", str), ("agent", str), ("task", str), ("seed", int)):
        if not isinstance(manifest.get(key), kind):
            raise RunError(
                f"{folder / 'manifest.json'}: {key} ({kind.__name__}) was expected, "
                f"{manifest.get(key)!r} came"
            )
    if manifest.get("schema", 0) > SCHEMA:
        raise RunError(
            f"{folder} was written by a newer scrubjay (schema {manifest['schema']}, this one "
            f"reads up to {SCHEMA}): upgrade scrubjay to read it"
        )
    return manifest


def _check_complete(run: RunData) -> None:
    """A run that says it is finished has all of its rows."""
    if run.notes:
        raise RunError(f"{run.path} says that it is finished, but {run.notes[0]}; copy it again")
    episodes, n_rows = run.manifest.get("episodes", 0), len(run.episodes.get("timestep", ()))
    if not run.config.get("start_timestep") and n_rows < episodes:
        raise RunError(
            f"{run.path} says that it is finished after {episodes} episodes, but episodes.csv "
            f"has {n_rows}; copy it again"
        )
    every, steps = run.config.get("eval_freq", 0), run.config.get("steps", 0)
    due = steps // every * every if every else 0
    last = run.evaluations.timesteps[-1] if len(run.evaluations.timesteps) else 0
    if last < due:
        raise RunError(
            f"{run.path} says that it is finished with an evaluation at step {due}, but eval.csv "
            f"ends at step {last:.0f}; copy it again"
        )


def _tables(folder: Path) -> tuple[dict[str, Table], list[str]]:
    tables, notes = {}, []
    for name in ("eval", "episodes", "progress", "time"):
        tables[name], found = read_table(folder / f"{name}.csv")
        notes += found
    return tables, notes


def _evaluations(path: Path, table: Table, finished: bool) -> tuple[Evaluations, list[str]]:
    """Average the episodes of each timestep."""
    if not table:
        return Evaluations(*[np.empty(0)] * 5), []
    timesteps = column(table, "timestep", path)
    returns, success = column(table, "return", path), column(table, "is_success", path)
    _check(path, timesteps, column(table, "episode", path), returns)
    steps, which, counts = np.unique(timesteps, return_inverse=True, return_counts=True)
    means = [
        np.bincount(which, weights=values, minlength=len(steps)) / np.maximum(counts, 1)
        for values in (returns, success, column(table, "length", path))
    ]
    kept, notes = len(steps), []
    if not finished and len(steps) > 1 and counts[-1] < counts[-2]:
        kept -= 1
        notes = [f"eval.csv: the evaluation at step {steps[-1]:.0f} was cut short and is left out"]
    cut = [values[:kept] for values in (steps, *means, counts.astype(np.float64))]
    return Evaluations(*cut), notes


def _check(path: Path, timesteps: Array, episodes: Array, returns: Array) -> None:
    if not (np.isfinite(timesteps).all() and np.isfinite(returns).all()):
        raise RunError(f"{path}: every timestep and return must be a finite number")
    if (np.diff(timesteps) < 0).any():
        raise RunError(f"{path}: timesteps go backwards; the file mixes two runs or is damaged")
    pairs = set(zip(timesteps.tolist(), episodes.tolist(), strict=True))
    if len(pairs) != len(timesteps):
        raise RunError(f"{path}: an evaluation episode is listed twice; the file is damaged")


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        flat |= _flatten(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat


def _settings(run: RunData) -> dict[str, Any]:
    """What makes the method: the configuration without the bookkeeping."""
    return {
        name: value
        for name, value in _flatten(_with_later_settings(run.config)).items()
        if name not in BOOKKEEPING
        and name.rpartition(".")[2] != "seed"
        and not (name == "max_episode_steps" and value is None)  # younger than some runs
    }


def _with_later_settings(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same with settings that are younger than the run, at the value that changes nothing.

    `CEC`'s own defaults are those values, so runs of two versions can be seeds of one method.
    """
    options = config.get("options")
    if config.get("agent") not in MEMORY_AGENTS or not isinstance(options, dict):
        return config
    neutral = {
        name: setting.default
        for name, setting in inspect.signature(CEC).parameters.items()
        if isinstance(setting.default, bool | int | float | str | None) and name != "seed"
    }
    return {**config, "options": {**neutral, **options}}


def _labelled(groups: list[list[RunData]]) -> list[tuple[str, list[RunData]]]:
    for members in groups:
        _check_seeds(members)
    firsts = [members[0] for members in groups]
    peers = [[other for other in firsts if other.agent == run.agent] for run in firsts]
    labels = [_label(run, others) for run, others in zip(firsts, peers, strict=True)]
    return list(zip(labels, groups, strict=True))


def _label(run: RunData, peers: Sequence[RunData]) -> str:
    """The agent's name with what sets it apart: one setting if that is enough, else all."""
    settings = [_settings(peer) for peer in peers]
    names = dict.fromkeys(name for each in settings for name in each)
    values = {name: [str(each.get(name)) for each in settings] for name in names}
    differing = [name for name in names if len(set(values[name])) > 1]
    enough = [name for name in differing if len(set(values[name])) == len(peers)]
    mine = _settings(run)
    details = [f"{name.rpartition('.')[2]}={mine.get(name)}" for name in enough[:1] or differing]
    return f"{run.agent} ({', '.join(details)})" if details else run.agent


def _check_seeds(runs: Sequence[RunData]) -> None:
    first: dict[int, RunData] = {}
    for run in runs:
        if run.seed in first:
            raise RunError(
                f"{first[run.seed].path} and {run.path} are the same method, task and seed: "
                "a run counted twice makes intervals too narrow; leave one out"
            )
        first[run.seed] = run


def _logged(run: RunData, name: str) -> tuple[Array, Array]:
    path = run.path / "progress.csv"
    values, timesteps = column(run.progress, name, path), column(run.progress, "timestep", path)
    known = np.isfinite(values)
    if not known.any():
        raise RunError(f"{path}: the column {name!r} has no values")
    return timesteps[known], values[known]


def _aligned(group: Group, metric: str, series: Sequence[tuple[Array, Array]]) -> Curve:
    steps = series[0][0]
    for other, _ in series[1:]:
        steps = np.intersect1d(steps, other)
    if len(steps) == 0:
        raise RunError(
            f"{group.label} on {group.task}: no step has an evaluation in all of its "
            f"{len(series)} runs; run them with the same evaluation settings"
        )
    values = np.stack([found[np.isin(where, steps)] for where, found in series])
    return _curve(group, metric, steps, values, [where for where, _ in series])


def _curve(
    group: Group, metric: str, steps: Array, values: Array, recorded: Sequence[Array]
) -> Curve:
    return Curve(
        label=group.label,
        task=group.task,
        metric=metric,
        steps=steps,
        values=values,
        seeds=tuple(run.seed for run in group.runs),
        notes=(*_cut_notes(group, steps, recorded), *_unfinished_notes(group)),
    )


def _cut_notes(group: Group, steps: Array, recorded: Sequence[Array]) -> tuple[str, ...]:
    """What the alignment left out. A few steps at the end are no news: episodes end as they do."""
    longest = max(where[-1] for where in recorded)
    if longest <= 1.05 * steps[-1]:
        return ()
    return (
        f"{group.label}: runs of unequal length, cut to the {steps[-1]:,.0f} steps that all have "
        f"(the longest has {longest:,.0f})",
    )


def _unfinished_notes(group: Group) -> tuple[str, ...]:
    return tuple(
        f"{group.label}, seed {run.seed}: {run.manifest['status']}"
        for run in group.runs
        if not run.finished
    )

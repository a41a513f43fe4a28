"""Run folders as data. The unit is the run: evaluation episodes are averaged inside it."""

import glob
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.training.errors import RunError
from scrubjay.training.run_folder import read_json, read_manifest
from scrubjay.training.tables import Columns, column, read_columns, read_rows

__all__ = ["Evaluations", "RunData", "RunError", "find_runs", "load_run", "load_runs"]

Array = npt.NDArray[np.float64]

METRICS = ("success", "return", "length")
NOT_QUANTITIES = ("timestep", "first_success_step")


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
    """One run folder. `notes` lists what was left out or is unusual, in full sentences."""

    path: Path
    manifest: Mapping[str, Any]
    config: Mapping[str, Any]
    evaluations: Evaluations
    episodes: Columns
    progress: Columns
    time: Columns
    notes: tuple[str, ...] = ()
    recorded: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)

    @property
    def agent(self) -> str:
        """The method's name."""
        return str(self.manifest["agent"])

    @property
    def task(self) -> str:
        """The task's id."""
        return str(self.manifest["task"])

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.manifest["seed"])

    @property
    def quantities(self) -> list[str]:
        """The names of everything that was logged while it trained."""
        names = dict.fromkeys([*self.progress, *self.time, *self.recorded])
        return [name for name in names if name not in NOT_QUANTITIES]

    def logged(self, name: str) -> tuple[Array, Array]:
        """The known values of something that was logged, and their timesteps.

        Args:
            name: One of `quantities`.

        Returns:
            Timesteps and values.

        Raises:
            RunError: If it was not logged.
        """
        if name in self.recorded:
            return self.recorded[name]
        file, table = ("time", self.time) if name in self.time else ("progress", self.progress)
        path = self.path / f"{file}.csv"
        values, timesteps = column(table, name, path), column(table, "timestep", path)
        known = np.isfinite(values)
        if not known.any():
            raise RunError(f"{path}: the column {name!r} has no values")
        return timesteps[known], values[known]

    @property
    def has_success(self) -> bool:
        """Whether any of its episodes has a success signal."""
        signals = (self.evaluations.success, self.episodes.get("is_success", np.empty(0)))
        return any(bool(np.isfinite(values).any()) for values in signals)

    @property
    def first_success_steps(self) -> tuple[int | None, int | None]:
        """The step of the first success in training, and of the first greedy one; None if none."""
        return self.manifest["first_success_step"], self.manifest["first_greedy_success_step"]

    @property
    def finished(self) -> bool:
        """Whether it ran to its end."""
        return bool(self.manifest["status"] == "finished")


def load_run(path: str | Path, allow_unfinished: bool = False) -> RunData:
    """Read one run folder.

    Args:
        path: The folder.
        allow_unfinished: Whether a run may be unfinished.

    Returns:
        Its tables and what is recorded about it.

    Raises:
        RunError: If it is unfinished and must not be, or is damaged.
    """
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
        config=read_json(folder / "config.json"),
        evaluations=evaluations,
        episodes=tables["episodes"],
        progress=tables["progress"],
        time=tables["time"],
        notes=(*notes, *more),
        recorded=_recorded(folder / "logged.csv"),
    )
    if run.finished:
        _check_complete(run)
        return run
    return replace(run, notes=(f"not finished (status {status!r})", *run.notes))


def load_runs(
    paths: str | Path | Iterable[str | Path], allow_unfinished: bool = False
) -> list[RunData]:
    """Read all runs in the given folders or globs.

    Args:
        paths: Run folders, folders of them, or globs.
        allow_unfinished: Whether runs may be unfinished.

    Returns:
        The runs, ordered by task, agent, seed and path.

    Raises:
        RunError: If there is no run, or one cannot be read.
    """
    runs = [load_run(folder, allow_unfinished) for folder in find_runs(paths)]
    return sorted(runs, key=lambda run: (run.task, run.agent, run.seed, str(run.path)))


def find_runs(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """The run folders that are named, match a glob, or are in a subfolder; each one once.

    Args:
        paths: Run folders, folders of them, or globs.

    Returns:
        The folders.

    Raises:
        RunError: If there is none.
    """
    names = [paths] if isinstance(paths, str | Path) else list(paths)
    found: dict[Path, Path] = {}
    for name in names:
        below = _runs_below(str(name))
        if not below:
            raise RunError(
                f"expected a run folder (with manifest.json), a folder of them or a glob, got "
                f"{str(name)!r}, in which there is no run"
            )
        found.update((folder.resolve(), folder) for folder in below)
    if not found:
        raise RunError("expected at least one run folder or glob, got none")
    return list(found.values())


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


def _manifest(folder: Path) -> dict[str, Any]:
    """A manifest with what every run must say of itself."""
    manifest = read_manifest(folder)
    for key, kind in (("status", str), ("agent", str), ("task", str), ("seed", int)):
        if not isinstance(manifest.get(key), kind):
            raise RunError(
                f"{folder / 'manifest.json'}: expected {key} to be of type {kind.__name__}, got "
                f"{manifest.get(key)!r}"
            )
    return manifest


def _tables(folder: Path) -> tuple[dict[str, Columns], list[str]]:
    tables, notes = {}, []
    for name in ("eval", "episodes", "progress", "time"):
        tables[name], found = read_columns(folder / f"{name}.csv")
        notes += found
    return tables, notes


def _recorded(path: Path) -> dict[str, tuple[Array, Array]]:
    """What callbacks have recorded, as far as it is numbers: timesteps and values by name."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in read_rows(path):
        try:
            point = float(row["timestep"]), float(row["value"])
        except (KeyError, TypeError, ValueError):  # text, or a damaged line
            continue
        if np.isfinite(point).all():
            found.setdefault(str(row.get("name")), []).append(point)
    ordered = {name: np.array(sorted(points)) for name, points in found.items()}
    return {name: (points[:, 0], points[:, 1]) for name, points in ordered.items()}


def _evaluations(path: Path, table: Columns, finished: bool) -> tuple[Evaluations, list[str]]:
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


def _check_complete(run: RunData) -> None:
    """Check that a run with the status finished has all of its rows."""
    if run.notes:
        raise RunError(f"{run.path} is marked as finished, but {run.notes[0]}; copy it again")
    episodes = _whole_number(run.path / "manifest.json", run.manifest, "episodes")
    n_rows = len(run.episodes.get("timestep", ()))
    if not run.config.get("start_timestep") and n_rows < episodes:
        raise RunError(
            f"{run.path} is marked as finished after {episodes} episodes, but episodes.csv "
            f"has {n_rows}; copy it again"
        )
    every, steps = (
        _whole_number(run.path / "config.json", run.config, name) for name in ("eval_freq", "steps")
    )
    due = steps // every * every if every else 0
    last = run.evaluations.timesteps[-1] if len(run.evaluations.timesteps) else 0
    if last < due:
        raise RunError(
            f"{run.path} is marked as finished with an evaluation at step {due}, but eval.csv "
            f"ends at step {last:.0f}; copy it again"
        )


def _whole_number(path: Path, content: Mapping[str, Any], name: str) -> int:
    """A number of steps or episodes in a JSON file; 0 for none."""
    value = content.get(name, 0)
    if value is None:
        return 0
    if not isinstance(value, int) or value < 0:
        raise RunError(
            f"{path} is damaged: expected {name} to be a whole number of at "
            f"least 0, got {value!r:.50}; copy it again"
        )
    return value

"""Search for settings of a method on a task with Optuna: `scrubjay tune`.

The folder of a study has everything that is needed to continue it after a crash:

study.json      the configuration, which must stay the same
study.db        Optuna's storage (SQLite)
runs/HASH/seed-N    the runs of a trial; HASH is determined by the settings, so that a trial that
                was killed continues its runs, and settings are not run a second time

Several processes may work on one study: the same command, started again, joins the first one.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock

from scrubjay.agents.settings import Setting, settings_of
from scrubjay.optional import require
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import check_extras, resume, start
from scrubjay.runs.worker import run_status
from scrubjay.training.errors import RunFolderError
from scrubjay.training.lock import FolderLock, is_held
from scrubjay.training.logger import STEPS
from scrubjay.training.run_folder import read_json, write_json
from scrubjay.training.tables import read_columns

FIRST_SEED = 10_000  # of the trials' runs; results are reported with others, which begin at 0
DIGITS = 3  # of a setting: enough for tuning, and short in a command
MAX_FAILURES = 3  # trials in a row that may fail before the study gives up


@dataclass(frozen=True)
class TuneConfig:
    """The configuration of a study.

    Attributes:
        run: The runs; `options` are settings that are not tuned, `seed` is that of the search.
        names: The settings that are tuned; by default all that have a range for it.
        n_seeds: Runs of each trial.
        prune: Whether a trial that is worse than the median of the others is ended early.
    """

    run: RunConfig
    names: tuple[str, ...] = ()
    n_seeds: int = 2
    prune: bool = True

    def __post_init__(self) -> None:
        known = tunable(self.run)
        unknown = [name for name in self.names if name not in known]
        if unknown:
            raise ValueError(
                f"there is no range for tuning {unknown[0]!r}; {self.run.agent} has "
                f"{', '.join(known) or 'none'}"
            )
        chosen = self.names or tuple(known)
        names = tuple(name for name in chosen if name not in self.run.options)
        if not names:
            raise ValueError(f"expected settings of {self.run.agent} to tune, got none")
        object.__setattr__(self, "names", names)
        if self.n_seeds < 1:
            raise ValueError(f"expected at least 1 seed, got {self.n_seeds}")
        if not 0 < self.run.eval_freq <= self.run.steps:
            raise ValueError(
                f"expected eval_freq between 1 and the {self.run.steps} steps, because trials are "
                f"compared by their evaluations, got {self.run.eval_freq}"
            )

    @property
    def settings(self) -> dict[str, Setting]:
        """The settings that are tuned, by name."""
        known = tunable(self.run)
        return {name: known[name] for name in self.names}

    def as_json(self) -> dict[str, Any]:
        """The contents of study.json."""
        ranges = {
            name: [*_tuned(setting), setting.range.log] for name, setting in self.settings.items()
        }
        content = {"run": asdict(self.run), "ranges": ranges, "n_seeds": self.n_seeds}
        return dict(json.loads(json.dumps({**content, "prune": self.prune})))


def tunable(config: RunConfig) -> dict[str, Setting]:
    """The settings of a run's method that have a range for tuning, by name."""
    settings = settings_of(config.spec.load())
    return {name: setting for name, setting in settings.items() if setting.range.tune}


def _tuned(setting: Setting) -> tuple[float, float]:
    assert setting.range.tune is not None
    return setting.range.tune


class Study:
    """A study in its folder.

    Args:
        config: What decides it.
        folder: Its folder; a study that is there already is continued.
        command: The command that started it, for the record of its runs.

    Raises:
        RunFolderError: If the folder holds another study, or is damaged.
        ImportError: If Optuna is not installed (extra `tune`).
    """

    def __init__(self, config: TuneConfig, folder: Path, command: str = "") -> None:
        self.optuna: Any = require("optuna", "tune")
        check_extras(config.run)
        self.config, self.folder, self.command = config, folder, command
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)
        self._keep_config()
        self._lock = FileLock(folder / "study.lock", thread_local=False)
        with self._lock, self._storage_errors():
            self.study = self._open()
            self._requeue_killed()

    def _keep_config(self) -> None:
        wanted, path = self.config.as_json(), self.folder / "study.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_json(path, wanted)
            return
        there = read_json(path)
        different = [name for name in wanted if there.get(name) != wanted[name]]
        if different:
            raise RunFolderError(
                f"{self.folder} holds another study (its {', '.join(different)} differs): choose "
                "another folder, or give the command that began it"
            )

    def _open(self) -> Any:
        database = f"sqlite:///{self.folder.resolve() / 'study.db'}"
        engine = {"connect_args": {"timeout": 60}}
        storage = self.optuna.storages.RDBStorage(database, engine_kwargs=engine)
        evaluations = self.config.run.steps // self.config.run.eval_freq
        pruners = self.optuna.pruners
        median = pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=evaluations // 3)
        study = self.optuna.create_study(
            storage=storage, study_name="scrubjay", direction="maximize", load_if_exists=True,
            pruner=median if self.config.prune else pruners.NopPruner(),
        )  # fmt: skip
        if not study.get_trials(deepcopy=False):
            # what the preset reaches is the value to beat
            study.enqueue_trial(self._preset(), user_attrs={"preset": True})
        return study

    @contextmanager
    def _storage_errors(self) -> Iterator[None]:
        """An unreadable database in one line."""
        errors = (require("sqlalchemy.exc", "tune").SQLAlchemyError, ValueError, KeyError)
        try:
            yield
        except (*errors, self.optuna.exceptions.StorageInternalError) as error:
            raise RunFolderError(
                f"{self.folder / 'study.db'} cannot be read ({_first_line(error)}): move the "
                "folder's study.db away and give the command again; finished runs are used again"
            ) from error

    def _preset(self) -> dict[str, Any]:
        """The preset's values of the settings that are tuned, as far as they are in the ranges."""
        run = self.config.run
        preset = run.spec.load().preset(run.task, run.preset)
        found = {}
        for name, setting in self.config.settings.items():
            value = preset.get(name, setting.default)
            low, high = _tuned(setting)
            if isinstance(value, int | float) and low <= value <= high:
                found[name] = value
        return found

    def _requeue_killed(self) -> None:
        """Queue the trials of killed processes again, with their settings."""
        states = self.optuna.trial.TrialState
        for trial in self.study.get_trials(states=[states.RUNNING]):
            if not is_held(self.folder / "runs" / trial.user_attrs.get("runs", "none")):
                self._give_back(trial)

    def _give_back(self, trial: Any) -> None:
        marks = {"preset": True} if trial.user_attrs.get("preset") else {}
        self.study.enqueue_trial(dict(trial.params), user_attrs=marks)
        self.study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)

    # -- trials --------------------------------------------------------------------------------

    def run(self, n_trials: int, on_trial: Callable[["Study"], None] | None = None) -> None:
        """Work until the study has the given number of trials.

        Args:
            n_trials: Trials in total, those of earlier calls and other processes included.
            on_trial: Called before the first trial and after each.

        Raises:
            KeyboardInterrupt: After Ctrl-C; the trial's runs are saved.
        """
        failures = 0
        while True:
            if on_trial is not None:
                on_trial(self)
            begun = self._begin(n_trials)
            if begun is None:
                return
            trial, lock = begun
            try:
                failures = 0 if self._finish(trial) else failures + 1
                if failures >= MAX_FAILURES:
                    raise RunFolderError(
                        f"{failures} trials in a row have failed, the last one with: {self._error}"
                    )
            finally:
                lock.release()

    def _begin(self, n_trials: int) -> tuple[Any, FolderLock] | None:
        """The next trial, and the lock of its runs; None if there are enough."""
        with self._lock:
            states = self.optuna.trial.TrialState
            counted = (states.COMPLETE, states.PRUNED, states.RUNNING)
            if len(self.study.get_trials(deepcopy=False, states=counted)) >= n_trials:
                return None
            number = len(self.study.get_trials(deepcopy=False))
            # determined by the seed and the trial's number, so that a study that was killed
            # continues as if it had not been
            seed = self.config.run.seed * 1_000_003 + number
            self.study.sampler = self.optuna.samplers.TPESampler(seed=seed, n_startup_trials=8)
            trial = self.study.ask()
            name = runs_name(self._suggest(trial))
            trial.set_user_attr("runs", name)
            runs = self.folder / "runs" / name
            runs.mkdir(parents=True, exist_ok=True)
            while is_held(runs):  # another process tries the same settings at this moment
                time.sleep(0.5)
            lock = FolderLock(runs)
            lock.acquire()
            return trial, lock

    def _suggest(self, trial: Any) -> dict[str, Any]:
        for name, setting in self.config.settings.items():
            low, high = _tuned(setting)
            if int in setting.kinds:
                trial.suggest_int(name, int(low), int(high), log=setting.range.log)
            else:
                trial.suggest_float(name, low, high, log=setting.range.log)
        return self.settings_of(trial)

    def _finish(self, trial: Any) -> bool:
        """Run a trial to its end; False if it failed."""
        states = self.optuna.trial.TrialState
        began = time.monotonic()
        try:
            value = self._value(trial)
        except KeyboardInterrupt:
            self._give_back(trial)
            raise
        except Exception as error:  # settings that do not go together, an environment that fails
            self._error = _first_line(error)
            trial.set_user_attr("error", self._error)
            self.study.tell(trial, state=states.FAIL)
            return False
        trial.set_user_attr("seconds", round(time.monotonic() - began, 1))
        if value is None:
            self.study.tell(trial, state=states.PRUNED)
        else:
            self.study.tell(trial, value)
        return True

    def _value(self, trial: Any) -> float | None:
        """The mean over all evaluations of all seeds; None if the trial was pruned."""
        options = self.settings_of(trial)
        watcher = Watcher(trial)
        for index in range(self.config.n_seeds):
            seed = FIRST_SEED + index
            fixed = self.config.run.options
            run = replace(self.config.run, seed=seed, options={**fixed, **options})
            folder = self.folder / "runs" / runs_name(options) / f"seed-{seed}"
            self._bring_to_end(run, folder, watcher)
            if watcher.pruned:
                return None
        return statistics.fmean(watcher.scores)

    def _bring_to_end(self, run: RunConfig, folder: Path, watcher: "Watcher") -> None:
        more: dict[str, Any] = {"callback": watcher.should_continue, "outputs": [watcher]}
        match run_status(folder, run):
            case "new":
                start(run, folder, self.command, **more)
            case "unfinished":
                resume(
                    folder,
                    trust_module=True,  # the task is the requested one
                    on_start=lambda _, done: watcher.recall(folder, done),
                    **more,
                )
            case _:
                watcher.recall(folder, run.steps * 2)

    # -- results -------------------------------------------------------------------------------

    def settings_of(self, trial: Any) -> dict[str, Any]:
        """The tuned settings of a trial, as its runs have them.

        Args:
            trial: One of Optuna's trials.

        Returns:
            The settings by name, in a few digits.
        """
        whole = {name for name, setting in self.config.settings.items() if int in setting.kinds}
        return {
            name: int(value) if name in whole else float(f"{value:.{DIGITS}g}")
            for name, value in trial.params.items()
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each trial that has ended: its number, state, value, settings and folder."""
        states = self.optuna.trial.TrialState
        names = {states.COMPLETE: "complete", states.PRUNED: "pruned", states.FAIL: "failed"}
        return [
            {
                "trial": trial.number,
                "state": names[trial.state],
                "value": trial.value if trial.state == states.COMPLETE else None,
                "so_far": _last(trial.intermediate_values),
                "preset": bool(trial.user_attrs.get("preset")),
                **self.settings_of(trial),
                "seconds": trial.user_attrs.get("seconds"),
                "runs": f"runs/{trial.user_attrs.get('runs', '')}",
                "error": trial.user_attrs.get("error"),
            }
            for trial in self.study.get_trials(deepcopy=False)
            # a trial that was killed or interrupted is tried again under another number
            if trial.state in names and (trial.state != states.FAIL or "error" in trial.user_attrs)
        ]

    def best(self) -> dict[str, Any] | None:
        """The row of the best trial, if one is complete."""
        complete = [row for row in self.rows() if row["value"] is not None]
        return max(complete, key=lambda row: row["value"], default=None)


class Watcher:
    """Reports a trial's results to Optuna, and stops it when Optuna prunes it.

    It is an output of the agent's logger, which gets every evaluation.
    """

    kind, trigger = "optuna", STEPS

    def __init__(self, trial: Any) -> None:
        self._trial = trial
        self.scores: list[float] = []
        self.pruned = False

    def write(self, values: Mapping[str, Any], step: int) -> None:  # noqa: ARG002
        """Record an evaluation: the success rate, or the return if there is no success signal."""
        score = values.get("eval/success_rate", values.get("eval/mean_reward"))
        if score is not None:
            self._add(float(score))
            self.pruned = self._trial.should_prune()

    def _add(self, score: float) -> None:
        self.scores.append(score)
        self._trial.report(statistics.fmean(self.scores), len(self.scores))

    def recall(self, folder: Path, timestep: int) -> None:
        """Record the evaluations that a run already has, up to a step."""
        table, _ = read_columns(folder / "eval.csv")
        steps = table.get("timestep", ())
        for step in dict.fromkeys(float(step) for step in steps if step <= timestep):
            there = table["timestep"] == step
            success = table["is_success"][there]
            known = success[success == success]
            self._add(float(known.mean() if len(known) else table["return"][there].mean()))

    def should_continue(self, locals_: Any = None, globals_: Any = None) -> bool:  # noqa: ARG002
        """The callback of the training."""
        return not self.pruned

    def close(self) -> None:
        """Nothing is open."""


def runs_name(settings: Mapping[str, Any]) -> str:
    """The folder of a trial's runs, named after its settings."""
    return sha256(json.dumps(dict(sorted(settings.items()))).encode()).hexdigest()[:10]


def _last(values: Mapping[int, float]) -> float | None:
    return values[max(values)] if values else None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

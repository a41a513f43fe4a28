"""scrubjay tune METHOD TASK."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.launchers import add_launcher, launcher_of
from scrubjay.cli.layout import print_table, wrapped
from scrubjay.cli.loading import add_env_kwargs, add_success_key, parse_env_kwargs, take_task
from scrubjay.cli.main import INTERRUPTED, CommandError
from scrubjay.cli.options import flag, whole
from scrubjay.cli.train import add_agent_arguments as add_agent_arguments
from scrubjay.cli.train import checked_options, refuse_unknown

if TYPE_CHECKING:
    from scrubjay.runs.tuning import Study, TuneConfig

EPILOG = """Trials are compared by the mean success rate (or return, without a success
signal) over all evaluations of all their runs. Their seeds begin at 10000:
judge the result with other seeds, such as 0, 1, 2. The same command resumes a
study that was stopped or killed; --jobs N tries N settings at a time.

examples:
  scrubjay tune cec-plus PointUMaze --trials 30 --steps 20000
  scrubjay tune cec SparseMountainCar --tune n_neighbors temperature
  scrubjay tune cec-plus my_module:MyEnv --gamma 0.95 --out tune/my-env
"""
N_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay tune`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("agent", metavar="METHOD", help="the method; with --help, its settings")
    add("task", metavar="TASK", nargs="?", help="a task, a Gymnasium id, or module:Name")
    add("--trials", type=whole, metavar="N", default=30, help="trials in total (default 30)")
    add(
        "--steps", type=whole, metavar="N", default=20_000, help="steps of each run (default 20000)"
    )
    add("--seeds", type=whole, metavar="N", default=2, help="runs of each trial (default 2)")
    add("--tune", nargs="+", metavar="NAME", default=[],
        help="settings to tune (default: all with a range for tuning)")  # fmt: skip
    add("--out", type=Path, metavar="FOLDER",
        help="folder of the study (default tune/TASK/METHOD-PRESET)")  # fmt: skip
    add("--preset", metavar="NAME", default="", help="preset for the settings that are not tuned")
    add("--eval-freq", type=whole, metavar="N",
        help="steps between evaluations (default: a tenth of --steps)")  # fmt: skip
    add("--eval-episodes", type=whole, metavar="N", default=10,
        help="episodes of an evaluation (default 10)")  # fmt: skip
    add("--max-episode-steps", type=whole, metavar="N", help="end longer episodes as time-outs")
    add("--seed", type=whole, metavar="S", default=0, help="seed of the search (default 0)")
    add("--jobs", type=whole, metavar="N",
        help="trials at a time (default 1; with ray, one for each processor)")  # fmt: skip
    add_launcher(parser)
    add("--no-pruning", action="store_true", help="run all trials to their end")
    add("--quiet", action="store_true", help="no progress on the terminal")
    add_env_kwargs(parser)
    add_success_key(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Search, and show what was found."""
    from scrubjay.runs.tuning import Study
    from scrubjay.runs.tuning_workers import tune_together

    refuse_unknown(take_task(arguments, unknown), arguments)
    if arguments.task is None:
        example = f"scrubjay tune {arguments.agent} PointUMaze"
        raise CommandError(f"tune needs a task too, as in: {example}")
    config = _config(arguments)
    if arguments.jobs == 0:
        raise CommandError("expected at least 1 job, got 0")
    launcher = launcher_of(arguments)
    study = Study(config, arguments.out or _default_folder(config), arguments.line)
    print(f"{config.run.agent} on {config.run.task}: {study.folder}", file=sys.stderr)
    progress = TrialProgress(arguments.trials, arguments.quiet)
    try:
        if arguments.launcher == "local" and arguments.jobs in (None, 1):
            study.run(arguments.trials, progress)
        else:
            tune_together(study, arguments.trials, arguments.jobs, launcher, progress)
    except KeyboardInterrupt:
        progress.close()
        write_results(study, arguments.line)
        print(f"interrupted; continue with: {arguments.line}", file=sys.stderr)
        return INTERRUPTED
    progress.close()
    paths = write_results(study, arguments.line)
    print_results(study, paths)
    return 0


def _config(arguments: argparse.Namespace) -> "TuneConfig":
    from scrubjay.cli.errors import one_line
    from scrubjay.runs.config import RunConfig
    from scrubjay.runs.tuning import TuneConfig

    given = vars(arguments)
    try:
        run = RunConfig(
            arguments.agent, arguments.task, arguments.preset, checked_options(given),
            parse_env_kwargs(arguments.env_kwargs), arguments.seed, arguments.steps,
            eval_freq=arguments.eval_freq or max(arguments.steps // 10, 1),
            n_eval_episodes=arguments.eval_episodes, success_key=arguments.success_key,
            max_episode_steps=arguments.max_episode_steps,
        )  # fmt: skip
        names = tuple(name.strip("-").replace("-", "_") for name in arguments.tune)
        return TuneConfig(run, names, arguments.seeds, not arguments.no_pruning)
    except (ValueError, TypeError) as error:
        raise CommandError(one_line(error)) from error


def _default_folder(config: "TuneConfig") -> Path:
    task = config.run.task.rpartition(":")[2].rpartition("/")[2]
    return Path("tune") / task / f"{config.run.agent}-{config.run.preset}"


class TrialProgress:
    """How many trials are done, the best so far, the time left: a bar, or lines in a pipe.

    Args:
        n_trials: Trials in total.
        quiet: Whether to say nothing.
    """

    every = 10.0  # seconds between lines in a pipe

    def __init__(self, n_trials: int, quiet: bool) -> None:
        from tqdm import tqdm

        self._quiet, self._live = quiet, sys.stderr.isatty()
        self._bar = tqdm(
            total=n_trials, disable=quiet or not self._live, file=sys.stderr, dynamic_ncols=True,
            bar_format="{percentage:3.0f}%|{bar:20}| {desc}",
        )  # fmt: skip
        self._total = n_trials
        self._began, self._first, self._next_line = time.monotonic(), -1, 0.0

    def __call__(self, study: "Study") -> None:
        """Show the progress of a study."""
        n_done, text = self._words(study)
        if self._live:
            self._bar.set_description_str(text, refresh=False)
            self._bar.update(n_done - self._bar.n)
            self._bar.refresh()
        elif not self._quiet and (time.monotonic() >= self._next_line or n_done >= self._total):
            self._next_line = time.monotonic() + self.every
            print(text, file=sys.stderr, flush=True)

    def _words(self, study: "Study") -> tuple[int, str]:
        from scrubjay.runs.sweep_display import duration

        rows = [row for row in study.rows() if row["state"] != "failed"]
        if self._first < 0:
            self._first = len(rows)
        best, done, left = study.best(), len(rows) - self._first, self._total - len(rows)
        words = [f"{len(rows)} of {self._total} trials"]
        pruned = sum(row["state"] == "pruned" for row in rows)
        words += [f"{pruned} ended early"] if pruned else []
        words += [f"best {best['value']:.3g} (trial {best['trial']})"] if best else []
        if done and left > 0:
            pace = (time.monotonic() - self._began) / done
            words.append(f"about {duration(pace * left)} left")
        return len(rows), ", ".join(words)

    def close(self) -> None:
        """Leave the last state of the bar on the terminal."""
        self._bar.close()


def write_results(study: "Study", command: str) -> list[Path]:
    """Write trials.csv and, if matplotlib is installed, trials.png and trials.svg."""
    from scrubjay.analysis.results import save_result
    from scrubjay.envs.catalog import short_task
    from scrubjay.figures.saving import render
    from scrubjay.figures.tuning import tuning_figure

    rows, run = study.rows(), study.config.run
    if not rows:
        return []
    scales = {name: setting.range.log for name, setting in study.config.settings.items()}
    title = f"{run.agent} on {short_task(run.task)}"
    try:
        pictures = render(tuning_figure(rows, scales, title))
    except ImportError as error:
        print(f"note: no figure: {error}", file=sys.stderr)
        pictures = {}
    return save_result(study.folder / "trials", pictures, rows, command)


def print_results(study: "Study", paths: Sequence[Path]) -> None:
    """Print the best trials, the preset's result, and the command to continue with."""
    names = study.config.names
    complete = [row for row in study.rows() if row["value"] is not None]
    complete.sort(key=lambda row: -row["value"])
    if not complete:
        print("no trial is complete")
        return
    shown = complete[:N_SHOWN] + [row for row in complete[N_SHOWN:] if row["preset"]]
    print_table(
        ["trial", "value", "settings"],
        [
            [
                f"{row['trial']}{' (preset)' if row['preset'] else ''}",
                f"{row['value']:.4g}",
                ", ".join(f"{name} {row[name]:g}" for name in names),
            ]
            for row in shown
        ],
    )
    if study.config.n_seeds * study.config.run.n_eval_episodes < 30:
        print(wrapped("note: few episodes decide the order; confirm the best with more seeds"))
    print(f"written: {', '.join(path.name for path in paths)} in {study.folder}")
    print(f"next: {best_command(study, complete[0])}")


def best_command(study: "Study", row: Mapping[str, Any]) -> str:
    """The command that trains with a trial's settings, with a seed that was not used to tune."""
    from scrubjay.envs.catalog import short_task

    run = study.config.run
    words = ["scrubjay", "train", run.agent, short_task(run.task), "--preset", run.preset]
    words += ["--steps", str(run.steps), "--seed", "0"]
    options = {**run.options, **{name: row[name] for name in study.config.names}}
    for name, value in options.items():
        text = value if isinstance(value, str) else _digits(value)
        words += [flag(name), text]
    if run.task_options:
        words += ["--env-kwargs", *(f"{name}={value}" for name, value in run.task_options.items())]
    for name in ("success_key", "max_episode_steps"):
        if getattr(run, name) is not None:
            words += [flag(name), str(getattr(run, name))]
    return shlex.join(words)


def _digits(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else json.dumps(value)

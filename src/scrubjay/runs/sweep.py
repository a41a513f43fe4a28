"""Many runs: finished ones are kept, stopped ones resumed, those of other processes waited for.

Each run has its folder `ROOT/<task>/<agent>-<variant>/seed-<seed>` and its own process with one
thread, on this machine or on another one (`launchers.py`). Everything a sweep must know is in these
folders, so it can be killed at any moment and started again, and several can share one root.
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from scrubjay.envs.catalog import short_task
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import check_extras
from scrubjay.runs.launchers import LOST, Launcher, LocalLauncher, Task
from scrubjay.runs.sweep_display import open_display
from scrubjay.runs.worker import BUSY, FINISHED, INTERRUPTED, run_status
from scrubjay.training.lock import is_held
from scrubjay.training.run_folder import read_json
from scrubjay.training.tables import last_timestep

POLL = 0.1  # seconds between two checks of the workers
RECHECK_SECONDS = 2.0  # seconds between two checks of a run that another sweep works on
STOP_TIMEOUT = 120.0  # seconds that a worker has for its last checkpoint
MAX_LOSSES = 5  # of one run: then something about it ends its machine


@dataclass
class Run:
    """One run of a sweep and its state."""

    config: RunConfig
    folder: Path
    state: str = "waiting"  # or running, elsewhere, done, failed
    task: Task | None = None
    n_lost: int = 0
    log_start: int = 0
    began: float = 0.0
    check_at: float = 0.0
    error: str = ""

    @property
    def name(self) -> str:
        return "/".join(self.folder.parts[-3:])

    @property
    def kind(self) -> tuple[str, str]:
        return self.config.agent, self.config.task

    @property
    def log_path(self) -> Path:
        return self.folder / "run.log"

    def steps(self) -> int:
        """The last step that it has logged."""
        if self.state == "done":
            return self.config.steps
        return last_timestep(self.folder / "progress.csv")


@dataclass(frozen=True)
class SweepResult:
    """How many runs of a sweep are done, and why the others failed."""

    n_done: int
    failed: dict[Path, str] = field(default_factory=dict)


def sweep(
    configs: Iterable[RunConfig],
    root: str | Path,
    *,
    jobs: int | None = None,
    command: str = "",
    launcher: Launcher | None = None,
) -> SweepResult:
    """Complete all runs, several at a time.

    A run that fails is reported and the others continue. Ctrl-C stops the workers at their last
    episode; the same sweep continues from there.

    Args:
        configs: The runs.
        root: The folder of their run folders.
        jobs: How many run at a time; by default one for each core of the launcher.
        command: The command that started them, for the record.
        launcher: Where they run; processes of this machine by default. See `make_launcher`.

    Returns:
        How many are done, and why the others failed.

    Raises:
        ValueError: If two runs would have the same folder, or `jobs` is not positive.
        RunFolderError: If a folder holds another run.
    """
    launcher = launcher or LocalLauncher()
    jobs = launcher.jobs if jobs is None else jobs
    if jobs < 1:
        raise ValueError(f"expected at least 1 job, got {jobs}")
    runs = [Run(config, folder) for folder, config in _folders(configs, Path(root)).items()]
    for run in runs:
        # also refuses a run of another configuration, before anything is started
        run.state = "done" if run_status(run.folder, run.config) == FINISHED else "waiting"
    waiting = [run for run in runs if run.state == "waiting"]
    if waiting:
        prepare(run.config for run in waiting)
        _Pool(runs, jobs, command, launcher).run()
    failed = {run.folder: run.error for run in runs if run.state == "failed"}
    return SweepResult(sum(run.state == "done" for run in runs), failed)


def folder_of(root: Path, config: RunConfig) -> Path:
    """ROOT/<task>/<agent>-<variant>/seed-<seed>."""
    variant = [config.agent, config.preset]
    for name, value in [*sorted(config.options.items()), *sorted(config.task_options.items())]:
        variant += [name.replace("_", "-"), _word(value)]
    task = short_task(config.task).replace("/", "-")
    return root / task / "-".join(variant) / f"seed-{config.seed}"


def prepare(configs: Iterable[RunConfig]) -> None:
    """Check for missing packages before anything is started, and compile once for all workers."""
    begin = time.perf_counter()
    configs = list(configs)
    for config in configs:
        check_extras(config)
    for config in {(config.agent, config.task): config for config in configs}.values():
        env = config.make_env()
        config.make_agent(env).warm_up()
        env.close()
    seconds = time.perf_counter() - begin
    if seconds > 5:
        print(f"compiled once for all workers in {seconds:.0f} s", file=sys.stderr, flush=True)


def order_for(config: RunConfig, command: str) -> dict[str, Any]:
    """The order for a worker."""
    return {
        "config": asdict(config),
        "command": command,
        # a method may be registered in this process alone, and lie beside its script
        "agent": asdict(config.spec),
        "path": sys.path,
    }


class _Pool:
    """The workers of one sweep."""

    def __init__(self, runs: Sequence[Run], jobs: int, command: str, launcher: Launcher) -> None:
        self.runs, self.jobs, self.command, self.launcher = runs, jobs, command, launcher
        paces = {run.kind: seconds_per_step(run.folder) for run in runs if run.state == "done"}
        self.display = open_display(runs, jobs, {k: pace for k, pace in paces.items() if pace})

    def run(self) -> None:
        try:
            while any(run.state in ("waiting", "running", "elsewhere") for run in self.runs):
                self._collect()
                self._check_other_sweeps()
                self._fill()
                self.display.update()
                time.sleep(POLL)
        except KeyboardInterrupt:
            self._stop()
            raise
        finally:
            self._kill()
            self.launcher.close()
            self.display.close()

    def _in(self, state: str) -> list[Run]:
        return [run for run in self.runs if run.state == state]

    def _fill(self) -> None:
        for run in self._in("waiting")[: self.jobs - len(self._in("running"))]:
            self._start(run)

    def _start(self, run: Run) -> None:
        run.folder.mkdir(parents=True, exist_ok=True)
        run.log_start = run.log_path.stat().st_size if run.log_path.exists() else 0
        order = order_for(run.config, self.command)
        run.task = self.launcher.start(order, run.folder, run.log_path)
        run.state, run.began = "running", time.monotonic()

    def _collect(self) -> None:
        for run in self._in("running"):
            assert run.task is not None
            code = run.task.poll()
            if code is not None:
                self._ended(run, code)

    def _ended(self, run: Run, code: int) -> None:
        if code == BUSY:
            run.state, run.check_at = "elsewhere", time.monotonic() + RECHECK_SECONDS
        elif code == LOST and run.n_lost < MAX_LOSSES:
            # the worker may still be saving: wait until its folder is free, then resume it
            run.state, run.check_at = "elsewhere", time.monotonic()
            run.n_lost += 1
            self.display.line(f"lost: {run.name}: its machine or worker is gone; resuming it")
        elif code == 0:
            run.state = "done"
            self.display.finished(run)
        else:
            run.state, run.error = "failed", _reason(run, code)
            self.display.line(f"failed: {run.name}: {run.error} (log: {run.log_path})")

    def _check_other_sweeps(self) -> None:
        """Runs of other sweeps: done when they are finished, ours when they are left alone."""
        for run in self._in("elsewhere"):
            if time.monotonic() < run.check_at:
                continue
            run.check_at = time.monotonic() + RECHECK_SECONDS
            if not is_held(run.folder):
                finished = run_status(run.folder, run.config) == FINISHED
                run.state = "done" if finished else "waiting"

    def _stop(self) -> None:
        running = self._in("running")
        self.display.line(
            f"stopping {len(running)} runs at their last episode (press Ctrl-C again to force) ..."
        )
        for run in running:
            assert run.task is not None
            run.task.stop()
        for run in running:
            assert run.task is not None
            run.task.wait(STOP_TIMEOUT)
            run.state = "waiting"
        self.display.line("stopped; the same command resumes them")

    def _kill(self) -> None:
        """Those that are still there after an error or a second Ctrl-C."""
        for run in self._in("running"):
            if run.task is not None:
                run.task.kill()


def _folders(configs: Iterable[RunConfig], root: Path) -> dict[Path, RunConfig]:
    """Each folder once; two different runs for one folder are an error."""
    found: dict[Path, RunConfig] = {}
    for config in configs:
        folder = folder_of(root, config)
        if found.setdefault(folder, config) != config:
            raise ValueError(f"two different runs were given for {folder}")
    return found


def _word(value: Any) -> str:
    """A setting as part of a folder's name."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if re.fullmatch(r"[\w.]{1,24}", text):
        return text.lower()
    return sha256(text.encode()).hexdigest()[:8]


def _reason(run: Run, code: int) -> str:
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    if code == LOST:
        return f"its machine or worker was lost {MAX_LOSSES + 1} times"
    if code == INTERRUPTED:
        return "it was interrupted"
    lines = [line for line in _tail(run.log_path, run.log_start).splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"exit code {code}"


def _tail(path: Path, start: int, size: int = 4096) -> str:
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(start, end - size))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def seconds_per_step(folder: Path) -> float | None:
    """The time per step of a finished run, according to its manifest."""
    manifest = read_json(folder / "manifest.json")
    steps, seconds = manifest.get("timesteps"), manifest.get("seconds", {}).get("time_elapsed")
    return seconds / steps if steps and seconds else None

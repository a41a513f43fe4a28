"""Several workers for one study: each joins it, here or on a Ray cluster, and takes the next trial.

The study's folder holds all that they share, so that workers may come and go. Nodes of a cluster
must see it under the same path, on a file system with locks.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrubjay.runs.config import RunConfig
from scrubjay.runs.launchers import LOST, Launcher, Task
from scrubjay.runs.sweep import MAX_LOSSES, STOP_TIMEOUT, order_for, prepare
from scrubjay.runs.tuning import Study, TuneConfig
from scrubjay.training.errors import RunFolderError

POLL = 0.5  # seconds between two looks at the workers


def tune_together(
    study: Study,
    n_trials: int,
    jobs: int | None,
    launcher: Launcher,
    on_trial: Callable[[Study], None] | None = None,
) -> None:
    """Work on a study with several workers until it has the given number of trials.

    Args:
        study: The study.
        n_trials: Trials in total.
        jobs: How many workers; by default one for each core of the launcher.
        launcher: Where they work.
        on_trial: Called now and then, to show how far the study is.

    Raises:
        RunFolderError: If all workers have failed.
        KeyboardInterrupt: After Ctrl-C; the runs of all trials are saved.
    """
    prepare([study.config.run])
    workers = [
        TrialWorker(study, n_trials, launcher, number) for number in range(jobs or launcher.jobs)
    ]
    try:
        while any(worker.is_running() for worker in workers):
            if on_trial is not None:
                on_trial(study)
            time.sleep(POLL)
    except KeyboardInterrupt:
        for worker in workers:
            worker.task.stop()
        for worker in workers:
            with suppress(TimeoutError):
                worker.task.wait(STOP_TIMEOUT)
        raise
    finally:
        for worker in workers:
            if worker.code is None:
                worker.task.kill()
        launcher.close()
    if on_trial is not None:
        on_trial(study)
    if all(worker.code for worker in workers):
        raise RunFolderError(f"all workers have failed; their logs: {workers[0].log.parent}")


class TrialWorker:
    """A worker of a study; one that is lost with its machine is started again."""

    def __init__(self, study: Study, n_trials: int, launcher: Launcher, number: int) -> None:
        self._folder, self._launcher = study.folder, launcher
        config = study.config
        tune = {"names": config.names, "n_seeds": config.n_seeds, "prune": config.prune}
        order = order_for(config.run, study.command)
        self._order = {**order, "tune": {**tune, "n_trials": n_trials}}
        self.log = study.folder / "logs" / f"worker-{number}.log"
        self.log.parent.mkdir(exist_ok=True)
        self.code: int | None = None
        self._n_lost = 0
        self.task: Task = self._start()

    def _start(self) -> Task:
        return self._launcher.start(self._order, self._folder, self.log)

    def is_running(self) -> bool:
        """Whether it still works on the study."""
        if self.code is None:
            self.code = self.task.poll()
            if self.code == LOST and self._n_lost < MAX_LOSSES:
                self._n_lost += 1
                self.code, self.task = None, self._start()
        return self.code is None


def join_study(folder: Path, config: RunConfig, order: dict[str, Any]) -> None:
    """A worker's part: take trials until there are enough."""
    tune = dict(order["tune"])
    n_trials = tune.pop("n_trials")
    chosen = TuneConfig(config, tuple(tune["names"]), tune["n_seeds"], tune["prune"])
    Study(chosen, folder, order["command"]).run(n_trials)

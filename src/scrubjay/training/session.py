"""What happens around a training: evaluations, logs and checkpoints, each when it is due.

The loop (or a callback inside Stable-Baselines3's loop) reports episodes and steps; the session
evaluates, logs, saves and shows. It never changes what is learned.

What is due at a step happens at that step exactly, within an episode if necessary; what is
saved is the last episode boundary. Rows past a checkpoint are cut when a run resumes, and written
again, the same.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from scrubjay.training.clock import TOTALS, Clock
from scrubjay.training.evaluation import (
    EvaluationStopped,
    Evaluator,
    Trajectory,
    success_rate,
    thinned,
)
from scrubjay.training.evaluations_npz import EvaluationsFile
from scrubjay.training.logger import EPISODES, RECORDED, STEPS, Output, TensorBoardOutput
from scrubjay.training.progress import COMPILING, Progress, SilentProgress, shown_if_slow
from scrubjay.training.protocols import Trained
from scrubjay.training.records import EpisodeRecord
from scrubjay.training.run_folder import RunFolder, now
from scrubjay.training.statistics import Statistics
from scrubjay.training.tables import Row, Table

NEVER = 2**62


@dataclass(frozen=True)
class Plan:
    """How often things happen, in steps; 0 means never.

    Attributes:
        eval_freq: Steps between evaluations.
        log_freq: Steps between rows of the tables.
        checkpoint_freq: Steps between checkpoints.
        checkpoint_steps: Steps whose checkpoints are kept permanently.
        tensorboard: Whether TensorBoard's files are written into the run folder.
    """

    eval_freq: int = 0
    log_freq: int = 1000
    checkpoint_freq: int = 10_000
    checkpoint_steps: Sequence[int] = ()
    tensorboard: bool = False

    def __post_init__(self) -> None:
        for name in ("eval_freq", "log_freq", "checkpoint_freq"):
            if getattr(self, name) < 0:
                raise ValueError(
                    f"expected {name} to be a number of steps, or 0 for never, got "
                    f"{getattr(self, name)}"
                )
        if any(step < 1 for step in self.checkpoint_steps):
            raise ValueError(
                f"expected checkpoint_steps of at least 1, got {self.checkpoint_steps}"
            )


class Timer:
    """The next multiple of a frequency."""

    def __init__(self, every: int, done: int = 0) -> None:
        self.every = every
        self.next = NEVER
        self.passed(done)

    def passed(self, timestep: int) -> None:
        if self.every:
            self.next = (timestep // self.every + 1) * self.every


class Session:
    """Observes one training: evaluates, logs, saves and shows.

    `next_event` is the step at which `handle_events` must be called.

    Args:
        agent: What is trained.
        plan: How often things happen.
        folder: The run folder, if there is one.
        evaluator: Runs the evaluations, if there are any.
        progress: Shows the progress.
        done: Returns how much of the budget is spent.
        should_stop: Returns whether the user wants to stop.
        checkpoint_suffix: The suffix of checkpoints.
        save_start: Whether to save a checkpoint before the first step.
        outputs: Where the agent's logger writes during this training.
        log_interval: Episodes between the rows of those outputs; None: never.
        more_metrics: Further entries of a row of the log, from the counts of its episodes.
    """

    def __init__(
        self,
        agent: Trained,
        plan: Plan,
        *,
        folder: RunFolder | None = None,
        evaluator: Evaluator | None = None,
        progress: Progress | None = None,
        done: Callable[[], int] | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        checkpoint_suffix: str = ".scrub",
        save_start: bool = False,
        outputs: Sequence[Output] = (),
        log_interval: int | None = 4,
        more_metrics: Callable[[Mapping[str, float]], Mapping[str, float]] | None = None,
    ) -> None:
        self.agent = agent
        self.plan = plan
        self.folder = folder
        self.evaluator = evaluator
        self.progress = progress or SilentProgress()
        self.statistics = Statistics()
        self.first_greedy_success_step: int | None = None
        self._done = done or (lambda: self.agent.num_timesteps)
        self._should_stop = should_stop
        self._suffix = checkpoint_suffix
        self._save_start = save_start
        self._best: tuple[float, float] | None = None
        self._npz = EvaluationsFile(folder.path) if folder else None
        self._clock = Clock(agent.num_timesteps)
        self._begun = False
        self._log_interval = log_interval or NEVER
        self._more_metrics = more_metrics or (lambda totals: {})  # noqa: ARG005
        self._row_totals: Counter[str] = Counter()
        self._tick = agent.num_timesteps
        with self._starting():
            self._evaluations = Timer(plan.eval_freq if evaluator else 0, self._last_step("eval"))
            self._logs = Timer(plan.log_freq, self._last_step("progress"))
            self._checkpoints = Timer(plan.checkpoint_freq if folder else 0, agent.num_timesteps)
            self._named = self._missing_checkpoints() if folder else []
            if folder:
                self._recall(folder)
            self._open_outputs(outputs)
        self._plan_next_event()

    # -- starting and resuming ---------------------------------------------------------------

    @contextmanager
    def _starting(self) -> Iterator[None]:
        """A start that fails leaves the run folder free for another try."""
        try:
            yield
        except BaseException:
            if self.folder:
                self.folder.abandon()
            raise

    def _last_step(self, table: str) -> int:
        """The step of a table's last row; before the first one, where this training began."""
        if self.folder is None:
            return self.agent.num_timesteps
        written = self.folder.tables[table]
        rows = written.rows()
        if not rows:
            return int(self.folder.config["start_timestep"])
        return written.number(rows[-1], "timestep", int)

    def _missing_checkpoints(self) -> list[int]:
        assert self.folder is not None
        return [
            step
            for step in sorted(set(self.plan.checkpoint_steps))
            if step > self.agent.num_timesteps
            and not self.folder.checkpoint(f"step-{step}", self._suffix).exists()
        ]

    def _recall(self, folder: RunFolder) -> None:
        """Read earlier evaluations of this run from its own tables."""
        if self.evaluator and self.evaluator.walls:
            folder.update(walls=self.evaluator.walls)
        assert self._npz is not None
        evaluations, times = folder.tables["eval"], folder.tables["time"]
        self._npz.add(_evaluation_record(evaluations, row) for row in evaluations.rows())
        self._npz.write()
        for records in self._npz.evaluations:
            self._best = max(self._best or _score(records), _score(records))
        for row in times.rows()[-1:]:
            for name in TOTALS:
                times.number(row, f"time/{name}", float)
            self._clock.restore(row)

    def _open_outputs(self, outputs: Sequence[Output]) -> None:
        logger, opened = self.agent.logger, list(outputs)
        if self.plan.tensorboard:
            if self.folder is None:
                raise ValueError(
                    "expected run_folder with tensorboard=True, whose files go there; without one "
                    "give the agent tensorboard_log"
                )
            opened.append(TensorBoardOutput(self.folder.path / "tensorboard"))
        if self.folder:
            opened.append(RecordedOutput(self.folder.tables["logged"]))
        logger.outputs += opened
        logger.write_row = self._write_row
        self._writes_rows = logger.has(EPISODES)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state from a checkpoint.

        Args:
            state: The state in the checkpoint; empty for a new run.
        """
        if not state:
            return
        with self._starting():
            self.statistics.restore(state["statistics"])
            found = state["first_greedy_success_step"]
        # found in the middle of an episode, it is after the boundary and will be found again
        if found is not None and found <= self.agent.num_timesteps:
            self.first_greedy_success_step = found

    def compile(self, warm_up: Callable[[], None]) -> None:
        """Compile before the training time is measured.

        Args:
            warm_up: A function that compiles.
        """
        with self._clock.compiling, shown_if_slow(self.progress, COMPILING):
            warm_up()

    def starting_collectors(self) -> AbstractContextManager[None]:
        """Count the start of collectors as compilation, so that no rate includes it.

        Returns:
            What measures it, for `with`.
        """
        return self._clock.compiling

    def begin(self) -> None:
        """Do what was due at the last boundary if the run was stopped before it was done."""
        self._begun = True
        if self._save_start:
            self._save("last")
        self._probe()
        if self.agent.num_timesteps >= self.next_event:
            self.handle_events()

    # -- what is reported to it --------------------------------------------------------------

    def episode_finished(self, record: EpisodeRecord, totals: Mapping[str, float]) -> None:
        """Count an episode, and do what is due at its end.

        Args:
            record: The episode.
            totals: The agent's own counts of it.
        """
        self.statistics.add(record, totals)
        if self.folder:
            self.folder.tables["episodes"].append(_episode_row(record))
        self._probe()
        if record.timestep >= self._logs.next:
            self._log()
        if self._writes_rows:
            self._row_totals.update(totals)
            if self.agent.n_episodes % self._log_interval == 0:
                self._write_row()

    def handle_events(self) -> None:
        """Evaluate, save and show, as far as it is due at the agent's step."""
        timestep = self.agent.num_timesteps
        if timestep >= self._evaluations.next:
            self._evaluate()
        while self._named and timestep >= self._named[0]:
            self._save(f"step-{self._named.pop(0)}")
        if timestep >= self._checkpoints.next:
            self._save("last")
            self._checkpoints.passed(timestep)
        self._show()
        self._plan_next_event()

    def close(self, status: str) -> None:
        """End the training: the last checkpoint, the manifest, everything closed.

        Args:
            status: "finished", "stopped", "interrupted" or "failed".
        """
        try:
            if self.folder and status == "failed" and not self._begun:
                self.folder.abandon()
            elif self.folder:
                self._close_folder(self.folder, status)
        finally:
            self._show()
            self.progress.close()
            self.agent.logger.close()

    def _close_folder(self, folder: RunFolder, status: str) -> None:
        written = False
        with ExitStack() as stack:
            # whatever fails: a folder that stays open looks like a start that failed, whose
            # manifest is removed
            stack.callback(folder.close)
            stack.callback(lambda: self._write_end(folder, status if written else "failed"))
            if status == "finished" and self.statistics.totals:
                self._log()
            if self.agent.logger.name_to_value:
                self.agent.logger.dump(self.agent.num_timesteps)
            self._save("last")
            written = True

    def _write_end(self, folder: RunFolder, status: str) -> None:
        folder.update(status=status, finished=now(), **self._facts())

    # -- what it does ------------------------------------------------------------------------

    def _evaluate(self) -> None:
        assert self.evaluator is not None
        timestep = self.agent.num_timesteps
        try:
            with self._clock.evaluating:
                records = self.evaluator.run(self.agent, timestep, should_stop=self._should_stop)
        except EvaluationStopped:
            return
        self._evaluations.passed(timestep)
        if self.folder:
            for record in records:
                self.folder.tables["eval"].append(_evaluation_row(record))
            for row in _trajectory_rows(timestep, self.evaluator.paths):
                self.folder.tables["trajectories"].append(row)
        if self._npz:
            self._npz.add(records)
            self._npz.write()
        self._report(records)
        if any(record.is_success for record in records):
            self._found_greedy_success()
        if self._best is None or _score(records) > self._best:
            self._best = _score(records)
            self._save("best")

    def _report(self, records: list[EpisodeRecord]) -> None:
        reward = float(np.mean([record.total_reward for record in records]))
        length = float(np.mean([record.length for record in records]))
        rate, timestep = success_rate(records), records[0].timestep
        values = {"eval/mean_reward": reward, "eval/mean_ep_length": length}
        if not np.isnan(rate):
            values["eval/success_rate"] = rate
        for trigger in (STEPS, EPISODES):
            self.agent.logger.send(values, timestep, trigger)
        solved = "no success signal, " if np.isnan(rate) else f"success {rate:.2f}, "
        self.progress.line(
            f"evaluation at step {timestep:,}: {solved}return {reward:.3g}, "
            f"{length:.0f} steps an episode"
        )

    def _probe(self) -> None:
        """Run a greedy episode after each training episode between the first success of each kind.

        The steps between the two measure how fast a discovery is learned.
        """
        found = self.first_greedy_success_step is not None
        if self.statistics.first_success_step is None or found or self.evaluator is None:
            return
        try:
            with self._clock.evaluating:
                records = self.evaluator.run(
                    self.agent, self.agent.num_timesteps, 1, self._should_stop
                )
        except EvaluationStopped:
            return
        if records[0].is_success:
            self._found_greedy_success()

    def _found_greedy_success(self) -> None:
        if self.first_greedy_success_step is None:
            self.first_greedy_success_step = self.agent.num_timesteps

    def _log(self) -> None:
        timestep = self.agent.num_timesteps
        row = {
            "timestep": timestep,
            **self.statistics.row(),
            **self.agent.metrics(self.statistics.totals),
            **self._more_metrics(self.statistics.totals),
            "first_success_step": self.statistics.first_success_step,
        }
        self.statistics.totals.clear()
        self._logs.passed(timestep)
        times = self._clock.row(timestep)
        if self.folder:
            self.folder.tables["progress"].append(row)
            # a sweep and a report read there how far the run is
            self.folder.tables["progress"].flush()
            self.folder.tables["time"].append({"timestep": timestep, **times})
        logger, values = self.agent.logger, {**row, **times}
        del values["timestep"]
        logger.send(_known(values), timestep, STEPS)
        if not self._writes_rows:  # otherwise what was recorded goes with the next row there
            logger.dump(timestep)

    def _write_row(self) -> None:
        """Write a row after as many episodes as in Stable-Baselines3, with its names."""
        timestep, logger = self.agent.num_timesteps, self.agent.logger
        times = self._clock.row(timestep)
        row = {
            **(self.statistics.row() if self.statistics.episodes else {}),
            **self.agent.metrics(self._row_totals),
            **self._more_metrics(self._row_totals),
            "time/episodes": self.agent.n_episodes,
            "time/fps": int(times["time/fps"]),
            "time/time_elapsed": round(times["time/time_elapsed"], 1),
            "time/total_timesteps": timestep - logger.first_step,
        }
        self._row_totals.clear()
        logger.dump(timestep, _known(row), EPISODES)

    def _save(self, name: str) -> None:
        if self.folder is None:
            return
        with self._clock.saving:
            self.folder.sync()
            state = {
                "statistics": self.statistics.state(),
                "first_greedy_success_step": self.first_greedy_success_step,
            }
            self.agent.save(self.folder.checkpoint(name, self._suffix), training=state)
            self.folder.update(**self._facts())

    def _facts(self) -> dict[str, Any]:
        return {
            "timesteps": self.agent.num_timesteps,
            "episodes": self.agent.n_episodes,
            "dropped_episodes": getattr(self.agent, "n_dropped_episodes", 0),
            "success_signal": self.statistics.success_signal,
            "first_success_step": self.statistics.first_success_step,
            "first_greedy_success_step": self.first_greedy_success_step,
            "seconds": self._clock.totals(),
        }

    def _show(self) -> None:
        timestep = self.agent.num_timesteps
        rate: Any = self.statistics.success_rate
        if self.statistics.success_signal is False:
            rate = "no signal"
        facts: dict[str, Any] = {"success": rate}
        facts |= self.agent.gauges()
        self.progress.update(self._done(), facts)
        # about ten times a second
        self._tick = timestep + max(1, int(self._clock.fps(timestep) / 10))

    def _plan_next_event(self) -> None:
        named = self._named[0] if self._named else NEVER
        due = (self._evaluations.next, self._checkpoints.next, named)
        shown = NEVER if isinstance(self.progress, SilentProgress) else self._tick
        self.next_event = min(*due, shown)


class RecordedOutput:
    """Values recorded by callbacks, in logged.csv of a run folder: a line for each."""

    kind, trigger = "csv", RECORDED

    def __init__(self, table: Table) -> None:
        self._table = table

    def write(self, values: Mapping[str, Any], step: int) -> None:
        """Write a line for each value."""
        for name, value in values.items():
            self._table.append({"timestep": step, "name": name, "value": value})

    def close(self) -> None:
        """The run folder closes its tables itself."""


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without those that are not known: None, and the NaN of a mean of nothing."""
    return {name: value for name, value in values.items() if value is not None and value == value}


def _score(records: list[EpisodeRecord]) -> tuple[float, float]:
    """Better is: more often solved, then more reward."""
    rate = success_rate(records)
    reward = float(np.mean([record.total_reward for record in records]))
    return (-1.0 if np.isnan(rate) else rate), reward


def _episode_row(record: EpisodeRecord) -> dict[str, Any]:
    return {
        "episode": record.episode,
        "environment": record.environment,
        "timestep": record.timestep,
        "length": record.length,
        "return": record.total_reward,
        "terminated": record.terminated,
        "truncated": record.truncated,
        "is_success": record.is_success,
    }


def _evaluation_row(record: EpisodeRecord) -> dict[str, Any]:
    return {
        "timestep": record.timestep,
        "episode": record.episode,
        "return": record.total_reward,
        "length": record.length,
        "is_success": record.is_success,
    }


def _trajectory_rows(timestep: int, paths: Sequence[Trajectory]) -> list[dict[str, Any]]:
    return [
        {"timestep": timestep, "episode": episode, "step": step, "x": x, "y": y}
        for episode, path in enumerate(paths)
        for step, x, y in thinned(path)
    ]


def _evaluation_record(table: Table, row: Row) -> EpisodeRecord:
    episode, timestep, length = (
        table.number(row, name, int) for name in ("episode", "timestep", "length")
    )
    success = bool(table.number(row, "is_success", int)) if row.get("is_success") else None
    total_reward = table.number(row, "return", float)
    return EpisodeRecord(episode, 0, timestep, length, total_reward, False, False, success)

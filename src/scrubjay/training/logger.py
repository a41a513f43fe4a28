"""Named numbers on their way to a terminal, TensorBoard and files, as in Stable-Baselines3.

Callbacks written for Stable-Baselines3 call `record` and `dump`; so does training itself.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from scrubjay.optional import require

DEBUG, INFO, WARN, ERROR, DISABLED = 10, 20, 30, 40, 50

STEPS, EPISODES, RECORDED = "steps", "episodes", "recorded"
"""When training writes to an output: after a number of steps, of episodes, or only what
callbacks have recorded."""


class Output(Protocol):
    """Somewhere to write rows of named numbers."""

    kind: str
    """What `record(..., exclude=kind)` leaves out: "stdout", "tensorboard" or "csv"."""
    trigger: str

    def write(self, values: Mapping[str, Any], step: int) -> None:
        """Write a row."""

    def close(self) -> None:
        """Close what is open."""


class Logger:
    """Collects values by name; `dump` sends them to every output and clears them.

    Attributes:
        name_to_value: The values recorded since the last `dump`.
        outputs: Where they are sent. Training adds its own while it runs.
        first_step: The agent's step that is reported as 0; see `reset_num_timesteps` of `learn`.
        write_row: Writes a row of the training's progress now; does nothing between trainings.
    """

    def __init__(self) -> None:
        self.name_to_value: dict[str, Any] = {}
        self.name_to_count: Counter[str] = Counter()
        self.name_to_excluded: dict[str, tuple[str, ...]] = {}
        self.outputs: list[Output] = []
        self.kept: list[Output] = []
        self.level = INFO
        self.first_step = 0
        self.write_row: Callable[[], None] = nothing

    def record(self, key: str, value: Any, exclude: str | tuple[str, ...] | None = None) -> None:
        """Set a value of the next row.

        Args:
            key: Its name, such as "rollout/my_metric".
            value: A number, or text for the terminal.
            exclude: Outputs that do not get it: "stdout", "tensorboard" or "csv".
        """
        self.name_to_value[key] = value
        self.name_to_excluded[key] = (exclude,) if isinstance(exclude, str) else exclude or ()

    def record_mean(
        self, key: str, value: float | None, exclude: str | tuple[str, ...] | None = None
    ) -> None:
        """Set a value of the next row to the mean of all that are given under its name.

        Args:
            key: Its name.
            value: A number; None is ignored.
            exclude: As in `record`.
        """
        if value is None:
            return
        count = self.name_to_count[key]
        mean = (self.name_to_value.get(key, 0.0) * count + value) / (count + 1)
        self.record(key, mean, exclude)
        self.name_to_count[key] = count + 1

    def dump(
        self, step: int = 0, own: Mapping[str, Any] | None = None, trigger: str | None = None
    ) -> None:
        """Send what has been recorded to every output, and clear it.

        Args:
            step: The agent's step.
            own: Values of training itself, which go to the outputs of one trigger only.
            trigger: That trigger.
        """
        for output in self.outputs:
            values = dict(own or {}) if output.trigger == trigger else {}
            values |= {
                key: value
                for key, value in self.name_to_value.items()
                if output.kind not in self.name_to_excluded.get(key, ())
            }
            if values:
                output.write(values, step)
        self.name_to_value.clear()
        self.name_to_count.clear()
        self.name_to_excluded.clear()

    def send(self, values: Mapping[str, Any], step: int, trigger: str) -> None:
        """Send values of training itself to the outputs of one trigger.

        Args:
            values: The values by name.
            step: The agent's step.
            trigger: The trigger.
        """
        for output in self.outputs:
            if output.trigger == trigger:
                output.write(values, step)

    def add(self, output: Output) -> None:
        """Send the numbers of the next training to another output too, which it closes at its end.

        Args:
            output: Where to send them, such as a `WandbOutput`.
        """
        self.outputs.append(output)

    def has(self, trigger: str) -> bool:
        """Whether some output has a trigger.

        Args:
            trigger: The trigger.

        Returns:
            Whether there is one.
        """
        return any(output.trigger == trigger for output in self.outputs)

    def log(self, *args: object, level: int = INFO) -> None:
        """Print a line, unless its level is below that of the logger.

        Args:
            *args: What is printed.
            level: The line's level.
        """
        if level >= self.level:
            print(*args, file=sys.stderr if level >= WARN else sys.stdout)

    def debug(self, *args: object) -> None:
        """Print a line of the level DEBUG.

        Args:
            *args: What is printed.
        """
        self.log(*args, level=DEBUG)

    def info(self, *args: object) -> None:
        """Print a line of the level INFO.

        Args:
            *args: What is printed.
        """
        self.log(*args, level=INFO)

    def warn(self, *args: object) -> None:
        """Print a line of the level WARN.

        Args:
            *args: What is printed.
        """
        self.log(*args, level=WARN)

    def error(self, *args: object) -> None:
        """Print a line of the level ERROR.

        Args:
            *args: What is printed.
        """
        self.log(*args, level=ERROR)

    def set_level(self, level: int) -> None:
        """Print lines from a level on only.

        Args:
            level: The level.
        """
        self.level = level

    def get_dir(self) -> str | None:
        """The folder of TensorBoard's files.

        Returns:
            The folder; None if no such files are being written.
        """
        folders = [
            output.folder for output in self.outputs if isinstance(output, TensorBoardOutput)
        ]
        return folders[0] if folders else None

    def close(self) -> None:
        """Close the outputs of a training; those of `set_logger` stay open."""
        for output in self.outputs:
            if output not in self.kept:
                output.close()
        self.outputs = list(self.kept)
        self.write_row = nothing


def nothing() -> None:
    """Do nothing: there is no training whose row could be written."""


class TensorBoardOutput:
    """Event files, written with tensorboard alone (no torch, no TensorFlow)."""

    kind = "tensorboard"

    def __init__(
        self, folder: str | PathLike[str], trigger: str = STEPS, first_step: int = 0
    ) -> None:
        writer = require("tensorboard.summary.writer.event_file_writer", "tensorboard")
        self._summaries = require("tensorboard.compat.proto.summary_pb2", "tensorboard")
        self._events = require("tensorboard.compat.proto.event_pb2", "tensorboard")
        self.folder = str(folder)
        self.trigger = trigger
        self._first_step = first_step
        self._writer = writer.EventFileWriter(self.folder)

    def write(self, values: Mapping[str, Any], step: int) -> None:
        """Write the numbers among the values."""
        scalars = [
            self._summaries.Summary.Value(tag=key, simple_value=float(value))
            for key, value in values.items()
            if is_number(value)
        ]
        summary = self._summaries.Summary(value=scalars)
        step = step - self._first_step
        event = self._events.Event(step=step, summary=summary, wall_time=time.time())
        self._writer.add_event(event)

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


class TableOutput:
    """A table on the terminal, as Stable-Baselines3 prints it."""

    kind, trigger = "stdout", EPISODES

    def write(self, values: Mapping[str, Any], step: int) -> None:  # noqa: ARG002
        """Print the values."""
        tqdm.write(table(values), file=sys.stdout)  # above a progress bar, if there is one
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing is open."""


class ForwardOutput:
    """Another logger, such as the one that `stable_baselines3.common.logger.configure` makes."""

    kind, trigger = "", EPISODES

    def __init__(self, logger: Any) -> None:
        self.logger = logger

    def write(self, values: Mapping[str, Any], step: int) -> None:
        """Hand a row over."""
        for key, value in values.items():
            self.logger.record(key, value)
        self.logger.dump(step)

    def close(self) -> None:
        """The other logger stays open."""


def table(values: Mapping[str, Any]) -> str:
    """The text of a table: a line for each value, those of one group below its name."""
    rows: list[tuple[str, str]] = []
    group = ""
    for key in sorted(values):
        before, slash, name = key.rpartition("/")
        if slash and before != group:
            rows.append((f"{before}/", ""))
        group = before
        rows.append((f"   {name}" if slash else key, as_text(values[key])))
    left = max((len(name) for name, _ in rows), default=0)
    right = max((len(text) for _, text in rows), default=0)
    line = "-" * (left + right + 7)
    return "\n".join(
        [line, *(f"| {name:<{left}} | {text:<{right}} |" for name, text in rows), line]
    )


def as_text(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, float | np.floating):
        return f"{value:<8.3g}".strip()
    return str(value)


def is_number(value: Any) -> bool:
    """Whether a value can be a point of a curve."""
    return isinstance(value, int | float | np.integer | np.floating)


def open_outputs(
    logger: Logger,
    num_timesteps: int,
    verbose: int,
    tensorboard_log: str | PathLike[str] | None,
    tb_log_name: str,
    reset_num_timesteps: bool,
) -> Sequence[Output]:
    """The outputs that an agent's `verbose` and `tensorboard_log` ask for.

    A new folder `<tb_log_name>_<n>` is begun in `tensorboard_log`, or the last one is continued
    where the counter of steps is not reset.
    """
    if reset_num_timesteps:
        logger.first_step = num_timesteps
    outputs: list[Output] = [TableOutput()] if verbose >= 1 else []
    if tensorboard_log is not None:
        parent = Path(tensorboard_log)
        number = max(_last_number(parent, tb_log_name) + bool(reset_num_timesteps), 1)
        folder = parent / f"{tb_log_name}_{number}"
        outputs.append(TensorBoardOutput(folder, EPISODES, logger.first_step))
    return outputs


def _last_number(parent: Path, name: str) -> int:
    numbers = [path.name.removeprefix(f"{name}_") for path in parent.glob(f"{name}_*")]
    return max((int(number) for number in numbers if number.isdigit()), default=0)

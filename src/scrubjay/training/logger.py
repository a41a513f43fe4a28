"""Named numbers on their way to whoever wants them, in the shape of Stable-Baselines3's logger.

Callbacks written for Stable-Baselines3 call `record` and `dump`; so does training itself.
"""

import time
from collections.abc import Mapping
from os import PathLike
from typing import Any, Protocol

from scrubjay.optional import require


class Output(Protocol):
    """Somewhere to write rows of named numbers."""

    def write(self, values: Mapping[str, Any], step: int) -> None: ...

    def close(self) -> None: ...


class Logger:
    """Collects values by name; `dump` sends them to every output and forgets them."""

    def __init__(self) -> None:
        self.name_to_value: dict[str, Any] = {}
        self.outputs: list[Output] = []

    def record(self, key: str, value: Any, exclude: Any = None) -> None:  # noqa: ARG002
        self.name_to_value[key] = value

    def dump(self, step: int = 0) -> None:
        for output in self.outputs:
            output.write(self.name_to_value, step)
        self.name_to_value.clear()

    def close(self) -> None:
        for output in self.outputs:
            output.close()
        self.outputs.clear()


class TensorBoardOutput:
    """Event files, written with tensorboard alone (no torch, no TensorFlow)."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        writer = require("tensorboard.summary.writer.event_file_writer", "tensorboard")
        self._summaries = require("tensorboard.compat.proto.summary_pb2", "tensorboard")
        self._events = require("tensorboard.compat.proto.event_pb2", "tensorboard")
        self._writer = writer.EventFileWriter(str(folder))

    def write(self, values: Mapping[str, Any], step: int) -> None:
        scalars = [
            self._summaries.Summary.Value(tag=key, simple_value=float(value))
            for key, value in values.items()
            if isinstance(value, int | float)
        ]
        summary = self._summaries.Summary(value=scalars)
        event = self._events.Event(step=step, summary=summary, wall_time=time.time())
        self._writer.add_event(event)

    def close(self) -> None:
        self._writer.close()

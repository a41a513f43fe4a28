"""Numbers that change with the steps taken."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class LinearSchedule:
    """From `start` to `end` over `steps` training steps, then constant.

    Attributes:
        start: The first value, between 0 and 1.
        end: The last value, between 0 and 1.
        steps: The number of steps between the two.
    """

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        if not all(_is_number(value) for value in (self.start, self.end, self.steps)):
            raise TypeError(f"expected three numbers, got {self}")
        if not (0.0 <= self.start <= 1.0 and 0.0 <= self.end <= 1.0):
            raise ValueError(f"expected a start and an end between 0 and 1, got {self}")
        whole = isinstance(self.steps, int | np.integer) or float(self.steps).is_integer()
        if not (whole and self.steps >= 1):
            raise ValueError(f"expected a whole number of at least 1 step, got {self.steps}")
        # compiled code would be compiled again for an int
        object.__setattr__(self, "start", float(self.start))
        object.__setattr__(self, "end", float(self.end))
        object.__setattr__(self, "steps", int(self.steps))

    def __call__(self, step: int) -> float:
        if step >= self.steps:
            return self.end
        return self.start + (self.end - self.start) * (step / self.steps)

    def config(self) -> dict[str, Any]:
        """The schedule as JSON.

        Returns:
            Its three numbers by name.
        """
        return asdict(self)


def as_schedule(value: Any) -> LinearSchedule:
    """A schedule from itself, a constant, (start, end, steps) or its `config`."""
    if isinstance(value, LinearSchedule):
        return value
    if isinstance(value, dict):
        return LinearSchedule(**value)
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 3:
        return LinearSchedule(*value)
    if _is_number(value):
        return LinearSchedule(value, value, 1)
    raise TypeError(f"expected a number, (start, end, steps) or a LinearSchedule, got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)

"""Wall-clock time of training, evaluation, compilation and saving."""

import time
from collections.abc import Mapping

TOTALS = ("time_elapsed", "train_seconds", "evaluation_seconds", "compile_seconds")


class Stopwatch:
    """Adds up the seconds spent inside `with` blocks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.seconds += time.perf_counter() - self._start


class Clock:
    """Wall-clock time of training, evaluation, compilation and saving."""

    def __init__(self, first_step: int = 0) -> None:
        self.compiling, self.evaluating, self.saving = Stopwatch(), Stopwatch(), Stopwatch()
        self._start = time.perf_counter()
        self._first_step = first_step
        self._before = dict.fromkeys(TOTALS, 0.0)

    def restore(self, row: Mapping[str, str]) -> None:
        """Continue from the last row that an earlier process of the same run wrote."""
        self._before = {name: float(row[f"time/{name}"]) for name in TOTALS}

    def _training(self) -> float:
        elsewhere = self.compiling.seconds + self.evaluating.seconds + self.saving.seconds
        return max(time.perf_counter() - self._start - elsewhere, 1e-9)

    def fps(self, timestep: int) -> float:
        """Steps per second since this process started, without compilation and evaluation."""
        return (timestep - self._first_step) / self._training()

    def totals(self) -> dict[str, float]:
        elapsed = time.perf_counter() - self._start
        seconds = (elapsed, self._training(), self.evaluating.seconds, self.compiling.seconds)
        return {
            name: self._before[name] + spent for name, spent in zip(TOTALS, seconds, strict=True)
        }

    def row(self, timestep: int) -> dict[str, float]:
        names = {f"time/{name}": round(value, 6) for name, value in self.totals().items()}
        return {"time/fps": round(self.fps(timestep), 1), **names}

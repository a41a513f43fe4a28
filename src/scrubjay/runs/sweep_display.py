"""What a person sees of a sweep: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tqdm import tqdm


class RunStatus(Protocol):
    """A run as it is shown."""

    state: str
    began: float
    config: Any

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> tuple[str, str]: ...
    def steps(self) -> int: ...


class Display:
    """Lines, one every `every` seconds."""

    every = 10.0

    def __init__(self, runs: Sequence[RunStatus], jobs: int, pace: "Pace") -> None:
        self.runs, self.jobs, self.pace = runs, jobs, pace
        self._next = time.monotonic() + self.every

    def update(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self.every
            self.show()

    def show(self) -> None:
        self.line(f"{self.counts()}, {self.left()}{self.in_flight()}")

    def finished(self, run: RunStatus) -> None:
        self.pace.learn(run.kind, (time.monotonic() - run.began) / max(run.config.steps, 1))

    def line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        self.line(self.counts())

    def counts(self) -> str:
        count = dict.fromkeys(("done", "failed", "elsewhere"), 0)
        for run in self.runs:
            count[run.state] = count.get(run.state, 0) + 1
        text = f"{count['done']} of {len(self.runs)} runs done"
        text += f", {count['failed']} failed" if count["failed"] else ""
        return text + (f", {count['elsewhere']} in another sweep" if count["elsewhere"] else "")

    def left(self) -> str:
        seconds = self.pace.left(self.runs, self.jobs)
        return "time left unknown" if seconds is None else f"about {duration(seconds)} left"

    def in_flight(self) -> str:
        running = [run for run in self.runs if run.state == "running"]
        return "".join(f"; {run.name} at {run.steps():,}" for run in running)


class Bar(Display):
    """A bar over all steps of all runs."""

    every = 0.5

    def __init__(self, runs: Sequence[RunStatus], jobs: int, pace: "Pace") -> None:
        super().__init__(runs, jobs, pace)
        form = "{percentage:3.0f}%|{bar:24}| {desc}"
        total = sum(run.config.steps for run in runs)
        self._bar = tqdm(total=total, dynamic_ncols=True, bar_format=form, file=sys.stderr)

    def show(self) -> None:
        done = sum(min(run.steps(), run.config.steps) for run in self.runs)
        text = f"{self.counts()}, {self.left()}{self.in_flight()}"
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(done - self._bar.n)
        self._bar.refresh()

    def line(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self.show()
        self._bar.close()


class Pace:
    """Seconds a step, by agent and task: what is left is estimated from runs of the same kind."""

    def __init__(self, known: Mapping[tuple[str, str], float] | None = None) -> None:
        self.known = dict(known or {})

    def learn(self, kind: tuple[str, str], seconds: float) -> None:
        self.known[kind] = seconds

    def left(self, runs: Sequence[RunStatus], jobs: int) -> float | None:
        open_runs = [run for run in runs if run.state in ("waiting", "running", "elsewhere")]
        known = {**_observed(open_runs), **self.known}
        if open_runs and not known:
            return None
        seconds: list[float] = [
            max(run.config.steps - run.steps(), 0) * _nearest(run.kind, known) for run in open_runs
        ]
        return max(sum(seconds) / jobs, max(seconds, default=0.0))


def _observed(runs: Sequence[RunStatus]) -> dict[tuple[str, str], float]:
    """The pace of runs that have come some way."""
    going = [(run, run.steps()) for run in runs if run.state == "running"]
    return {run.kind: (time.monotonic() - run.began) / steps for run, steps in going if steps}


def _nearest(kind: tuple[str, str], known: Mapping[tuple[str, str], float]) -> float:
    """A kind's own pace, else the mean of its agent's, else of all."""
    agent = [pace for other, pace in known.items() if other[0] == kind[0]]
    near = agent or list(known.values())
    return known.get(kind, sum(near) / len(near))


def open_display(
    runs: Sequence[RunStatus], jobs: int, known: Mapping[tuple[str, str], float] | None = None
) -> Display:
    """A live display on a terminal, otherwise lines of text."""
    kind = Bar if sys.stderr.isatty() else Display
    return kind(runs, jobs, Pace(known))


def duration(seconds: float) -> str:
    """A time in words: seconds, minutes or hours."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"

"""The progress of a training: a bar on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from tqdm import tqdm

COMPILING = "compiling for about half a minute; later runs use the compiled code"
WAIT = 3.0  # seconds before this is shown; loading compiled code takes less


class Progress(Protocol):
    """Shows the progress of a training. `close` may be called twice."""

    def update(self, done: int, facts: Mapping[str, Any]) -> None: ...

    def line(self, text: str) -> None: ...

    def close(self) -> None: ...


class SilentProgress:
    """Shows nothing."""

    def update(self, done: int, facts: Mapping[str, Any]) -> None: ...

    def line(self, text: str) -> None: ...

    def close(self) -> None: ...


class BarProgress:
    """A bar with success rate and memory size; its rate is steps a second, from the first step."""

    def __init__(self, total: int, done: int, unit: str) -> None:
        self._bar = tqdm(
            total=total, initial=min(done, total), unit=f" {unit}", dynamic_ncols=True,
            unit_scale=True, smoothing=0.1,
        )  # fmt: skip
        self._started = False

    def update(self, done: int, facts: Mapping[str, Any]) -> None:
        if not self._started:
            self._bar.unpause()  # without the time of compilation
            self._started = True
        self._bar.set_postfix({name: short(value) for name, value in facts.items()}, refresh=False)
        self._bar.update(min(done, self._bar.total) - self._bar.n)

    def line(self, text: str) -> None:
        self._bar.write(text, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()


class LineProgress:
    """A line every few seconds, for logs and pipes; its rate counts from the first step."""

    def __init__(self, total: int, done: int, unit: str, every: float = 5.0) -> None:
        self._total, self._unit, self._every = total, unit, every
        self._start, self._start_done = -1.0, done
        self._last = 0.0
        self._pending = ""

    def update(self, done: int, facts: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if self._start < 0:  # without the time of compilation
            self._start = self._last = now
        rate = (done - self._start_done) / max(now - self._start, 1e-9)
        parts = [f"{done:,} of {self._total:,} {self._unit}", f"{rate:,.0f} {self._unit}/s"]
        parts += [f"{name} {short(value)}" for name, value in facts.items()]
        self._pending = ", ".join(parts)
        if now - self._last >= self._every:
            self._last = now
            self._show_pending()

    def line(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        self._show_pending()

    def _show_pending(self) -> None:
        if self._pending:
            self.line(self._pending)
        self._pending = ""


@contextmanager
def shown_if_slow(progress: Progress, text: str, seconds: float = WAIT) -> Iterator[None]:
    """Show a line if the body of the `with` statement takes longer than some seconds."""
    timer = threading.Timer(seconds, progress.line, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def open_progress(visible: bool, total: int, done: int, unit: str) -> Progress:
    """A bar on a terminal, lines elsewhere, or nothing if it is not visible."""
    if not visible:
        return SilentProgress()
    return (
        BarProgress(total, done, unit) if sys.stderr.isatty() else LineProgress(total, done, unit)
    )


def short(value: Any) -> str:
    """A number in a few digits; "?" for what is not known yet."""
    if value is None:
        return "?"
    if isinstance(value, str):
        return value
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"

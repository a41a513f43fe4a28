"""Ctrl-C, handled between two steps and never inside a write."""

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPING = "\nstopping after this step and saving; press Ctrl-C again to force\n"


class InterruptGuard:
    """While entered, the first Ctrl-C (or SIGTERM) only sets `requested`; a second one raises."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "InterruptGuard":
        # Python delivers signals to the main thread only, and other threads cannot ask for them.
        if threading.current_thread() is threading.main_thread():
            self._previous = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        if number == signal.SIGINT:
            # at once, also while an environment hangs; print could be in the middle of a line
            os.write(2, STOPPING.encode())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

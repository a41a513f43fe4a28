"""A callback that reports in which step an environment hangs.

Simulators wait for licences, robots for emergency stops, and games for a window. From outside such
a training looks like a slow one. The watchdog's thread sees that no step has ended for some time
and says so, with the step, the episode and the place in the code. It never stops the training.
"""

import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tqdm import tqdm

from scrubjay.training.callbacks import BaseCallback

PACKAGE = Path(__file__).resolve().parent.parent
LINES = 8  # of the stack that are shown
LOOKS = 10  # looks of the thread within one timeout


def print_warning(text: str) -> None:
    """Print to the standard error stream, above a progress bar if there is one."""
    tqdm.write(f"warning: {text}", file=sys.stderr)
    sys.stderr.flush()


class Watchdog(BaseCallback):
    """Warns when no step of training or evaluation has ended for `timeout` seconds.

    It warns again after twice, four times, ... that time, and reports when the training continues.
    It reads counters in a separate thread and does not slow down the steps.

    Args:
        timeout: Seconds without a step before it warns.
        on_warning: Called with the text, in the watchdog's thread; by default it is printed.

    Raises:
        ValueError: If `timeout` is not positive.
    """

    watches_steps = False

    def __init__(
        self, timeout: float = 60.0, on_warning: Callable[[str], None] = print_warning
    ) -> None:
        super().__init__()
        if not timeout > 0:
            raise ValueError(f"expected a timeout of more than 0 seconds, got {timeout}")
        self.timeout = timeout
        self._say = on_warning
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def _on_training_start(self) -> None:
        self._over.clear()
        self._watched = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _progress(self) -> tuple[int, int, int]:
        steps = 0 if self.evaluator is None else self.evaluator.n_steps
        return self.agent.num_timesteps, self.agent.n_episodes, steps

    def _watch(self) -> None:
        last, since, allowed = self._progress(), time.monotonic(), self.timeout
        while not self._over.wait(self.timeout / LOOKS):
            now, elapsed = self._progress(), time.monotonic() - since
            if now != last:
                self._say_if_resumed(elapsed, allowed)
                last, since, allowed = now, time.monotonic(), self.timeout
            elif elapsed >= allowed:
                self._say(self._report(now, elapsed))
                allowed *= 2
        if self._progress() != last:  # the rest of the training was shorter than one look
            self._say_if_resumed(time.monotonic() - since, allowed)

    def _say_if_resumed(self, elapsed: float, allowed: float) -> None:
        if allowed > self.timeout:
            self._say(f"the training goes on after {elapsed:.3g} s")

    def _report(self, progress: tuple[int, int, int], elapsed: float) -> str:
        timesteps, episodes, _ = progress
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001  its documented name
        return (
            f"{place(frame)} has not returned for {elapsed:.3g} s, at step {timesteps + 1:,} in "
            f"episode {episodes + 1:,}. The training is here:\n{stack(frame)}"
        )


def place(frame: FrameType | None) -> str:
    """What is being called: `step` or `reset` of an environment, or a function of this package."""
    names: list[str] = []  # of the functions inside, the innermost first
    for each, _ in traceback.walk_stack(frame):
        file, name = Path(each.f_code.co_filename), each.f_code.co_name
        names.append(name)
        if not file.is_relative_to(PACKAGE) or file.parent.name == "envs":
            continue
        whose = "evaluation environment" if file.name == "evaluation.py" else "environment"
        if (file.name, name) == ("loop.py", "run") or name in ("step", "reset", "_episode"):
            call = "reset" if "reset" in names else "step"
            return f"{call}() of the {whose}"
        return f"{name}() in {file.parent.name}/{file.name}"
    return "the training"


def stack(frame: FrameType | None) -> str:
    """The innermost lines of a stack."""
    lines = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=LINES)
    lines.reverse()
    return "".join(lines.format()).rstrip()

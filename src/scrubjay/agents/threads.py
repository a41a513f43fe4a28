"""Decisions for many lanes on several threads.

The lanes of a vector environment are decided independently of each other, by a compiled kernel that
releases the GIL. Where they are many, each thread calls the same kernel for its part of the lanes:
the answers are those of one call, whatever the number of threads. (Numba's own parallel loops would
compile every kernel once more, for many seconds, and its portable thread pool must not be entered
by two threads at once.)
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from scrubjay.agents.recorder import Floats, Lanes
from scrubjay.training.collecting import available_cores

LANES_PER_THREAD = 128
"""Fewer lanes are not worth a thread: handing over a call takes about 20 us."""


def n_threads(n_lanes: int) -> int:
    """Return the number of threads for a number of lanes: at most one for each core."""
    return max(1, min(n_cores(), n_lanes // LANES_PER_THREAD))


n_cores = cache(available_cores)


@cache
def pool(process: int) -> ThreadPoolExecutor:  # noqa: ARG001  a forked process needs its own
    """Return the threads of this process, which are started when they are first needed."""
    return ThreadPoolExecutor(max(1, n_cores() - 1), "scrubjay")


def decide_together(
    kernel: Callable[..., int],
    shared: Sequence[Any],
    lanes: Lanes,
    keys: Floats,
    *rest: Any,
) -> int:
    """Call `kernel(*shared, *lanes, keys, *rest)`, on several threads for many lanes.

    Args:
        kernel: A compiled function that releases the GIL and returns the lane whose key is not
            finite, or -1.
        shared: Arguments that all threads only read.
        lanes: The lanes.
        keys: (L, D): their keys.
        rest: The other arguments.

    Returns:
        The first lane whose key is not finite, or -1.
    """
    n = len(keys)
    parts = n_threads(n)
    starts = [n * part // parts for part in range(parts + 1)]

    def decide(part: int) -> int:
        mine = slice(starts[part], starts[part + 1])
        own = (array[mine] for array in lanes)
        bad = kernel(*shared, *own, keys[mine], *rest)
        return starts[part] + bad if bad >= 0 else -1

    others = [pool(os.getpid()).submit(decide, part) for part in range(1, parts)]
    found = [decide(0), *(other.result() for other in others)]
    return next((lane for lane in found if lane >= 0), -1)

"""Exploration before the first success: episodes travel to a rarely visited state.

Keys are counted in cells, one standard deviation wide. Of some rows in cells with few rows, the one
that takes the most steps to reach from the start becomes the target. Every other row gets a
temporary value (`lure`) that decreases with the number of steps from it to the target.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.agents.planning import PASSES, Rule, linked_rows, sweep
from scrubjay.compiled import compiled
from scrubjay.memory import EpisodicMemory

Floats = npt.NDArray[np.float64]

TARGET = 2.0  # the value of a target, at which exploration begins; the value of a goal is 1
CONNECTED = 0.25  # the share of rows that must have a path to it
CANDIDATES = 8  # rows in rarely visited cells, of which the one farthest away is the target
CELL_HASH = 0x9E3779B97F4A7C15  # its powers, modulo 2 to the 64, turn a cell into one number


def rare_row(keys: npt.NDArray[np.float32], rng: np.random.Generator) -> int:
    """A random row, cells drawn with a probability inverse to the number of their rows.

    Cells have a random subset of the dimensions, drawn again each time: a cell that is rare in all
    dimensions together is usually a combination of coordinates that are common by themselves.
    """
    some = rng.random(keys.shape[1:]) < 0.5
    some[rng.integers(keys.shape[1])] = True
    cells = np.floor(keys[:, some]).astype(np.int64)
    # one number for each cell: sorting rows of numbers takes ten times as long
    factors = np.full(cells.shape[1], CELL_HASH, np.uint64).cumprod().view(np.int64)
    _, inverse = np.unique(cells @ factors, return_inverse=True)
    counts = np.bincount(inverse)
    # the weight of a cell with n rows is 1 / n, and that of each of its rows 1 / n of this
    weights = 1.0 / counts[inverse].astype(np.float64) ** 2
    return int(rng.choice(len(keys), p=weights / weights.sum()))


def far_row(keys: npt.NDArray[np.float32], reached: Floats, rng: np.random.Generator) -> int:
    """Of some rows in rarely visited cells, the one that takes the most steps to reach.

    Args:
        keys: The keys of all rows.
        reached: gamma to the number of steps to each row, 0 if no path is known.
        rng: Draws the rows.
    """
    drawn = [rare_row(keys, rng) for _ in range(CANDIDATES)]
    known = [row for row in drawn if reached[row] > 0]
    return min(known, key=lambda row: float(reached[row]), default=drawn[0])


def lures(
    memory: EpisodicMemory, start: npt.NDArray[np.float32], rule: Rule, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """The temporary value of each row: `TARGET` at the target, 0 if no path to it is known.

    All are 0 if only few rows have a path. In many dimensions paths of different episodes hardly
    ever meet: the path would then be a single episode, and repeating it would not be exploration.

    Args:
        memory: The memory, with the columns of `planning.columns`.
        start: The key of a state in which episodes begin.
        rule: How values are propagated.
        rng: Draws the target.
    """
    rows, near = linked_rows(memory, rule)
    first, _ = memory.nearest(start)
    target = far_row(memory.keys, reach(rows, near, int(first), rule.gamma), rng)
    values = np.zeros(len(memory), np.float32)
    values[target] = TARGET
    rows[target] = -1
    sweep(values, np.zeros(len(memory)), rows, near, rule.gamma, 0.0, 0.0)
    return values if (values > 0).mean() >= CONNECTED else np.zeros_like(values)


@compiled()
def reach(links: npt.NDArray[np.int64], near: Floats, start: int, gamma: float) -> Floats:
    """Compute gamma to the number of steps from a row to each other, 0 if it is not reached.

    Episodes are written backwards, so a pass from the last row to the first follows their steps.
    """
    reached = np.zeros(len(links))
    reached[start] = 1.0
    for _ in range(PASSES):
        changed = False
        for i in range(len(links) - 1, -1, -1):
            if reached[i] == 0.0:
                continue
            for j in range(links.shape[1]):
                if links[i, j] < 0:
                    break
                value = gamma * reached[i] * near[i, j]
                if value > reached[links[i, j]]:
                    reached[links[i, j]] = value
                    changed = True
        if not changed:
            break
    return reached

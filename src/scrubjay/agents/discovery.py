"""Where to go while nothing has been found: to a rarely visited place, over stored transitions.

Keys are counted in cells, one standard deviation wide. A row in a cell with few rows becomes the
target; the lure of every other row falls with the number of steps from it to the target.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.agents.planning import Rule, linked_rows, sweep
from scrubjay.memory import EpisodicMemory

TARGET = 2.0  # the lure of a target, where exploring begins; the value of a goal is 1
CONNECTED = 0.25  # the share of rows that must know a way to it
CELL_HASH = 0x9E3779B97F4A7C15  # its powers, modulo 2 to the 64, turn a cell into one number


def rare_row(keys: npt.NDArray[np.float32], rng: np.random.Generator) -> int:
    """A random row, cells drawn with a probability inverse to the number of their rows.

    Cells are those of some of the dimensions only, drawn again each time: what is rare in all of
    them together is mostly an odd mixture of what is common in each.
    """
    some = rng.random(keys.shape[1:]) < 0.5
    some[rng.integers(keys.shape[1])] = True
    cells = np.floor(keys[:, some]).astype(np.int64)
    # one number for each cell: to sort rows of numbers takes ten times as long
    factors = np.full(cells.shape[1], CELL_HASH, np.uint64).cumprod().view(np.int64)
    _, inverse = np.unique(cells @ factors, return_inverse=True)
    counts = np.bincount(inverse)
    # every cell weighs 1 / n, each of its n rows 1 / n of that
    weights = 1.0 / counts[inverse].astype(np.float64) ** 2
    return int(rng.choice(len(keys), p=weights / weights.sum()))


def lures(memory: EpisodicMemory, target: int, rule: Rule) -> npt.NDArray[np.float32]:
    """How soon each row leads to the target: 1 at the target, 0 where no way is known.

    All are 0 if only few rows know a way. In many dimensions hardly any two episodes meet: then the
    way back is a single episode that would have to be repeated, and going there is no exploration.
    """
    rows, near = linked_rows(memory, rule)
    values = np.zeros(len(memory), np.float32)
    values[target] = TARGET
    rows[target] = -1
    rewards = np.zeros(len(memory))
    sweep(values, rewards, rows, near, rule.gamma, 0.0, 0.0)
    return values if (values > 0).mean() >= CONNECTED else np.zeros_like(values)

"""Distances to the nearest rows, for the log and for a warning of a wrong scale.

A wrong scale of the observations is the most common silent failure, so there is a warning, once.
"""

import warnings

import numpy as np
import numpy.typing as npt

from scrubjay.agents.recorder import DISTANCE, NOT_SEARCHED, WEIGHT, Floats
from scrubjay.compiled import compiled
from scrubjay.memory.kdtree import TreeArrays, find_neighbors, tree_size

WINDOW = 5000  # steps
SAMPLED = 16  # one in this many steps without a neighbour measures the nearest row's distance


@compiled()
def note_distance(
    tree: TreeArrays,
    key: npt.NDArray[np.float32],
    found: int,
    squared: Floats,
    count: int,
    numbers: Floats,
) -> None:
    """Store the distance to the nearest row, for the log and the check of the scale.

    Beyond the radius it is searched for the log alone, so one step in a few is enough: in many
    dimensions it is a scan of all rows. Which steps those are, `count` decides: it differs from
    episode to episode, so that in short episodes all steps have their turn.
    """
    numbers[DISTANCE], numbers[WEIGHT] = np.nan, 0.0
    if found > 0:
        numbers[DISTANCE], numbers[WEIGHT] = np.sqrt(squared[0]), 1.0
    elif tree_size(tree) == 0:
        numbers[DISTANCE] = NOT_SEARCHED
    elif count % SAMPLED == 0:
        row, distance = np.empty(1, np.int64), np.empty(1, np.float64)
        # a literal 1 would compile the search once more
        find_neighbors(tree, key, len(row), np.inf, row, distance)
        numbers[DISTANCE], numbers[WEIGHT] = np.sqrt(distance[0]), SAMPLED


class ScaleCheck:
    """Warns once when the nearest row is too often beyond the radius.

    Early decisions mostly find no neighbour: on PointUMaze with the paper's settings 0.77 of
    the first 5,000 decisions find no neighbour, 0.27 after 20,000 steps and 0.06 in the end;
    without a normaliser it stays at 0.5.
    """

    def __init__(self) -> None:
        self._distances: list[npt.NDArray[np.float64]] = []
        self._count = 0
        self._too_many = 0.9
        self._warned = False

    def add(self, distances: npt.NDArray[np.float64], radius: float, n_steps: int) -> None:
        """Add the nearest distances of an episode's steps that searched for a neighbour.

        Infinite: nothing was searched; NaN: beyond the radius and not measured.
        """
        if self._warned:
            return
        self._distances.append(distances[~np.isinf(distances)])
        self._count += n_steps
        if self._count >= WINDOW:
            self._check(np.concatenate(self._distances), radius)
            self._distances, self._count = [], 0
            self._too_many = max(0.4, self._too_many - 0.1)

    def _check(self, distances: npt.NDArray[np.float64], radius: float) -> None:
        alone = float(np.mean(~(distances <= radius))) if len(distances) else 0.0
        if alone < self._too_many:
            return
        self._warned = True
        # those beyond the radius whose distance was not measured are as far as those where it was
        farther = distances[distances > radius]
        median = ""
        if farther.size:
            shown = np.where(np.isnan(distances), np.median(farther), distances)
            median = f"; the median nearest distance is {np.median(shown):.2g}"
        warnings.warn(
            f"{alone:.0%} of decisions had no neighbour within {radius:g}{median}: scale the "
            "observations or raise distance_threshold",
            UserWarning,
            stacklevel=2,
        )

"""The commonest silent failure is a wrong scale: say it once."""

import warnings

import numpy as np
import numpy.typing as npt

WINDOW = 5000  # decisions: enough that the first steps into the unknown do not count for much
TOO_MANY = 0.3  # PointUMaze without a normaliser: 0.5; with one: below 0.1


class ScaleCheck:
    """Watches how far the nearest row is; warns once when it is often out of reach."""

    def __init__(self, radius: float) -> None:
        self.radius = radius
        self._distances: list[npt.NDArray[np.float64]] = []
        self._count = 0
        self._warned = False

    def add(self, distances: npt.NDArray[np.float64]) -> None:
        """The nearest distances of one episode's decisions (infinite: the memory was empty)."""
        if self._warned:
            return
        self._distances.append(distances[np.isfinite(distances)])
        self._count += len(self._distances[-1])
        if self._count >= WINDOW:
            self._check(np.concatenate(self._distances))
            self._distances, self._count = [], 0

    def _check(self, distances: npt.NDArray[np.float64]) -> None:
        alone = float(np.mean(distances > self.radius))
        if alone < TOO_MANY:
            return
        self._warned = True
        warnings.warn(
            f"{alone:.0%} of decisions had no neighbour within {self.radius:g}; the median nearest "
            f"distance is {np.median(distances):.2g}: scale the observations or raise "
            "distance_threshold",
            UserWarning,
            stacklevel=2,
        )

"""The commonest silent failure is a wrong scale: say it once."""

import warnings

import numpy as np
import numpy.typing as npt

WINDOW = 5000  # steps


class ScaleCheck:
    """Watches how far the nearest row is; warns once when it is too often out of reach.

    A young memory is out of reach most of the time: on PointUMaze with the paper's settings 0.77 of
    the first 5,000 decisions find nobody near, 0.27 after 20,000 steps and 0.06 in the end; without
    a normaliser it stays at 0.5.
    """

    def __init__(self) -> None:
        self._distances: list[npt.NDArray[np.float64]] = []
        self._count = 0
        self._too_many = 0.9
        self._warned = False

    def add(self, distances: npt.NDArray[np.float64], radius: float, n_steps: int) -> None:
        """The nearest distances of those of an episode's `n_steps` that looked for a neighbour.

        Negative: nobody was asked; infinite: the memory was empty; NaN: beyond the radius.
        """
        if self._warned:
            return
        self._distances.append(distances[~np.isinf(distances) & ~(distances < 0)])
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

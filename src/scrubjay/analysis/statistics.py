"""Statistics of independent runs, with confidence intervals.

The unit is the run (one seed): axis 0 of every array counts runs, and a run contributes one number
per step, its evaluation episodes averaged before (`reading.py` does that). Where several tasks are
summarised together, scores are a sequence with one array per task, and runs are resampled within
their task (stratified bootstrap), so that tasks may have different numbers of runs.

Intervals are 95% percentile intervals. For fewer than three runs there is none: functions return
None instead, and figures show the points only.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
# Reduces runs (axis -2) and keeps steps (axis -1): (..., runs, steps) -> (..., steps).
Statistic = Callable[[Array], Array]

MIN_RUNS = 3
CONFIDENCE = 0.95
# Numbers held at once while resampling: 32 MB.
BLOCK = 4_000_000


@dataclass(frozen=True)
class Interval:
    """The lower and upper end of a confidence interval, one number per step."""

    low: Array
    high: Array


@dataclass(frozen=True)
class Efficiency:
    """How good the runs are at each step: the paper's summary and the robust one."""

    n_runs: int
    mean: Array
    standard_error: Array | None
    interquartile_mean: Array
    interval: Interval | None


def mean(scores: Array) -> Array:
    """The mean over runs."""
    return np.asarray(scores.mean(axis=-2), dtype=np.float64)


def interquartile_mean(scores: Array) -> Array:
    """The mean of the middle half of the runs: a quarter (rounded down) is cut from each end."""
    cut = scores.shape[-2] // 4
    middle = np.sort(scores, axis=-2)[..., cut : scores.shape[-2] - cut, :]
    return mean(middle)


def standard_error(scores: Array) -> Array | None:
    """The standard error of the mean over runs, or None for fewer than three."""
    n_runs = scores.shape[0]
    if n_runs < MIN_RUNS:
        return None
    return np.asarray(scores.std(axis=0, ddof=1) / math.sqrt(n_runs), dtype=np.float64)


def sample_efficiency(
    curves: npt.ArrayLike, generator: np.random.Generator, n_resamples: int = 2000
) -> Efficiency:
    """Summarise the curves of one method on one task, a (runs, steps) matrix, at every step."""
    scores = _matrix(curves)
    return Efficiency(
        n_runs=scores.shape[0],
        mean=mean(scores),
        standard_error=standard_error(scores),
        interquartile_mean=interquartile_mean(scores),
        interval=bootstrap_interval([scores], interquartile_mean, generator, n_resamples),
    )


def aggregate(tasks: Sequence[npt.ArrayLike], statistic: Statistic = interquartile_mean) -> Array:
    """A statistic over all runs of all tasks together (one array of scores per task)."""
    return statistic(np.concatenate(_strata(tasks), axis=-2))


def bootstrap_interval(
    tasks: Sequence[npt.ArrayLike],
    statistic: Statistic,
    generator: np.random.Generator,
    n_resamples: int = 2000,
) -> Interval | None:
    """Bootstrap interval of `aggregate` over seeds: whole runs are resampled within each task."""
    strata = _strata(tasks)
    if _too_few(strata):
        return None
    block = max(1, BLOCK // sum(scores.size for scores in strata))
    parts = [
        _resampled(strata, statistic, min(block, n_resamples - start), generator)
        for start in range(0, n_resamples, block)
    ]
    return _percentiles(np.concatenate(parts))


def probability_of_improvement(
    tasks_x: Sequence[npt.ArrayLike], tasks_y: Sequence[npt.ArrayLike]
) -> Array:
    """The probability that a run of x beats one of y, ties counted half, averaged over tasks."""
    pairs = _pairs(tasks_x, tasks_y)
    return mean(np.stack([_wins(x, y) for x, y in pairs]))


def probability_of_improvement_interval(
    tasks_x: Sequence[npt.ArrayLike],
    tasks_y: Sequence[npt.ArrayLike],
    generator: np.random.Generator,
    n_resamples: int = 2000,
) -> Interval | None:
    """The bootstrap interval of `probability_of_improvement`; x and y are drawn independently."""
    pairs = _pairs(tasks_x, tasks_y)
    if _too_few([scores for pair in pairs for scores in pair]):
        return None
    samples = [
        np.stack([_wins(_draw(x, generator), _draw(y, generator)) for x, y in pairs])
        for _ in range(n_resamples)
    ]
    return _percentiles(mean(np.stack(samples)))


def _matrix(scores: npt.ArrayLike) -> Array:
    """Scores as (runs, steps); a vector is one score per run."""
    matrix = np.asarray(scores, dtype=np.float64)
    matrix = matrix[:, np.newaxis] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"expected scores of shape (runs,) or (runs, steps), got {matrix.shape}; "
            "average the evaluation episodes inside each run first"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("expected finite scores, got some that are NaN or infinite")
    return matrix


def _strata(tasks: Sequence[npt.ArrayLike]) -> list[Array]:
    strata = [_matrix(scores) for scores in tasks]
    if len({scores.shape[1] for scores in strata}) != 1:
        raise ValueError(
            "expected one array of scores per task, all with the same number of steps, got arrays "
            f"of shapes {[scores.shape for scores in strata]}"
        )
    return strata


def _pairs(
    tasks_x: Sequence[npt.ArrayLike], tasks_y: Sequence[npt.ArrayLike]
) -> list[tuple[Array, Array]]:
    if len(tasks_x) != len(tasks_y):
        raise ValueError(
            f"expected the same tasks for both, got {len(tasks_x)} and {len(tasks_y)} tasks"
        )
    strata = _strata([*tasks_x, *tasks_y])
    return list(zip(strata[: len(tasks_x)], strata[len(tasks_x) :], strict=True))


def _too_few(strata: Sequence[Array]) -> bool:
    return min(len(scores) for scores in strata) < MIN_RUNS


def _resampled(
    strata: Sequence[Array],
    statistic: Statistic,
    n_resamples: int,
    generator: np.random.Generator,
) -> Array:
    """(resamples, steps): the statistic of runs drawn with replacement within each task.

    Few runs are drawn in few ways, 126 in the case of five, and each is computed once.
    """
    draws = [
        np.sort(generator.integers(len(scores), size=(n_resamples, len(scores))), axis=1)
        for scores in strata
    ]
    ways, which = np.unique(np.concatenate(draws, axis=1), axis=0, return_inverse=True)
    ends = np.cumsum([len(scores) for scores in strata])[:-1]
    drawn = [
        scores[rows] for scores, rows in zip(strata, np.split(ways, ends, axis=1), strict=True)
    ]
    return statistic(np.concatenate(drawn, axis=1))[which.reshape(-1)]


def _draw(scores: Array, generator: np.random.Generator) -> Array:
    return scores[generator.integers(len(scores), size=len(scores))]


def _wins(x: Array, y: Array) -> Array:
    """Mann-Whitney's U / (n_x n_y) at every step."""
    ahead, behind = x[:, np.newaxis] > y, x[:, np.newaxis] < y
    return np.asarray(0.5 + 0.5 * (ahead.mean((0, 1)) - behind.mean((0, 1))), dtype=np.float64)


def _percentiles(samples: Array) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return Interval(low, high)

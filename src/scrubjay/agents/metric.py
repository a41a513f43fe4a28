"""What CECPlus measures in its keys: the length of a step, and which dimensions are noise."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.embedding.base import Embedding
from scrubjay.embedding.chain import Chain
from scrubjay.embedding.goal import GoalDifference, has_goals
from scrubjay.embedding.images import Downsample, reduction
from scrubjay.embedding.normalize import FrozenNormalizer
from scrubjay.embedding.parts import is_categorical
from scrubjay.embedding.periodic import Periodic
from scrubjay.embedding.select import Identity

Array = npt.NDArray[Any]

JITTER = 1e-3  # shorter steps, in standard deviations of the keys, are not counted
LAGS = (1, 2, 3)
FEWEST = 500  # pairs of steps on which dimensions are judged
MOST = 1500  # steps that are compared with each other
APART = 10  # steps
BLOCK = 500  # dimensions that are compared with all others at once
DISTINCT = 0.5  # a sensor of noise has more distinct values than this share of the steps
SIGNIFICANT = 5.0  # standard errors above which one of hundreds of correlations is significant


def median_step(episodes: list[Array]) -> float:
    """The median distance between consecutive keys that differ; 1 if all are equal.

    Changes of less than a thousandth of the spread are jitter of the simulator, not movement.
    """
    steps = np.concatenate([np.linalg.norm(np.diff(keys, axis=0), axis=1) for keys in episodes])
    for least in (JITTER, 0.0):
        moved = steps[steps > least]
        if moved.size:
            return float(np.median(moved))
    return 1.0


def intrinsic_dimensions(keys: Array) -> float:
    """The intrinsic dimension of keys, estimated from the two nearest neighbours of each.

    n / sum(log(r2 / r1)) with the distances r1 and r2 (TwoNN: Facco and others, 2017). Keys of
    images have far more dimensions than what they show.

    Args:
        keys: (n, D): the keys, in the order of time.

    Returns:
        The estimate, at most D; D if there are too few different keys.
    """
    some = keys[:: 1 + len(keys) // MOST].astype(np.float64)
    if len(some) <= 2 * APART + 2:
        return float(keys.shape[1])
    nearest, second = np.partition(squared_distances(some), 1, axis=1)[:, :2].T
    differ = nearest > 1e-12 * second
    total = 0.5 * np.log(second[differ] / nearest[differ]).sum()
    return float(min(keys.shape[1], differ.sum() / total)) if total > 0 else float(keys.shape[1])


def squared_distances(keys: Array) -> Array:
    """The squared distances of all pairs of keys, infinite for those close in time."""
    squares = (keys**2).sum(axis=1)
    distances: Array = np.maximum(squares[:, None] + squares - 2 * keys @ keys.T, 0.0)
    times = np.arange(len(keys))
    distances[np.abs(times[:, None] - times) < APART] = np.inf
    return distances


def noise_dimensions(episodes: list[tuple[Array, Array]]) -> npt.NDArray[np.bool_]:
    """The dimensions of keys that are white noise, a mask.

    Neither white noise nor its absolute value is correlated with its own values one to three steps
    before, with the other dimensions or with the last action. (A sensor whose variance increases
    while the agent moves is not noise in this sense.) Such dimensions contain no information about
    the state. If all dimensions are like that, none is treated as noise.

    Args:
        episodes: The keys, those after the last action too, and the actions of each episode.

    Returns:
        The mask.
    """
    whole = np.concatenate([keys for keys, _ in episodes])
    moving = whole.std(axis=0) > JITTER
    if sum(max(len(keys) - LAGS[-1], 0) for keys, _ in episodes) < FEWEST:
        return np.zeros_like(moving)
    levels = [standardised(keys, whole) for keys, _ in episodes]
    size = np.abs(np.concatenate(levels))
    sizes = [standardised(np.abs(level), size) for level in levels]
    # noise hardly ever has the same value twice; a contact or a one-hot position often does
    noise = moving & (distinct(whole) > DISTINCT * len(whole))
    for series in (levels, sizes):
        for lag in LAGS:
            noise &= ~correlated([(keys[:-lag], keys[lag:]) for keys in series])
    noise[noise] = ~explained(levels, sizes, [actions for _, actions in episodes], noise)
    return noise if (noise != moving).any() else np.zeros_like(noise)


def distinct(keys: Array) -> Array:
    """How many different numbers each dimension has."""
    ordered = np.sort(keys, axis=0)
    found: Array = 1 + (np.diff(ordered, axis=0) > 0).sum(axis=0)
    return found


def explained(
    levels: list[Array], sizes: list[Array], actions: list[Array], candidates: Array
) -> npt.NDArray[np.bool_]:
    """Which of some dimensions are correlated with others or with the action before, a mask.

    Args:
        levels: The standardised keys of each episode.
        sizes: Their standardised absolute values.
        actions: The actions of each episode.
        candidates: The dimensions that are asked for, a mask.

    Returns:
        For each of the candidates.
    """
    both = [np.concatenate([part[1:] for part in parts]) for parts in (levels, sizes)]
    # as float64, because the squares of huge actions are no float32
    taken = np.concatenate(
        [a[: len(keys) - 1] for a, keys in zip(actions, levels, strict=True)], dtype=np.float64
    )
    sources = np.hstack([*both, standardised(taken, taken), standardised_size(taken)])
    n, dim = both[0].shape
    asked = np.flatnonzero(candidates)
    found = np.zeros(len(asked), np.bool_)
    # in blocks: thousands of dimensions have too many pairs for the memory
    for start in range(0, len(asked), BLOCK):
        block = asked[start : start + BLOCK]
        for series in both:
            strong = np.abs(series[:, block].T @ sources) > SIGNIFICANT * np.sqrt(n)
            for own in (0, dim):  # level and size of a dimension itself
                strong[np.arange(len(block)), block + own] = False
            found[start : start + BLOCK] |= strong.any(axis=1)
    return found


def standardised_size(actions: Array) -> Array:
    """How far actions are from their mean, standardised."""
    size = np.abs(standardised(actions, actions))
    return standardised(size, size)


def standardised(keys: Array, whole: Array) -> Array:
    """Keys with the mean 0 and the variance 1 of all keys."""
    spread = whole.std(axis=0)
    found: Array = (keys - whole.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found


def correlated(pairs: list[tuple[Array, Array]]) -> npt.NDArray[np.bool_]:
    """Which dimensions of standardised series are correlated beyond chance, a mask."""
    n = sum(len(second) for _, second in pairs)
    total = sum((first * second).sum(axis=0) for first, second in pairs)
    found: npt.NDArray[np.bool_] = np.abs(total) > SIGNIFICANT * np.sqrt(n)
    return found


def prediction_error(known: Array, unknown: Array, n_neighbors: int = 5) -> float:
    """The mean squared error of predicting rows from the mean of those whose `known` are nearest.

    Steps close in time are left out, because they are similar anyway.
    """
    nearest = np.argpartition(squared_distances(known), n_neighbors, axis=1)[:, :n_neighbors]
    return float(((unknown - unknown[nearest].mean(axis=1)) ** 2).mean())


def default_keys(
    space: gymnasium.Space[Any], periodic: Sequence[int], goal_planning: bool
) -> Embedding:
    """The embedding where none is given: categories are equally far apart, numbers are normalised.

    Args:
        space: The observation space.
        periodic: The dimensions of observations that are angles.
        goal_planning: Whether goals are planned for; otherwise keys have the difference to them.

    Returns:
        The embedding.
    """
    scale = Identity() if is_categorical(space) else FrozenNormalizer(1000)
    stages: list[Embedding] = [Periodic(periodic), scale] if periodic else [scale]
    if has_goals(space) and not goal_planning:
        stages.insert(0, GoalDifference())
    elif factor := reduction(space):
        # the pixels of an image have one scale
        stages[-1] = FrozenNormalizer(1000, common=True)
        stages.insert(0, Downsample(factor))
    return stages[0] if len(stages) == 1 else Chain(stages)


def last_normalizer(embedding: Embedding) -> FrozenNormalizer | None:
    """The normaliser with which an embedding ends, if it does."""
    last = embedding.stages[-1] if isinstance(embedding, Chain) else embedding
    return last if isinstance(last, FrozenNormalizer) else None


def without_ignored(embedding: Embedding, keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Keys that may be older than the choice of ignored dimensions, with 0 in these."""
    normalizer = last_normalizer(embedding)
    if normalizer is None or not normalizer.ignored.any():
        return keys
    return np.where(normalizer.ignored, 0.0, keys)


def count_dimensions(embedding: Embedding, apart: Sequence[int]) -> float:
    """How many dimensions of keys vary, without those of `apart`; at least 1."""
    normalizer = last_normalizer(embedding)
    varies = np.ones(embedding.key_dim, np.bool_) if normalizer is None else normalizer.varies
    n_apart = np.count_nonzero(varies[list(apart)]) if apart else 0
    return max(float(np.count_nonzero(varies) - n_apart), 1.0)


def periodic_dimensions(embedding: Embedding) -> tuple[int, ...]:
    """The dimensions that an embedding takes as angles."""
    stages = embedding.stages if isinstance(embedding, Chain) else (embedding,)
    return tuple(i for stage in stages if isinstance(stage, Periodic) for i in stage.dimensions)

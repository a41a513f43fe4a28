"""What an episode says about values: its returns, and what followed rows really led to."""

from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents.decision import BEST, FOLLOWED, SEEN
from scrubjay.compiled import compiled
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.writing import discounted_returns


def back_up_episode(
    memory: EpisodicMemory,
    episode: Any,
    gamma: float,
    stitching: bool,
    correction: float,
    lowest: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """The value of each step, and the rows that were followed with their corrected values.

    Nothing in the memory changes: the backward pass reads values that it has just corrected, so it
    works on a copy of the values of the rows that the episode met.

    Args:
        memory: The memory that the episode was decided from.
        episode: An `Experience`.
        gamma: The discount factor.
        stitching: Whether a step may take over what the next state's best neighbour promises.
        correction: The share by which a followed row's value moves towards what it led to.
        lowest: The lowest value in the memory.

    Returns:
        The values of the steps, the row ids to correct, and their new values.
    """
    trace = episode.trace
    if not stitching and correction == 0:
        returns = discounted_returns(episode.rewards, gamma, 0.0)
        return returns, trace[:0, FOLLOWED], memory.value_array[:0]
    in_place = still_in_place(memory, trace)
    met, places = np.unique(trace[:, :2], return_inverse=True)
    values = memory.value_array[met]
    returns = back_up(
        episode.rewards, gamma, stitching, correction, places.reshape(-1, 2), in_place,
        episode.closeness, values, lowest,
    )  # fmt: skip
    followed = np.isin(met, trace[in_place[:, FOLLOWED], FOLLOWED]) & (correction > 0)
    return returns, met[followed], values[followed]


def still_in_place(memory: EpisodicMemory, trace: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether the row that each step followed, and the best row near it, are still the same rows.

    With several environments, another one may have replaced a row since the step was decided.
    """
    rows, seen = trace[:, :2], trace[:, SEEN, None]
    same: npt.NDArray[np.bool_] = (rows >= 0) & (memory.written_array[rows] <= seen)
    return same


@compiled()
def back_up(
    rewards: npt.NDArray[np.float64],
    gamma: float,
    stitching: bool,
    correction: float,
    places: npt.NDArray[np.int64],
    in_place: npt.NDArray[np.bool_],
    closeness: npt.NDArray[np.float64],
    values: npt.NDArray[np.float32],
    lowest: float,
) -> npt.NDArray[np.float64]:
    """The value of each step, backwards; corrects `values`, which are a copy.

    v_t = r_t + gamma v_{t+1} is the paper's. `stitching` puts in place of v_{t+1} what the best
    neighbour of the next state promises, if that is more. `correction` moves the value of a row
    whose action was taken by that share towards r_t + gamma times the better of the two: up if it
    led to more than it promised, down if to less. `places` says where in `values` the row that a
    step followed and the best row near it are; those that are not `in_place` do not count.
    """
    returns = np.empty(len(rewards))
    value = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        promise = value
        if t + 1 < len(rewards) and in_place[t + 1, BEST]:
            known = np.float64(values[places[t + 1, BEST]])
            promise = max(promise, lowest + (known - lowest) * closeness[t + 1])
        value = rewards[t] + gamma * (promise if stitching else value)
        returns[t] = value
        if correction > 0.0 and in_place[t, FOLLOWED]:
            followed = places[t, FOLLOWED]
            kept = rewards[t] + gamma * promise
            values[followed] += np.float32(correction * (kept - np.float64(values[followed])))
    return returns


def median_step(episodes: list[npt.NDArray[np.float64]]) -> float:
    """The median distance between consecutive keys that differ; 1 where nothing ever moves."""
    steps = np.concatenate([np.linalg.norm(np.diff(keys, axis=0), axis=1) for keys in episodes])
    moved = steps[steps > 0]
    return float(np.median(moved)) if moved.size else 1.0


def going_on(rewards: npt.NDArray[np.float64], gamma: float) -> float:
    """What would come after a time-out if all went on as in the last tenth of the episode."""
    last = rewards[-max(1, len(rewards) // 10) :]
    return float(last.mean() / (1.0 - gamma)) if gamma < 1 else 0.0

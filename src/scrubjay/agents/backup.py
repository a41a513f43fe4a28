"""What an episode says about values: its returns, and what followed rows really led to."""

import numpy as np
import numpy.typing as npt

from scrubjay.agents.decision import BEST, FOLLOWED
from scrubjay.compiled import compiled


@compiled()
def back_up(
    rewards: npt.NDArray[np.float64],
    gamma: float,
    stitching: bool,
    correction: float,
    trace: npt.NDArray[np.int64],
    closeness: npt.NDArray[np.float64],
    values: npt.NDArray[np.float32],
    stamps: npt.NDArray[np.int64],
    clock: int,
    lowest: float,
) -> npt.NDArray[np.float64]:
    """The value of each step, backwards; changes the values of the rows that were followed.

    v_t = r_t + gamma v_{t+1} is the paper's. `stitching` puts in place of v_{t+1} what the best
    neighbour of the next state promises, if that is more. `correction` moves the value of a row
    whose action was taken by that share towards r_t + gamma times the better of the two: up if it
    led to more than it promised, down if to less. Rows written since `clock`, the start of the
    episode, are not the ones that were followed any more.
    """
    returns = np.empty(len(rewards))
    value = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        promise = value
        if t + 1 < len(rewards) and trace[t + 1, BEST] >= 0:
            best = trace[t + 1, BEST]
            if stamps[best] <= clock:
                known = lowest + (np.float64(values[best]) - lowest) * closeness[t + 1]
                promise = max(promise, known)
        value = rewards[t] + gamma * (promise if stitching else value)
        returns[t] = value
        row = trace[t, FOLLOWED]
        if correction > 0.0 and row >= 0 and stamps[row] <= clock:
            kept = rewards[t] + gamma * promise
            values[row] += np.float32(correction * (kept - np.float64(values[row])))
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

"""Checks of values before they are written, and the value after a time-out."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LARGEST = float(np.finfo(np.float32).max)


def check_returns(returns: Floats, rewards: Floats) -> None:
    """Refuse returns that the memory's float32 cannot hold, before anything is written.

    Raises:
        ValueError: With the step, its return and its reward.
    """
    fits = np.abs(returns) <= LARGEST
    if not fits.all():
        step = int((~fits).nonzero()[0][-1])  # returns are made backwards: the first to overflow
        raise ValueError(
            f"expected returns that float32 can hold, got {returns[step]:g} at step {step} of the "
            f"episode (its reward is {rewards[step]:g}); scale the rewards"
        )


def timeout_value(rewards: Floats, gamma: float) -> float:
    """The value after a time-out, if rewards continued as in the last tenth of the episode."""
    last = rewards[-max(1, len(rewards) // 10) :]
    return float(last.mean() / (1.0 - gamma)) if gamma < 1 else 0.0

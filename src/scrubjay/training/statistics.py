"""Sums and windows over episodes: what a row of the log is made of."""

from collections import Counter, deque
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from scrubjay.training.records import EpisodeRecord

WINDOW = 100  # episodes, as in Stable-Baselines3


class Statistics:
    """The last episodes, and the agent's counts since the last row."""

    def __init__(self) -> None:
        self.episodes: deque[tuple[float, int, float | None]] = deque(maxlen=WINDOW)
        self.totals: Counter[str] = Counter()
        self.first_success_step: int | None = None
        self.success_signal: bool | None = None
        """Whether the environment reports success; None before the first episode."""

    def add(self, record: EpisodeRecord, totals: Mapping[str, float]) -> None:
        """Count an episode, with the agent's own counts of it."""
        success = None if record.is_success is None else float(record.is_success)
        self.episodes.append((record.total_reward, record.length, success))
        self.totals.update(totals)
        self.success_signal = bool(self.success_signal) or success is not None
        if record.is_success and self.first_success_step is None:
            self.first_success_step = record.timestep

    @property
    def success_rate(self) -> float | None:
        """The share of solved episodes; None if no episode reported success or failure."""
        known = [success for _, _, success in self.episodes if success is not None]
        return fmean(known) if known else None

    def row(self) -> dict[str, Any]:
        """Stable-Baselines3's rollout entries."""
        return {
            "rollout/ep_rew_mean": fmean(reward for reward, _, _ in self.episodes),
            "rollout/ep_len_mean": fmean(length for _, length, _ in self.episodes),
            "rollout/success_rate": self.success_rate,
        }

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "episodes": [list(episode) for episode in self.episodes],
            "totals": dict(self.totals),
            "first_success_step": self.first_success_step,
            "success_signal": self.success_signal,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from what a checkpoint kept."""
        self.episodes.extend((r, n, success) for r, n, success in state["episodes"])
        self.totals.update(state["totals"])
        self.first_success_step = state["first_success_step"]
        known = [success is not None for _, _, success in self.episodes]
        # 0.1.0 did not save it
        self.success_signal = state.get("success_signal", any(known) if known else None)

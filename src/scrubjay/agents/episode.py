"""Decisions outside of `learn`: episodes in the user's own loop, and single observations."""

from typing import Any

import numpy as np

from scrubjay.agents.recorder import (
    DECIDES,
    NUMBER,
    EpisodeRecorder,
    Experience,
    Floats,
    Method,
    empty_lanes,
)


class Episode:
    """One episode of a loop of your own: `act` and `record` in turn, then `finish`.

    Created by `agent.begin_episode()`.

    Args:
        method: The agent that decides and learns.
        environment: A number for each place where episodes run at the same time.
    """

    def __init__(self, method: Method, environment: int = 0) -> None:
        self._recorder = EpisodeRecorder(method, (environment,))
        self._next = "act"
        self.number = self._recorder.begin()

    def act(self, observation: Any) -> Any:
        """Choose an action for an observation.

        Args:
            observation: An element of the agent's observation space.

        Returns:
            An element of the agent's action space.
        """
        self._expect("act")
        action = self._recorder.act(observation)
        self._next = "record"
        return action

    def record(self, reward: float, action: Any = None) -> None:
        """Record the reward of the last action.

        Args:
            reward: A finite number.
            action: The executed action, if it differs from the one `act` returned.
        """
        self._expect("record")
        if action is not None:
            self._recorder.replace_action(action)
        self._recorder.record(reward)
        self._next = "act"

    def finish(self, observation: Any, terminated: bool = True) -> dict[str, float]:
        """Learn from the finished episode.

        Args:
            observation: The last observation, after the last action.
            terminated: False if the episode was truncated, by a time limit for example.

        Returns:
            Counts of decisions and writes.

        Raises:
            RuntimeError: If nothing was recorded, or the last action has no reward yet.
        """
        if self._recorder.length() == 0:
            raise RuntimeError("expected at least one act and record before finish, got none")
        self._expect("act")
        totals = self._recorder.finish(observation, terminated)
        self._next = "nothing"
        return totals

    @property
    def experience(self) -> Experience:
        """What was recorded so far, as views: copy what you need after the episode."""
        return self._recorder.experience()

    def _expect(self, call: str) -> None:
        """Check the order of calls: act and record in turn, then finish once."""
        if self._next == "nothing":
            raise RuntimeError("this episode is finished: call begin_episode for the next one")
        if call != self._next:
            raise RuntimeError(f"expected {self._next}() as the next call of this episode")


def sample_actions(method: Method, keys: Floats, rng: np.random.Generator) -> Any:
    """(n, A): actions by the rule of training, each as the first step of an episode of its own."""
    lanes, notes = empty_lanes(method, len(keys), 1), method.notes
    lanes.draws[:, 0, : notes.uniforms] = rng.random((len(keys), notes.uniforms))
    lanes.draws[:, 0, notes.uniforms :] = rng.standard_normal((len(keys), notes.normals))
    lanes.state[:, DECIDES], lanes.state[:, NUMBER] = 1, -1
    bad = method.decide(lanes, keys)
    if bad >= 0:
        raise ValueError(f"expected a finite observation, got one whose key is {keys[bad]}")
    return lanes.actions[:, 0]

"""Training with collectors: they run whole episodes, and this process learns from them.

`Collection.run` is the writer's loop. In rounds, all collectors run one episode against the same
memory, then all episodes are learned in the order of the collectors: the result depends on the seed
and the number of collectors only. Free-running collectors do not wait for each other: an episode is
learned when it arrives, and how many others were learned since it began is counted.
"""

import os
import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Protocol, get_args

import gymnasium
import numpy as np

from scrubjay.memory import EpisodicMemory
from scrubjay.training.callbacks import CallbackList
from scrubjay.training.collector import Collected, CollectorAgent, Job, Order
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.protocols import Agent
from scrubjay.training.records import EpisodeRecord
from scrubjay.training.session import Session
from scrubjay.training.setup import Budget

POLL = 0.1  # seconds between two looks at Ctrl-C and at silent collectors
LAST = 20  # episodes from which the length of the next ones is estimated
MAX_FAILURES = 3  # of one collector in a row, without a whole episode between them

Mode = Literal["rounds", "free"]


class CollectorError(RuntimeError):
    """Collectors that cannot be started, or fail again and again."""


class Failure(NamedTuple):
    """Why a collector has to be replaced."""

    reason: str
    at_start: bool = False
    """Whether it had not begun to work: then another one would fail too."""


class Learner(Agent, Protocol):
    """An agent whose episodes collectors can run."""

    memories: dict[str, EpisodicMemory]

    @property
    def can_decide(self) -> bool:
        """Whether episodes can be decided from the memory."""

    def collector(self) -> CollectorAgent:
        """A copy of the agent for a collector."""

    def hand_out(self, environment: int) -> Order:
        """Open the next episode of a collector."""

    def count_collected(self, collected: Collected) -> None:
        """Count the steps of a collector's episode, and let the embedding learn from them."""

    def learn_collected(
        self, environment: int, collected: Collected, next_is_open: bool
    ) -> dict[str, float]:
        """Learn from a collector's whole episode and close it."""

    def drop_episode(self, environment: int) -> None:
        """Count an open episode as dropped."""


class Transport(Protocol):
    """Where collectors run, and how orders and episodes travel.

    Attributes:
        ahead: How many episodes a free-running collector may be given at a time, so that it need
            not wait while the writer is busy.
    """

    ahead: int

    def begin(self, index: int, order: Order) -> None:
        """Give a collector an episode to run, after those that it has."""

    def wait(self, seconds: float) -> Iterable[tuple[int, Collected | Failure]]:
        """The results of collectors that have arrived, after at most that many seconds."""

    def publish(self) -> None:
        """Let collectors decide against the memories as they are now."""

    def replace(self, index: int) -> None:
        """End a collector, whatever it does, and start another one in its place."""

    def close(self) -> None:
        """End all collectors."""


class Opening(NamedTuple):
    """What a transport is opened with.

    Attributes:
        job: What makes a collector.
        n: How many there are.
        memories: The memories to decide against, by name.
        timeout: Seconds without a step after which a collector is replaced.
    """

    job: Job
    n: int
    memories: Mapping[str, EpisodicMemory]
    timeout: float


@dataclass(frozen=True)
class Collectors:
    """How many processes collect episodes, and how.

    Attributes:
        n: How many, each with an environment of its own.
        mode: "rounds": all run an episode, then all are learned; the result depends on the seed and
            on `n` only. "free": collectors do not wait; faster, but not reproducible.
        make_env: Makes an environment, a function of a module; needed where the agent's environment
            was neither made by `gymnasium.make` nor can be pickled.
        timeout: Seconds without a step after which a collector is replaced.
        open_transport: Opens what they run on; processes of this machine by default.
    """

    n: int
    mode: Mode = "rounds"
    make_env: Callable[[], gymnasium.Env[Any, Any]] | None = None
    timeout: float = 60.0
    open_transport: Callable[[Opening], Transport] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int | np.integer) or self.n < 1:
            raise ValueError(f"expected a whole number of collectors of at least 1, got {self.n!r}")
        if self.mode not in get_args(Mode):
            raise ValueError(f"expected the mode rounds or free, got {self.mode!r}")
        if not self.timeout > 0:
            raise ValueError(f"expected a timeout above 0 seconds, got {self.timeout!r}")

    def open(self, agent: Learner, max_episode_steps: int | None, success_key: str | None) -> Any:
        """Start the collectors of a training.

        Args:
            agent: What is trained.
            max_episode_steps: Where longer episodes are ended as time-outs.
            success_key: The entry of `info` that says whether an episode was solved.

        Returns:
            Their transport.

        Raises:
            CollectorError: If a collector cannot be started.
        """
        make_env = factory(getattr(agent, "env", None), self.make_env)
        job = Job(agent.collector(), make_env, max_episode_steps, success_key)
        opening = Opening(job, int(self.n), agent.memories, self.timeout)
        if self.open_transport is not None:
            return self.open_transport(opening)
        from scrubjay.training.processes import Processes

        warn_of_cores(self.n)
        return Processes(opening)

    def config(self) -> dict[str, Any]:
        """Entries of config.json.

        Returns:
            The number and the mode by name.
        """
        return {"collectors": int(self.n), "collector_mode": self.mode}


def as_collectors(given: int | Collectors | None) -> Collectors | None:
    """`learn`'s argument: a number, or a description; none for None and 0."""
    if given is None or isinstance(given, Collectors):
        return given
    return None if given == 0 and not isinstance(given, bool) else Collectors(given)


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def warn_of_cores(n: int) -> None:
    """Warn where collectors would only take turns."""
    cores = available_cores()
    if n > cores:
        warnings.warn(
            f"{n} collectors share {cores} cores: expected at most {cores}; more of them are not "
            "faster",
            UserWarning,
            stacklevel=2,
        )


def factory(env: Any, make_env: Callable[[], Any] | None) -> Callable[[], Any]:
    """What makes a collector's environment: as it was made here, or a copy of it.

    Args:
        env: The agent's environment.
        make_env: What the user gave.

    Returns:
        A function that can be pickled.

    Raises:
        TypeError: If it cannot be, or if it is a vector environment.
    """
    if make_env is None and hasattr(env, "num_envs"):
        raise TypeError(
            "expected a single environment with collectors, each of which steps one of its own, "
            f"got {type(env).__name__}; give the agent one environment, or train without collectors"
        )
    if make_env is None:
        make_env = _made_again(env) or partial(_itself, env)
    try:
        pickle.dumps(make_env)
    except Exception as error:  # whatever an object raises that cannot be pickled
        what = type(env).__name__ if env is not None else repr(make_env)
        raise TypeError(
            f"expected an environment that can be pickled for collectors, got {what} "
            f"({type(error).__name__}: {error}); name a function of a module that makes it: "
            "collectors=Collectors(2, make_env=my_module.make_env)"
        ) from error
    return make_env


def _made_again(env: Any) -> Callable[[], Any] | None:
    """`gymnasium.make` with the arguments that made this environment, wrappers included."""
    spec = getattr(env, "spec", None)
    if spec is None or spec.entry_point is None:
        return None
    if any(wrapper.kwargs is None for wrapper in spec.additional_wrappers):
        return None  # a wrapper that does not say how it was made
    return partial(gymnasium.make, spec)


def _itself(env: Any) -> Any:
    return env


class UntilDecided:
    """A budget that ends as soon as the memory can decide: collectors need one that can."""

    def __init__(self, budget: Budget, agent: Learner) -> None:
        self._budget, self._agent = budget, agent

    @property
    def spent(self) -> bool:
        return self._budget.spent or self._agent.can_decide

    def allows_another(self, n_open: int) -> bool:
        return self._budget.allows_another(n_open) and not self._agent.can_decide


class Collection:
    """The writer's loop over the episodes of its collectors."""

    def __init__(
        self,
        agent: Learner,
        transport: Transport,
        collectors: Collectors,
        budget: Budget,
        session: Session,
        callbacks: CallbackList,
        guard: InterruptGuard,
    ) -> None:
        self.agent, self.transport, self.budget = agent, transport, budget
        self.session, self.callbacks, self.guard = session, callbacks, guard
        self._n, self._in_rounds = int(collectors.n), collectors.mode == "rounds"
        self._ahead = 1 if self._in_rounds else transport.ahead
        # for each collector: of the episodes that it was given, the number of episodes that were
        # learned when they began, as far as is known
        self._open: list[deque[int]] = [deque() for _ in range(self._n)]
        # the episodes that wait to be learned: collector, episode, learned when it began
        self._finished: list[tuple[int, Collected, int]] = []
        self._lengths: list[int] = []  # of the last episodes
        self._failures = [0] * self._n
        self._last: list[dict[str, Any]] = [{} for _ in range(self._n)]

    def run(self) -> bool:
        """Hand out, wait and learn until the budget is spent; returns whether it is."""
        self._begin(range(self._n))
        while any(self._open) and not self.guard.requested:
            self._take()
            # in rounds all episodes are learned together, in the order of the collectors
            if not self._finished or (self._in_rounds and any(self._open)):
                continue
            finished = sorted(self._finished, key=itemgetter(0))
            ended = [index for index, *_ in finished]
            for _, collected, _ in finished:
                self.agent.count_collected(collected)
                self._lengths.append(len(collected.experience.rewards))
            if not self._in_rounds:
                self._begin(ended)  # at once: they need not wait until this process has learned
            self._finished = []
            for each in finished:
                self._learn(*each)
            self.transport.publish()
            if self.agent.num_timesteps >= self.session.next_event:
                self.session.handle_events()
            if self.callbacks and not self.callbacks.step(self._locals(ended)):
                break
            if self._in_rounds:
                self._begin(ended)
        return self.budget.spent and not any(self._open)

    def _begin(self, indices: Iterable[int]) -> None:
        """Hand out episodes, to each collector one before any has two."""
        for _ in range(self._ahead):
            for index in indices:
                if len(self._open[index]) < self._ahead and self._allows_another(index):
                    self._open[index].append(self.agent.n_episodes)
                    self.transport.begin(index, self.agent.hand_out(index))
                    self.callbacks.rollout_start()

    def _allows_another(self, index: int) -> bool:
        n_open = sum(map(len, self._open))
        if not self.budget.allows_another(n_open + len(self._finished)):
            return False
        if not self._open[index]:
            return True
        # ahead only as long as the open episodes will probably not spend the budget
        del self._lengths[:-LAST]
        expected = n_open * max(self._lengths, default=np.inf)
        return self.agent.num_timesteps + expected < self.budget.last_step

    def _take(self) -> None:
        """Take the episodes that have arrived, and replace collectors that have failed."""
        for index, result in self.transport.wait(POLL):
            if isinstance(result, Failure):
                self._replace(index, result)
                continue
            given = self._open[index]
            self._finished.append((index, result, given.popleft()))
            if given:
                given[0] = self.agent.n_episodes  # the next one begins now
            self._failures[index] = 0

    def _learn(self, index: int, collected: Collected, learned_before: int) -> None:
        agent = self.agent
        staleness = agent.n_episodes - learned_before
        totals = agent.learn_collected(index, collected, next_is_open=bool(self._open[index]))
        record = EpisodeRecord(
            agent.n_episodes - 1, index, agent.num_timesteps, len(collected.experience.rewards),
            collected.total_reward, collected.terminated, collected.truncated, collected.is_success,
        )  # fmt: skip
        self._last[index] = {
            "TimeLimit.truncated": record.truncated and not record.terminated,
            "episode": {"r": record.total_reward, "l": record.length},
        }
        self.callbacks.rollout_end()
        self.session.episode_finished(record, totals | {"collected": 1.0, "staleness": staleness})

    def _locals(self, ended: Sequence[int]) -> dict[str, Any]:
        """What callbacks read, once for each time that episodes were learned."""
        dones = np.isin(np.arange(self._n), ended)
        infos = [info if done else {} for info, done in zip(self._last, dones, strict=True)]
        return {"dones": dones, "infos": infos}

    def _replace(self, index: int, failure: Failure) -> None:
        """Nothing that was learned is lost: only the open episode is dropped, and counted."""
        self._failures[index] += 1
        if failure.at_start or self._failures[index] == MAX_FAILURES:
            times = "" if failure.at_start else f" {MAX_FAILURES} times in a row"
            raise CollectorError(f"collector {index} failed{times}: {failure.reason}")
        if self._open[index]:
            self.agent.drop_episode(index)
            self._open[index].clear()  # those after it have not begun
        warnings.warn(
            f"collector {index} was replaced and its open episode dropped: {failure.reason}",
            UserWarning,
            stacklevel=2,
        )
        self.transport.replace(index)
        self._begin([index])


def metrics(agent: Any) -> Callable[[Mapping[str, float]], dict[str, float]]:
    """What collectors add to a row of the log."""

    def of(totals: Mapping[str, float]) -> dict[str, float]:
        collected = totals.get("collected", 0.0)
        mean = totals.get("staleness", 0.0) / collected if collected else float("nan")
        return {
            "collectors/staleness": mean,
            "collectors/dropped_episodes": float(agent.n_dropped_episodes),
        }

    return of

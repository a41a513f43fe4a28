"""The training loop: act, step, record; at an episode's end remember, report, begin anew."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from scrubjay.randomness import Stream, reset_seed
from scrubjay.training.callbacks import Callback, CallbackList
from scrubjay.training.environments import (
    Environments,
    EpisodeLimit,
    LastStep,
    open_environment,
)
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.opening import Budget, open_evaluator, open_folder
from scrubjay.training.progress import open_progress
from scrubjay.training.protocols import Agent
from scrubjay.training.records import EpisodeRecord, SuccessReader
from scrubjay.training.run_folder import RunFolder
from scrubjay.training.session import NEVER, Plan, Session


class Loop:
    """One training of one agent; `run` returns when the budget is spent or somebody stops it."""

    def __init__(
        self,
        agent: Agent,
        source: Environments,
        budget: Budget,
        session: Session,
        callbacks: CallbackList,
        guard: InterruptGuard,
        limit: EpisodeLimit,
        success_of: SuccessReader,
    ) -> None:
        self.agent, self.source, self.budget = agent, source, budget
        self.session, self.callbacks, self.guard = session, callbacks, guard
        self.recorder = agent.recorder(source.n_environments, source.batched)
        self._limit = limit
        self._success_of = success_of
        self._watched = bool(callbacks)
        self._open: set[int] = set()
        self._observations: Any = None
        self._acting: Any = None  # a mask, while some lanes wait for their first observation
        self._ticks = 0
        # when an open episode may be longer than the limit
        self._limit_tick = NEVER

    def run(self) -> bool:
        """Train until the budget is spent or somebody stops it; returns whether it is spent.

        A lane without an episode waits for the others; one whose first observation is pending gets
        it by the next step, a dummy. Neither is recorded, neither is counted.
        """
        agent, source, session, guard = self.agent, self.source, self.session, self.guard
        act, record = self.recorder.act, self.recorder.record
        session.begin()
        self._begin(range(source.n_environments))
        while self._open:
            actions = act(self._observations, self._acting)
            step = source.step(actions)
            record(step[1], self._acting)
            self._observations, self._acting = step[0], None
            self._ticks += 1
            ended = None
            if source.any_ended(step) or self._ticks >= self._limit_tick:
                ended = self._ended(step)
                for lane, last in ended:
                    self._finish(lane, last)
            if agent.num_timesteps >= session.next_event:
                session.handle_events()
            if (self._watched and not self.callbacks.step()) or guard.requested:
                break
            if ended:
                self._begin([lane for lane, _ in ended])
        return self.budget.spent and not self._open

    def _ended(self, step: Any) -> list[tuple[int, LastStep]]:
        """The lanes whose episode is over, by the environment or by the limit, and how it ended."""
        ended = {lane: self.source.last_step(lane, step) for lane in self.source.ended(step)}
        if self._ticks >= self._limit_tick:
            for lane in self._open - ended.keys():
                length = self.recorder.length(lane)
                if length >= self._limit.first and self._limit.ends(length, self.budget.spent):
                    ended[lane] = self.source.last_step(lane, step)._replace(truncated=True)
        return list(ended.items())

    def _finish(self, lane: int, last: LastStep) -> None:
        if lane not in self._open:
            return
        length, total_reward = self.recorder.length(lane), self.recorder.total_reward(lane)
        totals = self.recorder.finish(last.observation, last.terminated, lane)
        self._open.discard(lane)
        record = EpisodeRecord(
            self.agent.n_episodes - 1, lane, self.agent.num_timesteps, length, total_reward,
            last.terminated, last.truncated, self._success_of(last.info),
        )  # fmt: skip
        self.callbacks.rollout_end()
        self.session.episode_finished(record, totals)

    def _begin(self, lanes: Sequence[int]) -> None:
        """New episodes, each in an environment reset with its own seed.

        When the budget is spent none is begun; lanes that wait for others are reset all the same,
        because a vector environment is stepped as a whole.
        """
        numbers = []
        for lane in lanes:
            another = self.budget.allows_another(len(self._open))
            numbers.append(self.recorder.begin(lane) if another else 0)
            if another:
                self._open.add(lane)
        if not self._open:
            return
        seeds = [
            reset_seed(self.agent.seed, Stream.ENVIRONMENT, lane, number)
            for lane, number in zip(lanes, numbers, strict=True)
        ]
        self._observations, pending = self.source.reset(lanes, seeds, self._observations)
        self._acting = None if pending is None else ~pending
        longest = max(self.recorder.length(lane) for lane in self._open)
        self._limit_tick = self._ticks + max(self._limit.first - longest, 1)
        for lane in lanes:
            if lane in self._open:
                self.callbacks.rollout_start()


def train(
    agent: Agent,
    env: Any,
    *,
    total_timesteps: int | None = None,
    total_episodes: int | None = None,
    callback: Callback = None,
    progress_bar: bool = False,
    run_folder: RunFolder | str | PathLike[str] | None = None,
    eval_env: Any = None,
    eval_freq: int = 0,
    n_eval_episodes: int = 10,
    log_freq: int = 1000,
    checkpoint_freq: int = 10_000,
    checkpoint_steps: Sequence[int] = (),
    tensorboard: bool = False,
    max_episode_steps: int | None = None,
    success_key: str | None = None,
    training_state: Mapping[str, Any] | None = None,
) -> None:
    """Train an agent, and evaluate, log, save and show as asked (frequencies in steps).

    `run_folder` is a path for a new run, or an opened `RunFolder`; `eval_env` an environment or id
    of its own for evaluation. `max_episode_steps` ends longer episodes as time-outs, for
    environments that have no limit of their own. On Ctrl-C or an error the last episode boundary
    is saved first.
    """
    success_of = SuccessReader(success_key)
    budget = Budget(agent, total_timesteps, total_episodes)
    plan = Plan(eval_freq, log_freq, checkpoint_freq, tuple(checkpoint_steps), tensorboard)
    evaluator = open_evaluator(
        eval_env, env, eval_freq, n_eval_episodes, agent.seed, max_episode_steps, success_key
    )
    limit = EpisodeLimit(env, max_episode_steps)
    source = open_environment(env)
    callbacks = CallbackList(callback)
    folder = open_folder(
        run_folder, agent, env, budget, plan, evaluator, max_episode_steps, success_key
    )
    with InterruptGuard() as guard:
        session = Session(
            agent, plan, folder=folder, evaluator=evaluator,
            progress=open_progress(progress_bar, budget.total, budget.done, budget.unit),
            done=lambda: budget.done, should_stop=lambda: guard.requested,
            # an agent that has learned before is not made again by its settings alone
            save_start=folder is not run_folder,
        )  # fmt: skip
        session.restore(training_state or {})
        status = "failed"
        try:
            session.compile(agent.warm_up)
            callbacks.start(agent)
            loop = Loop(agent, source, budget, session, callbacks, guard, limit, success_of)
            completed = loop.run()
            callbacks.end()
            status = "finished" if completed else "stopped"
            status = "interrupted" if guard.requested else status
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            agent.rewind()
            session.close(status)
    if guard.requested:
        raise KeyboardInterrupt

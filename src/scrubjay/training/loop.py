"""The training loop: act, step, record; at an episode's end remember, report, begin anew."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np

from scrubjay.randomness import Stream, reset_seed
from scrubjay.training.callbacks import Callback, CallbackList
from scrubjay.training.environments import (
    Environments,
    EpisodeLimit,
    LastStep,
    open_environment,
)
from scrubjay.training.evaluation import Evaluator
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.progress import open_progress
from scrubjay.training.protocols import Agent
from scrubjay.training.records import EpisodeRecord, success_of
from scrubjay.training.run_folder import RunFolder, command_line
from scrubjay.training.session import NEVER, Plan, Session


class Budget:
    """When no further episode is begun: after so many steps, or so many episodes."""

    def __init__(self, agent: Agent, timesteps: int | None, episodes: int | None) -> None:
        if (timesteps is None) == (episodes is None):
            raise ValueError("give total_timesteps or total_episodes, one of the two")
        amount = timesteps if timesteps is not None else episodes
        if isinstance(amount, bool) or not isinstance(amount, int | np.integer) or amount < 0:
            raise ValueError(f"a whole number of steps or episodes was expected, {amount!r} came")
        self._agent = agent
        self.unit = "steps" if timesteps is not None else "episodes"
        self.total = self.done + int(amount)

    @property
    def done(self) -> int:
        return self._agent.num_timesteps if self.unit == "steps" else self._agent.n_episodes

    @property
    def spent(self) -> bool:
        return self.done >= self.total

    def allows_another(self, n_open: int) -> bool:
        """Whether a further episode may begin while `n_open` others are under way."""
        return not self.spent and (self.unit == "steps" or self.done + n_open < self.total)


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
    ) -> None:
        self.agent, self.source, self.budget = agent, source, budget
        self.session, self.callbacks, self.guard = session, callbacks, guard
        self.recorder = agent.recorder(source.n_environments, source.batched)
        self._limit = limit
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
        agent, source, recorder, session = self.agent, self.source, self.recorder, self.session
        session.begin()
        self._begin(range(source.n_environments))
        while self._open:
            actions = recorder.act(self._observations, self._acting)
            step = source.step(actions)
            recorder.record(step[1], self._acting)
            self._observations, self._acting = step[0], None
            self._ticks += 1
            over = source.any_ended(step) or self._ticks >= self._limit_tick
            ended = self._ended(step) if over else []
            for lane, last in ended:
                self._finish(lane, last)
            if agent.num_timesteps >= session.next_event:
                session.handle_events()
            if (self._watched and not self.callbacks.step()) or self.guard.requested:
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
            last.terminated, last.truncated, success_of(last.info),
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
    run_folder: Any = None,
    eval_env: Any = None,
    eval_freq: int = 0,
    n_eval_episodes: int = 10,
    log_freq: int = 1000,
    checkpoint_freq: int = 10_000,
    checkpoint_steps: tuple[int, ...] = (),
    tensorboard: bool = False,
    max_episode_steps: int | None = None,
    training_state: Mapping[str, Any] | None = None,
) -> None:
    """Train an agent, and evaluate, log, save and show as asked (frequencies in steps).

    `run_folder` is a path for a new run, or an opened `RunFolder`; `eval_env` an environment or id
    of its own for evaluation. `max_episode_steps` ends longer episodes as time-outs, for
    environments that have no limit of their own. On Ctrl-C or an error the last episode boundary
    is saved first.
    """
    budget = Budget(agent, total_timesteps, total_episodes)
    plan = Plan(eval_freq, log_freq, checkpoint_freq, tuple(checkpoint_steps), tensorboard)
    if eval_env is not None and eval_env is env:
        raise ValueError("evaluation needs an environment of its own, the training one came")
    evaluator = _open_evaluator(eval_env, eval_freq, n_eval_episodes, agent.seed, max_episode_steps)
    limit = EpisodeLimit(env, max_episode_steps)
    source = open_environment(env)
    callbacks = CallbackList(callback)
    folder = _open_folder(
        run_folder, agent, env, budget, **asdict(plan), n_eval_episodes=n_eval_episodes,
        max_episode_steps=max_episode_steps,
    )  # fmt: skip
    with InterruptGuard() as guard:
        session = Session(
            agent, plan, folder=folder, evaluator=evaluator,
            progress=open_progress(progress_bar, budget.total, budget.done, budget.unit),
            done=lambda: budget.done, should_stop=lambda: guard.requested,
        )  # fmt: skip
        session.restore(training_state or {})
        status = "failed"
        try:
            session.compile(agent.warm_up)
            callbacks.start(agent)
            loop = Loop(agent, source, budget, session, callbacks, guard, limit)
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


def _open_evaluator(
    env: Any, eval_freq: int, n_episodes: int, seed: int, max_episode_steps: int | None
) -> Evaluator | None:
    if env is None:
        if eval_freq:
            raise ValueError("evaluation needs an environment of its own: give eval_env too")
        return None
    if isinstance(env, str):
        env = gymnasium.make(env)
    if not isinstance(env, gymnasium.Env):
        raise TypeError(
            "one Gymnasium environment or its id was expected for evaluation, "
            f"{type(env).__name__} came"
        )
    return Evaluator(env, n_episodes, seed, max_episode_steps)


def _open_folder(
    run_folder: Any, agent: Agent, env: Any, budget: Budget, **plan: Any
) -> RunFolder | None:
    if run_folder is None:
        return None
    if isinstance(run_folder, RunFolder):
        run_folder.update(status="running", finished=None)
        return run_folder
    spec = getattr(env, "spec", None)
    config = {
        "agent": agent.name,
        "task": spec.id if spec is not None else None,
        "seed": agent.seed,
        "options": agent.config(),
        "start_timestep": agent.num_timesteps,
        budget.unit: budget.total,
        # whoever resumes the run evaluates and saves as often
        **plan,
    }
    if hasattr(env, "num_envs"):
        config["n_envs"] = env.num_envs
    return RunFolder.create(run_folder, config, command_line())

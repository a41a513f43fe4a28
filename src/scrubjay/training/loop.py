"""The training loop: act, step, record; at the end of an episode learn, report, begin the next."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from os import PathLike
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from scrubjay.randomness import Stream
from scrubjay.streams import reset_seeds, seed_words
from scrubjay.training.callbacks import Callback, CallbackList, attached
from scrubjay.training.collecting import (
    Collection,
    Collectors,
    Learner,
    UntilDecided,
    as_collectors,
    factory,
    metrics,
)
from scrubjay.training.environments import (
    Environments,
    EpisodeLimit,
    open_environment,
)
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.logger import open_outputs
from scrubjay.training.progress import open_progress
from scrubjay.training.protocols import Agent
from scrubjay.training.records import EpisodeRecord, SuccessReader
from scrubjay.training.run_folder import RunFolder
from scrubjay.training.session import NEVER, Plan, Session
from scrubjay.training.setup import Budget, open_evaluator, open_folder
from scrubjay.training.steps import LastStep
from scrubjay.training.vec_env import VecEnv


class Loop:
    """One training of one agent; `run` returns when the budget is spent or it is stopped."""

    def __init__(
        self,
        agent: Agent,
        source: Environments,
        budget: Budget | UntilDecided,
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
        self._words = seed_words(agent.seed, Stream.ENVIRONMENT)
        self._watched = bool(callbacks)
        self._open: set[int] = set()
        self._finished: dict[int, EpisodeRecord] = {}  # of this step, for callbacks
        self._start = time.monotonic()
        self._until_limit = NEVER  # steps until an open episode may be longer than the limit
        self.stopped = False  # by a callback

    def run(self) -> bool:
        """Train until the budget is spent or training is stopped; returns whether it is spent.

        A lane without an episode waits for the others; one whose first observation is pending gets
        it by the next step, a dummy. Neither is recorded or counted.
        """
        agent, source, session, guard = self.agent, self.source, self.session, self.guard
        act, record, any_ended = self.recorder.act, self.recorder.record, source.any_ended
        session.begin()
        # `acting` is a mask while some lanes wait for their first observation, otherwise None
        observations, acting = self._begin(range(source.n_environments), None)
        while self._open:
            actions = act(observations, acting)
            step = source.step(actions)
            record(step[1], acting)
            observations, acting = step[0], None
            self._until_limit -= 1
            ended = None
            if any_ended(step) or self._until_limit <= 0:
                ended = self._ended(step)
                for lane, last in ended:
                    self._finish(lane, last)
            if agent.num_timesteps >= session.next_event:
                session.handle_events()
            if self._watched and not self.callbacks.step(self._locals(step, actions)):
                self.stopped = True
            if self.stopped or guard.requested:
                break
            if ended:
                observations, acting = self._begin([lane for lane, _ in ended], observations)
        return self.budget.spent and not self._open

    def _ended(self, step: Any) -> list[tuple[int, LastStep]]:
        """The lanes whose episode is over, by the environment or by the limit, and how it ended."""
        ended = {lane: self.source.last_step(lane, step) for lane in self.source.ended(step)}
        if self._until_limit <= 0:
            for lane in self._open - ended.keys():
                length = self.recorder.length(lane)
                if length >= self._limit.first and self._limit.ends(length, self.budget.spent):
                    ended[lane] = self.source.last_step(lane, step)._replace(truncated=True)
        return list(ended.items())

    def _locals(self, step: Any, actions: Any) -> dict[str, Any]:
        """What callbacks read of a step, under Stable-Baselines3's names."""
        observations, rewards, infos, actions = self.source.stacked(step, actions)
        dones = np.zeros(self.source.n_environments, np.bool_)
        for lane, record in self._finished.items():
            dones[lane] = True
            last = self.source.last_step(lane, step)
            infos[lane] |= {
                **last.info,
                "terminal_observation": last.observation,
                "TimeLimit.truncated": record.truncated and not record.terminated,
                "episode": {
                    "r": record.total_reward,
                    "l": record.length,
                    "t": round(time.monotonic() - self._start, 6),
                },
            }
        self._finished.clear()
        return {
            "new_obs": observations, "rewards": rewards, "dones": dones, "infos": infos,
            "actions": actions,
        }  # fmt: skip

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
        if self._watched:
            self._finished[lane] = record
            self.callbacks.rollout_end()
        self.session.episode_finished(record, totals)

    def _begin(self, lanes: Sequence[int], observations: Any) -> tuple[Any, Any]:
        """Begin new episodes, each in an environment reset with its own seed.

        When the budget is spent none is begun; lanes that wait for others are reset too, because a
        vector environment is stepped as a whole. Returns the observations to act on, and a mask of
        the lanes that act, or None for all of them.
        """
        begun = []
        for lane in lanes:
            if self.budget.allows_another(len(self._open)):
                self._open.add(lane)
                begun.append(lane)
        if not self._open:
            return observations, None
        seeds = self._reset_seeds(lanes, begun)
        observations, pending = self.source.reset(lanes, seeds, observations)
        self._until_limit = max(self._limit.first - self.recorder.longest(), 1)
        for _ in begun:
            self.callbacks.rollout_start()
        return observations, None if pending is None else ~pending

    def _reset_seeds(self, lanes: Sequence[int], begun: Sequence[int]) -> Sequence[int]:
        """Begin the episodes of some of the lanes; the seeds with which all of them are reset."""
        if self.source.batched:
            new = self.recorder.begin_many(begun)
        else:
            new = [self.recorder.begin() for _ in begun]
        numbers = dict(zip(begun, new, strict=True))
        episodes = np.array([numbers.get(lane, 0) for lane in lanes])
        seeds: list[int] = reset_seeds(self._words, np.array(lanes), episodes).tolist()
        return seeds


def train(
    agent: Learner,
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | VecEnv,
    *,
    total_timesteps: float | None = None,
    total_episodes: float | None = None,
    callback: Callback = None,
    log_interval: int | None = 4,
    tb_log_name: str | None = None,
    reset_num_timesteps: bool = True,
    progress_bar: bool = False,
    verbose: int = 0,
    tensorboard_log: str | PathLike[str] | None = None,
    run_folder: RunFolder | str | PathLike[str] | None = None,
    eval_env: gymnasium.Env[Any, Any] | VecEnv | str | None = None,
    eval_freq: int = 0,
    n_eval_episodes: int = 10,
    log_freq: int = 1000,
    checkpoint_freq: int = 10_000,
    checkpoint_steps: Sequence[int] = (),
    tensorboard: bool = False,
    max_episode_steps: int | None = None,
    success_key: str | None = None,
    collectors: int | Collectors | None = None,
    training_state: Mapping[str, Any] | None = None,
) -> None:
    """Train an agent; on Ctrl-C or an error the last episode boundary is saved first.

    Args:
        agent: The agent.
        env: Its training environment.
        total_timesteps: How many steps; the episodes that are open then are finished.
        total_episodes: How many episodes, in place of steps.
        callback: One of Stable-Baselines3's or ours, a function, or a list of them.
        log_interval: Episodes between the rows of `verbose` and `tensorboard_log`.
        tb_log_name: Name of this training in `tensorboard_log`; by default the agent's class.
        reset_num_timesteps: Whether the steps that are reported there count from 0 again.
        progress_bar: Whether to show progress.
        verbose: 1 prints a table of the progress.
        tensorboard_log: Folder for TensorBoard's files.
        run_folder: A path for a new run, or an opened `RunFolder`.
        eval_env: A separate environment for evaluation, or an id.
        eval_freq: Steps between evaluations, 0: never.
        n_eval_episodes: Episodes of an evaluation.
        log_freq: Steps between the rows of the run folder.
        checkpoint_freq: Steps between checkpoints in the run folder.
        checkpoint_steps: Steps whose checkpoints are kept permanently.
        tensorboard: Whether to write TensorBoard's files into the run folder.
        max_episode_steps: Where longer episodes are ended as time-outs, for environments that have
            no limit of their own.
        success_key: The entry of `info` that says whether an episode was solved; by default
            "is_success", then "success".
        collectors: How many processes step environments of their own, or a description of them.
        training_state: The training state from the checkpoint of a resumed run.

    Raises:
        ValueError: If an argument has a value that it may not have.
        KeyboardInterrupt: After Ctrl-C, when everything is saved.
    """
    success_of = SuccessReader(success_key)
    budget = Budget(agent, total_timesteps, total_episodes)
    plan = Plan(eval_freq, log_freq, checkpoint_freq, tuple(checkpoint_steps), tensorboard)
    evaluator = open_evaluator(
        eval_env, env, eval_freq, n_eval_episodes, agent.seed, max_episode_steps, success_key
    )
    limit = EpisodeLimit(env, max_episode_steps)
    source = open_environment(env)
    chosen = as_collectors(collectors)
    if chosen is not None:
        factory(env, chosen.make_env)  # refuses what cannot be pickled, before anything is created
    callbacks = CallbackList(callback)
    tb_log_name = tb_log_name or type(agent).__name__
    outputs = open_outputs(
        agent.logger, agent.num_timesteps, verbose, tensorboard_log, tb_log_name,
        reset_num_timesteps,
    )  # fmt: skip
    folder = open_folder(
        run_folder, agent, env, budget, plan, evaluator, max_episode_steps, success_key,
        chosen.config() if chosen else {},
    )  # fmt: skip
    with InterruptGuard() as guard, attached(callback, agent, evaluator):
        session = Session(
            agent, plan, folder=folder, evaluator=evaluator,
            progress=open_progress(progress_bar, budget.total, budget.done, budget.unit),
            done=lambda: budget.done, should_stop=lambda: guard.requested,
            # an agent that has learned before cannot be recreated from its settings alone
            save_start=folder is not run_folder, outputs=outputs, log_interval=log_interval,
            more_metrics=metrics(agent) if chosen else None,
        )  # fmt: skip
        session.restore(training_state or {})
        status = "failed"
        try:
            session.compile(agent.warm_up)
            callbacks.start(
                agent, env=env, callback=callback, total_timesteps=budget.last_step,
                log_interval=log_interval, tb_log_name=tb_log_name,
                reset_num_timesteps=reset_num_timesteps, progress_bar=progress_bar,
            )  # fmt: skip
            first = UntilDecided(budget, agent) if chosen else budget
            loop = Loop(agent, source, first, session, callbacks, guard, limit, success_of)
            completed = loop.run()
            if chosen and completed and not (loop.stopped or guard.requested or budget.spent):
                completed = _collect(agent, loop, chosen, budget, max_episode_steps, success_key)
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


def _collect(
    agent: Learner,
    loop: Loop,
    collectors: Collectors,
    budget: Budget,
    max_episode_steps: int | None,
    success_key: str | None,
) -> bool:
    """Continue a training with collectors, from where the memory can decide."""
    session = loop.session
    with session.starting_collectors():
        transport = collectors.open(agent, max_episode_steps, success_key)
    with closing(transport):
        return Collection(
            agent, transport, collectors, budget, session, loop.callbacks, loop.guard
        ).run()

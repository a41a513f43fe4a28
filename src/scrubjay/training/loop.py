"""The training loop: act, step, record; at an episode's end remember, report, begin anew."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from scrubjay.randomness import Stream, reset_seed
from scrubjay.training.callbacks import Callback, CallbackList
from scrubjay.training.environments import (
    PENDING,
    EpisodeLimit,
    SingleEnvironment,
    Step,
    VectorEnvironment,
    open_environment,
)
from scrubjay.training.evaluation import Evaluator
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.progress import open_progress
from scrubjay.training.protocols import Agent, Episode
from scrubjay.training.records import EpisodeRecord, success_of
from scrubjay.training.run_folder import RunFolder, command_line
from scrubjay.training.session import Plan, Session


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


class Lane:
    """One environment's place in the loop: its open episode, if any, and where it stands."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.episode: Episode | None = None
        self.observation: Any = PENDING
        self.action: Any = None
        self.length = 0
        self.total_reward = 0.0

    def begin(self, episode: Episode, observation: Any) -> None:
        self.episode, self.observation = episode, observation
        self.length, self.total_reward = 0, 0.0


class Loop:
    """One training of one agent; `run` returns when the budget is spent or somebody stops it."""

    def __init__(
        self,
        agent: Agent,
        source: SingleEnvironment | VectorEnvironment,
        budget: Budget,
        session: Session,
        callbacks: CallbackList,
        guard: InterruptGuard,
        limit: EpisodeLimit,
    ) -> None:
        self.agent, self.source, self.budget = agent, source, budget
        self.session, self.callbacks, self.guard = session, callbacks, guard
        self.lanes = [Lane(index) for index in range(source.n_environments)]
        self._limit = limit
        self._watched = bool(callbacks)
        self._n_open = 0
        self._has_idle_lane = False

    def run(self) -> bool:
        """Train until the budget is spent or somebody stops it; returns whether it is spent."""
        self.session.begin()
        self._begin(self.lanes)
        while self._n_open:
            ended = self._step()
            for lane, step in ended:
                self._finish(lane, step)
            if self.agent.num_timesteps >= self.session.next_event:
                self.session.handle_events()
            if (self._watched and not self.callbacks.step()) or self.guard.requested:
                break
            if ended:
                self._begin([lane for lane, _ in ended])
        return self.budget.spent and self._n_open == 0

    def _step(self) -> list[tuple[Lane, Step]]:
        """One step of all environments; returns those whose episode is over.

        A lane without an episode waits for the others; one whose observation is `PENDING` gets its
        first by this step, a dummy. Neither is stored, neither is counted.
        """
        lanes = self.lanes
        for lane in lanes:
            if lane.episode is not None and lane.observation is not PENDING:
                lane.action = lane.episode.act(lane.observation)
        steps = self.source.step(self._actions())
        ended = []
        for lane, step in zip(lanes, steps, strict=True):
            observation, reward, terminated, truncated, _ = step
            if lane.episode is not None and lane.observation is not PENDING:
                reward = float(reward)
                lane.episode.record(reward)
                lane.length += 1
                lane.total_reward += reward
                self.agent.num_timesteps += 1
                if lane.length >= self._limit.first:
                    truncated = truncated or self._limit.ends(lane.length, self.budget.spent)
            lane.observation = observation
            if terminated or truncated:
                ended.append((lane, Step(observation, reward, terminated, truncated, step[4])))
        return ended

    def _actions(self) -> list[Any]:
        """An action for every lane; one that never had an episode repeats another lane's."""
        actions = [lane.action for lane in self.lanes]
        if self._has_idle_lane:
            some = next(action for action in actions if action is not None)
            actions = [some if action is None else action for action in actions]
        return actions

    def _finish(self, lane: Lane, step: Step) -> None:
        if lane.episode is None:
            return
        totals = lane.episode.finish(step.observation, bool(step.terminated))
        record = EpisodeRecord(
            self.agent.n_episodes - 1, lane.index, self.agent.num_timesteps, lane.length,
            lane.total_reward, bool(step.terminated), bool(step.truncated), success_of(step.info),
        )  # fmt: skip
        lane.episode = None
        self._n_open -= 1
        self.callbacks.rollout_end()
        self.session.episode_finished(record, totals)

    def _begin(self, lanes: list[Lane]) -> None:
        """New episodes, each in an environment reset with its own seed.

        When the budget is spent none is begun; lanes that wait for others are reset all the same,
        because a vector environment is stepped as a whole.
        """
        episodes: list[Episode | None] = []
        for lane in lanes:
            n_new = sum(episode is not None for episode in episodes)
            another = self.budget.allows_another(self._n_open + n_new)
            episodes.append(self.agent.begin_episode(lane.index) if another else None)
        if self._n_open == 0 and all(episode is None for episode in episodes):
            return
        seeds = [self._reset_seed(lane, ep) for lane, ep in zip(lanes, episodes, strict=True)]
        observations = self.source.reset([lane.index for lane in lanes], seeds)
        for lane, episode, observation in zip(lanes, episodes, observations, strict=True):
            if episode is None:
                self._has_idle_lane = True
            else:
                lane.begin(episode, observation)
                self._n_open += 1
                self.callbacks.rollout_start()

    def _reset_seed(self, lane: Lane, episode: Episode | None) -> int:
        number = 0 if episode is None else episode.number
        return reset_seed(self.agent.seed, Stream.ENVIRONMENT, lane.index, number)


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
    folder = _open_folder(run_folder, agent, env, budget)
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


def _open_folder(run_folder: Any, agent: Agent, env: Any, budget: Budget) -> RunFolder | None:
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
    }
    return RunFolder.create(run_folder, config, command_line())

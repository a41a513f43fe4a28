"""The base class of methods that train networks, with the same run folder and evaluation.

Stable-Baselines3 keeps its loop; a callback in it reports to a `Session`. What is due at a step
happens right after that step's gradient update. A killed run of such a method starts again from the
beginning: its replay buffer is in no file.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import gymnasium
import torch
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback, ConvertCallback
from stable_baselines3.common.logger import KVWriter
from stable_baselines3.common.logger import Logger as ModelLogger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.agents.actions import methods_for
from scrubjay.agents.sb3_compat import chosen_seed, with_conveniences
from scrubjay.agents.settings import settings_of
from scrubjay.deep.episodes import FINISHED, NumberedEpisodes
from scrubjay.memory import EpisodicMemory
from scrubjay.training import Callback, EpisodeRecord, Logger, Plan, RunFolder, Session
from scrubjay.training.callbacks import attached, should_continue
from scrubjay.training.env_view import describe_env
from scrubjay.training.environments import EpisodeLimit
from scrubjay.training.files import replacing
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.logger import open_outputs
from scrubjay.training.progress import open_progress
from scrubjay.training.records import SuccessReader
from scrubjay.training.session import NEVER
from scrubjay.training.setup import Budget, open_evaluator, open_folder
from scrubjay.training.vec_env import VecEnv

LOSSES = (
    "train/n_updates",
    "train/learning_rate",
    "train/actor_loss",
    "train/critic_loss",
    "train/ent_coef",
    "train/ent_coef_loss",
    "train/loss",
)


class DeepAgent(ABC):
    """A Stable-Baselines3 model on one environment, with settings like those of a `MemoryAgent`.

    A method's constructor has its settings as keyword arguments and calls
    `super().__init__(env, locals())`; it supplies `make_model` and `model_class`.

    Args:
        env: A Gymnasium environment or its id.
        settings: The constructor's arguments by name.
    """

    name: ClassVar[str]
    model_class: ClassVar[type[OffPolicyAlgorithm]]
    suffix: ClassVar[str] = ".zip"
    resumable: ClassVar[bool] = False
    action_kinds: ClassVar[tuple[str, ...]] = ("Box",)
    """The kinds of action spaces in which it can act."""
    conveniences: ClassVar[tuple[str, ...]] = ("verbose", "tensorboard_log")
    """Arguments of every constructor that are not settings."""
    hints: ClassVar[Mapping[str, str]] = {}
    """What to use instead of arguments that it does not have."""
    seed: int
    verbose: int = 0
    tensorboard_log: str | PathLike[str] | None = None
    env: NumberedEpisodes | None
    """The training environment; none for an agent that was loaded."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Settings are attributes, whatever their names."""

    def __init_subclass__(cls) -> None:
        if "__init__" in cls.__dict__:
            cls.__init__ = with_conveniences(cls.__dict__["__init__"])  # type: ignore[method-assign]

    def __init__(self, env: gymnasium.Env[Any, Any] | str, settings: Mapping[str, Any]) -> None:
        settings = {**settings, "seed": chosen_seed(settings["seed"])}
        for name, setting in settings_of(type(self)).items():
            if name in settings:
                setattr(self, name, setting.checked(settings[name]))
        if isinstance(env, str):
            env = gymnasium.make(env)
        if not isinstance(env, gymnasium.Env):
            raise TypeError(
                f"{self.name} trains on one environment: expected an environment or an id, "
                f"got {type(env).__name__}"
            )
        check_actions(env.action_space, self.name, self.action_kinds)
        self.env = NumberedEpisodes(env, self.seed)
        self.use(self.make_model(self.env))

    def use(self, model: OffPolicyAlgorithm) -> None:
        """Use a model as the agent's own.

        Args:
            model: The model.
        """
        self.model = model
        self.n_episodes = 0
        self.logger = Logger()

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:  # noqa: ARG003
        """The settings for a task by name.

        Args:
            task: The task's name or id.
            name: The preset's name.

        Returns:
            The settings by name.
        """
        return {}

    def set_random_seed(self, seed: int | None = None) -> None:
        """Refused: the weights of networks are drawn when the model is made.

        Args:
            seed: None changes nothing.

        Raises:
            ValueError: If a seed is given.
        """
        if seed is not None:
            raise ValueError(
                f"expected the seed in the constructor: write {type(self).__name__}(env, "
                f"seed={seed})"
            )

    @abstractmethod
    def make_model(self, env: NumberedEpisodes) -> OffPolicyAlgorithm:
        """Make the Stable-Baselines3 model with the agent's settings.

        Args:
            env: The training environment.

        Returns:
            The model.
        """

    @property
    def memories(self) -> dict[str, EpisodicMemory]:
        """The method's episodic memories by name, if it has any."""
        return {}

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The space of the model's observations."""
        return self.model.observation_space

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The space of the model's actions."""
        return self.model.action_space

    @property
    def num_timesteps(self) -> int:
        """The number of training steps so far."""
        return self.model.num_timesteps

    @num_timesteps.setter
    def num_timesteps(self, value: int) -> None:
        self.model.num_timesteps = value

    def get_env(self) -> Any:
        """The training environment as a `VecEnv`.

        Returns:
            The model's `VecEnv`; None if it has no environment.
        """
        return self.model.get_env()

    # -- training ------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: float | None = None,
        callback: Callback = None,
        log_interval: int | None = 4,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
        *,
        total_episodes: float | None = None,
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
    ) -> Self:
        """Train a new model; on Ctrl-C it is saved first.

        It trains in one thread: more do not help networks of this size, and would change the last
        digits.

        Args:
            total_timesteps: How many steps.
            callback: One of Stable-Baselines3's or ours, a function, or a list of them.
            log_interval: Episodes between the rows of `verbose` and `tensorboard_log`.
            tb_log_name: Name of this training in `tensorboard_log`; by default the class's name.
            reset_num_timesteps: Whether TensorBoard's files go into a new folder.
            progress_bar: Whether to show progress.
            total_episodes: How many episodes, in place of steps.
            run_folder: A path for a new run, or an opened `RunFolder`.
            eval_env: A separate environment for evaluation, or an id.
            eval_freq: Steps between evaluations, 0: never.
            n_eval_episodes: Episodes of an evaluation.
            log_freq: Steps between rows of the log.
            checkpoint_freq: Steps between checkpoints in the run folder.
            checkpoint_steps: Steps whose checkpoints are kept permanently.
            tensorboard: Whether to write TensorBoard's files into the run folder.
            max_episode_steps: Where longer episodes are ended as time-outs.
            success_key: The entry of `info` that says whether an episode was solved; by default
                "is_success", then "success".

        Returns:
            The agent itself.

        Raises:
            ValueError: If the model was loaded or has trained before.
        """
        if self.env is None:
            raise ValueError("expected a new agent to train, got one that was loaded to predict")
        if self.num_timesteps:
            raise ValueError(
                f"expected a new model, got one that has trained for {self.num_timesteps} steps: "
                "runs of networks are not resumed, make a new one"
            )
        budget = Budget(self, total_timesteps, total_episodes)
        plan = Plan(eval_freq, log_freq, checkpoint_freq, tuple(checkpoint_steps), tensorboard)
        env = self.env.env
        evaluator = open_evaluator(
            eval_env, env, eval_freq, n_eval_episodes, self.seed, max_episode_steps, success_key
        )
        outputs = open_outputs(
            self.logger, 0, self.verbose, self.tensorboard_log, tb_log_name or type(self).__name__,
            reset_num_timesteps,
        )  # fmt: skip
        self.env.limit = EpisodeLimit(env, max_episode_steps)
        self.env.success_of = SuccessReader(success_key)
        folder = open_folder(
            run_folder, self, env, budget, plan, evaluator, max_episode_steps, success_key
        )
        with one_thread(), InterruptGuard() as guard, attached(callback, self, evaluator):
            session = Session(
                self, plan, folder=folder, evaluator=evaluator,
                progress=open_progress(progress_bar, budget.total, 0, budget.unit),
                done=lambda: budget.done, should_stop=lambda: guard.requested,
                checkpoint_suffix=self.suffix, outputs=outputs, log_interval=log_interval,
            )  # fmt: skip
            self._train(session, budget, guard, callback)
        if guard.requested:
            raise KeyboardInterrupt
        return self

    def _train(
        self, session: Session, budget: Budget, guard: InterruptGuard, callback: Any
    ) -> None:
        model, status = self.model, "failed"
        steps = budget.total if budget.unit == "steps" else NEVER
        try:
            session.compile(self.warm_up)
            # the global generators may have been used since the model was made
            model.set_random_seed(model.seed)
            # its own would open a folder elsewhere
            model.set_logger(ModelLogger(None, [Forward(self.logger)]))
            reporter = Reporter(session, self, budget, guard)
            model.learn(steps, callback=[reporter, *_callbacks(callback)], log_interval=NEVER)
            status = "finished" if budget.spent else "stopped"
            status = "interrupted" if guard.requested else status
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            session.close(status)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """The model's own `predict`.

        Args:
            observation: An observation, or a stack of them.
            state: As in Stable-Baselines3.
            episode_start: As in Stable-Baselines3.
            deterministic: Whether to act greedily.

        Returns:
            The action or actions, and the state.
        """
        return self.model.predict(observation, state, episode_start, deterministic)

    # -- description ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        env = None if self.env is None else self.env.env
        return (
            f"{type(self).__name__}(env={describe_env(env)}, seed={self.seed}, "
            f"{self.num_timesteps:,} steps)"
        )

    def config(self) -> dict[str, Any]:
        """All settings as JSON, from which the agent can be made again.

        Returns:
            The settings by name.
        """
        # copies, because Stable-Baselines3 writes into the dicts that it is given
        return {name: deepcopy(getattr(self, name)) for name in settings_of(type(self))}

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float | None]:  # noqa: ARG002
        """The last losses.

        Args:
            totals: Ignored.

        Returns:
            Values by name; None where the method has none, or has not begun to learn.
        """
        latest = self.model.logger.name_to_value
        found = {name: latest.get(name) for name in LOSSES}
        return {name: None if value is None else float(value) for name, value in found.items()}

    def gauges(self) -> dict[str, Any]:
        """Numbers for the progress bar.

        Returns:
            Numbers by name.
        """
        return {}

    def warm_up(self) -> None:
        """Compile what training calls."""

    # -- files ---------------------------------------------------------------------------------

    def save(
        self,
        path: str | PathLike[str],
        training: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> None:
        """Write Stable-Baselines3's own zip atomically; it does not contain the replay buffer.

        Args:
            path: The file; without a suffix .zip is added.
            training: Ignored, because such a run is not resumed.
        """
        # read by `load`
        self.model.agent_settings = self.config()  # type: ignore[attr-defined]
        # plain text in the zip: says which method's `load` opens it, before anything is executed
        self.model.agent_name = self.name  # type: ignore[attr-defined]
        file = Path(path)
        with replacing(file if file.suffix else file.with_name(f"{file.name}.zip")) as temporary:
            self.model.save(temporary)

    @classmethod
    def load(cls, path: str | PathLike[str], env: Any = None, *, trusted: bool = False) -> Self:
        """Read a model that this library, or Stable-Baselines3, has saved.

        Args:
            path: The zip.
            env: The environment of the model, to train `agent.model` further; none is
                needed to predict.
            trusted: Whether you trust the origin of the file. Such files can
                execute what is in them.

        Returns:
            The agent, to predict with; its settings are those of the model.

        Raises:
            ValueError: If you do not.
        """
        if not trusted:
            raise ValueError(
                f"{path} can execute what is in it: expected trusted=True, if you trust its origin"
            )
        agent = cls.__new__(cls)
        custom = None if env is not None else cls.without_buffer()
        model = cls.model_class.load(Path(path), env=env, device="cpu", custom_objects=custom)
        saved = getattr(model, "agent_settings", {})
        for name, setting in settings_of(cls).items():
            # 0.1.0 saved the model alone
            setattr(agent, name, saved.get(name, getattr(model, name, setting.default)))
        agent.env = None
        agent.use(model)
        return agent

    @classmethod
    def without_buffer(cls) -> dict[str, Any] | None:
        """Replacements in `load` for a replay buffer that requires an environment.

        Returns:
            Stable-Baselines3's `custom_objects`, or None.
        """
        return None


def check_actions(space: spaces.Space[Any], method: str, kinds: tuple[str, ...]) -> None:
    """Refuse an action space in which a method cannot act; the message says which methods can."""
    if type(space).__name__ not in kinds:
        article = " or ".join(kinds)
        raise ValueError(
            f"{method}: expected a {article} action space, got {space}{methods_for(space)}"
        )


def policy_for(env: gymnasium.Env[Any, Any]) -> str:
    """Stable-Baselines3's name of the policy for an environment's observations."""
    has_parts = isinstance(env.observation_space, spaces.Dict)
    return "MultiInputPolicy" if has_parts else "MlpPolicy"


def choose_preset(presets: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """The preset of that name, of those that are the same for all tasks.

    Raises:
        ValueError: If there is no such preset.
    """
    if name not in presets:
        raise ValueError(f"expected one of the presets {', '.join(presets)}, got {name!r}")
    return dict(presets[name])


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _callbacks(callback: Any) -> list[BaseCallback]:
    """Callbacks as Stable-Baselines3's list of callbacks takes them."""
    if callback is None:
        return []
    if isinstance(callback, Sequence):
        return [single for item in callback for single in _callbacks(item)]
    if hasattr(callback, "on_step"):
        return [callback]
    # as in the other agents' training, a function stops it by False, not by None
    return [ConvertCallback(lambda locals_, globals_: should_continue(callback(locals_, globals_)))]


class Forward(KVWriter):
    """Sends records of callbacks from the model's logger to the agent's logger."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def write(
        self,
        key_values: dict[str, Any],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        """Send a row."""
        for key, value in key_values.items():
            self._logger.record(key, value, key_excluded.get(key))
        self._logger.dump(step)

    def close(self) -> None:
        """The agent closes its logger itself."""


class Reporter(BaseCallback):
    """Reports the progress of Stable-Baselines3's loop to the session, after each gradient step."""

    def __init__(
        self, session: Session, agent: DeepAgent, budget: Budget, guard: InterruptGuard
    ) -> None:
        super().__init__()
        self._session, self._agent, self._budget, self._guard = session, agent, budget, guard
        self._finished: list[EpisodeRecord] = []

    def _on_training_start(self) -> None:
        self._session.begin()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if FINISHED in info:
                self._finished.append(info[FINISHED])
                self._agent.n_episodes += 1
        done = self._budget.unit == "episodes" and self._budget.spent
        return not (done or self._guard.requested)

    def _on_rollout_start(self) -> None:
        self._report()

    def _on_training_end(self) -> None:
        self._report()

    def _report(self) -> None:
        for record in self._finished:
            self._session.episode_finished(record, {"episodes": 1.0})
        self._finished.clear()
        if self.model.num_timesteps >= self._session.next_event:
            self._session.handle_events()

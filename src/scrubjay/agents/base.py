"""The base class of agents that act from memory: settings, environment, episodes, prediction.

A boundary is the end of an episode: the only moment at which memory, embedding and counters fit
together. Within an episode the memory does not change, but the embedding may learn and steps are
counted, so the values of the last boundary are kept, and `save` writes those.
"""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from scrubjay.agents.actions import KINDS, ActionCodec, make_codec
from scrubjay.agents.album import Album
from scrubjay.agents.checks import check_names, warn_of_images, warn_of_size
from scrubjay.agents.collecting import CollectingAgent
from scrubjay.agents.episode import Episode, sample_actions
from scrubjay.agents.episode_keys import (
    check_learned_keys,
    study,
    with_frames,
    with_keys,
    with_present_keys,
)
from scrubjay.agents.explanation import ExplainMixin
from scrubjay.agents.files import load_agent, path_to_load, path_to_save, save_agent
from scrubjay.agents.recorder import (
    EpisodeRecorder,
    Experience,
    HeldEpisode,
    Lanes,
    Learned,
    Notes,
)
from scrubjay.agents.returns import check_returns
from scrubjay.agents.sb3_compat import (
    ARGUMENTS,
    NoNetworkMixin,
    check_conveniences,
    chosen_seed,
    with_conveniences,
)
from scrubjay.agents.settings import settings_of
from scrubjay.agents.warm_up import call_everything
from scrubjay.embedding import Embedding, Identity
from scrubjay.embedding.base import bind_keeping_state
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.writing import discounted_returns
from scrubjay.randomness import Stream, generator
from scrubjay.training import Callback, Collectors, Environment, Logger, RunFolder, train
from scrubjay.training.env_view import EnvView, as_vec_env, describe_env
from scrubjay.training.logger import ForwardOutput
from scrubjay.training.vec_env import VecEnv, check_vec_env, is_vec_env

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]


class Spaces(NamedTuple):
    """An observation space and an action space, in place of an environment.

    Attributes:
        observation: The observation space.
        action: The action space.
    """

    observation: gymnasium.Space[Any]
    action: gymnasium.Space[Any]


EnvLike = Environment | Spaces
Folder = str | PathLike[str]


class Boundary(NamedTuple):
    """The state at the start of an episode of everything that an episode may change."""

    num_timesteps: int
    next_episodes: dict[int, int]
    embedding: Arrays


class MemoryAgent(CollectingAgent, ExplainMixin, NoNetworkMixin, ABC):
    """Base class of agents that act from episodic memory.

    A method's constructor has its settings as keyword arguments, with their ranges, and calls
    `super().__init__(env, locals())`; each setting is then an attribute of the agent. `seed` must
    be one of them; `gamma` and `embedding` may be. The method has a `name` and supplies
    `make_memories`, `decide`, `greedy_actions` and `learn_from`; everything else has a default.

    Args:
        env: A Gymnasium environment or vector environment, a `VecEnv` of Stable-Baselines3, an id,
            or `Spaces`.
        settings: The constructor's arguments by name; entries that are not settings are ignored.
    """

    name: ClassVar[str]
    suffix: ClassVar[str] = ".scrub"
    conveniences: ClassVar[tuple[str, ...]] = ("verbose", "tensorboard_log", "device")
    """Arguments of every constructor that are not settings."""
    hints: ClassVar[Mapping[str, str]] = ARGUMENTS
    """What to use instead of arguments that it does not have."""
    resumable: ClassVar[bool] = True
    action_kinds: ClassVar[tuple[str, ...]] = KINDS
    """The kinds of action spaces in which it can act."""
    takes_learned_keys: ClassVar[bool] = False
    """Whether an embedding may change the keys of its rows, and with them all distances."""
    gamma: float = 1.0
    seed: int
    verbose: int = 0
    tensorboard_log: Folder | None = None
    device: str = "auto"
    _kernel: Any = None  # the machine code of a decision, for methods that look it up only once

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Settings are always there."""

    _classes: ClassVar[dict[str, type["MemoryAgent"]]] = {}

    def __init_subclass__(cls) -> None:
        if "__init__" in cls.__dict__:
            cls.__init__ = with_conveniences(cls.__dict__["__init__"])  # type: ignore[method-assign]
        if "name" in cls.__dict__:
            MemoryAgent._classes[cls.name] = cls

    @classmethod
    def known_class(cls, name: str) -> "type[MemoryAgent] | None":
        """The class of a method that has been imported.

        Args:
            name: The method's name.

        Returns:
            The class, or None.
        """
        return MemoryAgent._classes.get(name)

    def __init__(self, env: EnvLike, settings: Mapping[str, Any]) -> None:
        if "seed" not in settings_of(type(self)):
            raise TypeError(f"expected {type(self).__name__}.__init__ to have an argument seed")
        self.env: Any = None
        self._view: Any = None
        spaces = env if isinstance(env, Spaces) else self._adopt(env)
        self.observation_space, self.action_space = spaces
        settings = {**settings, "seed": chosen_seed(settings["seed"])}
        for name, setting in settings_of(type(self)).items():
            if name in settings:
                setattr(self, name, setting.checked(settings[name]))
        if self.seed < 0:
            raise ValueError(f"expected seed to be a whole number of at least 0, got {self.seed}")
        self.codec: ActionCodec = make_codec(
            self.action_space, type(self).__name__, self.action_kinds
        )
        self._bind_embedding(None if settings.get("embedding") is None else self.embedding)
        self.num_timesteps = 0
        self.n_episodes = self.n_dropped_episodes = 0
        self.logger = Logger()
        self.held: list[HeldEpisode] = []
        self._next_episodes: dict[int, int] = {}
        self._open: set[int] = set()
        # None when no episode is open, and when one has ended since the open ones began.
        self._boundary: Boundary | None = None
        self._warned_empty = False
        self._is_warm = False
        self._prediction_rng = generator(self.seed, Stream.PREDICTION)
        self.memories: dict[str, EpisodicMemory] = self.make_memories()
        images = self.flattener.picture_type is not None
        self.album: Album | None = Album(self.flattener.picture) if images else None
        check_names(self.memories)
        warn_of_images(self)
        self.memory_changed()

    def _bind_embedding(self, embedding: Embedding | None) -> None:
        self._given_embedding = embedding
        # a copy of its own: an embedding learns, and the same one may be given to several agents
        chosen = self.default_embedding() if embedding is None else embedding
        self.embedding: Embedding = copy.deepcopy(chosen)
        check_learned_keys(self, chosen)
        self.flattener = self.embedding.flattener(self.observation_space)
        bind_keeping_state(self.embedding, self.flattener.bounds, self.seed)

    # -- what a method supplies ----------------------------------------------------------------

    @abstractmethod
    def make_memories(self) -> dict[str, EpisodicMemory]:
        """Make the agent's memories, still empty.

        Returns:
            The memories by name (letters, digits and _).
        """

    @abstractmethod
    def decide(self, lanes: Lanes, keys: Floats) -> int:
        """Choose the actions of all lanes in one compiled call.

        Args:
            lanes: What the lanes have recorded, into which the decisions are written.
            keys: (L, D): the key of each lane's observation.

        Returns:
            The lane whose key is not finite, -1 if all are.
        """

    @abstractmethod
    def greedy_actions(self, keys: Floats) -> npt.NDArray[np.float32]:
        """The rule of evaluation.

        Args:
            keys: (n, D): the keys of observations. At least one memory has rows.

        Returns:
            The actions of shape (n, A), as they are stored.
        """

    @abstractmethod
    def learn_from(self, experience: Experience) -> Learned:
        """Write a finished episode to the memory; check everything before anything is changed.

        Args:
            experience: The episode.

        Returns:
            The outcome of each write, and more counts for the log.
        """

    @property
    def notes(self) -> Notes:
        """The random numbers that a step needs, and the notes that it stores.

        By default a uniform number to explore, one to choose a neighbour, and one for each number
        of an action.
        """
        return Notes(uniforms=2 + self.codec.size)

    def memory_changed(self) -> None:
        """Called after every change of the memories, whose arrays may have moved."""

    def default_embedding(self) -> Embedding:
        """The embedding of an agent that was given none.

        Returns:
            The embedding.
        """
        return Identity()

    @property
    def can_decide(self) -> bool:
        """Whether an episode that begins now can be decided from the memory."""
        return self.embedding.ready

    def calibrate(self, episodes: list[Experience]) -> None:
        """Called once, with the first episodes that have keys, before they are learned.

        Args:
            episodes: The episodes.
        """

    def exploration_scale(self, rng: np.random.Generator) -> float:  # noqa: ARG002
        """The factor of a new episode's exploration rate.

        Args:
            rng: The episode's generator.

        Returns:
            The factor.
        """
        return 1.0

    def random_duration(self, uniforms: Floats) -> int:  # noqa: ARG002
        """How many steps a random action lasts.

        Args:
            uniforms: The step's random numbers.

        Returns:
            The number of steps.
        """
        return 1

    def plain_returns(self, rewards: Floats, terminated: bool) -> Floats:  # noqa: ARG002
        """The value of each step of an episode in which nothing was followed.

        Args:
            rewards: The episode's rewards.
            terminated: Whether it ended, rather than being cut by a time limit.

        Returns:
            The values.
        """
        returns: Floats = discounted_returns(rewards, self.gamma, 0.0)
        return returns

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:  # noqa: ARG003
        """The settings for a task by name; a method without presets has the one name "default".

        Args:
            task: The task's name or id.
            name: The preset's name.

        Returns:
            The settings by name.
        """
        return {}

    def watch(self, experience: Experience) -> None:
        """Called for every decided episode when it is closed, for warnings.

        Args:
            experience: The episode.
        """

    # -- the memory ----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Without `_kernel`, which cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "_kernel"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Let the method find its kernel and the memories' arrays again."""
        self.__dict__.update(state)
        self.memory_changed()

    @property
    def memory(self) -> EpisodicMemory:
        """The agent's memory, the first one if it has several."""
        return next(iter(self.memories.values()))

    @property
    def nbytes(self) -> int:
        """Bytes of all memories."""
        return sum(memory.nbytes for memory in self.memories.values())

    # -- the environment -----------------------------------------------------------------------

    def _adopt(self, env: Any) -> Spaces:
        if isinstance(env, str):
            env = gymnasium.make(env)
        if isinstance(env, EnvView):
            env = env.env
        if is_vec_env(env):
            check_vec_env(env)
        elif not isinstance(env, gymnasium.Env | VectorEnv):
            raise TypeError(
                "expected an id, a Gymnasium environment or vector environment, or a VecEnv of "
                f"Stable-Baselines3, got {type(env).__name__}"
            )
        self.env, self._view = env, None
        if isinstance(env, VectorEnv):
            return Spaces(env.single_observation_space, env.single_action_space)
        return Spaces(env.observation_space, env.action_space)

    def set_env(self, env: Environment, force_reset: bool = True) -> None:  # noqa: ARG002
        """Train on another environment from now on; its spaces must be the same.

        Args:
            env: The environment, of any kind that the constructor takes.
            force_reset: Accepted as in Stable-Baselines3; training always begins with a reset.

        Raises:
            ValueError: If its spaces differ.
        """
        before = self.env, self._view
        spaces = self._adopt(env)
        if spaces != (self.observation_space, self.action_space):
            self.env, self._view = before
            raise ValueError(
                f"expected the spaces {self.observation_space} and {self.action_space}, got "
                f"{spaces.observation} and {spaces.action}"
            )
        self._is_warm = False  # a vector environment needs more
        self.memory_changed()  # a method may have used the former environment

    def get_env(self) -> Any:
        """The training environment as a `VecEnv`, as in Stable-Baselines3; see also `env`.

        Returns:
            The `VecEnv` that the agent was given, a view of its environment with the methods of
            one, or None if it has no environment.
        """
        if self._view is None:
            self._view = as_vec_env(self.env)
        return self._view

    @property
    def n_envs(self) -> int:
        """The number of training environments."""
        return int(getattr(self.env, "num_envs", 1))

    def get_vec_normalize_env(self) -> None:
        """Return None; callbacks of Stable-Baselines3 call it to synchronise statistics."""

    def set_random_seed(self, seed: int | None = None) -> None:
        """Set the seed of an agent that has not learned yet.

        Args:
            seed: The seed; None changes nothing.

        Raises:
            ValueError: If it has learned already: the seed decides all episodes from the first on.
        """
        if seed is None:
            return
        if self.num_timesteps:
            raise ValueError(
                f"expected an agent without experience, got one of {self.num_timesteps} steps: "
                f"write {type(self).__name__}(env, seed={seed})"
            )
        self.seed = settings_of(type(self))["seed"].checked(seed)
        self._prediction_rng = generator(self.seed, Stream.PREDICTION)
        self._bind_embedding(self._given_embedding)
        self.memory_changed()

    def set_logger(self, logger: Any) -> None:
        """Also send the rows of training to another logger.

        Args:
            logger: One of Stable-Baselines3, as `stable_baselines3.common.logger.configure` makes
                it, or any object with its `record` and `dump`.
        """
        output = ForwardOutput(logger)
        self.logger.kept, self.logger.outputs = [output], [output]

    def dump_logs(self) -> None:
        """Write a row of the training's progress now."""
        self.logger.write_row()

    # -- episodes ------------------------------------------------------------------------------

    def begin_episode(self, environment: int = 0) -> Episode:
        """Begin an episode in a loop of your own, on a robot for example.

        Args:
            environment: A number for each place where episodes run at the same time; it decides
                the random numbers.

        Returns:
            The episode, with `act`, `record` and `finish`.
        """
        return Episode(self, environment)

    def recorder(self, n_lanes: int, batched: bool) -> EpisodeRecorder:
        """A recorder for the training loop.

        Args:
            n_lanes: The number of environments.
            batched: Whether observations, rewards and actions are stacked.

        Returns:
            The recorder.
        """
        return EpisodeRecorder(self, range(n_lanes), batched)

    def open_episode(self, environment: int) -> int:
        """Count a new episode as open.

        Args:
            environment: The number of its environment.

        Returns:
            The number of the episode, which decides its random numbers.
        """
        if not self._open:
            self._boundary = self._take_boundary()
        number = self._next_episodes.get(environment, 0)
        self._next_episodes[environment] = number + 1
        self._open.add(environment)
        return number

    def close_episode(self, environment: int) -> None:
        """Count an episode that has been learned.

        Args:
            environment: The number of its environment.
        """
        self._open.discard(environment)
        self._boundary = None
        self.n_episodes += 1

    def _take_boundary(self) -> Boundary:
        return Boundary(self.num_timesteps, dict(self._next_episodes), self.embedding.state())

    def rewind(self) -> int:
        """Drop open episodes.

        A single environment goes back to the last boundary, as if the open episode had never begun.
        If other environments have finished an episode since then, open episodes are only dropped.

        Returns:
            How many were dropped.
        """
        dropped = len(self._open)
        if self._boundary is not None:
            self.num_timesteps = self._boundary.num_timesteps
            self._next_episodes = dict(self._boundary.next_episodes)
            self.embedding.restore(self._boundary.embedding)
        else:
            self.n_dropped_episodes += dropped
        self._open.clear()
        self._boundary = None
        return dropped

    def finish_episode(self, episode: Experience | HeldEpisode) -> list[Learned]:
        """Learn from an episode; one without keys waits until the embedding is ready.

        Then all that wait are learned, in the order in which they ended.

        Args:
            episode: The episode.

        Returns:
            What was learned from each episode.
        """
        held, known = list(self.held), []
        if isinstance(episode, HeldEpisode):
            # checked now, because later it is learned together with other episodes
            check_returns(self.plain_returns(episode.rewards, episode.terminated), episode.rewards)
            held.append(episode)
        else:
            known.append(episode)
        self.embedding.end_episode()
        if not self.embedding.ready:
            self.held = held
            return []
        waited = [with_keys(each, self.embedding, self.notes) for each in held]
        episodes = [
            *(with_frames(self, *pair) for pair in zip(waited, held, strict=True)),
            *(with_present_keys(self.embedding, experience) for experience in known),
        ]
        if not self.can_decide:
            self.calibrate(episodes)
        learned = []
        for experience in episodes:
            clocks = {name: memory.clock for name, memory in self.memories.items()}
            learned.append(self.learn_from(experience))
            self.held = self.held[1:]  # those that waited come first
            self.memory_changed()
            if self.album is not None:
                self.album.add(self.memories, clocks, experience.keys, experience.frames)
            study(self, experience)
        return learned

    # -- Stable-Baselines3's shape -------------------------------------------------------------

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
        collectors: int | Collectors | None = None,
        training_state: Mapping[str, Any] | None = None,
    ) -> Self:
        """Train for a number of steps or episodes.

        A further call continues: memory, episode numbers, schedules and `num_timesteps` are kept.

        Args:
            total_timesteps: How many steps; the last episode is finished.
            callback: One of Stable-Baselines3's or ours, a function, or a list of them.
            log_interval: Episodes between the rows of `verbose` and `tensorboard_log`.
            tb_log_name: Name of this training in `tensorboard_log`; by default the class's name.
            reset_num_timesteps: Whether the steps that are reported there count from 0 again, in a
                new folder; nothing else is reset.
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
            collectors: How many processes step environments of their own and decide, while this
                one learns from their episodes; `Collectors` says how. See docs/scale.md.
            training_state: The training state from the checkpoint of a resumed run.

        Returns:
            The agent itself.
        """
        if self.env is None:
            raise ValueError("expected an environment to learn in: call set_env(env) first")
        self.embedding.require_extras()
        warn_of_size(self, total_timesteps)
        train(
            self,
            self.env,
            total_timesteps=total_timesteps,
            total_episodes=total_episodes,
            callback=callback,
            log_interval=log_interval,
            tb_log_name=tb_log_name,
            reset_num_timesteps=reset_num_timesteps,
            progress_bar=progress_bar,
            verbose=self.verbose,
            tensorboard_log=self.tensorboard_log,
            run_folder=run_folder,
            eval_env=eval_env,
            eval_freq=eval_freq,
            n_eval_episodes=n_eval_episodes,
            log_freq=log_freq,
            checkpoint_freq=checkpoint_freq,
            checkpoint_steps=checkpoint_steps,
            tensorboard=tensorboard,
            max_episode_steps=max_episode_steps,
            success_key=success_key,
            collectors=collectors,
            training_state=training_state,
        )
        return self

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,  # noqa: ARG002
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """The action for one observation, or the actions for a stack of them.

        It changes nothing and may be called from many threads.

        Args:
            observation: An observation, or a stack of them with one more leading dimension.
            state: Returned unchanged, as in Stable-Baselines3.
            episode_start: Ignored.
            deterministic: Whether to follow the evaluation rule; otherwise that of training, at
                the present exploration rate, with random numbers of its own.

        Returns:
            The action or actions, and `state`.
        """
        flattener = self.flattener
        batch = flattener.is_batch(observation)
        # buffers of its own: many threads may predict at once
        vectors = flattener.batch_of(observation) if batch else np.empty((1, flattener.size))
        if not batch:
            flattener.into(observation, vectors[0])
        if not any(map(len, self.memories.values())):
            return self._predict_without_memory(len(vectors) if batch else None), state
        keys = self.embedding.embed_batch(vectors)
        if deterministic:
            stored = self.greedy_actions(keys)
        else:
            stored = sample_actions(self, keys, self._prediction_rng)
        return (self.codec.decode_many(stored) if batch else self.codec.decode(stored[0])), state

    def _predict_without_memory(self, n: int | None) -> Any:
        if not self._warned_empty:
            self._warned_empty = True
            warnings.warn(
                "the memory is empty: predict returns the default action until the first episode "
                "has been written",
                UserWarning,
                stacklevel=3,
            )
        default = self.codec.default()
        return default if n is None else np.repeat(np.asarray(default)[None], n, axis=0)

    # -- description ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        rows = sum(len(memory) for memory in self.memories.values())
        return (
            f"{type(self).__name__}(env={describe_env(self.env)}, seed={self.seed}, {rows:,} rows, "
            f"{self.num_timesteps:,} steps)"
        )

    def config(self) -> dict[str, Any]:
        """All settings as JSON, from which `from_config` makes the agent again.

        Returns:
            The settings by name.
        """
        values = {name: getattr(self, name) for name in settings_of(type(self))}
        return {
            name: value.config() if hasattr(value, "config") else _plain(value)
            for name, value in values.items()
        }

    @classmethod
    def from_config(cls, env: Any, config: Mapping[str, Any]) -> Self:
        """Make an agent from its `config`.

        Args:
            env: What the constructor takes.
            config: The settings by name.

        Returns:
            The agent, without experience.
        """
        return cls(env, **config)

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        """The agent's own entries of the log.

        Args:
            totals: The counts of the episodes since the last row.

        Returns:
            Values by name.
        """
        return {
            "memory/size": float(sum(len(memory) for memory in self.memories.values())),
            "memory/hit_rate": ratio(totals, "hits", "writes"),
            "memory/nearest_distance": ratio(totals, "distance", "distances"),
            "memory/added": totals.get("added", 0.0),
            "memory/replaced": totals.get("replaced", 0.0),
            "memory/evicted": totals.get("evicted", 0.0),
            "policy/random_fraction": ratio(totals, "random", "decisions"),
            "policy/no_neighbor_fraction": ratio(totals, "no_neighbor", "looked"),
        }

    def gauges(self) -> dict[str, Any]:
        """One or two numbers for the progress bar.

        Returns:
            Numbers by name.
        """
        return {"memory": sum(len(memory) for memory in self.memories.values())}

    def warm_up(self) -> None:
        """Compile everything that training and `predict` call, on a temporary agent."""
        if self._is_warm:
            return
        self._is_warm = True
        self.embedding.warm_up()
        observations = gymnasium.spaces.Box(-1.0, 1.0, (self.embedding.key_dim,), np.float64)
        agent = self.from_config(Spaces(observations, self.action_space), self.warm_up_config())
        call_everything(agent, in_lanes=hasattr(self.env, "num_envs"))

    def call_rare_kernels(self) -> None:
        """Call the compiled functions that few episodes call, so that `warm_up` compiles them."""

    def warm_up_config(self) -> dict[str, Any]:
        """Settings with which `warm_up` calls everything: its agent begins without keys.

        Returns:
            The settings by name.
        """
        config = self.config()
        if "embedding" in config:
            config["embedding"] = {"name": "frozen_normalizer", "n_steps": 2}
        return config

    # -- files ---------------------------------------------------------------------------------

    def counters(self) -> dict[str, Any]:
        """The counters at the last boundary, for a file.

        Returns:
            The counters by name.
        """
        boundary = self._boundary or self._take_boundary()
        dropped = 0 if self._boundary else len(self._open)
        return {
            "num_timesteps": boundary.num_timesteps,
            "n_episodes": self.n_episodes,
            "n_dropped_episodes": self.n_dropped_episodes + dropped,
            "next_episodes": {str(key): n for key, n in boundary.next_episodes.items()},
        }

    def restore_counters(self, counters: Mapping[str, Any]) -> None:
        """Restore the counters from a file.

        Args:
            counters: The counters by name.
        """
        self.num_timesteps = counters["num_timesteps"]
        self.n_episodes = counters["n_episodes"]
        self.n_dropped_episodes = counters["n_dropped_episodes"]
        self._next_episodes = {int(key): n for key, n in counters["next_episodes"].items()}

    def embedding_state(self) -> Arrays:
        """The state of the embedding at the last boundary.

        Returns:
            Its arrays by name.
        """
        return self._boundary.embedding if self._boundary else self.embedding.state()

    def save(self, path: str | PathLike[str], training: Mapping[str, Any] | None = None) -> None:
        """Save the agent to one file, in its state at the last episode boundary.

        Args:
            path: The file, .scrub or .zip; without a suffix .scrub is added. An older file of that
                name is replaced as a whole.
            training: JSON for a resumed run, which is stored in the file.
        """
        save_agent(self, path_to_save(path), training)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        env: Environment | None = None,
        device: str = "auto",
        *,
        verbose: int = 0,
        tensorboard_log: Folder | None = None,
    ) -> Self:
        """Read a saved agent.

        Args:
            path: A file of `save`; its suffix, .scrub or .zip, may be left out.
            env: The environment to learn in; none is needed to predict.
            device: As in the constructor.
            verbose: As in the constructor.
            tensorboard_log: As in the constructor.

        Returns:
            The agent as it was saved.

        Raises:
            ArchiveError: If the file is damaged, foreign, or contradicts itself.
            FileNotFoundError: If there is no such file.
        """
        chosen = {"verbose": verbose, "tensorboard_log": tensorboard_log, "device": device}
        check_conveniences(cls, chosen)
        agent: Self = load_agent(cls, path_to_load(path))
        vars(agent).update(chosen)
        if env is not None:
            agent.set_env(env)
        return agent


def ratio(totals: Mapping[str, float], part: str, whole: str) -> float:
    """The ratio of two counts; NaN if the second is 0."""
    count = totals.get(whole, 0.0)
    return totals.get(part, 0.0) / count if count else float("nan")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

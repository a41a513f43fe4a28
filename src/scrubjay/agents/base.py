"""What every agent with one episodic memory shares: its environment, its files, its boundaries.

A boundary is the end of an episode: the only moment at which memory, embedding and counters fit
together. Within an episode the memory does not change, but the embedding may learn and steps are
counted, so the values of the last boundary are kept, and `save` writes those.
"""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from scrubjay.agents.action_box import ActionBox
from scrubjay.agents.spaces import build_space, describe_space
from scrubjay.embedding import Embedding, Identity
from scrubjay.embedding.base import bind_keeping_state
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.training import Callback, Episode, Logger, train

Arrays = dict[str, npt.NDArray[Any]]
Vector = npt.NDArray[np.float64]


class Spaces(NamedTuple):
    """Stands for an environment where only its spaces are known."""

    observation: gymnasium.Space[Any]
    action: gymnasium.Space[Any]


class HeldEpisode(NamedTuple):
    """An episode that waits for the embedding to become ready."""

    vectors: Vector
    actions: npt.NDArray[np.float32]
    rewards: Vector


class Boundary(NamedTuple):
    """What may change within an episode, as it was at its start."""

    num_timesteps: int
    next_episodes: dict[int, int]
    embedding: Arrays


_AGENTS: dict[str, type["MemoryAgent"]] = {}


class MemoryAgent(ABC):
    """An agent whose knowledge is one `EpisodicMemory`. Subclasses say how it decides."""

    name: ClassVar[str]
    memory: EpisodicMemory

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            _AGENTS[cls.name] = cls

    def __init__(self, env: Any, *, embedding: Embedding | None, seed: int) -> None:
        self.env: Any = None
        spaces = env if isinstance(env, Spaces) else self._adopt(env)
        self.observation_space, self.action_space = spaces
        self.seed = check_seed(seed)
        self.embedding = _check_embedding(
            self._default_embedding() if embedding is None else embedding
        )
        self._flattener = self.embedding.flattener(self.observation_space)
        bind_keeping_state(self.embedding, self._flattener.bounds, self.seed)
        self.num_timesteps = 0
        self.n_episodes = 0
        self.n_dropped_episodes = 0
        self.logger = Logger()
        self._held: list[HeldEpisode] = []
        self._next_episodes: dict[int, int] = {}
        self._open: set[int] = set()
        # None when no episode is open, and when one has ended since the open ones began.
        self._boundary: Boundary | None = None

    def _default_embedding(self) -> Embedding:
        return Identity()

    # -- the environment ---------------------------------------------------------------------

    def _adopt(self, env: Any) -> Spaces:
        if isinstance(env, str):
            env = gymnasium.make(env)
        if isinstance(env, VectorEnv):
            self.env = env
            return Spaces(env.single_observation_space, env.single_action_space)
        if isinstance(env, gymnasium.Env):
            self.env = env
            return Spaces(env.observation_space, env.action_space)
        raise TypeError(
            "an id, a Gymnasium environment or a Gymnasium vector environment was expected, "
            f"{type(env).__name__} came"
        )

    def set_env(self, env: Any) -> None:
        """Train on another environment from now on; its spaces must be the same."""
        before = self.env
        spaces = self._adopt(env)
        if spaces != (self.observation_space, self.action_space):
            self.env = before
            raise ValueError(
                f"this agent knows {self.observation_space} and {self.action_space}; "
                f"the environment has {spaces.observation} and {spaces.action}"
            )

    def get_env(self) -> Any:
        """The training environment, under the name that Stable-Baselines3 gives it."""
        return self.env

    def get_vec_normalize_env(self) -> None:
        """There is none: Stable-Baselines3's callbacks ask before they synchronise statistics."""

    # -- episodes ----------------------------------------------------------------------------

    @abstractmethod
    def begin_episode(self, environment: int) -> Episode:
        """Open the next episode of that environment."""

    def _open_episode(self, environment: int) -> int:
        """The number of a new episode, which decides its random numbers."""
        if not self._open:
            self._boundary = self._take_boundary()
        number = self._next_episodes.get(environment, 0)
        self._next_episodes[environment] = number + 1
        self._open.add(environment)
        return number

    def _close_episode(self, environment: int) -> None:
        self._open.discard(environment)
        self._boundary = None
        self.n_episodes += 1

    def _take_boundary(self) -> Boundary:
        return Boundary(self.num_timesteps, dict(self._next_episodes), self.embedding.state())

    def rewind(self) -> int:
        """Give up open episodes; returns how many.

        A single environment goes back to the last boundary, as if the open episode had never
        begun. Of several, some have gone on meanwhile: then the open ones are dropped.
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

    # -- Stable-Baselines3's shape -----------------------------------------------------------

    def learn(
        self,
        total_timesteps: int | None = None,
        callback: Callback = None,
        progress_bar: bool = False,
        *,
        total_episodes: int | None = None,
        **options: Any,
    ) -> Self:
        """Train for that many steps (a lower bound: the last episode is finished) or episodes.

        The counter of steps goes on from call to call. `options` are those of
        `scrubjay.training.train`: a run folder, evaluation, checkpoints, logging.
        """
        if self.env is None:
            raise ValueError("this agent has no environment to learn in: call set_env(env) first")
        train(
            self,
            self.env,
            total_timesteps=total_timesteps,
            total_episodes=total_episodes,
            callback=callback,
            progress_bar=progress_bar,
            **options,
        )
        return self

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,  # noqa: ARG002
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], Any]:
        """The action for one observation, or the actions for a stack of them.

        `deterministic=True` is the evaluation rule. Otherwise it is the rule of training at the
        current epsilon, with random numbers of its own. `state` is handed through.
        """
        if not self._flattener.is_batch(observation):
            return self._predict_one(observation, deterministic), state
        actions = [
            self._predict_one(single, deterministic)
            for single in self._flattener.unstack(observation)
        ]
        shape = (len(actions), *(self.action_space.shape or ()))
        return np.array(actions, self.action_space.dtype).reshape(shape), state

    @abstractmethod
    def _predict_one(self, observation: Any, deterministic: bool) -> npt.NDArray[Any]: ...

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """The constructor's arguments, as JSON."""

    @classmethod
    @abstractmethod
    def from_config(cls, env: Any, config: Mapping[str, Any]) -> Self:
        """Make an agent from its `config`."""

    @abstractmethod
    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        """Log entries: gauges, and ratios from the counts summed up since the last."""

    @abstractmethod
    def gauges(self) -> dict[str, Any]:
        """One or two numbers for the progress bar."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compile everything that training calls, on throw-away data."""

    # -- files -------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], training: Mapping[str, Any] | None = None) -> None:
        """Write everything that is known to one file: the state at the last episode boundary.

        `training` is kept beside it for whoever resumes a run.
        """
        boundary = self._boundary or self._take_boundary()
        dropped = 0 if self._boundary else len(self._open)
        memory, memory_arrays = self.memory.state()
        observation, observation_arrays = describe_space(self.observation_space, "observation")
        action, action_arrays = describe_space(self.action_space, "action")
        manifest = {
            "kind": "agent",
            "agent": self.name,
            "config": self.config(),
            "spaces": {"observation": observation, "action": action},
            "counters": {
                "num_timesteps": boundary.num_timesteps,
                "n_episodes": self.n_episodes,
                "n_dropped_episodes": self.n_dropped_episodes + dropped,
                "next_episodes": {str(key): n for key, n in boundary.next_episodes.items()},
            },
            "memory": memory,
            "training": dict(training or {}),
        }
        arrays = {f"memory/{name}": array for name, array in memory_arrays.items()}
        arrays |= {f"embedding/{name}": array for name, array in boundary.embedding.items()}
        arrays |= {f"spaces/{name}": a for name, a in (observation_arrays | action_arrays).items()}
        arrays |= {f"held/{name}": array for name, array in _join(self._held).items()}
        write_archive(path, manifest, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str], env: Any = None) -> Self:
        """Read a saved agent; it needs no environment to predict, and one to learn on."""
        manifest, arrays = read_archive(path, "agent")
        try:
            agent: Self = _build(cls, manifest, arrays)
            agent._restore(manifest, arrays)
        except ArchiveError as error:
            raise ArchiveError(f"cannot load {path}: {error}") from error
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
            MemoryError,
        ) as error:
            raise ArchiveError(f"cannot load {path}: {type(error).__name__}: {error}") from error
        if env is not None:
            agent.set_env(env)
        return agent

    def _restore(self, manifest: Mapping[str, Any], arrays: Arrays) -> None:
        counters = manifest["counters"]
        self.num_timesteps = _count(counters["num_timesteps"])
        self.n_episodes = _count(counters["n_episodes"])
        self.n_dropped_episodes = _count(counters["n_dropped_episodes"])
        self._next_episodes = {
            _count(int(key)): _count(n) for key, n in counters["next_episodes"].items()
        }
        self.embedding.restore(_below(arrays, "embedding/"))
        memory = EpisodicMemory.from_state(manifest["memory"], _below(arrays, "memory/"))
        held = _split(_below(arrays, "held/"), self._flattener.size, ActionBox(self.action_space))
        self._check_memory(memory, held)
        self._set_memory(memory)
        self._held = held

    def _check_memory(self, memory: EpisodicMemory, held: list[HeldEpisode]) -> None:
        """Refuse a memory that this agent, with its settings, cannot have made."""
        expected, found = _layout(self.memory), _layout(memory)
        if self.memory.distance_threshold == 0:  # it is measured in the first episodes
            del expected["distance_threshold"]
        for name, value in expected.items():
            if found[name] != value:
                raise ArchiveError(
                    f"its settings and its memory contradict each other: {name} is {value} and "
                    f"{found[name]}"
                )
        ActionBox(self.action_space).check_stored(memory.columns["action"])
        if len(memory) > 0 and not self.embedding.ready:
            raise ArchiveError("its memory has rows, but its embedding has no keys yet")
        if held and self.embedding.ready and memory.distance_threshold > 0:
            raise ArchiveError("it has episodes that wait for keys, but its embedding is ready")

    def _set_memory(self, memory: EpisodicMemory) -> None:
        self.memory = memory


def _below(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Arrays:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _join(held: list[HeldEpisode]) -> Arrays:
    """Held episodes end to end: there may be thousands, and a file has few arrays."""
    if not held:
        return {}
    joined = {name: np.concatenate(parts) for name, parts in _columns(held).items()}
    return {"lengths": np.array([len(episode.rewards) for episode in held]), **joined}


def _columns(held: list[HeldEpisode]) -> dict[str, tuple[npt.NDArray[Any], ...]]:
    return dict(zip(HeldEpisode._fields, zip(*held, strict=True), strict=True))


def _split(
    arrays: Mapping[str, npt.NDArray[Any]], observation_size: int, box: ActionBox
) -> list[HeldEpisode]:
    """The episodes that `_join` put end to end, checked."""
    if not arrays:
        return []
    lengths = arrays["lengths"]
    if lengths.ndim != 1 or lengths.dtype != np.int64 or not len(lengths) or lengths.min() < 1:
        raise ArchiveError(f"held episodes have the lengths {lengths}")
    n = sum(lengths.tolist())
    expected = {
        "vectors": (np.dtype(np.float64), (n, observation_size)),
        "actions": (np.dtype(np.float32), (n, box.size)),
        "rewards": (np.dtype(np.float64), (n,)),
    }
    if arrays.keys() != {"lengths", *expected}:
        raise ArchiveError(f"held episodes have the arrays {sorted(arrays)}")
    for name, description in expected.items():
        if (arrays[name].dtype, arrays[name].shape) != description:
            raise ArchiveError(
                f"held {name} have {arrays[name].dtype} of shape {arrays[name].shape}, expected "
                f"{description[0]} of shape {description[1]}"
            )
        if not np.isfinite(arrays[name]).all():
            raise ArchiveError(f"held {name} have numbers that are not finite")
    box.check_stored(arrays["actions"])
    ends = np.cumsum(lengths)[:-1]
    parts = [np.split(arrays[name], ends) for name in HeldEpisode._fields]
    return [HeldEpisode(*episode) for episode in zip(*parts, strict=True)]


def _build(cls: type[Any], manifest: Mapping[str, Any], arrays: Arrays) -> Any:
    found = _find_class(cls, manifest["agent"])
    spaces = _below(arrays, "spaces/")
    described = manifest["spaces"]
    observation = build_space(described["observation"], spaces, "observation")
    action = build_space(described["action"], spaces, "action")
    return found.from_config(Spaces(observation, action), manifest["config"])


def _find_class(cls: type[Any], name: Any) -> type[Any]:
    """The class that saved a file: `cls` itself if it saves under that name, or a subclass."""
    # a subclass without a name of its own saves under the one that it inherits
    if name == getattr(cls, "name", None):
        return cls
    found = _AGENTS.get(name)
    if found is None:
        raise ArchiveError(
            f"it was saved by an agent with name = {name!r}, and no such class is known: import "
            "the module that defines it, or call load on that class"
        )
    if not issubclass(found, cls):
        raise ArchiveError(
            f"it was saved by {found.__name__}, which is no {cls.__name__}: "
            f"use {found.__name__}.load"
        )
    return found


def _layout(memory: EpisodicMemory) -> dict[str, Any]:
    """What the settings of an agent say about its memory."""
    return {
        "key_dim": memory.key_dim,
        "capacity": memory.capacity,
        "distance_threshold": memory.distance_threshold,
        "rule": memory.rule,
        "recency": memory.recency,
        "columns": {
            name: (column.shape[1:], column.dtype.name)
            for name, column in memory.column_arrays.items()
        },
    }


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ArchiveError(f"a counter must be a whole number of at least 0, got {value!r}")
    return value


def _check_embedding(embedding: Any) -> Embedding:
    if not isinstance(embedding, Embedding):
        raise TypeError(f"an Embedding, like RunningNormalizer(), was expected; {embedding!r} came")
    # An own copy: an embedding learns, and the same one may be given to several agents.
    return copy.deepcopy(embedding)


def check_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"a seed is a whole number of at least 0, {seed!r} came")
    return int(seed)


def check_number(
    name: str, value: Any, *, low: float, open_low: bool = False, high: float = np.inf
) -> float:
    """A finite number within its bounds, or an error that says so."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    if number and np.isfinite(value) and low <= value <= high and not (open_low and value == low):
        return float(value)
    relation = "greater than" if open_low else "of at least"
    upper = "" if np.isinf(high) else f" and at most {high:g}"
    raise ValueError(f"{name} must be a finite number {relation} {low:g}{upper}; {value!r} came")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words, or an error that lists them."""
    if value not in choices:
        raise ValueError(f"{name} is one of {choices}; {value!r} came")
    return str(value)


def check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is True or False; {value!r} came")
    return bool(value)


def check_count(name: str, value: Any) -> int:
    """A whole number of at least 1, or an error that says so."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; {value!r} came")
    if value >= 1 << 31:
        raise ValueError(f"{name} must be below 2^31; {value!r} came")
    return int(value)


def warn_empty_memory() -> None:
    warnings.warn(
        "the memory is empty: the action is the centre of the action box until the first episode "
        "has been written",
        UserWarning,
        stacklevel=5,
    )

"""Agents as files: one archive of plain arrays and a JSON manifest, checked when it is read."""

import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from scrubjay.agents.actions import ActionCodec
from scrubjay.agents.planning import with_transitions
from scrubjay.agents.recorder import HeldEpisode
from scrubjay.agents.spaces import build_space, describe_space
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.archive import (
    ArchiveError,
    damage_reported,
    read_archive,
    write_archive,
)
from scrubjay.registry import UnknownAgentError, agent_spec

if TYPE_CHECKING:
    from scrubjay.agents.base import MemoryAgent

Arrays = dict[str, npt.NDArray[Any]]

KIND = "agent"
SUFFIXES = (".scrub", ".zip")
# The errors that a manifest with wrong entries can cause.
MANIFEST_ERRORS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)


def save_agent(
    agent: "MemoryAgent", path: str | PathLike[str], training: Mapping[str, Any] | None = None
) -> None:
    """Save an agent in its state at the last episode boundary."""
    observation, observation_arrays = describe_space(agent.observation_space, "observation")
    action, action_arrays = describe_space(agent.action_space, "action")
    memories = {name: memory.state() for name, memory in agent.memories.items()}
    manifest = {
        "kind": KIND,
        "agent": agent.name,
        "config": agent.config(),
        "spaces": {"observation": observation, "action": action},
        "counters": agent.counters(),
        "memories": {name: config for name, (config, _) in memories.items()},
        "training": dict(training or {}),
    }
    arrays = {f"spaces/{name}": a for name, a in (observation_arrays | action_arrays).items()}
    arrays |= {f"embedding/{name}": array for name, array in agent.embedding_state().items()}
    arrays |= {f"held/{name}": array for name, array in _join(agent.held).items()}
    if agent.album is not None:
        arrays |= {f"album/{name}": array for name, array in agent.album.state().items()}
    for name, (_, columns) in memories.items():
        arrays |= {f"memories/{name}/{column}": array for column, array in columns.items()}
    write_archive(path, manifest, arrays)


def path_to_save(path: str | PathLike[str]) -> Path:
    """The path of a saved agent: a name without a suffix gets .scrub."""
    file = Path(path)
    return file if file.suffix else file.with_name(f"{file.name}.scrub")


def path_to_load(path: str | PathLike[str]) -> Path:
    """The file of a saved agent, whose suffix may be left out, or be the other of .scrub and .zip.

    Raises:
        FileNotFoundError: If there is none of them.
    """
    file = Path(path)
    names = [file, *(file.with_name(file.name + suffix) for suffix in SUFFIXES)]
    if file.suffix in SUFFIXES:
        names += [file.with_suffix(suffix) for suffix in SUFFIXES]
    found = [name for name in names if name.is_file()]
    if not found:
        raise FileNotFoundError(f"expected a saved agent, got {file}, which does not exist")
    return found[0]


def check_own(path: str | PathLike[str]) -> None:
    """Refuse a model of Stable-Baselines3, which is a zip too.

    Raises:
        ArchiveError: If the file is one.
    """
    if not zipfile.is_zipfile(path):
        return  # `read_archive` says what it is
    with damage_reported(Path(path)), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if "_stable_baselines3_version" in names:
        raise ArchiveError(
            f"cannot load {path}: expected an agent saved by this class, got a model of "
            f"Stable-Baselines3; load it with its own class, such as "
            f'stable_baselines3.SAC.load("{path}")'
        )


def load_agent(cls: type[Any], path: str | PathLike[str]) -> Any:
    """Read an agent of the class `cls`, or of a class below it, without an environment."""
    check_own(path)
    manifest, arrays = read_archive(path, KIND)
    try:
        name, config = upgraded(manifest["agent"], manifest["config"])
        found = agent_spec(name).load() if name != manifest["agent"] else find_class(cls, name)
        agent = _build(found, {**manifest, "config": config}, arrays)
        _restore(agent, _with_memory_names(manifest), _renamed(arrays))
    except ArchiveError as error:
        raise ArchiveError(f"cannot load {path}: {error}") from error
    except MANIFEST_ERRORS as error:
        raise ArchiveError(f"cannot load {path}: {type(error).__name__}: {error}") from error
    return agent


def read_training(path: str | PathLike[str]) -> dict[str, Any]:
    """The training state in a checkpoint, for a resumed run."""
    return dict(read_archive(path, KIND)[0].get("training", {}))


def read_memories(path: str | PathLike[str]) -> dict[str, Arrays]:
    """The arrays of each memory in a saved agent, by name, whether or not its class is installed.

    Args:
        path: A file of `save`.

    Returns:
        For each memory its keys, values, stamps, recency order and columns.
    """
    arrays = _renamed(read_archive(path, KIND)[1])
    names = dict.fromkeys(name.split("/")[1] for name in arrays if name.startswith("memories/"))
    return {name: _below(arrays, f"memories/{name}/") for name in names}


def read_album(path: str | PathLike[str]) -> dict[str, Arrays]:
    """The pictures of the best rows in a saved agent, by memory, whether its class is installed.

    Args:
        path: A file of `save`.

    Returns:
        For each memory that has any its `rows` and their `pictures`.
    """
    arrays = _below(read_archive(path, KIND)[1], "album/")
    names = dict.fromkeys(name.split("/")[0] for name in arrays)
    return {name: _below(arrays, f"{name}/") for name in names}


# ---------------------------------------------------------------- files of older versions


# Settings that `CEC` had in 0.1.0, with the values that did nothing; they are those of `CECPlus`.
NEUTRAL: Mapping[str, Any] = {
    "epsilon_spread": 1.0,
    "hold": 1,
    "skip_worthless": False,
    "detour_cost": None,
    "stitching": False,
    "temperature_unit": "return",
    "timeouts": "end",
    "measure_keys": False,
    "planning": 0.0,
    "discovery": False,
    "goal_planning": False,
}


REMOVED = ("correction",)  # settings of earlier versions that no method has any more


def upgraded(name: str, config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The method and settings of today for those of a file or run folder of an older version.

    In 0.1.0 `CECPlus` was `CEC` with other settings, so a `cec` with such settings is a `cec-plus`.
    """
    config = {key: value for key, value in config.items() if key not in REMOVED}
    if name not in ("cec", "cec-stale"):
        return name, config
    used = [key for key, value in NEUTRAL.items() if config.get(key, value) != value]
    if used or config.get("distance_threshold") == "step":
        return "cec-plus", {**NEUTRAL, **config}
    return name, {key: value for key, value in config.items() if key not in NEUTRAL}


def _with_memory_names(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """In 0.1.0 there was one memory, without a name."""
    if "memories" in manifest:
        return manifest
    return {**manifest, "memories": {"memory": manifest["memory"]}}


def _renamed(arrays: Arrays) -> Arrays:
    return {
        f"memories/{name}" if name.startswith("memory/") else name: array
        for name, array in arrays.items()
    }


# ---------------------------------------------------------------- reading


def find_class(cls: type[Any], name: Any) -> type[Any]:
    """The class that saved a file: `cls` itself if it saves under that name, or one below it."""
    # a subclass without a name of its own saves under the one that it inherits
    if name == getattr(cls, "name", None):
        return cls
    found: type[Any] | None = cls.known_class(name)
    if found is None:
        try:
            found = agent_spec(str(name)).load()
        except UnknownAgentError as error:
            raise ArchiveError(
                f"it was saved by an agent with name = {name!r}, and no such class is known: "
                "import the module that defines it, or call load on that class"
            ) from error
    if not issubclass(found, cls):
        raise ArchiveError(
            f"it was saved by {found.__name__}, which is no {cls.__name__}: "
            f"use {found.__name__}.load"
        )
    return cast("type[Any]", found)


def _build(cls: type[Any], manifest: Mapping[str, Any], arrays: Arrays) -> Any:
    from scrubjay.agents.base import Spaces

    spaces = _below(arrays, "spaces/")
    described = manifest["spaces"]
    observation = build_space(described["observation"], spaces, "observation")
    action = build_space(described["action"], spaces, "action")
    return cls.from_config(Spaces(observation, action), manifest["config"])


def _restore(agent: "MemoryAgent", manifest: Mapping[str, Any], arrays: Arrays) -> None:
    counters = dict(manifest["counters"])
    counters["next_episodes"] = {
        int(key): _count(n) for key, n in counters["next_episodes"].items()
    }
    for name in ("num_timesteps", "n_episodes", "n_dropped_episodes"):
        _count(counters[name])
    if min(counters["next_episodes"], default=0) < 0:
        raise ArchiveError("environments are numbered from 0")
    agent.embedding.restore(_below(arrays, "embedding/"))
    agent.restore_counters(counters)
    memories = {
        name: EpisodicMemory.from_state(
            *_with_columns(agent, name, config, _below(arrays, f"memories/{name}/")),
            _index_name(agent, name),
        )
        for name, config in manifest["memories"].items()
    }
    held = _split(_below(arrays, "held/"), agent.flattener.size, agent.codec)
    _check_memories(agent, memories, held)
    if agent.album is not None:
        agent.album.restore(_below(arrays, "album/"), memories)
    # in the agent's own order, which a file does not keep
    agent.memories = {name: memories[name] for name in agent.memories}
    agent.held = held
    agent.memory_changed()


def _with_columns(
    agent: "MemoryAgent", name: str, config: dict[str, Any], arrays: Arrays
) -> tuple[dict[str, Any], Arrays]:
    """The state of a memory; until 0.2.0, `CECPlus` did not keep where its rows led to."""
    made = agent.memories.get(name)
    if made is None or "next" not in made.column_arrays or "next" in config["columns"]:
        return config, arrays
    return with_transitions(config, arrays)


def _index_name(agent: "MemoryAgent", name: str) -> str:
    """The name of a memory's index, which a file does not contain."""
    return agent.memories[name].index_name if name in agent.memories else "auto"


def _check_memories(
    agent: "MemoryAgent", memories: Mapping[str, EpisodicMemory], held: list[HeldEpisode]
) -> None:
    """Refuse memories that this agent, with its settings, cannot have made."""
    if memories.keys() != agent.memories.keys():
        raise ArchiveError(
            f"expected the memories {sorted(agent.memories)}, got {sorted(memories)}"
        )
    for name, memory in memories.items():
        _check_layout(agent.memories[name], memory)
        if "action" in memory.columns:
            check_stored_actions(agent.codec, memory.columns["action"])
        if len(memory) > 0 and not agent.embedding.ready:
            raise ArchiveError("its memory has rows, but its embedding has no keys yet")
    measured = all(memory.distance_threshold > 0 for memory in memories.values())
    if held and agent.embedding.ready and measured:
        raise ArchiveError("it has episodes that wait for keys, but its embedding is ready")


def _check_layout(made: EpisodicMemory, found: EpisodicMemory) -> None:
    expected, layout = _layout(made), _layout(found)
    if made.distance_threshold == 0:  # it is measured in the first episodes
        del expected["distance_threshold"]
    for name, value in expected.items():
        if layout[name] != value:
            raise ArchiveError(
                f"its settings and its memory contradict each other: {name} is {value} and "
                f"{layout[name]}"
            )


def _layout(memory: EpisodicMemory) -> dict[str, Any]:
    """The properties of a memory that the settings of its agent determine."""
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


def check_stored_actions(codec: ActionCodec, stored: npt.NDArray[Any]) -> None:
    """Refuse stored actions that the environment could not execute."""
    low, high = codec.bounds
    possible = (low <= stored) & (stored <= high)
    if codec.discrete:
        possible &= stored == np.floor(stored)
    if not possible.all():
        bad = stored[~possible.all(axis=1)][0]
        whole = "whole numbers" if codec.discrete else "numbers"
        raise ArchiveError(f"expected stored actions of {whole} from {low} to {high}, got {bad}")


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise ArchiveError(f"a counter must be a whole number of at least 0, got {value!r}")
    return value


def _below(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Arrays:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


# ---------------------------------------------------------------- episodes that wait for keys


def _join(held: list[HeldEpisode]) -> Arrays:
    """Held episodes end to end: there may be thousands, and a file has few arrays."""
    if not held:
        return {}
    return {
        "lengths": np.array([len(episode.rewards) for episode in held]),
        "terminated": np.array([episode.terminated for episode in held]),
        "vectors": np.concatenate([episode.vectors for episode in held]),
        "actions": np.concatenate([episode.actions for episode in held]),
        "rewards": np.concatenate([episode.rewards for episode in held]),
        "last": np.array([last_vector(episode) for episode in held]),
    }


def last_vector(episode: HeldEpisode) -> npt.NDArray[np.float64]:
    """The observation after the last action; NaN in an episode of 0.2.0, which did not keep it."""
    unknown = np.full(episode.vectors.shape[1], np.nan)
    return unknown if episode.last is None else episode.last


def _split(arrays: Arrays, observation_size: int, codec: ActionCodec) -> list[HeldEpisode]:
    """The episodes that `_join` put end to end, checked."""
    if not arrays:
        return []
    lengths = arrays["lengths"]
    if lengths.ndim != 1 or lengths.dtype != np.int64 or not len(lengths) or lengths.min() < 1:
        raise ArchiveError(f"held episodes have the lengths {lengths}")
    # 0.1.0 added what comes after a time-out to the last reward before it held an episode
    terminated = arrays.get("terminated", np.ones(len(lengths), np.bool_))
    n = sum(lengths.tolist())
    expected = {
        "terminated": (np.dtype(np.bool_), (len(lengths),)),
        "vectors": (np.dtype(np.float64), (n, observation_size)),
        "actions": (np.dtype(np.float32), (n, codec.size)),
        "rewards": (np.dtype(np.float64), (n,)),
    }
    arrays = {**arrays, "terminated": terminated}
    lasts = _last_vectors(arrays.pop("last", None), len(lengths), observation_size)
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
    check_stored_actions(codec, arrays["actions"])
    ends = np.cumsum(lengths)[:-1]
    parts = [np.split(arrays[name], ends) for name in ("vectors", "actions", "rewards")]
    return [
        HeldEpisode(vectors, actions, rewards, bool(ended), last)
        for vectors, actions, rewards, ended, last in zip(*parts, terminated, lasts, strict=True)
    ]


def _last_vectors(
    array: npt.NDArray[Any] | None, n: int, size: int
) -> list[npt.NDArray[np.float64] | None]:
    """The observation after each held episode, None if the file does not contain it."""
    if array is None:
        return [None] * n
    if (array.dtype, array.shape) != (np.dtype(np.float64), (n, size)):
        raise ArchiveError(f"held last vectors have {array.dtype} of shape {array.shape}")
    known = ~np.isnan(array).all(axis=1)
    if not np.isfinite(array[known]).all():
        raise ArchiveError("held last vectors have numbers that are not finite")
    return [row if here else None for row, here in zip(array, known, strict=True)]

"""Random episodes of an environment, for `scrubjay check-env`: what its steps returned."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from scrubjay.training.environments import EpisodeLimit
from scrubjay.training.records import SuccessReader

Floats = npt.NDArray[np.float64]

HOLD = 20  # the longest time that a random action is held, so that it leads somewhere
LONGEST_TEXT = 200  # characters of an observation in a message
WIDE = 200  # numbers of an observation, such as an image, from which on single ones say nothing
KEPT_NUMBERS = 20_000_000  # of wide observations: 5,000 screens of Atari games would be 4 GB


@dataclass
class Played:
    """Random episodes: what their steps returned.

    Attributes:
        observations: The observations of each episode, as vectors; of images only some.
        rewards: The reward of each step.
        returns: The return of each episode.
        lengths: The steps of each episode.
        terminated: Whether each episode ended by itself, not by a time limit.
        successes: Whether each episode was solved, None without a success signal.
        info_keys: The entries of `info` at the end of episodes.
        n_outside: Observations that are not in their space.
        why_outside: Why the first of them is not.
        n_changed: Observations that changed after they had been returned.
        endless: Episodes that were given up.
        other_shape: An observation of another shape than the first, in words; "" if there is none.
    """

    observations: list[list[Floats]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    terminated: list[bool] = field(default_factory=list)
    successes: list[bool | None] = field(default_factory=list)
    info_keys: set[str] = field(default_factory=set)
    n_outside: int = 0
    why_outside: str = ""
    n_changed: int = 0
    endless: int = 0
    other_shape: str = ""


def play_at_random(
    env: gymnasium.Env[Any, Any], n_steps: int, success_key: str | None = None
) -> Played:
    """Play random actions, each held for up to `HOLD` steps, as agents explore.

    Args:
        env: The environment.
        n_steps: How many steps to play, at least; the last episode is completed.
        success_key: The entry of `info` that says whether an episode was solved.

    Returns:
        What the steps returned.
    """
    played, reader = Played(), SuccessReader(success_key)
    rng = np.random.default_rng(0)
    env.action_space.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(played.rewards) < n_steps and not played.other_shape:
            _play(env, played, reader, rng, n_steps)
    return played


def _play(
    env: gymnasium.Env[Any, Any],
    played: Played,
    success_of: SuccessReader,
    rng: np.random.Generator,
    n_steps: int,
) -> None:
    """One episode."""
    observation, _ = env.reset(seed=len(played.lengths))
    vectors = [as_vector(observation)]
    n_numbers = len(vectors[0])
    every = 1 + n_numbers * n_steps // KEPT_NUMBERS if n_numbers > WIDE else 1
    rewards: list[float] = []
    action, held = None, 0
    while len(rewards) < EpisodeLimit.LONG:
        if held == 0:
            action, held = env.action_space.sample(), int(rng.integers(1, HOLD + 1))
        held -= 1
        before, copied = observation, as_vector(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        played.n_changed += not np.array_equal(as_vector(before), copied, equal_nan=True)
        if not env.observation_space.contains(observation):
            played.n_outside += 1
            played.why_outside = played.why_outside or outside(env.observation_space, observation)
        vector = as_vector(observation)
        if len(rewards) % every == 0 or not np.isfinite(vector).all():
            vectors.append(vector)
        rewards.append(as_number(reward))
        if len(vector) != n_numbers:
            played.other_shape = f"shape {np.shape(observation)} at step {len(rewards)}"
            return
        if terminated or truncated:
            played.terminated.append(bool(terminated))
            played.successes.append(success_of(info))
            played.info_keys |= set(map(str, info))
            break
    else:
        played.endless += 1
        played.terminated.append(False)
        played.successes.append(None)
    played.observations.append(vectors)
    played.rewards += rewards
    played.returns.append(sum(rewards))
    played.lengths.append(len(rewards))


def outside(space: gymnasium.Space[Any], observation: Any) -> str:
    """Why an observation is not in its space.

    Args:
        space: The space.
        observation: The observation.

    Returns:
        What is expected and what it is; "" if it is in its space, or if there is no simple reason.
    """
    if space.contains(observation):
        return ""
    if isinstance(space, spaces.Dict) and isinstance(observation, Mapping):
        if missing := [name for name in space.spaces if name not in observation]:
            return f"no entry {missing[0]!r}"
        if unknown := [name for name in observation if name not in space.spaces]:
            return f"unexpected entry {unknown[0]!r}"
        return _part_outside(space.spaces, observation)
    if isinstance(space, spaces.Tuple) and isinstance(observation, tuple):
        if len(observation) != len(space.spaces):
            return f"expected {len(space.spaces)} parts, got {len(observation)}"
        return _part_outside(dict(enumerate(space.spaces)), observation)
    if not isinstance(space, spaces.Box):
        return f"expected a value of {space}, got {_brief(observation)}"
    if not isinstance(observation, np.ndarray):
        return f"expected a NumPy array, got a {type(observation).__name__}"
    if observation.shape != space.shape:
        return f"expected shape {space.shape}, got {observation.shape}"
    if not np.can_cast(observation.dtype, space.dtype):
        return f"expected {space.dtype}, got {observation.dtype}"
    low, high = observation < space.low, observation > space.high
    if not (low | high).any():
        return ""
    place = tuple(map(int, np.argwhere(low | high)[0]))
    bound, word = (space.low, "least") if low[place] else (space.high, "most")
    i = place[0] if len(place) == 1 else place
    return f"dimension {i}: expected at {word} {bound[place]:g}, got {observation[place]:g}"


def _part_outside(parts: Mapping[Any, gymnasium.Space[Any]], observation: Any) -> str:
    """Why the first part that is not in its space is not."""
    wrong = next(name for name, part in parts.items() if not part.contains(observation[name]))
    return f"{wrong!r}: {outside(parts[wrong], observation[wrong])}"


def _brief(observation: Any) -> str:
    text = repr(observation)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def as_vector(observation: Any) -> Floats:
    """An observation as a new flat vector; categories as their numbers.

    Args:
        observation: The observation.

    Returns:
        Its numbers.
    """
    if isinstance(observation, Mapping):
        return np.concatenate([as_vector(part) for part in observation.values()])
    if isinstance(observation, tuple):
        return np.concatenate([as_vector(part) for part in observation])
    return np.array(observation, dtype=np.float64).reshape(-1)


def as_number(reward: Any) -> float:
    """A reward as a number, also that of an array with one element.

    Args:
        reward: What `step` returned.

    Returns:
        The number.
    """
    return float(np.asarray(reward).reshape(-1)[0])

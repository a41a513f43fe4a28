"""Checks an environment before training: what is expected, what was found, how to fix it.

Gymnasium's own checker comes first, then what matters to methods that compare states: bounded
actions, reproducible episodes that end, a success signal, rewards and observations of sensible
scale, sensors that measure nothing, and how often random actions succeed.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from scrubjay.embedding.parts import KINDS, Part, find_parts
from scrubjay.training.environments import EpisodeLimit, time_limit
from scrubjay.training.records import SuccessReader

Level = Literal["ok", "advice", "problem"]
Floats = npt.NDArray[np.float64]

N_COMPARED = 50  # steps that are compared between two environments of the same seed
HOLD = 20  # the longest time that a random action is held, so that it leads somewhere
WHITE = 0.1  # a dimension whose lag-1 autocorrelation is below this is noise
MIN_STEPS = 200  # steps that are needed to say so
SPREAD = 1000.0  # how many times larger one dimension may be than another
LARGEST_REWARD = 1e4
ROUNDING = 1e-8  # changes of a number of size 1 that are rounding errors
DENSE = 0.5  # share of steps with a reward of their own from which on rewards are not sparse
SMALL_IMAGE = 3  # axes of an observation that is an image


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Attributes:
        level: "ok", "advice" (training works, but may disappoint) or "problem".
        what: What was checked.
        expected: What is expected.
        found: What was found.
        fix: What to do about it, if anything.
    """

    level: Level
    what: str
    expected: str
    found: str
    fix: str = ""


@dataclass
class Played:
    """Random episodes: what their steps returned."""

    observations: list[list[Floats]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    terminated: list[bool] = field(default_factory=list)
    successes: list[bool | None] = field(default_factory=list)
    info_keys: set[str] = field(default_factory=set)
    n_outside: int = 0
    n_changed: int = 0
    endless: int = 0


def check_environment(
    make: Callable[[], gymnasium.Env[Any, Any]],
    n_steps: int = 5000,
    success_key: str | None = None,
) -> list[Finding]:
    """Check an environment.

    Args:
        make: Creates the environment; it is called several times.
        n_steps: How many random steps to play.
        success_key: The entry of `info` that says whether an episode was solved.

    Returns:
        What was found, one entry for each check.
    """
    env = make()
    spaces_found = [*check_action_space(env.action_space), *check_observation_space(env)]
    found = [*check_with_gymnasium(make), *spaces_found]
    if any(finding.level == "problem" for finding in spaces_found):
        return found  # random actions could not be played
    if wrong := list(check_results(make)):
        return [*found, *wrong]
    found += check_reproducible(make)
    played = play_at_random(env, n_steps, success_key)
    env.close()
    limit = time_limit(env)
    return [
        *found,
        *check_ends(played, limit),
        *check_success(played, success_key),
        *check_rewards(played),
        *check_numbers(played),
        *check_dimensions(played),
    ]


# ---------------------------------------------------------------- spaces and interface


def check_with_gymnasium(make: Callable[[], gymnasium.Env[Any, Any]]) -> Iterator[Finding]:
    """The findings of Gymnasium's own checker; its warnings become advice."""
    what, expected = "Gymnasium's checker", "an environment that follows Gymnasium's interface"
    env = make()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            check_env(env.unwrapped, skip_render_check=True)
        except Exception as error:  # its own assertions, and whatever the environment raises
            yield Finding(
                "problem", what, expected, _one_line(error), "change what the message names"
            )
            return
        finally:
            env.close()
    texts = dict.fromkeys(_one_line(each.message) for each in said)
    texts = {text: None for text in texts if "infinity" not in text}  # no limit is not a mistake
    for text in texts:
        yield Finding("advice", what, expected, text, "change what the message names")
    if not texts:
        yield Finding("ok", what, expected, "nothing to complain about")


def check_action_space(space: gymnasium.Space[Any]) -> Iterator[Finding]:
    """Bounded Box, Discrete or MultiDiscrete."""
    what, expected = "actions", "a bounded Box, Discrete or MultiDiscrete space"
    if isinstance(space, spaces.Box) and not space.is_bounded():
        yield Finding(
            "problem", what, expected, f"{space}",
            "give the Box finite bounds, or wrap the environment: gymnasium.wrappers."
            "TransformAction(env, lambda action: action, Box(-1, 1, ...))",
        )  # fmt: skip
    elif not isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete):
        yield Finding("problem", what, expected, f"{space}", "use one of these spaces")
    else:
        yield Finding("ok", what, expected, f"{space}")


def check_observation_space(env: gymnasium.Env[Any, Any]) -> Iterator[Finding]:
    """Numbers or categories; with goals, a vectorised `compute_reward`, to plan with."""
    space, what = env.observation_space, "observations"
    expected = f"numbers: {KINDS}"
    try:
        parts = find_parts(space)
    except TypeError as error:
        fix = str(error).partition("; ")[2]
        yield Finding("problem", what, expected, _one_line(space), fix)
        return
    yield Finding("ok", what, expected, ", ".join(map(_short, parts)))
    if isinstance(space, spaces.Dict) and {"achieved_goal", "desired_goal"} <= set(space.spaces):
        yield _goals(env)


def _goals(env: gymnasium.Env[Any, Any]) -> Finding:
    expected = "compute_reward(achieved, desired, info) for many goals at once"
    assert isinstance(env.observation_space, spaces.Dict)
    goal = env.observation_space["desired_goal"].sample()
    compute = getattr(env, "compute_reward", getattr(env.unwrapped, "compute_reward", None))
    try:
        assert compute is not None, "no compute_reward"
        shape = np.shape(compute(np.stack([goal] * 3), np.stack([goal] * 3), [{}] * 3))
        assert shape == (3,), f"rewards of shape {shape} for three goals"
    except Exception as error:  # user's code
        text = _one_line(error)
        return Finding("advice", "goals", expected, text, "write it with NumPy's batched functions")
    return Finding("ok", "goals", expected, "works")


def check_results(make: Callable[[], gymnasium.Env[Any, Any]]) -> Iterator[Finding]:
    """What `reset` and `step` return, only if it is wrong."""
    env = make()
    try:
        for what, expected, call in (
            ("reset", "(observation, info)", env.unwrapped.reset),
            (
                "step",
                "(observation, reward, terminated, truncated, info)",
                lambda: env.unwrapped.step(env.action_space.sample()),
            ),
        ):
            result: Any = call()
            n = expected.count(",") + 1
            if not isinstance(result, tuple) or len(result) != n:
                kind = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result)
                fix = "return these, as Gymnasium does since version 0.26"
                yield Finding("problem", what, f"{n} values: {expected}", f"{kind}", fix)
                return
    finally:
        env.close()


def check_reproducible(make: Callable[[], gymnasium.Env[Any, Any]]) -> Iterator[Finding]:
    """Two environments with the same seed and the same actions behave the same."""
    expected = "the same seed gives the same first observation"
    first, second = make(), make()
    try:
        start, again = (_vector(env.reset(seed=7)[0]) for env in (first, second))
        if not np.array_equal(start, again, equal_nan=True):
            yield Finding(
                "problem", "reset", expected, "two resets with seed 7 differ",
                "draw random numbers from self.np_random, after super().reset(seed=seed)",
            )  # fmt: skip
            return
        yield Finding("ok", "reset", expected, "the same")
        expected = "the same seed and actions give the same episode"
        step = _first_difference(first, second)
        if step is None:
            yield Finding("ok", "step", expected, f"the same for {N_COMPARED} steps")
        else:
            yield Finding(
                "advice", "step", expected, f"different from step {step} on",
                "draw random numbers from self.np_random only; a real robot cannot do better",
            )  # fmt: skip
    finally:
        first.close()
        second.close()


def _first_difference(
    first: gymnasium.Env[Any, Any], second: gymnasium.Env[Any, Any]
) -> int | None:
    first.action_space.seed(7)
    for step in range(N_COMPARED):
        action = first.action_space.sample()
        results = [env.step(action) for env in (first, second)]
        (one, reward, ends, cut, _), (other, other_reward, *_) = results
        seen, others = (
            np.append(_vector(what), float(np.asarray(value).reshape(-1)[0]))
            for what, value in ((one, reward), (other, other_reward))
        )
        if not np.array_equal(seen, others, equal_nan=True):
            return step
        if ends or cut:
            return None
    return None


# ---------------------------------------------------------------- random episodes


def play_at_random(
    env: gymnasium.Env[Any, Any], n_steps: int, success_key: str | None = None
) -> Played:
    """Play random actions, each held for up to `HOLD` steps, as agents explore."""
    played, reader = Played(), SuccessReader(success_key)
    rng = np.random.default_rng(0)
    env.action_space.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(played.rewards) < n_steps:
            _play(env, played, reader, rng, EpisodeLimit.LONG)
    return played


def _play(
    env: gymnasium.Env[Any, Any],
    played: Played,
    success_of: SuccessReader,
    rng: np.random.Generator,
    longest: int,
) -> None:
    """One episode."""
    observation, _ = env.reset(seed=len(played.lengths))
    vectors = [_vector(observation)]
    rewards: list[float] = []
    action, held = None, 0
    while len(rewards) < longest:
        if held == 0:
            action, held = env.action_space.sample(), int(rng.integers(1, HOLD + 1))
        held -= 1
        before, copied = observation, _vector(observation)
        observation, reward, terminated, truncated, info = env.step(action)
        played.n_changed += not np.array_equal(_vector(before), copied, equal_nan=True)
        played.n_outside += not env.observation_space.contains(observation)
        vectors.append(_vector(observation))
        rewards.append(float(np.asarray(reward).reshape(-1)[0]))
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


def check_ends(played: Played, limit: int | None) -> Iterator[Finding]:
    """Episodes end, and a time-out is reported as one."""
    what, expected = "episodes", "episodes that end, or a time limit"
    if played.endless:
        yield Finding(
            "problem", what, expected, f"an episode of more than {EpisodeLimit.LONG:,} steps",
            "set max_episode_steps when you register or make it, or wrap it in "
            "gymnasium.wrappers.TimeLimit",
        )  # fmt: skip
        return
    lengths = played.lengths
    found = f"{len(lengths)} of {min(lengths)} to {max(lengths)} steps"
    yield Finding("ok", what, expected, f"{found}; time limit: {limit or 'none declared'}")
    same_end = len(lengths) >= 3 and len(set(lengths)) == 1 and lengths[0] > 1
    if same_end and all(played.terminated):
        yield Finding(
            "advice", "time limit", "truncated=True when time is up",
            f"every episode is terminated after {lengths[0]} steps",
            "return terminated=False, truncated=True at the time limit, or leave it to TimeLimit",
        )  # fmt: skip


def check_success(played: Played, success_key: str | None) -> Iterator[Finding]:
    """A success signal, and how often random actions succeed."""
    expected = f"{success_key or 'is_success'} in info at an episode's end"
    known = [success for success in played.successes if success is not None]
    if not known:
        entries = ", ".join(sorted(played.info_keys)) or "no entries"
        yield Finding(
            "advice", "success", expected, f"info has {entries}",
            'return {"is_success": ...} as info, or name another entry by --success-key',
        )  # fmt: skip
        return
    rate = float(np.mean(known))
    found = f"{rate:.0%} of {len(known)} random episodes succeed"
    if rate == 0:
        yield Finding(
            "advice", "success", "random actions that succeed now and then", found,
            "nothing can be learned before the first success: begin some episodes nearer to the "
            "goal, make them longer, or expect many episodes without any",
        )  # fmt: skip
    else:
        yield Finding("ok", "success", expected, found)


def check_rewards(played: Played) -> Iterator[Finding]:
    """Rewards are finite, sparse and of a reasonable size."""
    rewards = np.array(played.rewards)
    if not np.isfinite(rewards).all():
        yield Finding(
            "problem", "rewards", "finite rewards",
            f"{rewards[~np.isfinite(rewards)][0]} in {(~np.isfinite(rewards)).sum()} steps",
            "find the division by zero or the overflow in step",
        )  # fmt: skip
        return
    most_common = float(np.median(rewards))
    share = float(np.mean(rewards != most_common))
    found = f"{share:.1%} of the steps have another reward than {most_common:g}"
    if most_common and not share:
        found = f"every step pays {most_common:g}: the return counts steps"
    largest = float(np.abs(rewards).max())
    if largest > LARGEST_REWARD:
        yield Finding(
            "advice", "rewards", f"rewards of at most {LARGEST_REWARD:g}",
            f"one of {largest:g}", "divide all rewards by the largest one",
        )  # fmt: skip
    if share > DENSE:
        yield Finding(
            "advice", "rewards", "sparse rewards, which a memory of returns is made for", found,
            "compare with a method that learns from every reward, such as sac",
        )  # fmt: skip
    else:
        yield Finding("ok", "rewards", "finite and sparse", found)


def check_numbers(played: Played) -> Iterator[Finding]:
    """Observations that are finite, within their space, and not changed afterwards."""
    matrix = np.concatenate([np.array(vectors) for vectors in played.observations])
    if not np.isfinite(matrix).all():
        bad = sorted(set(np.flatnonzero(~np.isfinite(matrix).all(axis=0)).tolist()))
        yield Finding(
            "problem", "numbers", "finite observations", f"NaN or infinity in dimensions {bad}",
            "find out where they come from; an agent refuses them",
        )  # fmt: skip
        return
    if played.n_outside:
        yield Finding(
            "advice", "numbers", "observations within observation_space",
            f"{played.n_outside} of {len(played.rewards)} are outside",
            "widen the space, or clip; check its dtype too",
        )  # fmt: skip
    if played.n_changed:
        yield Finding(
            "problem", "numbers", "a new array for each observation",
            "an observation changes after it was returned", "return observation.copy()",
        )  # fmt: skip
    if not played.n_outside and not played.n_changed:
        yield Finding(
            "ok", "numbers", "finite observations of their own", "finite, within the space"
        )


def check_dimensions(played: Played) -> Iterator[Finding]:
    """Dimensions that do not move, that differ in scale, or that are noise."""
    episodes = [np.array(vectors) for vectors in played.observations]
    matrix = np.concatenate(episodes)
    if not np.isfinite(matrix).all() or matrix.shape[1] > MIN_STEPS:
        return  # of images, single pixels say nothing
    spread = matrix.std(axis=0)
    moving = _moves(matrix)
    what, constant = "dimensions", np.flatnonzero(~moving).tolist()
    if constant:
        yield Finding(
            "advice", what, "dimensions that change", f"always the same: {_listed(constant)}",
            "nothing needs to be done: they do not change distances",
        )  # fmt: skip
    if moving.any() and spread.max() > SPREAD * spread[moving].min():
        low, high = int(np.argmin(np.where(moving, spread, np.inf))), int(spread.argmax())
        yield Finding(
            "advice", what, f"scales that differ by less than {SPREAD:g} times",
            f"dimension {high} varies {spread[high] / spread[low]:,.0f} times as much as {low}",
            "cec-plus divides by the spread itself; for cec use the embedding RunningNormalizer",
        )  # fmt: skip
    noise = noise_dimensions(episodes)
    if noise:
        yield Finding(
            "advice", what, "sensors that tell something",
            f"white noise, no value depends on the one before: {_listed(noise)}",
            "leave them out, for example by the embedding SelectKeys or a wrapper",
        )  # fmt: skip
    if not constant and not noise:
        yield Finding(
            "ok", what, "no sensor of noise", f"none of {matrix.shape[1]} is noise or constant"
        )


def _moves(matrix: Floats) -> npt.NDArray[np.bool_]:
    """Which dimensions change by more than rounding errors, which simulators always have."""
    moves: npt.NDArray[np.bool_] = matrix.std(axis=0) > ROUNDING * (1 + np.abs(matrix).max(axis=0))
    return moves


def noise_dimensions(episodes: Sequence[Floats]) -> list[int]:
    """Dimensions whose values do not depend on the values one step before."""
    before = np.concatenate([episode[:-1] for episode in episodes])
    after = np.concatenate([episode[1:] for episode in episodes])
    if len(before) < MIN_STEPS:
        return []
    found, moving = [], _moves(before)
    for i in range(before.shape[1]):
        x, y = before[:, i], after[:, i]
        # a flag that is mostly constant is not noise
        if moving[i] and y.std() > 0 and len(np.unique(x)) > MIN_STEPS // 2:
            correlation = float(np.corrcoef(x, y)[0, 1])
            if abs(correlation) < WHITE:
                found.append(i)
    return found


# ---------------------------------------------------------------- advice


def method_to_try(env: gymnasium.Env[Any, Any], findings: Sequence[Finding]) -> tuple[str, str]:
    """The method to try first, and why.

    Args:
        env: The environment.
        findings: What was found in it.

    Returns:
        The name of the method and a reason.
    """
    parts = env.observation_space
    is_image = isinstance(parts, spaces.Box) and len(parts.shape) >= SMALL_IMAGE - 1
    if is_image and isinstance(env.action_space, spaces.Discrete):
        return "mfec", "it is made for images and discrete actions"
    dense = any(each.what == "rewards" and "sac" in each.fix for each in findings)
    if dense and isinstance(env.action_space, spaces.Box):
        return "cec-plus", "it needs no settings and seconds; then sac, because rewards are dense"
    return "cec-plus", "it needs no settings"


def _vector(observation: Any) -> Floats:
    """An observation as a new flat vector; categories as their numbers."""
    if isinstance(observation, Mapping):
        return np.concatenate([_vector(part) for part in observation.values()])
    if isinstance(observation, tuple):
        return np.concatenate([_vector(part) for part in observation])
    return np.array(observation, dtype=np.float64).reshape(-1)


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    more = f" and {len(numbers) - 8} more" if len(numbers) > 8 else ""
    return f"{'dimension' if len(numbers) == 1 else 'dimensions'} {shown}{more}"


def _short(part: Part) -> str:
    name = part.place if isinstance(part.place, str) else ".".join(map(str, part.place))
    space = part.space
    if isinstance(space, spaces.Box):
        return f"{name} {space.shape}" if name else f"Box of shape {space.shape}, {space.dtype}"
    return f"{name} {space}".strip() + (", one-hot" if part.coded else "")


def _one_line(error: object) -> str:
    text = " ".join(str(error).replace("\x1b[33mWARN: ", "").replace("\x1b[0m", "").split())
    text = text or type(error).__name__
    return text if len(text) <= 300 else f"{text[:297]}..."


def worst(findings: Sequence[Finding]) -> Level:
    """The most serious level among them."""
    levels: list[Level] = ["problem", "advice"]
    return next((level for level in levels if any(f.level == level for f in findings)), "ok")

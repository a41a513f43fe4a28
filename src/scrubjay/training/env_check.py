"""Checks an environment before training: what is expected, what was found, how to fix it.

Gymnasium's own checker comes first, then what matters to methods that compare states: bounded
actions, reproducible episodes that end, a success signal, rewards and observations of sensible
scale, sensors that measure nothing, and how often random actions succeed.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from scrubjay.embedding.goal import has_goals
from scrubjay.embedding.parts import KINDS, Part, find_parts
from scrubjay.training.env_play import (
    WIDE,
    Played,
    as_number,
    as_vector,
    outside,
    play_at_random,
)
from scrubjay.training.environments import EpisodeLimit, time_limit

Level = Literal["ok", "advice", "problem"]
Floats = npt.NDArray[np.float64]

GYMNASIUM_FIX = "correct what the message says"

N_COMPARED = 50  # steps that are compared between two environments of the same seed
NO_SUCCESS_KEY = "info has"  # begins what is found if the expected entry is missing
WHITE = 0.1  # a dimension whose lag-1 autocorrelation is below this is noise
MIN_STEPS = 200  # steps that are needed to say so
SPREAD = 1000.0  # how many times larger one dimension may be than another
LARGEST_REWARD = 1e4
ROUNDING = 1e-8  # changes of a number of size 1 that are rounding errors
DENSE = 0.5  # share of steps with a reward of their own from which on rewards are not sparse
IMAGE_SIDE = 8  # pixels of the smallest image; smaller arrays are tables of numbers
UNLIMITED = 1e6  # bounds of actions that are farther apart do not count as bounds


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of Gymnasium are findings
        return _check(make, n_steps, success_key)


def _check(
    make: Callable[[], gymnasium.Env[Any, Any]], n_steps: int, success_key: str | None
) -> list[Finding]:
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
    if played.other_shape:
        return [*found, _other_shape(played)]
    limit = time_limit(env)
    return [
        *found,
        *check_ends(played, limit),
        *check_success(played, success_key, has_goals(env.observation_space)),
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
            yield Finding("problem", what, expected, _one_line(error), GYMNASIUM_FIX)
            return
        finally:
            env.close()
    texts = dict.fromkeys(_one_line(each.message) for each in said)
    # bounds are checked below, and actions are scaled by the agents
    texts = {text: None for text in texts if "infinity" not in text and "symmetric" not in text}
    for text in texts:
        yield Finding("advice", what, expected, text, GYMNASIUM_FIX)
    if not texts:
        yield Finding("ok", what, expected, "nothing to complain about")


def check_action_space(space: gymnasium.Space[Any]) -> Iterator[Finding]:
    """Box with bounds of a sensible size, Discrete or MultiDiscrete."""
    what, expected = "actions", "a bounded Box, Discrete or MultiDiscrete space"
    if isinstance(space, spaces.Box) and not space.is_bounded():
        yield Finding(
            "problem", what, expected, f"{space}",
            "give the Box finite bounds, or wrap the environment: gymnasium.wrappers."
            "TransformAction(env, lambda action: action, Box(-1, 1, ...))",
        )  # fmt: skip
    elif not isinstance(space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete):
        yield Finding("problem", what, expected, f"{space}", _action_fix(space))
    elif isinstance(space, spaces.Box) and (space.high / 2 - space.low / 2).max() > UNLIMITED / 2:
        yield Finding(
            "advice", what, f"bounds less than {UNLIMITED:g} apart", f"{space}",
            "set the bounds to what the environment can execute: exploration draws uniform actions "
            "from the Box",
        )  # fmt: skip
    else:
        yield Finding("ok", what, expected, f"{space}")


def _action_fix(space: gymnasium.Space[Any]) -> str:
    if isinstance(space, spaces.MultiBinary):
        return f"use MultiDiscrete([2] * {int(np.prod(space.shape))})"
    return "make one Box or MultiDiscrete of all actions, and take it apart in step"


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
    if has_goals(env.observation_space):
        yield _goals(env)


def _goals(env: gymnasium.Env[Any, Any]) -> Finding:
    expected = "compute_reward(achieved, desired, info) for many goals at once"
    assert isinstance(env.observation_space, spaces.Dict)
    goal = env.observation_space["desired_goal"].sample()
    compute = getattr(env, "compute_reward", getattr(env.unwrapped, "compute_reward", None))
    if compute is None:
        fix = "add this method, so that cec-plus knows which states achieve a goal"
        return Finding("advice", "goals", expected, "no compute_reward", fix)
    goals, text = np.stack([goal] * 3), ""
    calls: tuple[Any, ...] = ({}, [{}] * 3)  # as Gymnasium-Robotics, and as Stable-Baselines3
    for infos in calls:
        try:
            shape = np.shape(compute(goals, goals, infos))
        except Exception as error:  # user's code
            text = text or _one_line(error)
            continue
        if shape == (3,):
            return Finding("ok", "goals", expected, "works")
        text = text or f"rewards of shape {shape} for three goals"
    return Finding("advice", "goals", expected, text, "write it with NumPy's batched functions")


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
            if wrong := [*_wrong_shape(env, what, result[0]), *_wrong_reward(result)]:
                yield from wrong
                return
    finally:
        env.close()


def _wrong_shape(env: gymnasium.Env[Any, Any], what: str, observation: Any) -> Iterator[Finding]:
    reason = outside(env.observation_space, observation)
    if any(words in reason for words in ("expected shape", "no entry", "parts, got")):
        yield Finding(
            "problem", "observations", f"an observation within observation_space from {what}",
            reason, "correct observation_space, or what is returned",
        )  # fmt: skip


def _wrong_reward(result: tuple[Any, ...]) -> Iterator[Finding]:
    if len(result) == 2:
        return  # of reset
    try:
        as_number(result[1])
    except (TypeError, ValueError, IndexError):
        fix = "return a float as the second value"
        yield Finding("problem", "step", "a number as reward", f"{result[1]!r}", fix)


def _other_shape(played: Played) -> Finding:
    return Finding(
        "problem", "observations", "observations of one shape", played.other_shape,
        "return an array of the same shape in every step",
    )  # fmt: skip


def check_reproducible(make: Callable[[], gymnasium.Env[Any, Any]]) -> Iterator[Finding]:
    """Two environments with the same seed and the same actions behave the same."""
    expected = "the same seed gives the same first observation"
    first, second = make(), make()
    try:
        start, again = (as_vector(env.reset(seed=7)[0]) for env in (first, second))
        if not np.array_equal(start, again, equal_nan=True):
            yield Finding(
                "problem", "reset", expected, "two resets with seed 7 differ",
                "draw random numbers from self.np_random, after super().reset(seed=seed)",
            )  # fmt: skip
            return
        yield Finding("ok", "reset", expected, "the same")
        expected = "the same seed and actions give the same episode"
        n_steps, same = _compare(first, second)
        if same:
            yield Finding("ok", "step", expected, f"the same for {_steps(n_steps)}")
        else:
            yield Finding(
                "advice", "step", expected, f"different from step {n_steps} on",
                "draw random numbers from self.np_random only; a real robot cannot do better",
            )  # fmt: skip
    finally:
        first.close()
        second.close()


def _compare(first: gymnasium.Env[Any, Any], second: gymnasium.Env[Any, Any]) -> tuple[int, bool]:
    """How many steps are the same, and whether these are all."""
    first.action_space.seed(7)
    for step in range(N_COMPARED):
        action = first.action_space.sample()
        results = [env.step(action) for env in (first, second)]
        (one, reward, ends, cut, _), (other, other_reward, *_) = results
        seen, others = (
            np.append(as_vector(what), as_number(value))
            for what, value in ((one, reward), (other, other_reward))
        )
        if not np.array_equal(seen, others, equal_nan=True):
            return step, False
        if ends or cut:
            return step + 1, True
    return N_COMPARED, True


# ---------------------------------------------------------------- random episodes


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
    shortest = f"{min(lengths)} to " if min(lengths) < max(lengths) else ""
    found = f"{len(lengths)} of {shortest}{_steps(max(lengths))}"
    yield Finding("ok", what, expected, f"{found}; time limit: {limit or 'none declared'}")
    same_end = len(lengths) >= 3 and len(set(lengths)) == 1 and lengths[0] > 1
    if same_end and all(played.terminated):
        yield Finding(
            "advice", "time limit", "truncated=True when time is up",
            f"every episode is terminated after {lengths[0]} steps",
            "return terminated=False, truncated=True at the time limit, or leave it to TimeLimit",
        )  # fmt: skip


def check_success(
    played: Played, success_key: str | None, with_goals: bool = False
) -> Iterator[Finding]:
    """A success signal, and how often random actions succeed."""
    expected = f"{success_key or 'is_success'} in info at an episode's end"
    known = [success for success in played.successes if success is not None]
    if not known:
        entries = sorted(played.info_keys)
        other = entries[0] if len(entries) == 1 else "KEY"
        yield Finding(
            "advice", "success", expected, f"{NO_SUCCESS_KEY} {', '.join(entries) or 'no entries'}",
            f'return {{"{success_key or "is_success"}": ...}} as info, or name another entry with '
            f"--success-key {other}",
        )  # fmt: skip
        return
    rate = float(np.mean(known))
    found = f"{rate:.0%} of {len(known)} random episodes succeed"
    if rate == 0 and with_goals:
        yield Finding(
            "ok", "success", expected, f"{found}; what they achieve by chance is learned from too"
        )
    elif rate == 0:
        yield Finding(
            "advice", "success", "random actions that succeed now and then", found,
            "nothing can be learned before the first success: begin some episodes nearer to the "
            "goal, make them longer, or expect many episodes without any",
        )  # fmt: skip
    elif rate == 1:
        yield Finding(
            "advice", "success", "random actions that fail now and then", found,
            "return False if the episode was not solved; if it was, there is nothing to learn",
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
    if not rewards.any():
        yield _no_reward(played)
        return
    most_common = float(np.median(rewards))
    share = float(np.mean(rewards != most_common))
    found = f"{share:.1%} of the steps have a reward other than {most_common:g}"
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


def _no_reward(played: Played) -> Finding:
    expected, found = "a reward other than 0", f"0 in all of {len(played.rewards):,} steps"
    if any(played.successes):
        fix = "give a reward for success: agents learn from rewards, not from info"
        return Finding("problem", "rewards", expected, f"{found}, also at successes", fix)
    if False in played.successes:  # said of success already
        return Finding("ok", "rewards", expected, f"{found}, because no episode succeeded")
    fix = "nothing can be learned before the first reward: make it easier to find"
    return Finding("advice", "rewards", expected, found, fix)


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
            f"{played.n_outside:,} of {len(played.rewards):,} are outside; the first of them: "
            f"{played.why_outside}",
            "correct observation_space, or what is returned",
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
    if not np.isfinite(matrix).all():
        return
    spread, moving = matrix.std(axis=0), _moves(matrix)
    if not moving.any():
        yield Finding(
            "problem", "dimensions", "observations that change", "all of them are the same",
            "return what distinguishes one state from another",
        )  # fmt: skip
        return
    if matrix.shape[1] > WIDE:
        return  # of images, single pixels say nothing
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
            "advice", what, "sensors that measure something",
            f"white noise, no value depends on the one before: {_listed(noise)}",
            "cec-plus ignores them; for other methods leave them out, by a wrapper or, in a Dict, "
            "by the embedding SelectKeys",
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


def method_to_try(
    env: gymnasium.Env[Any, Any], findings: Sequence[Finding]
) -> tuple[str, str, list[str]]:
    """The method to try first, and why.

    Args:
        env: The environment.
        findings: What was found in it.

    Returns:
        The name of the method, a reason, and the options of `scrubjay train` that it needs.
    """
    space = env.observation_space
    is_image = isinstance(space, spaces.Box) and sum(n >= IMAGE_SIDE for n in space.shape) > 1
    if is_image and isinstance(env.action_space, spaces.Discrete):
        return "mfec", "it is made for images and discrete actions", []
    if is_image:
        reason = "it needs no settings but an embedding, which makes the images shorter"
        return "cec-plus", reason, ["--embedding", "frequencies:4+frozen:1000"]
    dense = any(each.what == "rewards" and "sac" in each.fix for each in findings)
    if dense and isinstance(env.action_space, spaces.Box):
        return "cec-plus", "it needs no settings; then sac, because rewards are dense", []
    return "cec-plus", "it needs no settings", []


def _steps(n: int) -> str:
    return f"{n:,} step" if n == 1 else f"{n:,} steps"


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

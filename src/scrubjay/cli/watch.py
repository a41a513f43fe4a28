"""scrubjay watch TASK --random, scrubjay watch RUN|FILE [TASK]: a GIF or MP4."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.evaluate import no_signal
from scrubjay.cli.layout import print_facts
from scrubjay.cli.loading import add_loading_arguments, open_agent, parse_env_kwargs, take_task
from scrubjay.cli.main import CommandError, refuse
from scrubjay.cli.options import whole

if TYPE_CHECKING:
    import gymnasium

    from scrubjay.envs.recording import Policy, Recording

EPILOG = """examples:
  scrubjay watch PointUMaze --random --out random.gif
  scrubjay watch runs/umaze --out learned.mp4 --episodes 3
  scrubjay watch agent.scrub PointUMaze
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay watch`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("target", metavar="TASK|RUN|FILE",
        help="a task (with --random), a run folder or a saved agent")  # fmt: skip
    add("task", nargs="?", metavar="TASK", help="the task of the run or file (default: the run's)")
    add("--random", action="store_true", help="uniform actions instead of a trained agent")
    add("--out", type=Path, metavar="FILE", help="a .gif or .mp4 (default: a .gif named after it)")
    add("--episodes", type=whole, metavar="N", default=1, help="episodes (default 1)")
    add("--seed", type=whole, metavar="S", default=0,
        help="seed of start states and random actions (default 0)")  # fmt: skip
    add("--max-frames", type=whole, metavar="N", help="largest number of frames (default: all)")
    add_loading_arguments(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Write a video of a policy, and describe its content."""
    from scrubjay.envs.recording import record
    from scrubjay.training.records import success_of

    refuse(take_task(arguments, unknown), arguments)
    env, policy, name, success_key = _environment_and_policy(arguments)
    film = record(
        env,
        policy,
        arguments.out or Path(f"{name}.gif"),
        episodes=arguments.episodes,
        seed=arguments.seed,
        max_frames=arguments.max_frames,
        hold=1.0,
        success_of=partial(success_of, success_key=success_key),
        progress=sys.stderr.isatty(),
    )
    env.close()
    print(f"written: {film.path}, {film.n_frames} frames")
    print_facts(_lines(film, arguments, success_key))
    return 0


def _lines(
    film: "Recording", arguments: argparse.Namespace, success_key: str | None
) -> list[tuple[str, str]]:
    """A line for each episode, and a hint if one was cut."""
    words = {True: "success", False: "no success", None: "no success signal"}
    episodes = zip(film.lengths, film.returns, film.successes, strict=True)
    lines = [
        (f"episode {number}", f"{length:,} steps, return {total:.4g}, {words[success]}")
        for number, (length, total, success) in enumerate(episodes, start=1)
    ]
    n_shown = len(lines) + bool(film.cut_at)
    if film.cut_at:
        more = "nothing has ended this episode, and longer ones are not shown"
        if arguments.max_frames is not None:
            more = f"--max-frames {2 * arguments.max_frames} shows more, without it all is shown"
        lines.append((f"episode {n_shown}", f"cut at step {film.cut_at:,}: {more}"))
    if n_shown < arguments.episodes:
        lines.append(("note", f"{n_shown} of {arguments.episodes} episodes fit in the film"))
    if None in film.successes:
        lines.append(("note", no_signal(success_key)))
    return lines


def _environment_and_policy(
    arguments: argparse.Namespace,
) -> "tuple[gymnasium.Env[Any, Any], Policy | None, str, str | None]":
    """The environment, the policy, a name for the film, and the key of its success."""
    path = Path(arguments.target)
    if arguments.random:
        return _random(arguments)
    if not path.exists():
        raise CommandError(
            f"{arguments.target} is neither a run folder nor a file; for a task without an agent "
            "add --random"
        )
    loaded = open_agent(path, arguments)
    env = _drawing(loaded.make_env, loaded.config.task)
    agent = loaded.agent
    return (
        env,
        lambda observation: agent.predict(observation, deterministic=True)[0],
        loaded.name,
        loaded.config.success_key,
    )


def _random(
    arguments: argparse.Namespace,
) -> "tuple[gymnasium.Env[Any, Any], Policy | None, str, str | None]":
    from scrubjay.runs.config import RunConfig

    if arguments.task:
        raise CommandError(f"expected one task with --random, got {arguments.task!r} too")
    options = parse_env_kwargs(arguments.env_kwargs)
    config = RunConfig("cec", arguments.target, task_options=options)
    name = config.task.rpartition(":")[2].rpartition("/")[2]
    return _drawing(config.make_env, config.task), None, name, arguments.success_key


def _drawing(make_env: Any, task: str) -> "gymnasium.Env[Any, Any]":
    """The environment with pictures; raises an error if it cannot draw."""
    try:
        env: gymnasium.Env[Any, Any] = make_env(render_mode="rgb_array")
    except TypeError as error:
        if "render_mode" not in str(error):
            raise
        raise CommandError(
            f"{task} does not take render_mode: watch needs an environment with that argument "
            'and a render() that returns a picture; "scrubjay evaluate" works without'
        ) from error
    modes = env.metadata.get("render_modes", [])
    if env.render_mode != "rgb_array":
        raise CommandError(
            f"{task} draws no pictures: expected render_mode 'rgb_array', it has "
            f"{', '.join(modes) or 'none'}"
        )
    return env

"""The command `scrubjay tasks`."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrubjay.cli.layout import print_table, wrapped
from scrubjay.cli.main import refuse

if TYPE_CHECKING:
    from scrubjay.envs.catalog import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`scrubjay tasks` has none."""
    parser.epilog = "example:\n  scrubjay tasks"


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Print the tasks with their sizes and rewards."""
    from scrubjay.envs.catalog import TASKS

    refuse(unknown, arguments)
    heading = ("task", "obs", "action", "steps", "reward", "")
    print_table(heading, [_row(task) for task in TASKS])
    names = ", ".join(filter(None, (task.paper_name for task in TASKS)))
    print()
    print(wrapped(f"Names of the paper, which work too: {names}"))
    print(wrapped("obs, action: sizes of observation and action; steps: length of an episode."))
    print(wrapped("Any other Gymnasium id, or module:Name of your own, is a task too."))
    return 0


def _row(task: "Task") -> tuple[str, ...]:
    import gymnasium

    horizon = str(gymnasium.spec(task.id).max_episode_steps)
    try:
        env = gymnasium.make(task.id)
    except ImportError as error:
        missing = str(error).partition(" is needed")[0]
        return task.name, "?", "?", horizon, task.reward, f"{task.description} (needs {missing})"
    observation, action = _size(env.observation_space), _size(env.action_space)
    env.close()
    return task.name, observation, action, horizon, task.reward, task.description


def _size(space: Any) -> str:
    if hasattr(space, "n"):
        return f"1 of {space.n}"
    if hasattr(space, "spaces"):
        return "+".join(_size(part) for part in space.spaces.values())
    return "x".join(str(size) for size in space.shape)

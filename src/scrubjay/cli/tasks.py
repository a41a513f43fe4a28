"""scrubjay tasks"""

import argparse
from collections.abc import Sequence
from typing import Any

from scrubjay.cli.main import refuse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example:\n  scrubjay tasks\n\n"
    parser.epilog += "Any other Gymnasium id with a finite Box of actions can be trained on too."


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    from scrubjay.envs.catalog import TASKS

    refuse(unknown, arguments.flags)
    heading = ("task", "observation", "action", "horizon", "reward", "")
    rows = [heading, *(_row(task) for task in TASKS)]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
    names = (task.paper_name for task in TASKS)
    print("\nIn the paper's words: " + ", ".join(filter(None, names)))
    return 0


def _row(task: Any) -> tuple[str, ...]:
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
    if hasattr(space, "spaces"):
        return "+".join(_size(part) for part in space.spaces.values())
    return "x".join(str(size) for size in space.shape)

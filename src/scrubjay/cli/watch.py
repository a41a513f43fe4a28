"""scrubjay watch TASK --random, scrubjay watch RUN: a GIF or MP4."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrubjay.cli.main import CommandError, add_trust_module, refuse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "examples:\n  scrubjay watch PointUMaze --random --out random.gif\n"
        "  scrubjay watch runs/umaze-1 --out learned.mp4 --episodes 3"
    )
    add = parser.add_argument
    add("subject", metavar="TASK|RUN", help="a task (with --random) or a run folder")
    add("--random", action="store_true", help="uniform actions instead of a trained agent")
    add("--out", type=Path, help="a .gif or .mp4 (default: named after the subject, .gif)")
    add("--episodes", type=int, default=1, help="episodes (default 1)")
    add("--seed", type=int, default=0, help="of start states and random actions (default 0)")
    add("--max-frames", type=int, default=300, help="frames at most (default 300)")
    add("--checkpoint", default="last", help="of a run folder (default last)")
    add_trust_module(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    from scrubjay.envs.recording import record

    refuse(unknown, arguments.flags)
    env, policy, name = _subject(arguments)
    out = arguments.out or Path(f"{name}.gif")
    record(
        env,
        policy,
        out,
        episodes=arguments.episodes,
        seed=arguments.seed,
        max_frames=arguments.max_frames,
    )
    print(f"written: {out}")
    return 0


def _subject(arguments: argparse.Namespace) -> tuple[Any, Any, str]:
    import gymnasium

    from scrubjay.envs.catalog import find_task

    if arguments.random:
        task = find_task(arguments.subject)
        return gymnasium.make(task, render_mode="rgb_array"), None, task.rpartition("/")[2]
    if not Path(arguments.subject).is_dir():
        raise CommandError(
            f"{arguments.subject} is not a run folder; for a task without an agent add --random"
        )
    from scrubjay.runs.launch import check_module, load_agent

    agent, config = load_agent(arguments.subject, arguments.checkpoint)
    check_module(arguments.subject, config, arguments.trust_module)
    env = config.make_env(render_mode="rgb_array")
    name = Path(arguments.subject).resolve().name
    return env, lambda observation: agent.predict(observation, deterministic=True)[0], name

"""scrubjay train AGENT TASK, scrubjay train --resume RUN."""

import argparse
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.main import INTERRUPTED, CommandError, refuse
from scrubjay.cli.options import parse_options

if TYPE_CHECKING:
    from scrubjay.experiments.launch import RunConfig

EPILOG = """Settings of the agent are options too and overrule the preset:
  --n-neighbors 5 --temperature 0.1 --noise-std 0.3 --radius-factor 1 --distance-threshold 0.1
  --gamma 0.99 --epsilon 0.9,0.05,100000 --capacity 1000000 --exploration noise --recency write
  --embedding running    (or identity, bounds, frozen:1000, project:8, select:a,b; joined by +)

examples:
  scrubjay train cec GrowingTree --steps 20000
  scrubjay train cec PointUMaze --seed 1 --out runs/umaze-1 --checkpoint-steps 5000 50000
  scrubjay train cec Pendulum-v1 --embedding bounds --distance-threshold 0.05
  scrubjay train --resume runs/umaze-1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    add = parser.add_argument
    add("agent", nargs="?", help="cec (sac and emac with the extra 'deep')")
    add("task", nargs="?", help="a Gymnasium id, a bare name or the paper's name")
    add("--steps", type=int, default=100_000, help="training steps (default 100000)")
    add("--seed", type=int, default=0, help="decides every random number (default 0)")
    add("--out", type=Path, help="run folder (default runs/TASK/AGENT-PRESET-seed-SEED)")
    add("--preset", default="paper", help="paper, published or literal (default paper)")
    add("--n-envs", type=int, default=1, help="environments stepped together (default 1)")
    add("--eval-freq", type=int, default=5_000, help="steps between evaluations, 0: never")
    add("--eval-episodes", type=int, default=10, help="episodes of an evaluation (default 10)")
    add("--log-freq", type=int, default=1_000, help="steps between rows of progress.csv")
    add("--checkpoint-freq", type=int, default=10_000, help="steps between checkpoints")
    add("--checkpoint-steps", type=int, nargs="+", default=[], help="steps to keep one of for good")
    add("--tensorboard", action="store_true", help="write TensorBoard files into the run folder")
    add("--quiet", action="store_true", help="no progress on the terminal")
    add("--resume", type=Path, metavar="RUN", help="continue this run instead")


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    from scrubjay.experiments.launch import resume, start
    from scrubjay.training.run_folder import command_line

    if arguments.resume:
        if arguments.agent or unknown:
            raise CommandError("--resume takes everything from the run itself: no other arguments")
        return _guarded(arguments.resume, lambda: resume(arguments.resume, **_show(arguments)))
    if not arguments.task:
        raise CommandError("an agent and a task are needed, as in: scrubjay train cec PointUMaze")
    config = _config(arguments, unknown)
    out = arguments.out or _default_folder(config)
    print(f"{config.agent} on {config.task}, seed {config.seed}: {out}", file=sys.stderr)
    return _guarded(out, lambda: start(config, out, command_line(), **_show(arguments)))


def _config(arguments: argparse.Namespace, unknown: Sequence[str]) -> "RunConfig":
    from scrubjay.experiments.launch import MEMORY_AGENTS, RunConfig

    agent = arguments.agent.lower()
    options: dict[str, Any] = {}
    if agent in MEMORY_AGENTS:
        options = parse_options(unknown, _settings_of(MEMORY_AGENTS[agent]))
    else:
        refuse(unknown)
    return RunConfig(
        agent=agent,
        task=arguments.task,
        preset=arguments.preset,
        options=options,
        seed=arguments.seed,
        steps=arguments.steps,
        n_envs=arguments.n_envs,
        eval_freq=arguments.eval_freq,
        n_eval_episodes=arguments.eval_episodes,
        log_freq=arguments.log_freq,
        checkpoint_freq=arguments.checkpoint_freq,
        checkpoint_steps=tuple(arguments.checkpoint_steps),
        tensorboard=arguments.tensorboard,
    )


def _settings_of(agent: type[Any]) -> list[str]:
    return [name for name in inspect.signature(agent).parameters if name not in ("env", "seed")]


def _default_folder(config: "RunConfig") -> Path:
    task = config.task.rpartition("/")[2]
    return Path("runs") / task / f"{config.agent}-{config.preset}-seed-{config.seed}"


def _show(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"progress_bar": not arguments.quiet}


def _guarded(folder: Path, train: Any) -> int:
    try:
        agent = train()
    except KeyboardInterrupt:
        print(f"interrupted; go on with: scrubjay train --resume {folder}", file=sys.stderr)
        return INTERRUPTED
    print(f"done: {agent.num_timesteps:,} steps, {agent.n_episodes:,} episodes in {folder}")
    return 0

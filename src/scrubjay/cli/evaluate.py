"""The command `scrubjay evaluate RUN|FILE [TASK]`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.cli.layout import print_facts, wrapped
from scrubjay.cli.loading import LoadedAgent, add_loading_arguments, open_agent, take_task
from scrubjay.cli.main import refuse
from scrubjay.cli.options import whole

if TYPE_CHECKING:
    from scrubjay.training.records import EpisodeRecord

EPILOG = """examples:
  scrubjay evaluate runs/umaze --episodes 20 --checkpoint best
  scrubjay evaluate runs/MyEnv/cec-plus-default-seed-0 my_module:MyEnv
  scrubjay evaluate agent.scrub PointUMaze
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay evaluate`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("run", type=Path, metavar="RUN|FILE", help="a run folder or a saved agent")
    add("task", nargs="?", metavar="TASK", help="the task (default: the run's)")
    add("--episodes", type=whole, metavar="N", default=20, help="greedy episodes (default 20)")
    add("--seed", type=whole, metavar="S", help="seed of the start states (default: the run's)")
    add_loading_arguments(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Run greedy episodes and print their means."""
    from scrubjay.training.evaluation import Evaluator

    refuse(take_task(arguments, unknown), arguments)
    loaded = open_agent(arguments.run, arguments)
    agent, config = loaded.agent, loaded.config
    seed = config.seed if arguments.seed is None else arguments.seed
    evaluator = Evaluator(
        loaded.make_env(), arguments.episodes, seed, success_key=config.success_key
    )
    _print(loaded, evaluator.run(agent, agent.num_timesteps))
    return 0


def _print(loaded: LoadedAgent, records: "list[EpisodeRecord]") -> None:
    import numpy as np

    from scrubjay.training.evaluation import success_rate

    config, rate = loaded.config, success_rate(records)
    print(wrapped(f"{config.agent} on {config.task} after {loaded.agent.num_timesteps:,} steps"))
    returns = [record.total_reward for record in records]
    lengths = [record.length for record in records]
    print_facts(
        [
            ("episodes", f"{len(records)}, greedy"),
            ("return", f"{np.mean(returns):.4g} ({min(returns):.4g} to {max(returns):.4g})"),
            ("length", f"{np.mean(lengths):.1f} steps ({min(lengths)} to {max(lengths)})"),
            ("success", no_signal(config.success_key) if np.isnan(rate) else f"{rate:.2f}"),
        ]
    )


def no_signal(success_key: str | None) -> str:
    """The explanation why there is no success rate, and the fix."""
    if success_key is not None:
        return f"no success signal: the task's info has no {success_key!r}"
    return (
        "no success signal: the task's info has neither is_success nor success; --success-key KEY "
        "names another entry"
    )

"""scrubjay evaluate RUN"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from scrubjay.cli.main import add_trust_module, refuse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example:\n  scrubjay evaluate runs/umaze-1 --episodes 20 --checkpoint best"
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--episodes", type=int, default=20, help="greedy episodes (default 20)")
    parser.add_argument("--seed", type=int, help="of the start states (default: the run's)")
    parser.add_argument("--checkpoint", default="last", help="last, best or step-N (default last)")
    add_trust_module(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    import numpy as np

    from scrubjay.runs.launch import check_module, load_agent
    from scrubjay.training.evaluation import Evaluator, success_rate

    refuse(unknown, arguments.flags)
    agent, config = load_agent(arguments.run, arguments.checkpoint)
    check_module(arguments.run, config, arguments.trust_module)
    seed = config.seed if arguments.seed is None else arguments.seed
    evaluator = Evaluator(config.make_env(), arguments.episodes, seed)
    records = evaluator.run(agent, agent.num_timesteps)
    rewards = [record.total_reward for record in records]
    print(f"{config.agent} on {config.task} after {agent.num_timesteps:,} steps, greedy")
    print(f"  episodes  {len(records)}")
    print(f"  return    {np.mean(rewards):.4g} ({min(rewards):.4g} to {max(rewards):.4g})")
    print(f"  length    {np.mean([record.length for record in records]):.1f}")
    if not np.isnan(success_rate(records)):
        print(f"  success   {success_rate(records):.2f}")
    return 0

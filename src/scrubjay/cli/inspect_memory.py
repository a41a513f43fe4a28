"""scrubjay inspect RUN|FILE: what is in a memory."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrubjay.cli.main import refuse

SAMPLE = 2000  # rows whose nearest other row is looked up
BAR = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example:\n  scrubjay inspect runs/umaze-1\n  scrubjay inspect agent.scrub"
    parser.add_argument("path", type=Path, help="a run folder, a saved agent or a saved memory")
    parser.add_argument("--checkpoint", default="last", help="of a run folder (default last)")


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    refuse(unknown, arguments.flags)
    memories = load_memories(arguments.path, arguments.checkpoint)
    for name, memory in memories.items():
        if len(memories) > 1:
            print(f"memory      {name}")
        _print_memory(memory)
    return 0


def load_memories(path: Path, checkpoint: str) -> Any:
    """The memories, by name, of a run, of a saved agent or of a file that is one itself."""
    from scrubjay.agents import MemoryAgent
    from scrubjay.memory import EpisodicMemory
    from scrubjay.memory.archive import ArchiveError
    from scrubjay.runs.launch import load_agent

    if path.is_dir():
        agent, config = load_agent(path, checkpoint)
        if not agent.memories:
            raise ValueError(f"{path} is a run of {config.agent}, which keeps no episodic memory")
        return agent.memories
    try:
        return MemoryAgent.load(path).memories
    except ArchiveError as error:
        if "it holds 'memory'" not in str(error):
            raise
        return {"memory": EpisodicMemory.load(path)}


def _print_memory(memory: Any) -> None:
    print(f"rows        {len(memory):,} of at most {memory.capacity:,}")
    print(f"bytes       {memory.nbytes:,}")
    print(f"key         {memory.key_dim} dimensions")
    print(f"writing     rule {memory.rule}, distance threshold {memory.distance_threshold:g}")
    print(f"columns     {', '.join(memory.columns) or 'none'}")
    print(f"digest      {memory.digest()}")
    if len(memory):
        _print_values(memory)
        _print_ages(memory)
        _print_distances(memory)


def _print_values(memory: Any) -> None:
    import numpy as np

    values = memory.values
    counts, edges = np.histogram(values, bins=10)
    print(f"values      mean {values.mean():.4g}, {np.mean(values == 0):.0%} are zero")
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        bar = "#" * int(np.ceil(BAR * count / counts.max()))
        print(f"  {low:>9.3g} to {high:<9.3g} {count:>9,}  {bar}")


def _print_ages(memory: Any) -> None:
    import numpy as np

    ages = memory.clock - memory.stamps
    low, middle, high = np.quantile(ages, [0.1, 0.5, 0.9])
    print(f"age         {middle:,.0f} changes ago (median), 80% between {low:,.0f} and {high:,.0f}")


def _print_distances(memory: Any) -> None:
    import numpy as np

    if len(memory) < 2:
        return
    step = max(1, len(memory) // SAMPLE)
    _, distances = memory.neighbors(memory.keys[::step], k=2)
    low, middle, high = np.quantile(distances[:, 1], [0.1, 0.5, 0.9])
    print(
        f"nearest     {middle:.3g} to the nearest other row (median), "
        f"80% between {low:.3g} and {high:.3g}"
    )

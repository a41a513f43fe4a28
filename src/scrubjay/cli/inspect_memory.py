"""scrubjay inspect RUN|FILE: what is in a memory."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.layout import columns, print_facts
from scrubjay.cli.main import refuse
from scrubjay.cli.subjects import add_checkpoint, open_subject

if TYPE_CHECKING:
    from scrubjay.memory import EpisodicMemory

SAMPLE = 2000  # rows whose nearest other row is looked up
BAR = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay inspect`."""
    parser.epilog = "example:\n  scrubjay inspect runs/umaze\n  scrubjay inspect agent.scrub"
    add = parser.add_argument
    add("path", type=Path, metavar="RUN|FILE",
        help="a run folder, a saved agent or a saved memory")  # fmt: skip
    add_checkpoint(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Print what is known of an agent and of each of its memories."""
    refuse(unknown, arguments)
    memory = _only_a_memory(arguments.path)
    if memory is not None:
        _print_memory(memory)
        return 0
    nothing = {"task": None, "env_kwargs": None, "success_key": None, "trust_module": False}
    subject = open_subject(
        arguments.path, argparse.Namespace(**{**vars(arguments), **nothing}), with_task=False
    )
    agent, task = subject.agent, subject.config.task
    trained = f"{agent.num_timesteps:,} steps, {agent.n_episodes:,} episodes"
    print_facts(
        [
            ("method    ", f"{agent.name}{f' on {task}' if task else ''}"),
            ("trained", f"{trained}, seed {agent.seed}"),
        ],
        indent=0,
    )
    for name, memory in agent.memories.items():
        if len(agent.memories) > 1:
            print(f"\nmemory      {name}")
        _print_memory(memory)
    if not agent.memories:
        print(f"memory      none: {agent.name} keeps no episodic memory")
    return 0


def _only_a_memory(path: Path) -> "EpisodicMemory | None":
    """The memory in a file that has nothing else."""
    from scrubjay.memory import EpisodicMemory
    from scrubjay.memory.archive import ArchiveError

    if not path.is_file():
        return None
    try:
        return EpisodicMemory.load(path)
    except ArchiveError:
        return None  # an agent, or a damaged file: loading it as an agent will say so


def _print_memory(memory: "EpisodicMemory") -> None:
    print_facts(_facts(memory), indent=0)
    if len(memory):
        _print_values(memory)
        print_facts(_statistics(memory), indent=0)


def _facts(memory: "EpisodicMemory") -> Iterator[tuple[str, str]]:
    yield "rows      ", f"{len(memory):,} of at most {memory.capacity:,}"
    yield "bytes", f"{memory.nbytes:,}"
    yield "key", f"{memory.key_dim} dimensions"
    yield "writing", f"rule {memory.rule}, distance threshold {memory.distance_threshold:g}"
    yield "columns", ", ".join(memory.columns) or "none"
    yield "digest", memory.digest()


def _print_values(memory: "EpisodicMemory") -> None:
    import numpy as np

    values = memory.values
    counts, edges = np.histogram(values, bins=10)
    print(f"values      mean {values.mean():.4g}, {np.mean(values == 0):.0%} are zero")
    widest = min(columns() - 40, 2 * BAR)
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        bar = "#" * int(np.ceil(widest * count / counts.max()))
        print(f"  {low:>9.3g} to {high:<9.3g} {count:>9,}  {bar}".rstrip())


def _statistics(memory: "EpisodicMemory") -> Iterator[tuple[str, str]]:
    import numpy as np

    def spread(numbers: Any) -> tuple[float, float, float]:
        low, middle, high = np.quantile(numbers, [0.1, 0.5, 0.9])
        return float(low), float(middle), float(high)

    low, middle, high = spread(memory.clock - memory.stamps)
    yield (
        "age       ",
        f"{middle:,.0f} changes ago (median), 80% between {low:,.0f} and {high:,.0f}",
    )
    if len(memory) < 2:
        return
    step = max(1, len(memory) // SAMPLE)
    _, distances = memory.neighbors(memory.keys[::step], k=2)
    low, middle, high = spread(distances[:, 1])
    yield (
        "nearest",
        f"{middle:.3g} to the nearest other row (median), 80% between {low:.3g} and {high:.3g}",
    )

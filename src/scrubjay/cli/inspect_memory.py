"""scrubjay inspect RUN|FILE: what is in a memory."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.cli.layout import columns, print_facts
from scrubjay.cli.loading import add_loading_arguments, open_agent, take_task
from scrubjay.cli.main import CommandError, refuse
from scrubjay.cli.options import whole

if TYPE_CHECKING:
    from scrubjay.agents.album import Page
    from scrubjay.memory import EpisodicMemory

SAMPLE = 2000  # rows whose nearest other row is looked up
BAR = 40
EPILOG = """examples:
  scrubjay inspect runs/umaze
  scrubjay inspect runs/umaze --web
  scrubjay inspect agent.scrub PointUMaze --web
  scrubjay inspect runs/mspacman --frames best.png
"""
NO_IMAGES = "one without images of its rows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `scrubjay inspect`."""
    parser.epilog = EPILOG
    add = parser.add_argument
    add("path", type=Path, metavar="RUN|FILE",
        help="a run folder, a saved agent or a saved memory")  # fmt: skip
    add("task", nargs="?", metavar="TASK",
        help="with --web: the task of replayed episodes (default: the run's)")  # fmt: skip
    add("--web", action="store_true",
        help="serve a page on this machine that shows the memory and replays episodes")  # fmt: skip
    add("--port", type=whole, metavar="N", default=0, help="port of the page (default: a free one)")
    add("--no-browser", action="store_true", help="print the page's address without opening it")
    add("--frames", type=Path, metavar="PNG",
        help="write the images of the best rows, if observations are images: a row of them for "
             "each memory")  # fmt: skip
    add_loading_arguments(parser)


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Print what is known of an agent and of each of its memories."""
    refuse(take_task(arguments, unknown), arguments)
    if arguments.web:
        from scrubjay.cli.inspect_web import serve_page

        return serve_page(arguments)
    memory = only_a_memory(arguments.path)
    if memory is not None:
        if arguments.frames:
            raise CommandError(f"--frames: expected an agent of images, got {NO_IMAGES}")
        _print_memory(memory)
        return 0
    loaded = open_agent(arguments.path, arguments, with_task=False)
    agent, task = loaded.agent, loaded.config.task
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
    album = getattr(agent, "album", None)
    if arguments.frames:
        _write_frames(album.pages if album else {}, arguments.frames)
    elif album and album.pages:
        print("\nframes      of the best rows of each memory: --frames FILE.png writes them")
    if not agent.memories:
        print(f"memory      none: {agent.name} keeps no episodic memory")
    return 0


def _write_frames(pages: "Mapping[str, Page]", path: Path) -> None:
    """A row of pictures for each memory, best first."""
    import numpy as np

    from scrubjay.agents.album import N_BEST
    from scrubjay.figures.raster import contact_sheet, png

    shown = [page.pictures for page in pages.values() if page.pictures]
    if not shown:
        raise CommandError(f"--frames: expected an agent of images, got {NO_IMAGES}")
    blank = np.zeros_like(shown[0][0])
    rows = [[*pictures, *[blank] * (N_BEST - len(pictures))] for pictures in shown]
    sheet = contact_sheet(np.array([picture for row in rows for picture in row]), N_BEST)
    path.write_bytes(png(sheet))
    print(f"\nwritten: {path}, the best rows of {len(shown)} memories, best first")


def only_a_memory(path: Path) -> "EpisodicMemory | None":
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

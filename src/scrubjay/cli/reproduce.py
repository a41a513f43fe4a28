"""The command `scrubjay reproduce NAME`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scrubjay.cli.launchers import add_launcher, launcher_of
from scrubjay.cli.layout import wrapped
from scrubjay.cli.main import FAILURE, CommandError, refuse
from scrubjay.cli.options import whole

EPILOG = """names:
{names}
  all           everything above

Finished runs are never repeated and stopped ones are resumed, so the same
command can be given again at any time. All runs in the folder are drawn.

agents:
  cec, sac, emac                     as in the paper
  cec-plus                           ablation, plus, suite (default), speed
  mfec                               minatar and atari (their default)
  dqn                                minatar, with cec-plus if it is named
  cec-published, cec-literal         other presets
  cec-1000, cec-3000, cec-10000      fewer rows
  cec-noisy-start                    Safexp tasks
  published-design                   the preset published, with a stale index
  sac-defaults, sac-her              SB3's settings; hindsight on FetchReach
  sac-small-entropy                  SB3's settings, ent_coef auto_0.01
  crossq, tqc                        suite, with sb3-contrib's settings

examples:
  scrubjay reproduce navigation --quick
  scrubjay reproduce all --agents cec
  scrubjay reproduce navigation --agents sac --seeds 2
  scrubjay reproduce suite --agents crossq --tasks PointUMaze SparseReacher
  scrubjay reproduce all --agents          (draws what there is, runs nothing)
  scrubjay reproduce all --redraw          (draws the stored numbers again)
  scrubjay reproduce navigation --agents sac --seeds 3 --add
                                           (keeps the stored CEC and EMAC)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `scrubjay reproduce`."""
    from scrubjay.studies import EXPERIMENTS

    names = "\n".join(
        wrapped(line, f"  {name:<13} ", " " * 16) for name, (_, line) in EXPERIMENTS.items()
    )
    parser.epilog = EPILOG.format(names=names)
    add = parser.add_argument
    add("name", help="a figure or table of the paper, or all")
    add("--quick", action="store_true", help="a small version in about two minutes, CEC only")
    add(
        "--seeds",
        type=int,
        nargs="+",
        metavar="N",
        help="how many seeds, or which (default 5)",
    )
    add("--steps", type=whole, metavar="N", help="training steps of each run (default 100000)")
    add("--jobs", type=int, metavar="N", help="processes at a time (default: one for each core)")
    add_launcher(parser)
    add("--runs", type=Path, metavar="FOLDER", help="folder of the runs (default runs/paper)")
    add("--out", type=Path, metavar="FOLDER", help="folder of the results (default results)")
    add("--redraw", action="store_true", help="draw again from the stored numbers; no runs needed")
    add("--add", action="store_true", help="keep stored numbers of runs that are not here")
    add("--agents", nargs="*", metavar="NAME", help="which agents to run (default cec sac emac)")
    add("--tasks", nargs="+", metavar="TASK", help="which of its tasks to run (default: all)")


def run(arguments: argparse.Namespace, unknown: Sequence[str]) -> int:
    """Run a study, or draw its figures again."""
    from scrubjay.registry import agent_spec
    from scrubjay.studies import DEFAULT_AGENTS
    from scrubjay.studies.reproduce import redraw, reproduce
    from scrubjay.studies.shared.methods import METHODS, PAPER_METHODS, StudyBudget
    from scrubjay.studies.shared.workspace import Workspace
    from scrubjay.training.run_folder import command_line

    refuse(unknown, arguments)
    budget = StudyBudget(_seeds(arguments), _steps(arguments), arguments.quick)
    default = PAPER_METHODS[:1] if arguments.quick else PAPER_METHODS
    default = DEFAULT_AGENTS.get(arguments.name.lower(), default)
    agents = default if arguments.agents is None else [name.lower() for name in arguments.agents]
    results = Path("results")
    workspace = Workspace(
        root=arguments.runs or Path("runs") / budget.name,
        out=arguments.out
        or (results if budget == StudyBudget(budget.seeds) else results / budget.name),
        budget=budget,
        agents=tuple(agents),
        command=command_line(),
        tasks=tuple(arguments.tasks or ()),
        add=arguments.add,
    )
    if arguments.redraw:
        redraw(arguments.name.lower(), workspace)
        return 0
    try:
        outcome = reproduce(
            arguments.name.lower(), workspace, arguments.jobs, launcher_of(arguments)
        )
    except ImportError as error:
        known = [METHODS[name].agent for name in agents if name in METHODS]
        deep = [name for name in known if agent_spec(name).extra == "deep"]
        hint = " (or leave them out: --agents cec)" if deep else ""
        raise CommandError(f"{error}{hint}") from error
    for folder, reason in outcome.failed.items():
        print(f"failed: {folder}: {reason}; log: {folder / 'run.log'}", file=sys.stderr)
    return FAILURE if outcome.failed else 0


def _seeds(arguments: argparse.Namespace) -> tuple[int, ...]:
    from scrubjay.studies.shared.methods import PAPER_SEEDS, QUICK_SEEDS

    given = arguments.seeds
    if given is None:
        return QUICK_SEEDS if arguments.quick else PAPER_SEEDS
    seeds = tuple(range(given[0])) if len(given) == 1 else tuple(given)
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise CommandError(f"--seeds: expected a count, or different seeds, got {given}")
    return seeds


def _steps(arguments: argparse.Namespace) -> int | None:
    if arguments.steps is not None and arguments.steps < 1:
        raise CommandError(f"--steps: expected at least 1, got {arguments.steps}")
    steps: int | None = arguments.steps
    return steps

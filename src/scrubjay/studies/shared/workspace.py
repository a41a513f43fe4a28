"""Where a reproduction finds its runs and puts its results."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.groups import Group, group_runs
from scrubjay.analysis.reading import RunData, load_run
from scrubjay.analysis.results import (
    ResultTable,
    Row,
    add_rows,
    csv_bytes,
    parse_csv,
    read_table,
    replace_pictures,
    save_result,
)
from scrubjay.analysis.tables import markdown
from scrubjay.envs.catalog import short_task
from scrubjay.figures.saving import render, save_figure
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import folder_of
from scrubjay.studies.shared.methods import METHODS, StudyBudget, paper_name, run_config
from scrubjay.training.errors import RunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_RUN, LEFT_OUT = "Not run:", "Left out as unfinished or damaged:"
Draw = Callable[[ResultTable], "Figure"]  # a stored table -> its picture


@dataclass
class Workspace:
    """Runs below `root`, results in `out`; `agents` and `tasks` say what may be run.

    Without tasks, all of a study are run. Results are made of all runs that are there and, with
    `add`, of the stored numbers of those that are not.
    """

    root: Path
    out: Path
    budget: StudyBudget
    agents: tuple[str, ...]
    command: str
    tasks: tuple[str, ...] = ()
    add: bool = False
    said: set[str] = field(default_factory=set)

    def plan(self, methods: Iterable[str], tasks: Iterable[str]) -> list[RunConfig]:
        """The runs that a figure of these methods and tasks needs, of those that may be run."""
        return [
            run_config(method, task, seed, self.budget)
            for method in methods
            for task in tasks
            for seed in self.budget.seeds
            if method in self.agents and METHODS[method].suits(task)
        ]

    def group(self, method: str, task: str) -> Group | None:
        """All finished runs of a method on a task, or None if there are none."""
        folder = folder_of(self.root, run_config(method, task, 0, self.budget)).parent
        return self.runs_in(folder, METHODS[method].label)

    def runs_in(self, folder: Path, label: str) -> Group | None:
        """The finished runs of one variant: all that lie in a folder."""
        runs = [run for path in sorted(folder.glob("seed-*")) if (run := self._load(path))]
        if not runs:
            return None
        groups = group_runs(runs)
        if len(groups) > 1:
            names = ", ".join(group.label for group in groups)
            raise RunError(
                f"expected runs of one setting in {folder}, got {names}; move some of them away"
            )
        if groups[0].repeats:
            paths = ", ".join(str(run.path) for run in groups[0].repeats)
            raise RunError(f"expected each seed once in {folder}, got it again in {paths}")
        return Group(label, groups[0].task, groups[0].runs)

    def _load(self, path: Path) -> RunData | None:
        try:
            return load_run(path)
        except RunError as error:
            self.print_once(f"left out: {error}")
            return None

    def completed(self, name: str, rows: list[Row]) -> ResultTable:
        """Rows of runs; with `add`, also the stored ones of runs that are not here, and notes."""
        stem = self.out / name
        if not self.add or not stem.with_name(f"{name}.csv").exists():
            return ResultTable(rows)
        stored = read_table(stem)
        # these are computed again from the runs that are here
        notes = [note for note in stored.notes if not note.startswith((NOT_RUN, LEFT_OUT))]
        return ResultTable(add_rows(stored.rows, rows), notes)

    def missing_notes(
        self, methods: Iterable[str], tasks: Sequence[str], rows: Iterable[Row] = ()
    ) -> list[str]:
        """What a figure lacks, in sentences for its caption: methods without runs and rows."""
        known = {(row["method"], short_task(str(row["task"]))) for row in rows}
        parts = []
        for method in methods:
            label = METHODS[method].label
            fitting = [task for task in tasks if METHODS[method].suits(task)]
            absent = [
                task
                for task in fitting
                if (label, task) not in known and self.group(method, task) is None
            ]
            if absent:
                where = "" if absent == fitting else f" on {', '.join(map(paper_name, absent))}"
                parts.append(label.strip() + where)
        return [*([f"{NOT_RUN} {'; '.join(parts)}."] if parts else []), *self.unusable_notes(tasks)]

    def unusable_notes(self, tasks: Iterable[str]) -> list[str]:
        """How many runs exist and cannot be used, in a sentence; messages name them."""
        unusable = {}
        for task in tasks:
            found = sorted((self.root / task).glob("*/seed-*"))
            count = sum(self._load(path) is None for path in found)
            if count:
                unusable[paper_name(task)] = count
        words = [f"{n} {'run' if n == 1 else 'runs'} on {task}" for task, n in unusable.items()]
        return [f"{LEFT_OUT} {', '.join(words)}."] if words else []

    def budget_notes(self) -> list[str]:
        """A note that the version is quick or shortened, if it is."""
        if self.budget.quick:
            return ["Quick version: fewer steps and seeds than the paper."]
        return [] if self.budget.steps is None else ["Not the paper's 100,000 steps."]

    def draw(self, name: str, draw: Draw, table: ResultTable) -> list[Path]:
        """Store a table and the figure drawn of it, as `redraw` would draw it later."""
        notes = list(dict.fromkeys(table.notes))
        figure = draw(ResultTable(parse_csv(csv_bytes(table.rows).decode()), notes))
        stem = self.out / name
        return self.announce(save_figure(figure, stem, table.rows, self.command, notes, self.add))

    def write(
        self,
        name: str,
        preface: str,
        shown: Sequence[Row],
        notes: Iterable[str] = (),
        numbers: Sequence[Row] | None = None,
    ) -> list[Path]:
        """Store a page with a table, and its numbers, by default the rows that it shows."""
        said = list(dict.fromkeys(notes))
        page = f"{preface}{markdown(shown)}\n" + "".join(f"\n{note}\n" for note in said)
        rows = shown if numbers is None else numbers
        pages = {".md": page.encode()}
        return self.announce(
            save_result(self.out / name, pages, rows, self.command, said, self.add)
        )

    def redraw(self, figures: Mapping[str, Draw]) -> list[Path]:
        """Draw figures again from their stored tables, of those that are there."""
        written = []
        for name, draw in figures.items():
            stem = self.out / name
            if stem.with_name(f"{name}.csv").exists():
                written += self.announce(replace_pictures(stem, render(draw(read_table(stem)))))
        return written

    def announce(self, paths: list[Path]) -> list[Path]:
        """Print what was written, and return it."""
        print(f"written: {paths[0]} ({', '.join(path.suffix for path in paths)})", flush=True)
        return paths

    def print_once(self, text: str) -> None:
        """Print a message, only the first time."""
        if text not in self.said:
            self.said.add(text)
            print(text, file=sys.stderr, flush=True)

    def no_runs_error(self, name: str) -> RunError:
        """The error of a study without runs."""
        return RunError(
            f"{name} has nothing to draw: expected finished runs of it in {self.root}, got none; "
            f"run `scrubjay reproduce {name} --agents cec`, or name their folder with --runs"
        )

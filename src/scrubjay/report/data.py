"""The data of a report: groups of runs, their curves, and notes on what is missing."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

import numpy as np

from scrubjay.analysis.curves import Curve, at_steps, evaluation_curve, progress_curve
from scrubjay.analysis.groups import Group, group_runs
from scrubjay.analysis.reading import METRICS, RunData
from scrubjay.envs.catalog import short_task
from scrubjay.figures.style import colours_of, in_order
from scrubjay.training.errors import RunError

VIDEOS = ("*.mp4", "*.webm", "*.gif")


@dataclass(frozen=True)
class MethodLabel:
    """The label and the colour of a method, the same everywhere on the page."""

    label: str
    colour: str


@dataclass(frozen=True)
class RunLink:
    """A run as the page links to it: its seed, its folder, and its video if there is one."""

    seed: int
    folder: str
    video: str = ""


@dataclass(frozen=True)
class Series:
    """A method in a chart: its finished seeds, and runs that are only shown.

    Attributes:
        label: The method's name.
        colour: Its colour.
        curve: Its finished runs.
        unfinished: Runs that are not finished, and runs of a seed that is counted already.
        links: The finished runs, in the order of the curve, then the others.
    """

    label: str
    colour: str
    curve: Curve | None
    unfinished: tuple[Curve, ...] = ()
    links: tuple[RunLink, ...] = ()

    @property
    def curves(self) -> list[Curve]:
        """All of its curves."""
        return [*([self.curve] if self.curve else []), *self.unfinished]


class ReportData:
    """Groups in the order in which they are shown; what cannot be shown is added to `notes`."""

    def __init__(self, runs: list[RunData], notes: list[str], page_folder: Path) -> None:
        self.notes = notes
        self._page_folder = page_folder
        groups = group_runs(runs)
        self.labels = in_order({group.label for group in groups})
        self._colours = colours_of(self.labels)
        self.groups = sorted(groups, key=lambda g: (g.task, self.labels.index(g.label)))
        self.tasks = list(dict.fromkeys(group.task for group in self.groups))
        self.series = cache(self._series)
        self.link = cache(self._link)
        self.quantities = list(dict.fromkeys(name for run in runs for name in run.quantities))
        for group in self.groups:
            self._note_repeats(group)

    @property
    def title(self) -> str:
        """The tasks."""
        return ", ".join(map(short_task, self.tasks))

    @property
    def methods(self) -> list[MethodLabel]:
        """All methods, in order."""
        return [self.method(label) for label in self.labels]

    def method(self, label: str) -> MethodLabel:
        """A method with its colour."""
        return MethodLabel(label, self._colours[label])

    def note(self, text: str) -> None:
        """Add a note at the top of the page, once."""
        if text not in self.notes:
            self.notes.append(text)

    def of_task(self, task: str) -> list[Group]:
        """The groups of a task."""
        return [group for group in self.groups if group.task == task]

    def has_success(self, task: str) -> bool:
        """Whether a task reports which episodes were a success."""
        return any(run.has_success for group in self.of_task(task) for run in group.runs)

    def return_per_success(self, task: str) -> float | None:
        """The reward of a success if there are no other rewards; None otherwise.

        Returns are then success rates times a constant, and one chart shows both.
        """
        pairs = [
            (run.evaluations.success, run.evaluations.returns)
            for group in self.of_task(task)
            for run in (*group.runs, *group.repeats)
        ]
        success, returns = (np.concatenate(values) for values in zip(*pairs, strict=True))
        if not len(success) or not np.isfinite(success).all():
            return None
        pay = float(returns.max() / success.max()) if success.max() > 0 else 1.0
        return pay if pay > 0 and np.allclose(returns, pay * success, atol=1e-6) else None

    def compared(self, task: str, metric: str) -> dict[str, Curve]:
        """The curves of all methods of a task, at the steps that all of them have."""
        curves = {one.label: one.curve for one in self.series(task, metric) if one.curve}
        if not curves:
            return {}
        common = set.intersection(*(set(curve.steps.tolist()) for curve in curves.values()))
        if not common:
            self.note(f"{short_task(task)}: there is no step at which all methods were evaluated.")
            return {}
        return {label: at_steps(curve, sorted(common)) for label, curve in curves.items()}

    def _link(self, path: Path) -> tuple[str, str]:
        """The addresses of a run folder and of its video, as seen from the page."""
        folder = self._address(path) + "/"
        videos = [file for kind in VIDEOS for file in (*path.glob(kind), *path.glob(f"*/{kind}"))]
        newest = max(videos, key=lambda file: file.stat().st_mtime, default=None)
        return folder, "" if newest is None else self._address(newest)

    def _address(self, path: Path) -> str:
        try:
            relative = os.path.relpath(path.resolve(), self._page_folder.resolve())
        except ValueError:  # on another drive
            return path.resolve().as_uri()
        return quote(Path(relative).as_posix())

    def _links(self, runs: Iterable[RunData]) -> tuple[RunLink, ...]:
        return tuple(RunLink(run.seed, *self.link(run.path)) for run in runs)

    def _series(self, task: str, metric: str) -> list[Series]:
        """One series for each method that has such a curve: of evaluations, or of the log."""
        found = []
        for group in self.of_task(task):
            finished = self._curve(Group(group.label, task, group.finished), metric)
            others = [
                (run, self._curve(Group(group.label, task, (run,)), metric))
                for run in (*group.runs, *group.repeats)
                if not run.finished or run in group.repeats
            ]
            shown = [(run, curve) for run, curve in others if curve is not None]
            if finished is not None or shown:
                colour = self.method(group.label).colour
                runs = [*(group.finished if finished else ()), *(run for run, _ in shown)]
                unfinished = tuple(curve for _, curve in shown)
                found.append(Series(group.label, colour, finished, unfinished, self._links(runs)))
        return found

    def _note_repeats(self, group: Group) -> None:
        for run in group.repeats:
            first = next(other.path for other in group.runs if other.seed == run.seed)
            self.note(
                f"{run.path} and {first} are the same method, task and seed ({run.seed}). Both are "
                "shown; only the second is counted, because counting a seed twice would make "
                "intervals too narrow."
            )

    def _curve(self, group: Group, metric: str) -> Curve | None:
        """A curve, or None, with a note why if that is unexpected."""
        evaluated = metric in METRICS
        if not group.runs or not all(evaluated or metric in r.quantities for r in group.runs):
            return None
        read: Callable[[Group, str], Curve] = evaluation_curve if evaluated else progress_curve
        try:
            curve = read(group, metric)
        except RunError as error:
            if evaluated:  # a log may have no values
                self.note(f"{error}.")
            return None
        # the report names unfinished runs by their folders already, and what is logged ends at the
        # ends of episodes, each run's at other steps
        for note in curve.notes if evaluated and group.runs == group.finished else ():
            self.note(f"{note}.")
        return curve if np.isfinite(curve.values).all() else None

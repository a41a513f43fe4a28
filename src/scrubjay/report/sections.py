"""The sections of a report as data; each has its template, which is empty without data."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scrubjay.analysis.groups import Group, differences, plain
from scrubjay.analysis.memories import view_memories
from scrubjay.analysis.reading import METRICS, RunData
from scrubjay.analysis.statistics import MIN_RUNS
from scrubjay.envs.catalog import short_task
from scrubjay.figures.curves import METRIC_LABELS
from scrubjay.report.charts import Chart, line_chart
from scrubjay.report.data import MethodLabel, ReportData
from scrubjay.report.formatting import ABSENT, NO_SUCCESS, duration, number, or_absent
from scrubjay.report.pictures import (
    ColourBar,
    Picture,
    colour_bar,
    memory_picture,
    trajectory_picture,
)
from scrubjay.report.table_cells import (
    estimate,
    first_step,
    improvement,
    last_value,
    mean_of,
    seed_strip,
)
from scrubjay.training.errors import RunError

Row = dict[str, Any]

N_SHOWN = 12  # pictures of a method on a task that are shown at once; 25 runs of MFEC have 100


@dataclass(frozen=True)
class Gallery:
    """The pictures of one method on one task."""

    method: MethodLabel
    task: str
    pictures: Sequence[Picture]
    bar: ColourBar | None = None

    @property
    def first(self) -> Sequence[Picture]:
        """The pictures that are shown at once."""
        return self.pictures[:N_SHOWN]

    @property
    def more(self) -> Sequence[Picture]:
        """Those that are shown on request."""
        return self.pictures[N_SHOWN:]

    @property
    def episodes(self) -> list[tuple[int, str]]:
        """The numbers of all episodes that are drawn, and their colours."""
        return sorted(
            {(path.episode, path.colour) for one in self.pictures for path in one.trajectories}
        )

    @property
    def some_failed(self) -> bool:
        """Whether any episode that is drawn was not a success."""
        return any(not path.succeeded for one in self.pictures for path in one.trajectories)


def learning_curves(data: ReportData) -> list[Chart]:
    """Success and return of each task; one chart if the return contains nothing more."""
    return [chart for task in data.tasks for chart in _charts(data, task)]


def _charts(data: ReportData, task: str) -> list[Chart]:
    pay, title = data.return_per_success(task), short_task(task)
    success, returns = data.series(task, "success"), data.series(task, "return")
    charts = []
    if success:
        note = "" if pay is None else f"the return is {_times(pay)}"
        charts.append(line_chart(success, title, METRIC_LABELS["success"], (0.0, 1.0), note))
    if returns and (pay is None or not success):
        note = "" if data.has_success(task) else NO_SUCCESS
        charts.append(line_chart(returns, title, METRIC_LABELS["return"], note=note))
    return charts


def quantities(data: ReportData) -> list[Row]:
    """Everything that methods can be compared by, in groups, each with a chart for each task."""
    groups: dict[str, list[Row]] = {}
    for name in (*METRICS, *data.quantities):
        charts = _quantity_charts(data, name)
        if charts:
            group = "evaluation" if name in METRICS else name.rpartition("/")[0] or "recorded"
            label = METRIC_LABELS[name] if name in METRICS else name
            groups.setdefault(group, []).append({"name": name, "label": label, "charts": charts})
    return [{"name": name, "members": members} for name, members in groups.items()]


def _quantity_charts(data: ReportData, name: str) -> list[Chart]:
    label = METRIC_LABELS[name] if name in METRICS else name
    limits = (0.0, 1.0) if name == "success" else None
    return [
        line_chart(series, short_task(task), label, limits)
        for task in data.tasks
        if (series := data.series(task, name))
    ]


def _times(pay: float) -> str:
    return "the same" if pay == 1 else f"{pay:g} times this"


def results(data: ReportData) -> list[Row]:
    """A row for each task and method."""
    return [row for task in data.tasks for row in _result_rows(data, task)]


def improvements(data: ReportData) -> list[Row]:
    """A row for each two methods of a task."""
    return [row for task in data.tasks for row in _improvement_rows(data, task)]


def memory_sizes(data: ReportData) -> list[Chart]:
    """How memories grow, a chart for each task."""
    return [
        line_chart(series, short_task(task), "rows in memory")
        for task in data.tasks
        if (series := data.series(task, "memory/size"))
    ]


def memories(data: ReportData) -> list[Gallery]:
    """The content of the memories at the end."""
    found = [_memories(data, group) for group in data.groups]
    return [gallery for gallery in found if gallery is not None]


def trajectories(data: ReportData) -> list[Gallery]:
    """Evaluation episodes of the last recorded step."""
    found = []
    for group in data.groups:
        pictures = [_trajectory(data, run) for run in group.runs]
        shown = [picture for picture in pictures if picture is not None]
        if shown:
            found.append(Gallery(data.method(group.label), short_task(group.task), shown))
    return found


def times(data: ReportData) -> list[Row]:
    """How long methods took."""
    groups = [group for group in data.groups if group.finished]
    training = [mean_of(group.finished, "time/train_seconds") or 0.0 for group in groups]
    return [_time_row(data, group, max(training)) for group in groups]


def settings(data: ReportData) -> Row:
    """Settings that differ between the groups."""
    found = differences([group.runs[0] for group in data.groups])
    return {
        "names": data.labels,
        "rows": [
            {
                "name": name.removeprefix("options."),
                "cells": [_values_of(data, label, values) for label in data.labels],
            }
            for name, values in found.items()
            if name.rpartition(".")[2] not in ("seed", "task", "agent")
        ],
    }


def _values_of(data: ReportData, label: str, values: Sequence[object]) -> list[tuple[str, str]]:
    """The values of a setting in one method, the most frequent first, and their tasks."""
    tasks: dict[str, list[str]] = {}
    for group, value in zip(data.groups, values, strict=True):
        if group.label == label:
            tasks.setdefault(_setting(value), []).append(short_task(group.task))
    if len(tasks) == 1:
        return [(text, "") for text in tasks]
    ordered = sorted(tasks.items(), key=lambda item: -len(item[1]))
    return [(text, ", ".join(names)) for text, names in ordered]


def every_run(data: ReportData) -> list[Row]:
    """A row for each run, repeats included."""
    return [
        _run_row(data, group, run)
        for group in data.groups
        for run in sorted((*group.runs, *group.repeats), key=lambda run: run.seed)
    ]


def _setting(value: object) -> str:
    return ABSENT if value is None else plain(value)


def _result_rows(data: ReportData, task: str) -> list[Row]:
    success, returns = data.compared(task, "success"), data.compared(task, "return")
    steps = [float(curve.steps[-1]) for curve in (*success.values(), *returns.values())]
    pay = data.return_per_success(task) if success else None
    return [
        {
            "task": short_task(task),
            "method": data.method(group.label),
            "n_seeds": len(group.finished),
            "step": number(steps[0]) if steps else ABSENT,
            "success": estimate(success.get(group.label)),
            "strip": seed_strip(success.get(group.label)),
            "no_success": "" if any(run.has_success for run in group.runs) else NO_SUCCESS,
            "returns": estimate(returns.get(group.label)) if pay is None else None,
            "pay": "" if pay is None else "= success" if pay == 1 else f"= {pay:g} × success",
            "first_success": first_step(group.finished, "first_success_step"),
            "first_greedy": first_step(group.finished, "first_greedy_success_step"),
        }
        for group in data.of_task(task)
    ]


def _improvement_rows(data: ReportData, task: str) -> list[Row]:
    curves = data.compared(task, "return")
    enough = {
        label: curve.values for label, curve in curves.items() if len(curve.seeds) >= MIN_RUNS
    }
    return [
        {
            "task": short_task(task),
            "first": data.method(first),
            "second": data.method(second),
            "at_the_end": improvement(enough[first][:, -1], enough[second][:, -1]),
            "averaged": improvement(enough[first].mean(axis=1), enough[second].mean(axis=1)),
        }
        for first, second in itertools.combinations(enough, 2)
    ]


def _memories(data: ReportData, group: Group) -> Gallery | None:
    found = []
    for run in group.runs:
        try:
            found += view_memories(run)
        except RunError as error:
            data.note(f"{error}.")
    if not found:
        return None
    low = min(float(view.values.min()) for view in found)
    high = max(float(view.values.max()) for view in found)
    return Gallery(
        data.method(group.label),
        short_task(group.task),
        [memory_picture(view, low, high) for view in found],
        colour_bar(low, high) if any(view.pictures is None for view in found) else None,
    )


def _trajectory(data: ReportData, run: RunData) -> Picture | None:
    try:
        return trajectory_picture(run)
    except RunError as error:
        data.note(f"{error}.")
        return None


def _time_row(data: ReportData, group: Group, longest: float) -> Row:
    seconds = mean_of(group.finished, "time/train_seconds")
    steps = mean_of(group.finished, "timestep")
    share = 100 * (seconds or 0) / longest if longest else 0
    return {
        "task": short_task(group.task),
        "method": data.method(group.label),
        "training": duration(seconds),
        "evaluation": duration(mean_of(group.finished, "time/evaluation_seconds")),
        "compilation": duration(mean_of(group.finished, "time/compile_seconds")),
        "rate": number(steps / seconds) if steps and seconds else ABSENT,
        "share": f"{share:.2f}",
    }


def _run_row(data: ReportData, group: Group, run: RunData) -> Row:
    steps = run.evaluations.timesteps
    evaluated = int(steps[-1]) if len(steps) else None
    return {
        "task": short_task(group.task),
        "method": data.method(group.label),
        "seed": run.seed,
        "status": _status(group, run),
        "finished": run.finished and run not in group.repeats,
        "steps": _counted(run.manifest.get("timesteps", evaluated)),
        "first_success": _first(run, "first_success_step"),
        "first_greedy": _first(run, "first_greedy_success_step"),
        "elapsed": duration(last_value(run, "time/time_elapsed")),
        "started": or_absent(run.manifest.get("started"))[:16].replace("T", " "),
        "path": run.path,
        "link": data.link(run.path),
        "command": run.manifest.get("command", ""),
    }


def _status(group: Group, run: RunData) -> str:
    repeated = ", repeats a seed: not counted" if run in group.repeats else ""
    return f"{run.manifest['status']}{repeated}"


def _first(run: RunData, name: str) -> str:
    step = run.manifest.get(name)
    return "never" if step is None and run.has_success else _counted(step)


def _counted(steps: object) -> str:
    return f"{steps:,}" if isinstance(steps, int) else or_absent(steps)

"""The sections of a report, from top to bottom. Each is empty where there is nothing to show."""

import itertools
from collections.abc import Sequence

from scrubjay.analysis.groups import Group, differences
from scrubjay.analysis.memories import read_memory
from scrubjay.analysis.reading import RunData
from scrubjay.analysis.statistics import FEWEST_RUNS
from scrubjay.envs.catalog import short_task
from scrubjay.figures.curves import METRIC_LABELS
from scrubjay.report.cells import (
    ABSENT,
    duration,
    estimates,
    improvement,
    last_value,
    mean_of,
    median_step,
    method,
    or_absent,
    seed_dots,
    time_bar,
)
from scrubjay.report.charts import line_chart, number
from scrubjay.report.evidence import Evidence
from scrubjay.report.markup import Markup, join, table, tag
from scrubjay.report.pictures import colour_bar, memory_picture, trajectory_picture
from scrubjay.training.errors import RunError


def learning_curves(evidence: Evidence) -> Markup:
    panels = [
        line_chart(series, short_task(task), METRIC_LABELS[metric], limits)
        for task in evidence.tasks
        for metric, limits in (("success", (0.0, 1.0)), ("return", None))
        if (series := evidence.series(task, metric))
    ]
    text = (
        "Thick lines summarise the seeds, bands say how sure that is, thin lines are the single "
        "seeds. Each point is the mean of a run's evaluation episodes. With fewer than three seeds "
        "there is no summary and no band: the runs alone are drawn, with dots. Unfinished runs are "
        "dashed and counted nowhere."
    )
    return _section("Learning curves", text, tag("div", *panels, class_="charts"))


def results(evidence: Evidence) -> Markup:
    header = [
        *("task", "method", "seeds", "step", "success", "seeds, 0 to 1", "return"),
        *("first success", "first greedy success"),
    ]
    rows = [row for task in evidence.tasks for row in _result_rows(evidence, task)]
    text = (
        "At the last step at which all methods of a task were evaluated: above, the interquartile "
        "mean over seeds with its 95% stratified-bootstrap interval; below, the mean ± its "
        f"standard error; neither from fewer than three seeds ({ABSENT}). First successes are "
        "medians over seeds, in steps: in training, and of the greedy policy."
    )
    return _section("Results", text, table(header, rows, "Results"))


def improvements(evidence: Evidence) -> Markup:
    rows = [row for task in evidence.tasks for row in _improvement_rows(evidence, task)]
    text = (
        "How likely a run of the first method returns more than a run of the second, ties counted "
        "half, with 95% bootstrap intervals; 50% means no difference. Averaged over all steps, "
        "who learns sooner is better."
    )
    header = ["task", "first", "second", "at the last step", "averaged over all steps"]
    content = table(header, rows, "Probability of improvement") if rows else Markup("")
    return _section("Probability of improvement", text, content)


def memory(evidence: Evidence) -> Markup:
    charts = [
        line_chart(series, short_task(task), "rows in memory")
        for task in evidence.tasks
        if (series := evidence.series(task, "memory/size"))
    ]
    galleries = [_memories(evidence, group) for group in evidence.groups]
    text = (
        "How the memory grows, and what it holds at the end: the best value stored in each cell "
        "over the first two dimensions of the keys (one-dimensional keys: over key and action), as "
        "the memory sees them, after any scaling and projection."
    )
    grown = tag("div", *charts, class_="charts") if charts else Markup("")
    return _section("Memory", text, join([grown, *galleries]))


def trajectories(evidence: Evidence) -> Markup:
    galleries = [
        _gallery(evidence, group, [_trajectory(evidence, run) for run in group.runs])
        for group in evidence.groups
    ]
    text = "Evaluation episodes at the last recorded step, each from its ring to its dot."
    return _section("Trajectories", text, join(galleries))


def time(evidence: Evidence) -> Markup:
    groups = [group for group in evidence.groups if group.finished]
    training = [mean_of(group.finished, "time/train_seconds") or 0.0 for group in groups]
    header = ["task", "method", "training", "evaluation", "compilation", "steps a second", ""]
    rows = [_time_row(evidence, group, max(training)) for group in groups]
    text = (
        "Wall clock, means over finished runs. Runs that shared a machine with others took longer "
        "than they would alone. Bars compare training times."
    )
    return _section("Time", text, table(header, rows, "Time") if rows else Markup(""))


def settings(evidence: Evidence) -> Markup:
    found = differences([group.runs[0] for group in evidence.groups])
    rows = [
        [tag("code", name), *map(or_absent, values)]
        for name, values in found.items()
        if name.rpartition(".")[2] not in ("seed", "task", "agent")
    ]
    header = ["setting", *(f"{g.label}, {short_task(g.task)}" for g in evidence.groups)]
    text = "Only what is not the same everywhere; seeds apart."
    content = table(header, rows, "Differences in configuration") if rows else Markup("")
    return _section("Differences in configuration", text, content)


def every_run(evidence: Evidence) -> Markup:
    header = [
        *("task", "method", "seed", "status", "steps", "first success", "first greedy success"),
        *("wall clock", "started", "folder"),
    ]
    runs = [(group, run) for group in evidence.groups for run in group.runs]
    rows = [_run_row(evidence, group, run) for group, run in runs]
    commands = "\n".join(str(run.manifest.get("command", "")) for _, run in runs)
    details = tag("details", tag("summary", "Commands"), tag("pre", commands))
    return _section("Runs", "", join([table(header, rows, "Runs"), details]))


def _section(title: str, text: str, content: Markup) -> Markup:
    if not content:
        return content
    about = tag("p", text, class_="about") if text else Markup("")
    return tag("section", tag("h2", title), about, content)


def _result_rows(evidence: Evidence, task: str) -> list[list[object]]:
    success, returns = evidence.compared(task, "success"), evidence.compared(task, "return")
    steps = [float(curve.steps[-1]) for curve in (*success.values(), *returns.values())]
    return [
        [
            short_task(task),
            method(group.label, evidence.colour(group.label)),
            len(group.finished),
            number(steps[0]) if steps else ABSENT,
            estimates(success.get(group.label)),
            seed_dots(success.get(group.label), evidence.colour(group.label)),
            estimates(returns.get(group.label)),
            median_step(group.finished, "first_success_step"),
            median_step(group.finished, "first_greedy_success_step"),
        ]
        for group in evidence.of_task(task)
    ]


def _improvement_rows(evidence: Evidence, task: str) -> list[list[object]]:
    curves = evidence.compared(task, "return")
    enough = {
        label: curve.values for label, curve in curves.items() if len(curve.seeds) >= FEWEST_RUNS
    }
    return [
        [
            short_task(task),
            method(first, evidence.colour(first)),
            method(second, evidence.colour(second)),
            improvement(enough[first][:, -1], enough[second][:, -1]),
            improvement(enough[first].mean(axis=1), enough[second].mean(axis=1)),
        ]
        for first, second in itertools.combinations(enough, 2)
    ]


def _memories(evidence: Evidence, group: Group) -> Markup:
    views = []
    for run in group.runs:
        try:
            views.append(read_memory(run))
        except RunError as error:
            evidence.note(f"{error}.")
    found = [view for view in views if view is not None]
    if not found:
        return Markup("")
    low = min(float(view.values.min()) for view in found)
    high = max(float(view.values.max()) for view in found)
    pictures = [memory_picture(view, low, high) for view in found]
    return _gallery(evidence, group, [*pictures, colour_bar(low, high)])


def _trajectory(evidence: Evidence, run: RunData) -> Markup | None:
    try:
        return trajectory_picture(run)
    except RunError as error:
        evidence.note(f"{error}.")
        return None


def _gallery(evidence: Evidence, group: Group, pictures: Sequence[Markup | None]) -> Markup:
    shown = [picture for picture in pictures if picture is not None]
    if not shown:
        return Markup("")
    name = method(group.label, evidence.colour(group.label))
    title = tag("h3", name, f" on {short_task(group.task)}")
    return join([title, tag("div", *shown, class_="gallery")])


def _time_row(evidence: Evidence, group: Group, longest: float) -> list[object]:
    seconds = mean_of(group.finished, "time/train_seconds")
    steps = mean_of(group.finished, "timestep")
    colour = evidence.colour(group.label)
    return [
        short_task(group.task),
        method(group.label, colour),
        duration(seconds),
        duration(mean_of(group.finished, "time/evaluation_seconds")),
        duration(mean_of(group.finished, "time/compile_seconds")),
        number(steps / seconds) if steps and seconds else ABSENT,
        time_bar(seconds, longest, colour),
    ]


def _run_row(evidence: Evidence, group: Group, run: RunData) -> list[object]:
    status, steps = run.manifest["status"], run.evaluations.timesteps
    evaluated = f"{steps[-1]:.0f}" if len(steps) else None
    return [
        short_task(group.task),
        method(group.label, evidence.colour(group.label)),
        run.seed,
        status if run.finished else tag("mark", status),
        or_absent(run.manifest.get("timesteps", evaluated)),
        or_absent(run.manifest.get("first_success_step")),
        or_absent(run.manifest.get("first_greedy_success_step")),
        duration(last_value(run, "time/time_elapsed")),
        or_absent(run.manifest.get("started")),
        tag("code", run.path),
    ]

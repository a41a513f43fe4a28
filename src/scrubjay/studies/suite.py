"""The suite: CECPlus without settings on 26 sparse tasks, against what people would use instead."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from scrubjay.analysis.curves import Curve, curves_of, evaluation_curve, tidy_rows
from scrubjay.analysis.groups import Group
from scrubjay.analysis.reading import Array
from scrubjay.analysis.results import ResultTable, Row, number_of
from scrubjay.analysis.statistics import aggregate, bootstrap_interval, interquartile_mean
from scrubjay.figures.curves import learning_curves
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, open_figure
from scrubjay.figures.style import colours_of, in_order
from scrubjay.randomness import Stream, reset_seed
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import folder_of
from scrubjay.studies.shared.panels import curve_notes
from scrubjay.studies.shared.plus_cases import Arm
from scrubjay.studies.shared.suite_tasks import DISCRETE, GOALS, SUITE, SuiteTask
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.studies.speed import train_seconds
from scrubjay.training.evaluation import Evaluator
from scrubjay.training.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BOX = tuple(case.task for case in SUITE if case.task not in DISCRETE)
HER = tuple(case.task for case in SUITE if case.family == GOALS and case.task != "SparseReacher")
ARMS = {
    "cec-plus": Arm("CECPlus"),
    "cec": Arm("CEC", agent="cec"),
    "sac-defaults": Arm("SAC, SB3's defaults", agent="sac", preset="defaults", tasks=BOX),
    "sac-small-entropy": Arm("SAC, small entropy", agent="sac", preset="small-entropy", tasks=BOX),
    "sac-her": Arm("SAC with HER", agent="sac", preset="her", tasks=(*HER, "SparseFetchReach")),
    "crossq": Arm("CrossQ, small entropy", agent="crossq", preset="small-entropy", tasks=BOX),
    "tqc": Arm("TQC, small entropy", agent="tqc", preset="small-entropy", tasks=BOX),
    "dqn": Arm("DQN", agent="dqn", tasks=DISCRETE),
}
SEEDS = tuple(range(10))
NETWORK_STEPS = 20_000  # more would take days on two cores
N_RANDOM_EPISODES = 20
SHARES = np.linspace(0.1, 1.0, 10)  # of the steps of a task
LEVELS = np.linspace(0.0, 1.0, 101)  # of the score, for performance profiles
MIN_TASKS = 3  # of a method in the summary

PREFACE = """# The suite

Sparse tasks, one setting for all of them. Value: success of 20 greedy episodes (their return where
the table says so) at the step of the target, or after all steps; mean over seeds. Horizon: steps
after which an episode ends. Random: 20 episodes of uniformly random actions. A method with networks
is trained for at most 20,000 steps, so that its values are those of that step.

"""


def folder(workspace: Workspace) -> Path:
    """Where its runs lie."""
    return workspace.root / "suite"


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of those of its methods that may be run, method by method.

    CEC is run beside CECPlus only: `reproduce all --agents cec` is the paper.
    """
    allowed = set(workspace.agents) - (set() if "cec-plus" in workspace.agents else {"cec"})
    return [
        config_of(arm, case, seed, workspace)
        for name, arm in ARMS.items()
        if name in allowed
        for case in cases_of(workspace)
        if arm.suits(case)
        for seed in seeds_of(arm, workspace)
    ]


def cases_of(workspace: Workspace) -> tuple[SuiteTask, ...]:
    """A quick version has the first three tasks."""
    return SUITE[:3] if workspace.budget.quick else SUITE


def seeds_of(arm: Arm, workspace: Workspace) -> tuple[int, ...]:
    """Ten for our own methods, two for networks, unless others are given."""
    if workspace.budget.quick:
        return SEEDS[:3]
    if workspace.budget.seeds != tuple(range(5)):
        return workspace.budget.seeds
    return SEEDS[:2] if arm.has_networks else SEEDS


def config_of(arm: Arm, case: SuiteTask, seed: int, workspace: Workspace) -> RunConfig:
    """One run, evaluated ten times; a quick one has a tenth of the steps."""
    steps = min(case.steps, NETWORK_STEPS) if arm.has_networks else case.steps
    steps = steps // 10 if workspace.budget.quick else steps
    return replace(arm.config(case, seed), steps=steps, eval_freq=min(case.eval_freq, steps // 10))


def groups_of(workspace: Workspace) -> dict[tuple[SuiteTask, str], Group]:
    """The finished runs of each task and method that has any."""
    found = {}
    for case in SUITE:
        for arm in ARMS.values():
            if arm.suits(case):
                runs = folder(workspace) / folder_name(arm, case, workspace)
                if group := workspace.runs_in(runs, arm.label):
                    found[case, arm.label] = group
    return found


def folder_name(arm: Arm, case: SuiteTask, workspace: Workspace) -> Path:
    """The folder of a variant, below that of the study."""
    return folder_of(Path(), config_of(arm, case, 0, workspace)).parent


def make(workspace: Workspace) -> list[Path]:
    """The figures and the table."""
    groups = groups_of(workspace)
    if not groups:
        raise workspace.no_runs_error("suite")
    run = [curve_of(case, group) for (case, _), group in groups.items()]
    table = workspace.completed("suite", tidy_rows(run))
    found = {(curve.task, curve.label): curve for curve in curves_of(table.rows)}
    shown = [
        (case, found[case.title, arm.label])
        for case in SUITE
        for arm in ARMS.values()
        if (case.title, arm.label) in found
    ]
    known = random_scores([case for case, _ in shown], folder(workspace), workspace)
    rows = [measure(case, curve, known[case.title]) for case, curve in shown]
    curves = [curve for _, curve in shown]
    notes = [*curve_notes([*run, *curves]), *workspace.budget_notes(), *table.notes]
    points = workspace.completed("suite-summary", all_scores(groups, known))
    summary = ResultTable(points.rows, [*workspace.budget_notes(), *points.notes])
    return [
        *workspace.draw("suite", draw_suite, ResultTable(tidy_rows(curves), notes)),
        *workspace.draw("suite-summary", draw_summary, summary),
        *workspace.write("table-suite", PREFACE, rows),
    ]


def curve_of(case: SuiteTask, group: Group) -> Curve:
    """A curve under the title of its task: some differ in their arguments only."""
    return replace(evaluation_curve(group, case.metric), task=case.title)


def measure(case: SuiteTask, curve: Curve, known: Mapping[str, float]) -> Row:
    """A row of the table: what is to be had, and what a method has at the step of the target."""
    at = min(int(np.searchsorted(curve.steps, case.target_step)), len(curve.steps) - 1)
    values = curve.values[:, at]
    return {
        "family": case.family,
        "task": case.title,
        "horizon": f"{known['horizon']:.0f}",
        "optimum": f"{case.optimum:g}",
        "random": f"{known['random']:.2f}",
        "method": curve.label,
        "seeds": len(values),
        "step": f"{curve.steps[at]:,.0f}",
        "value": f"{values.mean():.2f}",
        "lowest seed": f"{values.min():.2f}",
        "target of CECPlus": f"{case.target:g}" if case.target else "-",
    }


def all_scores(
    groups: Mapping[tuple[SuiteTask, str], Group], known: Mapping[str, Mapping[str, float]]
) -> list[Row]:
    """The scores of all runs."""
    return [
        row
        for (case, _), group in groups.items()
        for row in score_rows(case, group, known[case.title]["random"])
    ]


def score_rows(case: SuiteTask, group: Group, random: float) -> list[Row]:
    """A row for each seed and evaluation: 0 is what random actions reach, 1 the optimum."""
    curve = evaluation_curve(group, case.metric)
    scores = np.clip((curve.values - random) / (case.optimum - random), 0.0, 1.0)
    return [
        {
            "task": case.title, "method": group.label, "seed": run.seed, "step": int(step),
            "share": float(step / case.steps), "score": float(f"{score:.4g}"),
            "seconds": float(f"{train_seconds(run, step):.4g}"),
        }
        for run, values in zip(group.runs, scores, strict=True)
        for step, score in zip(curve.steps, values, strict=True)
    ]  # fmt: skip


# ---------------------------------------------------------------- random actions


def random_scores(
    cases: Iterable[SuiteTask], root: Path, workspace: Workspace
) -> dict[str, dict[str, float]]:
    """Horizon and random score of each task, measured once and kept beside the runs."""
    path = root / "random.json"
    known: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    for case in cases:
        if case.title not in known:
            workspace.print_once(f"{case.title}: playing {N_RANDOM_EPISODES} episodes at random")
            known[case.title] = random_score(case)
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(known, indent=2) + "\n")
    return known


class RandomPolicy:
    """Uniformly random actions.

    Args:
        space: The action space.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self._space = space
        self._space.seed(reset_seed(0, Stream.POLICY, 0, 0))

    def predict(
        self,
        observation: Any,  # noqa: ARG002
        state: Any = None,  # noqa: ARG002
        episode_start: Any = None,  # noqa: ARG002
        deterministic: bool = False,  # noqa: ARG002
    ) -> tuple[Any, Any]:
        """A random action, whatever the observation."""
        return self._space.sample(), None


def random_score(case: SuiteTask) -> dict[str, float]:
    """The mean of random episodes, and how long an episode may be."""
    env = Arm("CECPlus").config(case, 0).make_env()
    records = Evaluator(env, N_RANDOM_EPISODES, 0).run(RandomPolicy(env.action_space), 0)
    spec = env.spec
    env.close()
    values = [
        float(bool(each.is_success)) if case.metric == "success" else each.total_reward
        for each in records
    ]
    horizon = spec.max_episode_steps if spec is not None else None
    return {"random": float(np.mean(values)), "horizon": float(horizon or 0)}


# ---------------------------------------------------------------- figures


def draw_suite(table: ResultTable) -> "Figure":
    """A panel for each task."""
    curves = curves_of(table.rows)
    panels = {
        case.title: shown
        for case in SUITE
        if (shown := [curve for curve in curves if curve.task == case.title])
    }
    return learning_curves(panels, "bootstrap", columns=4, notes=table.notes).figure


def draw_summary(table: ResultTable) -> "Figure":
    """All tasks together: score against steps, against seconds, and performance profiles."""
    methods, tasks = compared(table.rows)
    scores = {method: scores_of(table.rows, method, tasks) for method in methods}
    figure, grid = open_figure(1, 3, (PAGE_WIDTH, 3.6))
    colours = colours_of(methods)
    by_steps, by_seconds, profiles = grid[0]
    for method in reversed(methods):  # the first on top
        colour = colours[method]
        _draw_middle(by_steps, SHARES, at_shares(scores[method]), colour)
        seconds = np.geomspace(0.1, 3000.0, 40)
        _draw_middle(by_seconds, seconds, at_seconds(scores[method], seconds), colour)
        last = np.concatenate([values[-1:] for *_, values in scores[method]])
        profiles.plot(LEVELS, (last[:, None] >= LEVELS).mean(axis=0), color=colour, linewidth=2)
    _label(by_steps, "share of the task's steps", "interquartile mean of the score")
    _label(by_seconds, "seconds of training", "")
    by_seconds.set_xscale("log")
    _label(profiles, "score at the end", "share of runs that reach it")
    add_legend(figure, methods)
    n_runs = {method: len(scores[method]) for method in methods}
    add_caption(figure, " ".join([_caption(tasks, n_runs), *table.notes]))
    return figure


def compared(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The methods with enough tasks, and the tasks that all of them were run on."""
    tasks_of: dict[str, set[str]] = {}
    for row in rows:
        tasks_of.setdefault(str(row["method"]), set()).add(str(row["task"]))
    # from the method with the most tasks on, as long as enough tasks are common to all
    common: set[str] = set()
    methods: list[str] = []
    for method in sorted(tasks_of, key=lambda name: -len(tasks_of[name])):
        shared = tasks_of[method] & common if methods else tasks_of[method]
        if not methods or len(shared) >= MIN_TASKS:
            common, methods = shared, [*methods, method]
    return in_order(methods), sorted(common)


RunScores = tuple[str, Array, Array, Array]  # task, shares, seconds, scores of one run


def scores_of(rows: Sequence[Row], method: str, tasks: Sequence[str]) -> list[RunScores]:
    """The evaluations of each run of a method."""
    runs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["method"] == method and row["task"] in tasks:
            runs.setdefault((str(row["task"]), str(row["seed"])), []).append(row)
    return [
        (task, _column(mine, "share"), _column(mine, "seconds"), _column(mine, "score"))
        for (task, _), mine in runs.items()
    ]


def _column(rows: Sequence[Row], name: str) -> Array:
    return np.array([number_of(row[name]) for row in rows])


def at_shares(runs: Sequence[RunScores]) -> list[Array]:
    """(runs, shares) for each task: the last score by then, also of a run that was shorter."""
    return _by_task([(task, _last(shares, scores, SHARES)) for task, shares, _, scores in runs])


def at_seconds(runs: Sequence[RunScores], seconds: Array) -> list[Array]:
    """(runs, seconds) for each task: the last score by then; 0 before the first evaluation."""
    return _by_task([(task, _last(times, scores, seconds)) for task, _, times, scores in runs])


def _last(at: Array, scores: Array, grid: Array) -> Array:
    place = np.searchsorted(at, grid * (1 + 1e-9), side="right") - 1
    return np.where(place < 0, 0.0, scores[np.maximum(place, 0)])


def _by_task(runs: Sequence[tuple[str, Array]]) -> list[Array]:
    tasks = dict.fromkeys(task for task, _ in runs)
    return [np.stack([values for mine, values in runs if mine == task]) for task in tasks]


def _draw_middle(axes: "Axes", at: Array, tasks: Sequence[Array], colour: str) -> None:
    """The interquartile mean over all runs, and its 95% stratified-bootstrap interval."""
    interval = bootstrap_interval(tasks, interquartile_mean, np.random.default_rng(0), 500)
    if interval is not None:
        axes.fill_between(at, interval.low, interval.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(at, aggregate(tasks), color=colour, linewidth=2)


def _label(axes: "Axes", x: str, y: str) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def _caption(tasks: Sequence[str], n_runs: Mapping[str, int]) -> str:
    counts = "; ".join(f"{method} {n}" for method, n in n_runs.items())
    return (
        "Score: 0 is what random actions reach, 1 the optimum. Left and middle: interquartile mean "
        "over the runs of all tasks that every method shown was run on, with its 95% "
        "stratified-bootstrap interval (none for fewer than three seeds). A run that ended earlier "
        f"keeps its last score. {len(tasks)} tasks: {', '.join(tasks)}. Runs: {counts}."
    )


FIGURES = {"suite": draw_suite, "suite-summary": draw_summary}

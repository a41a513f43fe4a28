"""`cec-plus` against the paper's rule: tasks with their targets, and the removed parts.

Settings were chosen on the seeds 100 to 113, and the parts on 0 to 9; the reported results are of
other seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrubjay.analysis.curves import curves_of
from scrubjay.analysis.groups import Group
from scrubjay.analysis.results import ResultTable
from scrubjay.figures.curves import learning_curves
from scrubjay.registry import agent_spec
from scrubjay.runs.config import RunConfig
from scrubjay.runs.sweep import folder_of
from scrubjay.studies.shared.methods import SAFEXP
from scrubjay.studies.shared.panels import by_title
from scrubjay.studies.shared.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEEDS = tuple(range(20, 30))
QUICK_SEEDS = (0, 1, 2)
N_EVAL_EPISODES = 20


@dataclass(frozen=True, eq=False)
class Case:
    """A task, its training steps and evaluations, the target with its step, and the best value."""

    title: str
    task: str
    steps: int
    eval_freq: int
    target_step: int
    target: float
    task_options: Mapping[str, Any] = field(default_factory=dict)
    metric: str = "success"
    optimum: float = 1.0

    @property
    def n_eval_episodes(self) -> int:
        """Where nothing is random, greedy episodes are all alike: one is enough."""
        same = self.task == "GrowingTree" or (self.task in SAFEXP and not self.task_options)
        return 1 if same else N_EVAL_EPISODES


@dataclass(frozen=True, eq=False)
class Arm:
    """A variant; `options_on` are for single tasks, `tasks` those that it is for (empty: all)."""

    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    agent: str = "cec-plus"
    options_on: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    preset: str = ""

    @property
    def has_networks(self) -> bool:
        """Whether it trains networks, which takes a hundred times as long."""
        return agent_spec(self.agent).extra == "deep"

    def suits(self, case: Case) -> bool:
        """Whether it is run on a case; those that name their tasks have no images."""
        return not self.tasks or (case.task in self.tasks and "pixels" not in case.task_options)

    def config(self, case: Case, seed: int) -> RunConfig:
        """The run of a case and seed."""
        return RunConfig(
            agent=self.agent,
            task=case.task,
            preset=self.preset,
            options={**self.options, **self.options_on.get(case.task, {})},
            task_options=dict(case.task_options),
            seed=seed,
            steps=case.steps,
            eval_freq=case.eval_freq,
            n_eval_episodes=case.n_eval_episodes,
            checkpoint_freq=0,
        )

    def group(self, case: Case, root: Path, workspace: Workspace) -> Group | None:
        """Its finished runs on a case."""
        return workspace.runs_in(folder_of(root, self.config(case, 0)).parent, self.label)


FULL = Arm("CECPlus")
PAPER = Arm("CEC", agent="cec")


def seeds_of(workspace: Workspace) -> tuple[int, ...]:
    """Ten, unless others are given."""
    asked = workspace.budget.seeds
    if workspace.budget.quick:
        return QUICK_SEEDS
    return SEEDS if asked == tuple(range(5)) else asked


def draw_cases(table: ResultTable, cases: Sequence[Case]) -> "Figure":
    """The curves of both methods, a panel for each case."""
    titles = {(case.task, case.metric): case.title for case in cases}
    panels = by_title(curves_of(table.rows), titles)
    figure = learning_curves(panels, "bootstrap", notes=table.notes).figure
    best = {case.title: case.optimum for case in cases}
    for place, (axes, (title, curves)) in enumerate(zip(figure.axes, panels.items(), strict=False)):
        axes.set_ylim(-0.04 * best[title], 1.04 * best[title])
        if place % 3 and curves[0].metric == "success":
            axes.set_ylabel("")
    return figure

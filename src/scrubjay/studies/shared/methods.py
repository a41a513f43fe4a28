"""What is compared: methods, tasks, and how long each is trained."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scrubjay.envs.catalog import TASKS
from scrubjay.envs.safexp_models import OUTER_WALLS
from scrubjay.registry import agent_spec
from scrubjay.runs.config import RunConfig

MAZES = ("PointUMaze", "Point4Rooms")
SAFEXP = ("SafexpPointGoal", "SafexpCarGoal")
NAVIGATION = (*MAZES, *SAFEXP)
PAPER_TASKS = ("GrowingTree", "SparseMountainCar", *NAVIGATION, "SparseFetchReach")
PAPER_METHODS = ("cec", "sac", "emac")
# Tasks with discrete actions, which have studies of their own.
GAMES = tuple(
    task.name
    for task in TASKS
    if task.extra in ("atari", "minatar") or task.name == "FourRoomsGrid"
)
CAPACITIES = (1_000, 3_000, 10_000)

PAPER_STEPS, PAPER_SEEDS = 100_000, (0, 1, 2, 3, 4)
COMPARED_STEPS = (30_000, 50_000, 100_000)
QUICK_SEEDS = (0, 1, 2)
# By the speed of the tasks: together they take about two minutes on two cores.
QUICK_STEPS = {
    "GrowingTree": 20_000,
    "SparseMountainCar": 20_000,
    "PointUMaze": 20_000,
    "Point4Rooms": 20_000,
    "SafexpPointGoal": 5_000,
    "SafexpCarGoal": 5_000,
    "SparseFetchReach": 5_000,
}


@dataclass(frozen=True)
class Method:
    """An agent in one setting.

    Attributes:
        label: Its name in figures and tables.
        agent: The method's name in the registry.
        preset: The preset of its settings.
        options: Settings that override the preset's.
        task_options: Arguments of the task.
        tasks: The tasks that it is for; empty: all.
        eval_freq: The most steps between evaluations; 0: as the budget says.
    """

    label: str
    agent: str
    preset: str
    options: Mapping[str, Any] = field(default_factory=dict)
    task_options: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    eval_freq: int = 0

    def suits(self, task: str) -> bool:
        """Whether it is for this task."""
        return not self.tasks or task in self.tasks


# The default of the published class; its training script says 100,000.
_FAST_DECAY = {"epsilon": [0.9, 0.05, 10_000]}
# PointGoal without the three walls between start and goal; lists, as in config.json.
_NO_BLOCK: dict[str, Any] = {
    "task_options": {"walls": [list(wall) for wall in OUTER_WALLS]},
    "tasks": ("SafexpPointGoal",),
}
METHODS = {
    "cec": Method("CEC", "cec", "paper"),
    # it learns within the first 5,000 steps, so it is evaluated more often
    "cec-plus": Method("CECPlus", "cec-plus", "default", eval_freq=500),
    "sac": Method("SAC", "sac", "paper"),
    "emac": Method("EMAC", "emac", "paper"),
    "mfec": Method("MFEC", "mfec", "default", tasks=GAMES),
    "dqn": Method("DQN", "dqn", "default", tasks=GAMES),
    "cec-noisy-start": Method(
        "CEC, noisy start", "cec", "paper", task_options={"start_noise": True}, tasks=SAFEXP
    ),
    "sac-defaults": Method("SAC, SB3's defaults", "sac", "defaults"),
    "sac-small-entropy": Method("SAC, small entropy", "sac", "small-entropy"),
    "sac-her": Method("SAC with HER", "sac", "her", tasks=("SparseFetchReach",)),
    "crossq": Method("CrossQ, small entropy", "crossq", "small-entropy"),
    "tqc": Method("TQC, small entropy", "tqc", "small-entropy"),
    "cec-published": Method("CEC, published settings", "cec", "published"),
    "cec-literal": Method("CEC, literal text", "cec", "literal"),
    "cec-stale": Method("CEC, stale index", "cec-stale", "paper"),
    "published-design": Method("published design, stale index", "cec-stale", "published"),
    "cec-fast-decay": Method("CEC, epsilon falls in 10k", "cec", "paper", _FAST_DECAY),
    "cec-double-d": Method(
        "CEC, d = 0.2", "cec", "paper", {"distance_threshold": 0.2}, tasks=MAZES
    ),
    "cec-no-block": Method("CEC, no inner block", "cec", "paper", **_NO_BLOCK),
    "published-no-block": Method(
        "published design, no inner block", "cec-stale", "published", **_NO_BLOCK
    ),
    **{
        f"cec-{rows}": Method(
            f"{rows:>6,} rows", "cec", "paper", {"capacity": rows}, tasks=("PointUMaze",)
        )
        for rows in CAPACITIES
    },
}
# Drawn with the paper's three where they have been run; the others are in the comparison only.
DRAWN = ("cec", "sac", "emac", "cec-noisy-start", "sac-defaults", "sac-her", "published-design")


@dataclass(frozen=True)
class StudyBudget:
    """Seeds and steps; `steps` overrides the paper's number, or the quick one."""

    seeds: tuple[int, ...] = PAPER_SEEDS
    steps: int | None = None
    quick: bool = False

    @property
    def name(self) -> str:
        """A name for the folder of its runs: runs of other lengths lie elsewhere."""
        name = "quick" if self.quick else "paper"
        return name if self.steps is None else f"{name}-{self.steps}"

    def steps_on(self, task: str) -> int:
        """Training steps on a task."""
        if self.steps is not None:
            return self.steps
        return QUICK_STEPS[task] if self.quick else PAPER_STEPS

    def eval_freq_on(self, task: str) -> int:
        """Every 5,000 steps as in the paper; five times in a shorter run, but not too often.

        A run ends with its last episode, up to 1,000 steps late: no evaluation falls in between.
        """
        steps = self.steps_on(task)
        return 5_000 if steps >= 50_000 else min(steps, max(1_000, steps // 5))

    def kept_on(self, task: str, agent: str) -> tuple[int, ...]:
        """The steps of which a checkpoint is kept, for the figures that look into memories."""
        if task == "GrowingTree":
            shares = [i / 10 for i in range(1, 11)]
        elif task == "PointUMaze" or agent_spec(agent).extra == "deep":
            shares = [0.05, 0.5, 1.0]
        else:
            shares = []
        return tuple(sorted({max(1, round(share * self.steps_on(task))) for share in shares}))


def run_config(method: str, task: str, seed: int, budget: StudyBudget) -> RunConfig:
    """The one run of a method, task and seed that all figures share."""
    chosen, freq = METHODS[method], budget.eval_freq_on(task)
    return RunConfig(
        agent=chosen.agent,
        task=task,
        preset=chosen.preset,
        options=dict(chosen.options),
        task_options=dict(chosen.task_options),
        seed=seed,
        steps=budget.steps_on(task),
        eval_freq=min(chosen.eval_freq or freq, freq),
        n_eval_episodes=1 if _always_the_same(task, chosen) else 10,
        checkpoint_steps=budget.kept_on(task, chosen.agent),
    )


def paper_name(task: str) -> str:
    """A task's name in the paper."""
    return next(entry.paper_name for entry in TASKS if entry.name == task)


def _always_the_same(task: str, method: Method) -> bool:
    """Where nothing is random, greedy episodes are all alike: one is enough."""
    return task == "GrowingTree" or (task in SAFEXP and "start_noise" not in method.task_options)

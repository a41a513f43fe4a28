"""The public suite of sparse tasks, in families: how long each is trained, and its best return.

No task has settings of its own. Settings of CECPlus were chosen on the seeds 100 to 113.
"""

from dataclasses import dataclass

from scrubjay.studies.shared.plus_cases import Case


@dataclass(frozen=True, eq=False)
class SuiteTask(Case):
    """A task of the suite.

    Attributes:
        family: What makes it hard.
    """

    family: str = ""


def _of(
    family: str, title: str, task: str, steps: int, target_step: int = 0, target: float = 0.0,
    optimum: float = 1.0, metric: str = "success", **task_options: object,
) -> SuiteTask:  # fmt: skip
    """A task that is evaluated ten times; without a target, only its curve is shown."""
    return SuiteTask(
        title, task, steps, steps // 10, target_step or steps, target, task_options, metric,
        family=family, optimum=optimum,
    )  # fmt: skip


PAPER, SENSORS, NOISE, GOALS, DEPTH, OTHERS, IMAGES = (
    "the paper's", "sensors of noise", "noise", "goals", "depth", "balance and discrete actions",
    "images",
)  # fmt: skip


def _maze(name: str, target_step: int = 0, target: float = 0.0) -> SuiteTask:
    """A PointMaze of gymnasium-robotics whose episodes end at the goal."""
    task = f"gymnasium_robotics:PointMaze_{name}-v3"
    title = f"PointMaze {name}"
    return _of(GOALS, title, task, 30_000, target_step, target, continuing_task=False)


SUITE = (
    _of(PAPER, "GrowingTree", "GrowingTree", 20_000, 2_000, 1.0),
    _of(PAPER, "MountainCar", "SparseMountainCar", 20_000, 10_000, 0.98),
    _of(PAPER, "PointUMaze", "PointUMaze", 20_000, 10_000, 0.95),
    _of(PAPER, "Point4Rooms, one goal", "Point4RoomsOneGoal", 40_000, 20_000, 0.9),
    _of(PAPER, "Point4Rooms, return", "Point4Rooms", 100_000, 100_000, 0.97, metric="return"),
    _of(PAPER, "PointGoal", "SafexpPointGoal", 50_000, 50_000, 0.9),
    _of(PAPER, "CarGoal", "SafexpCarGoal", 50_000, 30_000, 0.9),
    _of(PAPER, "FetchReach", "SparseFetchReach", 10_000, 6_000, 0.95),
    _of(SENSORS, "MountainCar + 1 sensor", "SensorMountainCar", 20_000, 10_000, 0.95, n_sensors=1),
    _of(SENSORS, "MountainCar + 3 sensors", "SensorMountainCar", 20_000, 10_000, 0.95, n_sensors=3),
    _of(NOISE, "MountainCar, noisy", "NoisySparseMountainCar", 20_000),
    _of(NOISE, "PointUMaze, noisy", "NoisyPointUMaze", 20_000),
    _of(NOISE, "PointUMaze, sticky actions", "StickyPointUMaze", 20_000),
    _of(NOISE, "PointUMaze, random start", "RandomStartPointUMaze", 20_000),
    _maze("UMaze", 30_000, 0.95),
    _maze("Medium", 30_000, 0.9),
    _maze("Large"),
    _of(GOALS, "Reacher", "SparseReacher", 30_000, 30_000, 0.9),
    _of(GOALS, "FetchPush", "SparseFetchPush", 100_000, 100_000, 0.5),
    _of(DEPTH, "corridor of 30 cells", "PointCorridor", 50_000, 50_000, 0.9, depth=30),
    _of(DEPTH, "corridor of 40 cells", "PointCorridor", 50_000, 50_000, 0.8, depth=40),
    _of(DEPTH, "T maze of 30 cells", "PointTMaze", 50_000, depth=30),
    _of(OTHERS, "InvertedPendulum", "InvertedPendulum-v5", 20_000, 20_000, 500.0, 1000.0, "return"),
    _of(OTHERS, "CartPole", "CartPole-v1", 20_000, optimum=500.0, metric="return"),
    _of(OTHERS, "four rooms, grid", "FourRoomsGrid", 10_000),
    _of(IMAGES, "PointUMaze from pixels", "PointUMaze", 50_000, 50_000, 0.9, pixels=24),
)
DISCRETE = ("CartPole-v1", "FourRoomsGrid")

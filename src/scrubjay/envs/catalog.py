"""The tasks by name, with a short description of each."""

import difflib
from dataclasses import dataclass
from pathlib import Path

import gymnasium


@dataclass(frozen=True)
class Task:
    """One task; `paper_name` is what CEC's paper calls it, `extra` what it needs installed."""

    name: str
    paper_name: str
    reward: str
    description: str
    extra: str = "mujoco"

    @property
    def id(self) -> str:
        return f"scrubjay/{self.name}-v0"


TASKS = (
    Task("GrowingTree", "GrowingTree", "1 at height 1 ± 0.1",
         "grow a tree to its target height; the paper's toy example", extra=""),
    Task("SparseMountainCar", "MountainCarContinuous", "100 at the flag",
         "drive a weak car up a hill; a reward only at the top", extra=""),
    Task("PointUMaze", "PointUMaze", "1 at the goal",
         "a point robot in a U-shaped corridor"),
    Task("Point4Rooms", "Point4Rooms", "1 at the goal, 0.5 before it",
         "four rooms; two nearer goals give half the reward and end the episode"),
    Task("Point4RoomsOneGoal", "Point4Rooms-v1", "1 at the goal",
         "four rooms with the far goal only"),
    Task("SafexpPointGoal", "Safexp-PointGoal", "1 at the goal",
         "a point robot with sensors among 44 walls"),
    Task("SafexpCarGoal", "Safexp-CarGoal", "1 at the goal",
         "a car with two motors and sensors among 44 walls"),
    Task("SparseFetchReach", "FetchReach", "1 within 5 cm of the target",
         "a robot arm reaches a target that moves every episode"),
    Task("NoisyPointUMaze", "", "1 at the goal",
         "PointUMaze with noisy actions and a noisy view"),
    Task("NoisySparseMountainCar", "", "100 at the flag",
         "SparseMountainCar with noisy actions and a noisy view", extra=""),
    Task("SensorMountainCar", "", "100 at the flag",
         "SparseMountainCar with extra sensors that measure nothing", extra=""),
    Task("StickyPointUMaze", "", "1 at the goal",
         "PointUMaze in which an action is sometimes repeated"),
    Task("RandomStartPointUMaze", "", "1 at the goal", "PointUMaze with random starts"),
    Task("PointCorridor", "", "1 at the goal", "a straight corridor, 30 cells long"),
    Task("PointTMaze", "", "1 at the goal", "a T maze, 30 cells deep"),
    Task("SparseReacher", "", "1 within 2 cm of the target", "Reacher-v5 with a sparse reward"),
    Task("SparseFetchPush", "", "1 with the box at the goal",
         "FetchPush-v4, ending at success"),
    Task("FourRoomsGrid", "", "1 at the goal",
         "four rooms on a grid; discrete actions", extra=""),
    *(Task(name, "", "the score", f"the Atari game {title}", extra="atari") for name, title in (
        ("MsPacman", "Ms. Pac-Man"), ("Qbert", "Q*bert"), ("Frostbite", "Frostbite"),
        ("Hero", "H.E.R.O."), ("Riverraid", "River Raid"), ("SpaceInvaders", "Space Invaders"))),
    *(Task(f"MinAtar{name}", "", "the score", f"{title} on 10 x 10 cells", extra="minatar")
      for name, title in (("Asterix", "Asterix"), ("Breakout", "Breakout"), ("Freeway", "Freeway"),
                          ("Seaquest", "Seaquest"), ("SpaceInvaders", "Space Invaders"))),
)  # fmt: skip


class UnknownTaskError(ValueError):
    """No such task; the message suggests the nearest names."""


def find_task(name: str) -> str:
    """The Gymnasium id for an id, a bare name or the paper's name, in any case."""
    names = {alias.lower(): task.id for task in TASKS for alias in _aliases(task)}
    if name.lower() in names:
        return names[name.lower()]
    if name in gymnasium.registry or ":" in name:
        return name
    namespace, slash, _ = name.rpartition("/")
    if slash and not any(known.startswith(f"{namespace}/") for known in gymnasium.registry):
        module = {"ALE": "ale_py"}.get(namespace, "module")
        raise UnknownTaskError(
            f"there is no task {name!r}: no installed package has registered {namespace}/; install "
            f"it and name its module too, as in {module}:{name}"
        )
    known = [*(task.name for task in TASKS), *gymnasium.registry]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "`scrubjay tasks` lists what there is"
    module, _, attribute = name.removesuffix(".py").rpartition(".")
    if Path(f"{name.removesuffix('.py')}.py").exists():
        hint = f"name the environment in it too, as in {name.removesuffix('.py')}:MyEnv"
    elif module and Path(f"{module.replace('.', '/')}.py").exists():
        hint = f"did you mean {module}:{attribute}?"
    raise UnknownTaskError(f"there is no task {name!r}; {hint}")


def short_task(env_id: str) -> str:
    """The id without our namespace and version: scrubjay/PointUMaze-v0 -> PointUMaze."""
    return env_id.removeprefix("scrubjay/").removesuffix("-v0")


def _aliases(task: Task) -> tuple[str, ...]:
    names = (task.id, task.id.removeprefix("scrubjay/"), task.name, task.paper_name)
    return tuple(name for name in names if name)

"""Settings of CEC by task: what the paper says, what its code did, and the text taken literally.

- `paper`: Section IV and Table III where the paper speaks; where it is silent, what produced its
  figures (the normaliser, uniform exploration for three tasks).
- `published`: as `paper`, with uniform exploration everywhere, rows refreshed on every hit, and the
  random projection for PointGoal too: what the released code does.
- `literal`: the text alone: no normaliser, noise everywhere. Reported once, as a finding.
"""

from dataclasses import dataclass
from typing import Any

from scrubjay.embedding import (
    Chain,
    Embedding,
    Identity,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
)
from scrubjay.envs.catalog import find_task

PRESETS = ("paper", "published", "literal")
PROJECTION_DIM = 8


@dataclass(frozen=True)
class Settings:
    """One row of the table: symbols of the paper, then what it leaves open."""

    k: int
    tau: float
    sigma: float
    n: float
    d: float
    exploration: str
    normalize: bool = False
    project: bool = False
    select: tuple[str, ...] = ()
    capacity: int = 1_000_000


_TABLE = {
    "GrowingTree": Settings(5, 1, 0.1, 1, 0.01, "uniform", capacity=10_000),
    "SparseMountainCar": Settings(3, 10, 0.1, 3, 0.1, "noise", normalize=True),
    "PointUMaze": Settings(5, 0.1, 0.3, 1, 0.1, "noise", normalize=True),
    "Point4Rooms": Settings(5, 1, 0.3, 3, 0.1, "noise", normalize=True),
    "Point4RoomsOneGoal": Settings(5, 1, 0.3, 3, 0.1, "noise", normalize=True),
    "SafexpPointGoal": Settings(5, 0.1, 0.1, 1, 0.1, "uniform"),
    "SafexpCarGoal": Settings(1, 10, 0.1, 3, 0.1, "uniform", project=True),
    "SparseFetchReach": Settings(
        5, 1, 0.1, 3, 0.5, "noise", normalize=True, project=True,
        select=("observation", "desired_goal"),
    ),
}  # fmt: skip

# For a task that the paper does not have: its commonest settings.
_ELSEWHERE = Settings(5, 1, 0.1, 1, 0.1, "noise", normalize=True)


def preset(task: str, name: str = "paper") -> dict[str, Any]:
    """The arguments of `CEC` for a task: `CEC(env, **preset("PointUMaze"), seed=0)`."""
    if name not in PRESETS:
        raise ValueError(f"a preset is one of {PRESETS}; {name!r} came")
    settings = settings_of(find_task(task))
    literal, published = name == "literal", name == "published"
    return {
        "n_neighbors": settings.k,
        "temperature": float(settings.tau),
        "noise_std": settings.sigma,
        "radius_factor": float(settings.n),
        "distance_threshold": settings.d,
        "gamma": 0.99,
        "epsilon": (0.9, 0.05, 100_000),
        "capacity": settings.capacity,
        "exploration": "noise" if literal else "uniform" if published else settings.exploration,
        "recency": "hit" if published else "write",
        "embedding": _embedding(settings, name, task=find_task(task)),
    }


def settings_of(env_id: str) -> Settings:
    name = env_id.removeprefix("scrubjay/").removeprefix("Noisy").removesuffix("-v0")
    return _TABLE.get(name, _ELSEWHERE)


def _embedding(settings: Settings, name: str, task: str) -> Embedding:
    stages: list[Embedding] = []
    if settings.select:
        stages.append(SelectKeys(settings.select))
    if settings.project or (name == "published" and "SafexpPointGoal" in task):
        stages.append(RandomProjection(PROJECTION_DIM))
    if settings.normalize and name != "literal":
        stages.append(RunningNormalizer())
    if not stages:
        return Identity()
    return stages[0] if len(stages) == 1 else Chain(stages)

"""Reinforcement learning with episodic memory: memories, and the agents that act from them.

>>> from scrubjay import CEC
>>> agent = CEC("scrubjay/GrowingTree-v0", distance_threshold=0.01, seed=1).learn(20_000)

Importing scrubjay registers its tasks with Gymnasium and compiles nothing: the names below are
loaded when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

import scrubjay.envs  # noqa: F401  registers the tasks

if TYPE_CHECKING:
    from scrubjay.agents import CEC, MFEC, CECPlus, LinearSchedule, MemoryAgent, Spaces
    from scrubjay.agents.cec import preset
    from scrubjay.embedding import (
        BoundsScaler,
        Chain,
        Downsample,
        Embedding,
        FrozenNormalizer,
        GoalDifference,
        Grey,
        Identity,
        LearnedEncoder,
        LowFrequencies,
        Periodic,
        RandomProjection,
        Resize,
        RunningNormalizer,
        SelectKeys,
    )
    from scrubjay.memory import ArchiveError, EpisodicMemory, KDTree, Outcome
    from scrubjay.training import BaseCallback, Collectors, RunFolder

__version__ = "0.2.0"

_HOMES = {
    "scrubjay.agents": ("CEC", "MFEC", "CECPlus", "LinearSchedule", "MemoryAgent", "Spaces"),
    "scrubjay.embedding": (
        "BoundsScaler",
        "Chain",
        "Downsample",
        "Embedding",
        "FrozenNormalizer",
        "GoalDifference",
        "Grey",
        "Identity",
        "LearnedEncoder",
        "LowFrequencies",
        "Periodic",
        "RandomProjection",
        "Resize",
        "RunningNormalizer",
        "SelectKeys",
    ),
    "scrubjay.agents.cec": ("preset",),
    "scrubjay.memory": ("ArchiveError", "EpisodicMemory", "KDTree", "Outcome"),
    "scrubjay.registry": ("AgentSpec", "make", "register"),
    "scrubjay.runs.launch": ("resume",),
    "scrubjay.training": ("BaseCallback", "Collectors", "RunFolder"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CEC",
    "MFEC",
    "AgentSpec",
    "ArchiveError",
    "BaseCallback",
    "BoundsScaler",
    "CECPlus",
    "Chain",
    "Collectors",
    "Downsample",
    "Embedding",
    "EpisodicMemory",
    "FrozenNormalizer",
    "GoalDifference",
    "Grey",
    "Identity",
    "KDTree",
    "LearnedEncoder",
    "LinearSchedule",
    "LowFrequencies",
    "MemoryAgent",
    "Outcome",
    "Periodic",
    "RandomProjection",
    "Resize",
    "RunFolder",
    "RunningNormalizer",
    "SelectKeys",
    "Spaces",
    "make",
    "preset",
    "register",
    "resume",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'scrubjay' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

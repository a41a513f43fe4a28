"""The learning curves of MountainCarContinuous, paid 100 at the flag and nothing before."""

from pathlib import Path

from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.panels import draw_curves_of, plan_curves
from scrubjay.studies.shared.workspace import Workspace

TASKS = ("SparseMountainCar",)


def plan(workspace: Workspace) -> list[RunConfig]:
    return plan_curves(workspace, TASKS)


def make(workspace: Workspace) -> list[Path]:
    return draw_curves_of(workspace, "mountain-car", TASKS)

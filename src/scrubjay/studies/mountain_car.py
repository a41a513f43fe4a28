"""The learning curves of MountainCarContinuous, paid 100 at the flag and nothing before."""

from pathlib import Path

from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.panels import curve_figures, make_curves, plan_curves
from scrubjay.studies.shared.workspace import Workspace

TASKS = ("SparseMountainCar",)


FIGURES = curve_figures("mountain-car", TASKS)


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of all methods that are drawn."""
    return plan_curves(workspace, TASKS)


def make(workspace: Workspace) -> list[Path]:
    """Both figures."""
    return make_curves(workspace, "mountain-car", TASKS)

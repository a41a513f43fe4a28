"""The learning curves of FetchReach, paid 1 at the target and nothing before."""

from pathlib import Path

from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.panels import curve_figures, make_curves, plan_curves
from scrubjay.studies.shared.workspace import Workspace

TASKS = ("SparseFetchReach",)


FIGURES = curve_figures("fetch-reach", TASKS)


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of all methods that are drawn."""
    return plan_curves(workspace, TASKS)


def make(workspace: Workspace) -> list[Path]:
    """Both figures."""
    return make_curves(workspace, "fetch-reach", TASKS)

"""The four panels of the navigation tasks."""

from pathlib import Path

from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import NAVIGATION
from scrubjay.studies.shared.panels import curve_figures, make_curves, plan_curves
from scrubjay.studies.shared.workspace import Workspace

NOTE = "The return is 1 at the goal; Point4Rooms pays 0.5 at two sub-goals, which end the episode."
FIGURES = curve_figures("navigation", NAVIGATION)


def plan(workspace: Workspace) -> list[RunConfig]:
    """The runs of all methods that are drawn."""
    return plan_curves(workspace, NAVIGATION)


def make(workspace: Workspace) -> list[Path]:
    """Both figures."""
    return make_curves(workspace, "navigation", NAVIGATION, [NOTE])

"""The four panels of the navigation tasks."""

from pathlib import Path

from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import NAVIGATION
from scrubjay.studies.shared.panels import draw_curves_of, plan_curves
from scrubjay.studies.shared.workspace import Workspace

NOTE = "The return is 1 at the goal; Point4Rooms pays 0.5 at two sub-goals, which end the episode."


def plan(workspace: Workspace) -> list[RunConfig]:
    return plan_curves(workspace, NAVIGATION)


def make(workspace: Workspace) -> list[Path]:
    return draw_curves_of(workspace, "navigation", NAVIGATION, [NOTE])

"""The four panels of the navigation tasks."""

from pathlib import Path

from scrubjay.experiments.launch import RunConfig
from scrubjay.experiments.reproduce.curves import draw_curves_of, plan_curves
from scrubjay.experiments.reproduce.methods import NAVIGATION
from scrubjay.experiments.reproduce.workspace import Workspace

NOTE = "The return is 1 at the goal; Point4Rooms pays 0.5 at two sub-goals, which end the episode."


def plan(workspace: Workspace) -> list[RunConfig]:
    return plan_curves(workspace, NAVIGATION)


def make(workspace: Workspace) -> list[Path]:
    return draw_curves_of(workspace, "navigation", NAVIGATION, [NOTE])

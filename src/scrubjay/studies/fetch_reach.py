"""The learning curves of FetchReach, paid 1 at the target and nothing before."""

from pathlib import Path

from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.panels import draw_curves_of, plan_curves
from scrubjay.studies.shared.workspace import Workspace

TASKS = ("SparseFetchReach",)


def plan(workspace: Workspace) -> list[RunConfig]:
    return plan_curves(workspace, TASKS)


def make(workspace: Workspace) -> list[Path]:
    return draw_curves_of(workspace, "fetch-reach", TASKS)

"""The paper's tables, with measured values beside those of the paper."""

from pathlib import Path
from typing import Any

import gymnasium

from scrubjay.agents import CEC
from scrubjay.agents.cec import PROJECTION_DIM, TABLE, name_of_task, preset
from scrubjay.analysis.results import Row
from scrubjay.envs.catalog import find_task
from scrubjay.envs.growing_tree import GOAL_DISTANCE
from scrubjay.runs.config import RunConfig
from scrubjay.studies.shared.methods import PAPER_TASKS, paper_name
from scrubjay.studies.shared.paper_values import DIMENSIONS, GROWING_TREE, HYPERPARAMETERS, OVERVIEW
from scrubjay.studies.shared.workspace import Workspace


def plan(workspace: Workspace) -> list[RunConfig]:  # noqa: ARG001
    """No runs."""
    return []


def make(workspace: Workspace) -> list[Path]:
    """All tables."""
    written = []
    for name, (title, build) in TABLES.items():
        written += workspace.write(f"table-{name}", f"# {title}\n\n", build())
    return written


def overview() -> list[Row]:
    """How methods use their memory."""
    return [
        {"method": method, "use of the memory": use, "action space": actions}
        for method, use, actions in OVERVIEW
    ]


def dimensions() -> list[Row]:
    """States as the agent gets them, keys as its memory stores them, measured."""
    rows: list[Row] = []
    for task in PAPER_TASKS:
        env = gymnasium.make(find_task(task))
        agent = CEC(env, **preset(task), seed=0)
        state, action = DIMENSIONS[task]
        horizon = env.spec.max_episode_steps if env.spec is not None else ""
        rows.append(
            {
                "task": paper_name(task),
                "state (paper)": state,
                "state": agent.embedding.flattener(env.observation_space).size,
                "key": agent.embedding.key_dim,
                "action (paper)": action,
                "action": gymnasium.spaces.flatdim(env.action_space),
                "horizon": horizon,
            }
        )
        env.close()
    return rows


def growing_tree() -> list[Row]:
    """The toy task's definition, read off the environment itself."""
    env: Any = gymnasium.make(find_task("GrowingTree"))
    start, _ = env.reset(seed=0)
    goal = env.unwrapped.tree_height
    env.unwrapped.height = goal
    _, reward, terminated, _, _ = env.step(env.action_space.low * 0)
    measured = {
        "state space": f"[{env.observation_space.low[0]:g}, {env.observation_space.high[0]:g}]",
        "action space": f"[{env.action_space.low[0]:g}, {env.action_space.high[0]:g}]",
        "maximum steps": env.spec.max_episode_steps,
        "goal": goal,
        "final reward": reward if terminated else "none",
        "distance tolerance": GOAL_DISTANCE,
        "start height": f"{start[0]:g}",
    }
    return [
        {"property": name, "paper": said, "measured": measured[name]}
        for name, said in GROWING_TREE.items()
    ]


def hyperparameters() -> list[Row]:
    """CEC's settings by task, beside the paper's."""
    rows: list[Row] = []
    for task in PAPER_TASKS:
        settings = TABLE[name_of_task(find_task(task))]
        ours = (settings.k, settings.tau, settings.sigma, settings.n, settings.d)
        said = HYPERPARAMETERS.get(task)
        symbols = dict(zip(("k", "tau", "sigma", "n", "d"), ours, strict=True))
        rows.append(
            {
                "task": paper_name(task),
                **symbols,
                "in the paper": "no" if said is None else "yes" if said == ours else str(said),
                "exploration": settings.exploration,
                "normaliser": "running" if settings.normalize else "-",
                "projection": PROJECTION_DIM if settings.project else "-",
                "capacity": f"{settings.capacity:,}",
            }
        )
    return rows


TABLES = {
    "methods": ("Memory-based methods", overview),
    "dimensions": ("Dimensions of the tasks", dimensions),
    "growing-tree": ("GrowingTree", growing_tree),
    "hyperparameters": ("Settings of CEC (preset `paper`)", hyperparameters),
}

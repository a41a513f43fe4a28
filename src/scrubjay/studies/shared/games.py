"""What the studies of games share: their runs, and how the trained agents do in other protocols.

A protocol is a way to evaluate: other arguments of the task, such as sticky actions. The agent of
the last checkpoint plays its episodes; what it reaches is kept in the run folder.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scrubjay.analysis.curves import Curve, evaluation_curve
from scrubjay.analysis.groups import Group
from scrubjay.analysis.reading import Array, RunData
from scrubjay.analysis.results import Row
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import load_agent
from scrubjay.runs.sweep import folder_of
from scrubjay.studies.shared.methods import Method
from scrubjay.studies.shared.workspace import Workspace
from scrubjay.training.evaluation import Evaluator
from scrubjay.training.files import replacing

N_EPISODES = 10
LAST_SHARE = 0.1  # of the training steps, whose episodes give the training return


@dataclass(frozen=True, eq=False)
class Game:
    """A task, how long it is trained and how often evaluated.

    Attributes:
        title: Its name in figures and tables.
        task: The task's name.
        steps: Training steps.
        eval_freq: Steps between evaluations.
        metric: What is drawn.
        target: What MFEC is to reach at the end, if anything.
        protocols: Whether the task has the arguments of the study's protocols.
    """

    title: str
    task: str
    steps: int = 100_000
    eval_freq: int = 10_000
    metric: str = "return"
    target: float | None = None
    protocols: bool = True


@dataclass(frozen=True, eq=False)
class Study:
    """The games and methods of a study, in the order in which they are run.

    Attributes:
        name: Its name, which is that of the folder of its runs.
        games: The games.
        methods: The methods, whose agents' names `--agents` lists.
        protocols: Arguments of the task by the name of the protocol.
    """

    name: str
    games: tuple[Game, ...]
    methods: tuple[Method, ...]
    protocols: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def folder(self, workspace: Workspace) -> Path:
        """Where its runs lie."""
        return workspace.root / self.name

    def plan(self, workspace: Workspace) -> list[RunConfig]:
        """The runs of those methods that may be run: all seeds of a method, game by game."""
        return [
            self.config(method, game, seed, workspace)
            for method in self.methods
            for game in self.games
            if method.suits(game.task) and method.agent in workspace.agents
            for seed in workspace.budget.seeds
        ]

    def config(self, method: Method, game: Game, seed: int, workspace: Workspace) -> RunConfig:
        """One run; a quick one has a tenth of the steps."""
        steps = workspace.budget.steps or game.steps
        steps = steps // 10 if workspace.budget.quick else steps
        freq = min(steps, max(1_000, game.eval_freq * steps // game.steps))
        fixed = method.task_options.get("max_noops") == 0  # nothing is random: all are alike
        return RunConfig(
            agent=method.agent,
            task=game.task,
            preset=method.preset,
            options=dict(method.options),
            task_options=dict(method.task_options),
            seed=seed,
            steps=steps,
            eval_freq=freq,
            n_eval_episodes=1 if fixed else N_EPISODES,
            checkpoint_freq=0,
        )

    def groups(self, workspace: Workspace) -> list[tuple[Game, Method, Group]]:
        """The finished runs of each game and method that has any."""
        found = []
        for game in self.games:
            for method in self.methods:
                config = self.config(method, game, 0, workspace)
                folder = folder_of(self.folder(workspace), config).parent
                group = workspace.runs_in(folder, method.label) if method.suits(game.task) else None
                if group is not None:
                    found.append((game, method, group))
        return found

    def measure(self, game: Game, method: Method, group: Group, workspace: Workspace) -> Row:
        """What the agents of a group reach at the end of their training, as words."""
        curve = evaluation_curve(group, game.metric)
        row: Row = {
            "game": game.title,
            "method": method.label,
            "seeds": len(group.runs),
            "training": with_error([training_return(run) for run in group.runs]),
            "greedy": with_error(curve.values[:, -1]),
        }
        for name, options in self.protocols.items():
            row[name] = "-"
            if game.protocols:
                played = [protocol_returns(run, name, options, workspace) for run in group.runs]
                row[name] = with_error([np.mean(returns) for returns in played])
        rates = [decisions_per_second(run) for run in group.runs]
        return {**row, "decisions/s": f"{np.median(rates):,.0f}"}


def with_error(values: Sequence[Any] | Array) -> str:
    """Mean and standard error over seeds; of fewer than three seeds the values themselves."""
    numbers = np.asarray(values, dtype=np.float64)
    digits = 0 if np.abs(numbers).max() >= 100 else 2
    if len(numbers) < 3:
        return ", ".join(f"{number:.{digits}f}" for number in numbers)
    error = numbers.std(ddof=1) / np.sqrt(len(numbers))
    return f"{numbers.mean():.{digits}f} ± {error:.{digits}f}"


def training_return(run: RunData) -> float:
    """The mean return of the episodes that ended in the last tenth of the training."""
    steps, returns = run.episodes["timestep"], run.episodes["return"]
    last = steps > (1 - LAST_SHARE) * steps[-1]
    return float(returns[last].mean())


def decisions_per_second(run: RunData) -> float:
    """Training steps for each second of training; evaluation and compilation are not counted."""
    return float(run.time["timestep"][-1] / run.time["time/train_seconds"][-1])


def protocol_returns(
    run: RunData, name: str, options: Mapping[str, Any], workspace: Workspace
) -> list[float]:
    """The returns of the last agent's greedy episodes in another protocol, played once and kept."""
    path = run.path / "protocols.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    entry = known.get(name)
    if entry is None or entry["options"] != dict(options):
        workspace.print_once(f"{run.path}: playing {N_EPISODES} episodes, {name}")
        agent, config = load_agent(run.path)
        env = config.make_env(**options)
        # a game that is always the same is played once
        n = 1 if options.get("max_noops") == 0 and not options.get("sticky_actions") else N_EPISODES
        records = Evaluator(env, n, run.seed).run(agent, agent.num_timesteps)
        env.close()
        entry = {"options": dict(options), "returns": [each.total_reward for each in records]}
        with replacing(path) as temporary:
            temporary.write_text(json.dumps({**known, name: entry}, indent=2) + "\n")
    return [float(value) for value in entry["returns"]]


def curves_by_game(groups: Iterable[tuple[Game, Method, Group]]) -> list[Curve]:
    """The curves of greedy episodes."""
    return [evaluation_curve(group, game.metric) for game, _, group in groups]

"""A model card in the format of the Hugging Face Hub, and the files that belong to it."""

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import scrubjay
from scrubjay.analysis.groups import plain
from scrubjay.analysis.reading import RunData, load_run
from scrubjay.envs.catalog import short_task
from scrubjay.optional import require
from scrubjay.registry import agent_specs
from scrubjay.report.data import VIDEOS
from scrubjay.training.errors import RunError
from scrubjay.training.run_folder import write_json, write_text
from scrubjay.training.tables import read_columns

Z = 1.959964  # of a 95% interval
SAFE = "The file contains plain arrays and JSON; loading it executes nothing."
UNSAFE = (
    "The file is in the format of Stable-Baselines3, which can execute code: load it only if you "
    "trust where it comes from."
)
CARD = """# {agent} on {task}

An agent of [scrubjay](https://pypi.org/project/scrubjay/), trained with seed {seed}.

| | |
|---|---|
{results}

## Use

```python
{use}
observation, _ = env.reset(seed=0)
action, _ = agent.predict(observation, deterministic=True)
```

{safety}

## Repeat

```bash
{command}
```

Trained with {versions}.

## Settings

{settings}
"""


@dataclass(frozen=True)
class Score:
    """The last evaluation of a run."""

    timestep: int
    n_episodes: int
    mean: float
    std: float
    success: float | None
    interval: tuple[float, float] | None


def write_card(run_path: str | Path, out: str | Path, checkpoint: str = "last") -> list[Path]:
    """Write the folder that can be uploaded to the Hub: card, agent, settings, results, video.

    Args:
        run_path: A run folder with evaluations.
        out: The folder to write.
        checkpoint: Which of the run's checkpoints: "last", "best" or "step-N".

    Returns:
        The files that were written, README.md first.

    Raises:
        RunError: If the run has no evaluation, or no such checkpoint.
    """
    run, folder = load_run(run_path, allow_unfinished=True), Path(out)
    score = last_score(run)
    agents = sorted(run.path.glob(f"checkpoints/{checkpoint}.*"))
    if not agents:
        raise RunError(f"{run.path} has no checkpoint {checkpoint!r}")
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{run.agent}-{_slug(run.task)}{agents[0].suffix}": agents[0]}
    files |= {f"replay{video.suffix}": video for video in _videos(run.path)[:1]}
    for name, source in files.items():
        shutil.copyfile(source, folder / name)
    write_json(folder / "config.json", dict(run.config))
    write_json(folder / "results.json", _results(run, score))
    card = f"---\n{_yaml(metadata(run, score))}---\n\n{text(run, score, next(iter(files)))}"
    write_text(folder / "README.md", card)
    names = ["README.md", *files, "config.json", "results.json"]
    return [folder / name for name in names]


def upload(folder: str | Path, repo: str) -> str:
    """Send a folder to the Hub.

    Args:
        folder: What `write_card` wrote.
        repo: The repository, as in "organisation/name"; it is created if it does not exist.

    Returns:
        Its address.

    Raises:
        ImportError: If huggingface_hub is not installed (extra `hub`).
    """
    hub: Any = require("huggingface_hub", "hub")
    hub.create_repo(repo, exist_ok=True)
    hub.upload_folder(repo_id=repo, folder_path=str(folder), commit_message="scrubjay card")
    return f"https://huggingface.co/{repo}"


def last_score(run: RunData) -> Score:
    """The result of the run's last evaluation.

    Args:
        run: The run.

    Raises:
        RunError: If it was never evaluated.
    """
    table, _ = read_columns(run.path / "eval.csv")
    if not len(table.get("timestep", ())):
        raise RunError(f"expected a run with evaluations, got {run.path}; train with --eval-freq")
    there = table["timestep"] == table["timestep"][-1]
    returns, success = table["return"][there], table["is_success"][there]
    known = success[np.isfinite(success)]
    rate = float(known.mean()) if len(known) else None
    return Score(
        int(table["timestep"][-1]),
        int(there.sum()),
        float(returns.mean()),
        float(returns.std()),
        rate,
        None if rate is None else wilson(rate, len(known)),
    )


def wilson(rate: float, n: int) -> tuple[float, float]:
    """The 95% interval of a success rate (Wilson, 1927), which is never beyond 0 and 1.

    >>> low, high = wilson(1.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.722, 1.0)
    """
    middle = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def metadata(run: RunData, score: Score) -> dict[str, Any]:
    """The metadata for the Hub: library, tags, and the results as its model index.

    Args:
        run: The run.
        score: Its last evaluation.

    Returns:
        The entries of the card's head.
    """
    task = run.task
    metrics = [
        {
            "type": "mean_reward",
            "value": f"{score.mean:.2f} +/- {score.std:.2f}",
            "name": "mean_reward",
            "verified": False,
        }
    ]
    if score.success is not None and score.interval is not None:
        low, high = score.interval
        metrics.append(
            {
                "type": "success_rate",
                "value": f"{score.success:.2f} [{low:.2f}, {high:.2f}], n={score.n_episodes}",
                "name": "success_rate",
                "verified": False,
            }
        )
    result = {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"name": task, "type": task},
        "metrics": metrics,
    }
    return {
        "library_name": "scrubjay",
        "tags": [task, "reinforcement-learning", "episodic-control", "scrubjay"],
        "model-index": [{"name": run.agent, "results": [result]}],
    }


def text(run: RunData, score: Score, agent_file: str) -> str:
    """The card itself, in Markdown."""
    versions, options = run.manifest.get("versions"), run.config.get("options")
    return CARD.format(
        agent=run.agent,
        task=short_task(run.task),
        seed=run.seed,
        results="\n".join(f"| {name} | {value} |" for name, value in _table(score)),
        use=_use(run, agent_file),
        safety=SAFE if agent_file.endswith(".scrub") else UNSAFE,
        command=run.manifest.get("command") or "",
        versions=", ".join(f"{name} {number}" for name, number in _items(versions)),
        settings="\n".join(f"- `{name}`: {plain(value)}" for name, value in _items(options)),
    )


def _use(run: RunData, agent_file: str) -> str:
    """The lines of Python that make the environment and load the agent."""
    spec = agent_specs().get(run.agent)
    home, _, kind = (spec.entry_point if spec else "scrubjay:MemoryAgent").partition(":")
    home = "scrubjay" if kind in scrubjay.__all__ else home
    module, _, name = run.task.partition(":")
    lines = [f"from {home} import {kind}", ""]
    if not run.config.get("env_by_id", True):
        lines += ["env = ...  # the environment that it was trained on"]
    elif name.isidentifier():  # a class or a function, not an id
        lines = [f"from {module} import {name}", *lines, f"env = {name}()"]
    else:
        lines = ["import gymnasium", *lines, f'env = gymnasium.make("{run.task}")']
    trusted = "" if agent_file.endswith(".scrub") else ", trusted=True"
    return "\n".join([*lines, f'agent = {kind}.load("{agent_file}"{trusted})'])


def _table(score: Score) -> Iterator[tuple[str, str]]:
    yield "return", f"{score.mean:.2f} ± {score.std:.2f} (standard deviation of the episodes)"
    if score.success is not None and score.interval is not None:
        low, high = score.interval
        yield "success rate", f"{score.success:.2f} (95% interval {low:.2f} to {high:.2f})"
    yield "evaluation", f"{score.n_episodes} greedy episodes at step {score.timestep:,}"


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _results(run: RunData, score: Score) -> dict[str, Any]:
    return {
        "env_id": run.task,
        "mean_reward": score.mean,
        "std_reward": score.std,
        "success_rate": score.success,
        "success_rate_interval": score.interval,
        "n_evaluation_episodes": score.n_episodes,
        "timestep": score.timestep,
        "seed": run.seed,
    }


def _videos(folder: Path) -> list[Path]:
    return [path for kind in VIDEOS for path in sorted(folder.rglob(kind))]


def _slug(task: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in task)


def _yaml(value: Any, indent: str = "") -> str:
    """YAML in blocks; texts as JSON writes them, which is YAML too."""
    if isinstance(value, Mapping):
        return "".join(f"{indent}{key}:{_below(part, indent)}" for key, part in value.items())
    lines = [
        _yaml(part, f"{indent}  ") if _nested(part) else json.dumps(part) + "\n" for part in value
    ]
    return "".join(
        f"{indent}- {line[len(indent) + 2 :] if _nested(part) else line}"
        for part, line in zip(value, lines, strict=True)
    )


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | list)


def _below(value: Any, indent: str) -> str:
    return f"\n{_yaml(value, f'{indent}  ')}" if _nested(value) else f" {json.dumps(value)}\n"

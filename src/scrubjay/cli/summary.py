"""The summary that `scrubjay train` prints at the end of a run."""

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.cli.evaluate import no_signal
from scrubjay.cli.layout import print_facts

if TYPE_CHECKING:
    from scrubjay.training import RunFolder


def print_summary(folder: Path, trust_module: bool) -> None:
    """Success and return of the last episodes, and what to do next.

    Args:
        folder: The run folder.
        trust_module: Whether the next command needs the flag of that name.
    """
    from scrubjay.training import RunFolder

    print_facts(_facts(RunFolder.open(folder)))
    # not wrapped, so that it can be copied as a whole
    flag = ["--trust-module"] if trust_module else []
    print("next:", shlex.join(["scrubjay", "evaluate", str(folder), *flag]))


def _facts(run: "RunFolder") -> Iterator[tuple[str, str]]:
    progress, evaluations = run.tables["progress"].rows(), run.tables["eval"].rows()
    signal = True
    if progress:
        rate, reward = (
            _number(progress[-1][f"rollout/{name}"]) for name in ("success_rate", "ep_rew_mean")
        )
        signal = not math.isnan(rate)
        n_episodes = min(100, int(run.manifest.get("episodes", 100)))
        among = f"mean of the last {n_episodes} episodes" if n_episodes > 1 else "1 episode"
        yield "training", f"{_result(rate, reward)} ({among})"
    if evaluations:
        step = evaluations[-1]["timestep"]
        rows = [row for row in evaluations if row["timestep"] == step]
        rate, reward = _mean(rows, "is_success"), _mean(rows, "return")
        said = f"{_result(rate, reward)} ({len(rows)} greedy episodes at step {int(step):,})"
        yield "evaluation", said
    if not signal:
        yield "note", no_signal(run.config.get("success_key"))


def _result(rate: float, reward: float) -> str:
    success = "no success signal" if math.isnan(rate) else f"success {rate:.2f}"
    return f"{success}, return {reward:.4g}"


def _mean(rows: list[dict[str, str]], column: str) -> float:
    return sum(_number(row[column]) for row in rows) / len(rows)


def _number(text: str) -> float:
    words = {"": math.nan, "True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0}
    return words[text] if text in words else float(text)

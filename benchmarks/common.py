"""What the benchmarks share: their data, and where results go."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.training.run_folder import hardware, now, versions

RESULTS = Path(__file__).resolve().parent / "results"


def random_walk(n_steps: int, dim: int, seed: int) -> npt.NDArray[np.float64]:
    """States as a maze gives them: small steps within walls, all of the box visited in time."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(scale=0.05, size=(n_steps, dim)).cumsum(axis=0)
    # a triangle wave reflects the walk at the walls of [-1, 1]
    return np.abs((steps - 1.0) % 4.0 - 2.0) - 1.0


def write_results(name: str, results: Any) -> None:
    """Results with the machine and the versions that gave them."""
    RESULTS.mkdir(exist_ok=True)
    content = {"when": now(), "hardware": hardware(), "versions": versions(), "results": results}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

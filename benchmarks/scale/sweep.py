"""A sweep of ten equal runs: one at a time, two at a time, and on Ray.

`python -m benchmarks.scale.sweep local`, then `... ray`, on an idle machine.
"""

import sys
import tempfile
import time
from typing import Any

from benchmarks.common import RESULTS, write_results
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launchers import Launcher, make_launcher
from scrubjay.runs.ray_launcher import RayLauncher
from scrubjay.runs.sweep import sweep
from scrubjay.training.run_folder import read_json

RUNS, STEPS = 10, 40_000


def seconds(jobs: int, launcher: Launcher) -> float:
    configs = [
        RunConfig("cec", "PointUMaze", seed=seed, steps=STEPS, eval_freq=0, checkpoint_freq=0)
        for seed in range(RUNS)
    ]
    with tempfile.TemporaryDirectory() as root:
        begin = time.perf_counter()
        result = sweep(configs, root, jobs=jobs, launcher=launcher)
        spent = time.perf_counter() - begin
    assert result.n_done == RUNS, result.failed
    return spent


def main() -> None:
    file = RESULTS / "scale_sweep.json"
    results: dict[str, Any] = read_json(file)["results"] if file.exists() else {}
    results |= {"runs": RUNS, "steps": STEPS}
    if sys.argv[1] == "local":
        local = make_launcher("local")
        results |= {"one_at_a_time": seconds(1, local), "local": seconds(2, local)}
    else:
        begin = time.perf_counter()
        ray = RayLauncher()
        ray.warm_up(2)
        results["ray_start"] = time.perf_counter() - begin
        results["ray"] = seconds(2, ray)
    print(results)
    write_results("scale_sweep", results)


if __name__ == "__main__":
    main()

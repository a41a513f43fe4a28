"""How long a report of many runs takes to be made, and to open in a browser.

`python -m benchmarks.report_page [RUNS]` trains that many short runs (50): CECPlus on PointUMaze,
CEC on PointUMaze and MFEC on the grid of four rooms, by turns. It needs Chromium, chromedriver and
the extras `plots` and `dev`.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import write_results
from benchmarks.inspect_page import open_browser, until
from scrubjay.report.page import write_report
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import start

KINDS = (("cec-plus", "PointUMaze"), ("cec", "PointUMaze"), ("mfec", "FourRoomsGrid"))
STEPS = 5000
REPEATS = 3


def train(folder: Path, runs: int) -> list[Path]:
    for number in range(runs):
        agent, task = KINDS[number % len(KINDS)]
        seed = number // len(KINDS)
        config = RunConfig(agent, task, seed=seed, steps=STEPS, eval_freq=500, n_eval_episodes=5)
        start(config, folder / f"{agent}-{seed}")
    return sorted(folder.iterdir())


def opened(driver: Any, page: Path) -> float:
    """Seconds from the click until everything is loaded and drawn once."""
    driver.get("about:blank")
    begun = time.perf_counter()
    driver.get(page.as_uri())
    until(driver, "document.readyState === 'complete'")
    driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
    return time.perf_counter() - begun


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        folders = train(Path(folder) / "runs", runs)
        page = Path(folder) / "report.html"
        made, processor = [], []
        for _ in range(REPEATS):
            begun, used = time.perf_counter(), time.process_time()
            write_report(folders, page)
            made.append(round(time.perf_counter() - begun, 2))
            processor.append(round(time.process_time() - used, 2))
        driver = open_browser()
        try:
            seconds = [round(opened(driver, page), 2) for _ in range(REPEATS)]
        finally:
            driver.quit()
        size = page.stat().st_size
    found = {"runs": runs, "steps": STEPS, "made": made, "made_cpu": processor}
    found |= {"opened": seconds, "bytes": size}
    write_results("report_page", found)
    for name, times in (("made", made), ("made, CPU", processor), ("opened", seconds)):
        print(f"{name:<10} median {np.median(times):5.2f} s, longest {max(times):5.2f} s")
    print(f"{size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

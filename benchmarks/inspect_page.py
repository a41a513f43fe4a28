"""How long the page of `scrubjay inspect --web` takes to answer, in a real browser.

`python -m benchmarks.inspect_page [ROWS]` serves six checkpoints whose memories have that many rows
(100,000) with keys of 8 dimensions, and measures each interaction from its event until its result
is on the screen. "open" is the page with its first checkpoint, "unread" a jump to the last of the
checkpoints that the server has not read yet. It needs Chromium, chromedriver and the extras `web`
and `dev`.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from benchmarks.common import random_walk, write_results
from scrubjay import CECPlus
from scrubjay.agents import Spaces
from scrubjay.embedding import Identity
from scrubjay.web.source import Source

REPEATS = 8
KEY = "document.getElementById('overlay').dispatchEvent(new KeyboardEvent('keydown', {}))"
CHOOSE = """const choice = document.getElementById("{}");
    choice.value = {};
    choice.dispatchEvent(new Event("change"))"""
N_CHECKPOINTS = 6


def key(name: str, shift: bool = False) -> str:
    fields = f"{{key: '{name}', shiftKey: {str(shift).lower()}, bubbles: true}}"
    return KEY.format(fields)


# kind of interaction: the scripts that begin it, by turns
ACTIONS = {
    "color": [key(name) for name in "2431"],
    "pick": [key("ArrowLeft"), key("ArrowUp"), key("ArrowRight"), key("ArrowDown")],
    "zoom": [key(name) for name in "++--0"],
    "pan": [key("ArrowLeft", True), key("ArrowRight", True)],
    "axes": [CHOOSE.format("x", axis) for axis in (2, 8, 0)],
    "checkpoint": [
        key("]"),
        CHOOSE.format("checkpoint", 4),
        key("["),
        CHOOSE.format("checkpoint", 1),
    ],
}
COUNT = "performance.getEntriesByName(arguments[0]).length"
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")


def save_agent(path: Path, rows: int, seed: int) -> None:
    box = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float32)
    spaces = Spaces(box, gymnasium.spaces.Box(-1, 1, (2,), np.float32))
    agent = CECPlus(spaces, distance_threshold=0.05, embedding=Identity(), seed=0)
    rng = np.random.default_rng(seed)
    memory = agent.memory
    memory.distance_threshold = 0.0  # every step is a row
    keys = random_walk(rows + 1, 8, seed)
    columns = {
        name: np.zeros((rows, *of.shape[1:]), of.dtype) for name, of in memory.columns.items()
    }
    columns |= {"action": rng.random((rows, 2)), "next": keys[1:]}
    memory.write_many(keys[:-1], rng.random(rows), **columns)
    memory.distance_threshold = 0.05
    agent.memory_changed()
    agent.save(path)


def open_browser() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (*FLAGS, "--window-size=1400,1000"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def measure(driver: Any) -> dict[str, list[float]]:
    click(driver, "checkpoint", CHOOSE.format("checkpoint", 0))
    time.sleep(N_CHECKPOINTS)  # the server reads the others meanwhile
    for kind, scripts in ACTIONS.items():
        for turn in range(REPEATS):
            click(driver, kind, scripts[turn % len(scripts)])
            time.sleep(0.2)
    entries = "performance.getEntriesByType('measure').map((e) => [e.name, e.duration])"
    found: dict[str, list[float]] = {}
    for name, duration in driver.execute_script(f"return {entries}"):
        found.setdefault(name.removeprefix("scrubjay:"), []).append(round(duration, 1))
    found["open"], found["unread"] = [found["checkpoint"].pop(0)], [found["checkpoint"].pop(0)]
    found.pop("measure", None)
    return found


def click(driver: Any, kind: str, script: str) -> None:
    n = driver.execute_script(f"return {COUNT}", f"scrubjay:{kind}")
    driver.execute_script(script)
    until(driver, f"{COUNT} > {n}", f"scrubjay:{kind}")


def serve_saved(folder: str) -> None:
    from scrubjay.web.server import serve

    names = tuple(f"step-{number}" for number in range(N_CHECKPOINTS))
    load = lambda name: CECPlus.load(f"{folder}/{name}.scrub")  # noqa: E731
    serve(Source("saved", "", names, N_CHECKPOINTS - 1, load, no_env), browser=False)


def no_env(**_: Any) -> Any:
    raise ValueError("there is no task to replay")


def until(driver: Any, condition: str, *arguments: str) -> None:
    end = time.monotonic() + 30
    while not driver.execute_script(f"return {condition}", *arguments):
        if time.monotonic() > end:
            raise TimeoutError(condition)
        time.sleep(0.02)


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve_saved(sys.argv[2])
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(N_CHECKPOINTS):
            save_agent(Path(folder) / f"step-{seed}.scrub", rows, seed)
        command = [sys.executable, "-m", "benchmarks.inspect_page", "--serve", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        driver = open_browser()
        try:
            assert server.stdout is not None
            driver.get(server.stdout.readline().strip())
            until(driver, "document.body.dataset.done === 'checkpoint:1'")
            found = measure(driver)
        finally:
            driver.quit()
            server.terminate()
            server.wait()
    write_results("inspect_page", {"rows": rows, "milliseconds": found})
    for kind, times in found.items():
        print(f"{kind:<12} median {np.median(times):6.0f} ms, longest {max(times):6.0f} ms")


if __name__ == "__main__":
    main()

"""One run of a sweep, in a process of its own: `python -m scrubjay.runs.worker FOLDER`.

Its order (configuration, command, and where to find the method, as JSON) comes as the first line of
standard input, which the sweep then holds open: when it closes, however the sweep ended, the run
stops at its last episode. With `tune` in its order, it works on the study in that folder instead.
"""

import json
import os
import signal
import sys
import threading
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from scrubjay.registry import register
from scrubjay.runs.config import RunConfig
from scrubjay.runs.launch import resume, start
from scrubjay.training.errors import LockedError, RunExistsError, RunFolderError
from scrubjay.training.run_folder import read_json

BUSY = 75  # sysexits' "try again later"
INTERRUPTED = 130
NEW, UNFINISHED, FINISHED = "new", "unfinished", "finished"


def run_status(folder: Path, config: RunConfig) -> str:
    """The status of the run in a folder; a run of another configuration there is an error."""
    if not (folder / "manifest.json").exists():
        return NEW
    manifest = read_json(folder / "manifest.json")
    _check_same(folder, config)
    return FINISHED if manifest.get("status") == "finished" else UNFINISHED


def work(folder: Path, config: RunConfig, command: str) -> None:
    """Start a run, or resume it, and finish it."""
    match run_status(folder, config):
        case "new":
            start(config, folder, command, progress_bar=True)
        case "unfinished":
            # the task is the requested one: `run_status` has compared them
            resume(folder, trust_module=True, progress_bar=True)


def spelled_out(config: RunConfig) -> dict[str, Any]:
    """Every option of the agent, also those that the preset does not set."""
    plain = replace(config, seed=0, steps=0, checkpoint_steps=())
    return dict(_spelled_out(json.dumps(asdict(plain), sort_keys=True)))


@cache
def _spelled_out(text: str) -> dict[str, Any]:
    config = RunConfig.from_json(json.loads(text))
    env = config.make_env()
    options = config.make_agent(env).config()
    env.close()
    options.pop("seed")
    return dict(json.loads(json.dumps(options)))


def _check_same(folder: Path, config: RunConfig) -> None:
    try:
        found = RunConfig.from_json(read_json(folder / "config.json"))
        _check_same_task(folder, found, config)
        there = _comparable(found)
    except RunFolderError:
        raise
    except (TypeError, ValueError) as error:
        raise RunFolderError(
            f"{folder} holds a run that this version cannot make ({error}): move it away"
        ) from error
    wanted = _comparable(config)
    different = [
        f"{name} is {there[name]} there, {wanted[name]} is wanted"
        for name in wanted
        if there[name] != wanted[name]
    ]
    if different:
        raise RunFolderError(
            f"{folder} holds another run ({'; '.join(different)}): choose another folder for this "
            "one, or move that one away"
        )


def _check_same_task(folder: Path, found: RunConfig, config: RunConfig) -> None:
    """Compare the tasks before any is made: making a task may import a module."""
    if found.task != config.task:
        raise RunFolderError(
            f"{folder} holds another run (task is {found.task} there, {config.task} is wanted): "
            "choose another folder for this one, or move that one away"
        )


def _comparable(config: RunConfig) -> dict[str, Any]:
    content = asdict(config)
    content.pop("tensorboard")
    content["options"] = spelled_out(config) or dict(config.options)
    return dict(json.loads(json.dumps(content)))


def main() -> int:
    """Run or resume the run folder named on the command line."""
    folder = Path(sys.argv[1])
    order = json.loads(sys.stdin.buffer.readline())
    sys.path += [place for place in order["path"] if place not in sys.path]
    register(**order["agent"])
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    try:
        config = RunConfig.from_json(order["config"])
        if "tune" in order:
            from scrubjay.runs.tuning_workers import join_study

            join_study(folder, config, order)
        else:
            work(folder, config, order["command"])
    except (LockedError, RunExistsError) as error:
        # another process was faster; the sweep looks again later
        print(error, file=sys.stderr)
        return BUSY
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _stop_when_alone() -> None:
    # the bare file: a thread that waits inside sys.stdin holds up the end of the interpreter
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())

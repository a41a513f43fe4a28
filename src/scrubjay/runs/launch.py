"""Start, resume and load runs: what the command line, sweeps and Python do."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from scrubjay.agents.files import read_training
from scrubjay.envs.custom import needs_import
from scrubjay.optional import require
from scrubjay.runs.config import RunConfig
from scrubjay.training import Callback, RunFolder, RunFolderError
from scrubjay.training.collecting import Opening, Transport
from scrubjay.training.errors import LockedError, RunExistsError
from scrubjay.training.lock import LOCK, OWNER
from scrubjay.training.logger import Output
from scrubjay.training.run_folder import write_json

OpenTransport = Callable[[Opening], Transport]
IfExists = Literal["error", "number", "overwrite"]


def start(
    config: RunConfig,
    out: str | PathLike[str],
    command: str = "",
    *,
    if_exists: IfExists = "error",
    on_start: Callable[[Path], None] | None = None,
    callback: Callback = None,
    outputs: Sequence[Output] = (),
    progress_bar: bool = False,
    open_transport: OpenTransport | None = None,
) -> Any:
    """Run a new run to its end.

    Args:
        config: What decides the run.
        out: The run folder.
        command: The command that started it, for the record.
        if_exists: What to do if there is something in the folder: "error" refuses a run and leaves
            other files alone; "number" takes the first free one of out, out-2, out-3, ...;
            "overwrite" replaces a run and refuses everything else.
        on_start: Called with the run folder before training begins.
        callback: As in `learn`.
        outputs: Where the agent's logger writes too.
        progress_bar: Whether to show progress.
        open_transport: Where the run's collectors run; processes of this machine by default.

    Returns:
        The trained agent.

    Raises:
        RunFolderError: If the folder cannot be used.
    """
    check_extras(config)
    env, eval_env = config.make_training_env(), config.make_eval_env()
    agent = config.make_agent(env)
    with _new_folder(Path(out), _as_json(config, agent), command, if_exists) as folder:
        if on_start is not None:
            on_start(folder.path)
        collectors = config.make_collectors(open_transport)
        more = {"callback": callback, "collectors": collectors}
        return _run(agent, eval_env, config, folder, progress_bar, outputs, **more)


def resume(
    path: str | PathLike[str],
    *,
    steps: int | None = None,
    env: Any = None,
    eval_env: Any = None,
    on_start: Callable[[RunConfig, int], None] | None = None,
    callback: Callback = None,
    outputs: Sequence[Output] = (),
    trust_module: bool = False,
    progress_bar: bool = False,
    open_transport: OpenTransport | None = None,
) -> Any:
    """Continue a run from its last checkpoint, bit for bit as if it had never stopped.

    A run of a method that is not resumable begins again; one that is finished is only loaded,
    unless `steps` extends it. Schedules count the steps from the beginning of the run, so an
    extended run of one environment learns what a run of `steps` steps would have learned. Its
    progress.csv has one row more, that of the former end. A run of several environments finished
    its open episodes at the former end, and continues from there.

    Args:
        path: The run folder.
        steps: Train up to this total number of steps, in place of the run's own.
        env: The training environment, where the folder does not say how to make it: that of a run
            which was started from Python with an environment that has no id.
        eval_env: The evaluation environment, likewise.
        on_start: Called with the configuration and the number of steps so far, before training.
        callback: As in `learn`.
        outputs: Where the agent's logger writes too.
        trust_module: Whether a module that the run's task names ("module:Name") may be imported.
        progress_bar: Whether to show progress.
        open_transport: As in `start`.

    Returns:
        The trained agent.

    Raises:
        RunFolderError: If it is not a run, if its environment cannot be made, or if `steps` is not
            more than the run has.
    """
    with RunFolder.open(path, for_writing=True) as folder:
        config = config_of(folder)
        check_extras(config)
        method = config.spec.load()
        if steps is not None and not method.resumable:
            raise RunFolderError(
                f"a run of {config.agent} cannot be extended, because its checkpoints have no "
                f"replay buffer; train again with {steps} steps, in another folder"
            )
        env, eval_env = _environments(config, folder, env, eval_env, trust_module)
        if method.resumable:
            agent, state = _restored(config, folder, env)
            if steps is not None:
                config = _extended(config, folder, agent.num_timesteps, steps)
            if on_start is not None:
                on_start(config, agent.num_timesteps)
            folder.cut(agent.num_timesteps)
            folder.update(status="running", finished=None)
            more = {"callback": callback, "training_state": state}
            more["collectors"] = config.make_collectors(open_transport)
            return _run(agent, eval_env, config, folder, progress_bar, outputs, **more)
        if folder.manifest.get("status") == "finished":
            return load_checkpoint(folder, config, "last")
        agent = config.make_agent(env)
        folder.restart(folder.config, folder.manifest.get("command", ""))
        return _run(agent, eval_env, config, folder, progress_bar, outputs, callback=callback)


def _extended(config: RunConfig, folder: RunFolder, done: int, steps: int) -> RunConfig:
    """Change the number of steps in the configuration, also in config.json."""
    if steps <= done:
        raise RunFolderError(
            f"{folder.path} has trained for {done} steps: expected more than that, got {steps}"
        )
    folder.config = {**folder.config, "steps": steps}
    if config.episodes is not None:
        folder.config["episodes"] = None
    write_json(folder.path / "config.json", folder.config)
    return replace(config, steps=steps, episodes=None)


# ---------------------------------------------------------------- where a new run goes


def _new_folder(
    out: Path, config: Mapping[str, Any], command: str, if_exists: IfExists
) -> RunFolder:
    if if_exists == "overwrite" and is_used(out):
        return _replaced(out, config, command)
    if if_exists != "number":
        return RunFolder.create(out, config, command)
    for path in _numbered(out):
        # another process may take the same name at this moment
        if not is_used(path):
            try:
                return RunFolder.create(path, config, command)
            except (RunExistsError, LockedError):
                continue
    raise RunExistsError(f"{out} holds a run already: choose another folder")


def is_used(folder: Path) -> bool:
    """Whether there is a file, or a folder that is not empty."""
    if not folder.is_dir():
        return folder.exists()
    return any(entry.name not in (LOCK, OWNER) for entry in folder.iterdir())


def _numbered(out: Path) -> Iterator[Path]:
    yield out
    if out.name:  # "." has no neighbours
        yield from (out.with_name(f"{out.name}-{number}") for number in count(2))


def _replaced(out: Path, config: Mapping[str, Any], command: str) -> RunFolder:
    """A new run in the place of an old one, of which only its own files are removed."""
    if not (out / "manifest.json").exists():
        raise RunFolderError(
            f"expected {out} to be a run folder to overwrite, but it has no manifest.json; nothing "
            "was deleted: choose another folder"
        )
    folder = RunFolder.open(out, for_writing=True)
    shutil.rmtree(out / "tensorboard", ignore_errors=True)
    folder.restart(config, command)
    return folder


# ---------------------------------------------------------------- environments and checkpoints


def _environments(
    config: RunConfig, folder: RunFolder, env: Any, eval_env: Any, trust_module: bool
) -> tuple[Any, Any]:
    """The environments of a run, those that were not given made from its task's id."""
    if env is not None and (eval_env is not None or not config.eval_freq):
        return env, eval_env
    try:
        config.check_env_by_id()
    except RunFolderError as error:
        raise RunFolderError(
            f"{folder.path}: {error}; pass it, as in "
            "scrubjay.resume(path, env=env, eval_env=eval_env)"
        ) from error
    check_module(folder.path, config, trust_module)
    if env is None:
        env = config.make_training_env()
    return env, config.make_eval_env() if eval_env is None else eval_env


def _restored(config: RunConfig, folder: RunFolder, env: Any) -> tuple[Any, dict[str, Any]]:
    """The agent of the last checkpoint, or a new one if the run was killed before its first."""
    checkpoint = folder.checkpoint("last")
    if not checkpoint.exists():
        before = folder.config.get("start_timestep", 0)
        if before:
            raise RunFolderError(
                f"{folder.path} has no checkpoint, and its agent had trained for {before} steps "
                "before: train that agent again, in another folder"
            )
        return config.make_agent(env), {}
    return config.spec.load().load(checkpoint, env), read_training(checkpoint)


def check_extras(config: RunConfig) -> None:
    """Refuse a run that needs packages which are not installed, before anything is created."""
    if config.tensorboard:
        require("tensorboard", "tensorboard")
    config.spec.load()


def check_module(path: str | PathLike[str], config: RunConfig, trust_module: bool) -> None:
    """Refuse to import a module that only a run folder names.

    Importing `module` to make the task "module:Name" executes it, and so does calling Name.

    Args:
        path: The run folder, for the message.
        config: The run's configuration.
        trust_module: Whether the user allows it.

    Raises:
        RunFolderError: If the module has to be imported and the user does not allow it.
    """
    if not trust_module and needs_import(config.task):
        module = config.task.partition(":")[0]
        raise RunFolderError(
            f"the task of {path} is {config.task!r}: making it imports the module {module!r}, "
            "which executes its code; if you trust it, add --trust-module (trust_module=True in "
            "Python)"
        )


def load_agent(
    path: str | PathLike[str], checkpoint: str = "last", *, env: Any = None
) -> tuple[Any, RunConfig]:
    """The trained agent of a run, and the run's configuration.

    Args:
        path: The run folder.
        checkpoint: "last", "best" or "step-N".
        env: An environment for the agent, to train it further; none is needed to predict.

    Returns:
        The agent and the configuration.

    Raises:
        RunFolderError: If it is not a run, or has no such checkpoint.
    """
    folder = RunFolder.open(path)
    config = config_of(folder)
    return load_checkpoint(folder, config, checkpoint, env), config


def load_checkpoint(folder: RunFolder, config: RunConfig, checkpoint: str, env: Any = None) -> Any:
    """The agent of a checkpoint in a run folder of ours."""
    method = config.spec.load()
    file = folder.checkpoint(checkpoint, method.suffix)
    if not file.exists():
        known = sorted(found.stem for found in file.parent.glob(f"*{method.suffix}"))
        raise RunFolderError(f"{folder.path} has no checkpoint {checkpoint!r}; it has {known}")
    agent = method.load(file, env) if method.resumable else method.load(file, env, trusted=True)
    if not method.resumable:
        agent.n_episodes = int(folder.manifest.get("episodes", 0))
    return agent


def config_of(folder: RunFolder) -> RunConfig:
    """The configuration of a run folder."""
    try:
        return RunConfig.from_json(folder.config)
    except (TypeError, ValueError, AttributeError) as error:
        raise RunFolderError(
            f"{folder.path / 'config.json'} does not say how to make this run again: {error}"
        ) from error


def _run(
    agent: Any,
    eval_env: Any,
    config: RunConfig,
    folder: RunFolder,
    progress_bar: bool,
    outputs: Sequence[Output] = (),
    **more: Any,
) -> Any:
    for output in outputs:
        agent.logger.add(output)
    if not config.collectors:
        more.pop("collectors", None)  # other methods do not have this argument
    budget: dict[str, Any] = {"total_timesteps": max(config.steps - agent.num_timesteps, 0)}
    if config.episodes is not None:
        budget = {"total_episodes": max(config.episodes - agent.n_episodes, 0)}
    return agent.learn(
        **budget,
        progress_bar=progress_bar,
        run_folder=folder,
        eval_env=eval_env,
        eval_freq=config.eval_freq if eval_env is not None else 0,
        n_eval_episodes=config.n_eval_episodes,
        max_episode_steps=config.max_episode_steps,
        log_freq=config.log_freq,
        checkpoint_freq=config.checkpoint_freq,
        checkpoint_steps=config.checkpoint_steps,
        tensorboard=config.tensorboard,
        success_key=config.success_key,
        **more,
    )


def _as_json(config: RunConfig, agent: Any) -> dict[str, Any]:
    """The configuration with every option, so that a later change of a preset has no effect."""
    options = agent.config()
    options.pop("seed")
    return {**asdict(config), "options": options, "start_timestep": 0}

"""Start, resume and load runs: what the command line, sweeps and Python do."""

import sys
from dataclasses import asdict
from os import PathLike
from typing import Any

from scrubjay.agents.files import read_training
from scrubjay.optional import require
from scrubjay.runs.config import RunConfig
from scrubjay.training import Callback, RunFolder, RunFolderError


def start(
    config: RunConfig,
    out: str | PathLike[str],
    command: str = "",
    *,
    callback: Callback = None,
    progress_bar: bool = False,
) -> Any:
    """Run a new run to its end.

    Args:
        config: What decides the run.
        out: The run folder, which must not hold a run yet.
        command: The command that started it, for the record.
        callback: As in `learn`.
        progress_bar: Whether to show progress.

    Returns:
        The trained agent.
    """
    check_extras(config)
    env, eval_env = config.make_training_env(), config.make_eval_env()
    agent = config.make_agent(env)
    with RunFolder.create(out, _as_json(config, agent), command) as folder:
        return _run(agent, eval_env, config, folder, progress_bar, callback=callback)


def resume(
    path: str | PathLike[str],
    *,
    env: Any = None,
    eval_env: Any = None,
    callback: Callback = None,
    trust_module: bool = False,
    progress_bar: bool = False,
) -> Any:
    """Continue a run from its last checkpoint, bit for bit as if it had never stopped.

    A run of a method that is not resumable begins again; one that is finished is only loaded.

    Args:
        path: The run folder.
        env: The training environment, where the folder does not say how to make it: that of a run
            which was started from Python with an environment that has no id.
        eval_env: The evaluation environment, likewise.
        callback: As in `learn`.
        trust_module: Whether a module that the run's task names ("module:Env-v0") may be imported.
        progress_bar: Whether to show progress.

    Returns:
        The trained agent.
    """
    with RunFolder.open(path, for_writing=True) as folder:
        config = config_of(folder)
        check_extras(config)
        env, eval_env = _environments(config, folder, env, eval_env, trust_module)
        method = config.spec.load()
        if method.resumable:
            agent, state = _restored(config, folder, env)
            folder.cut(agent.num_timesteps)
            folder.update(status="running", finished=None)
            more = {"callback": callback, "training_state": state}
            return _run(agent, eval_env, config, folder, progress_bar, **more)
        if folder.manifest.get("status") == "finished":
            return load_checkpoint(folder, config, "last")
        agent = config.make_agent(env)
        folder.restart(folder.config, folder.manifest.get("command", ""))
        return _run(agent, eval_env, config, folder, progress_bar, callback=callback)


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

    Gymnasium imports `module` to make the task "module:Env-v0", and importing executes it.

    Args:
        path: The run folder, for the message.
        config: The run's configuration.
        trust_module: Whether the user allows it.

    Raises:
        RunFolderError: If the module is not imported yet and the user does not allow it.
    """
    module, named, _ = config.task.partition(":")
    if named and not trust_module and module not in sys.modules:
        raise RunFolderError(
            f"the task of {path} is {config.task!r}: making it imports the module {module!r}, "
            "which executes its code; add --trust-module (trust_module=True in Python) to allow it"
        )


def load_agent(path: str | PathLike[str], checkpoint: str = "last") -> tuple[Any, RunConfig]:
    """The trained agent of a run, and the run's configuration.

    Args:
        path: The run folder.
        checkpoint: "last", "best" or "step-N".

    Returns:
        The agent, to predict with, and the configuration.
    """
    folder = RunFolder.open(path)
    config = config_of(folder)
    return load_checkpoint(folder, config, checkpoint), config


def load_checkpoint(folder: RunFolder, config: RunConfig, checkpoint: str) -> Any:
    """The agent of a checkpoint in a run folder of ours."""
    method = config.spec.load()
    file = folder.checkpoint(checkpoint, method.suffix)
    if not file.exists():
        known = sorted(found.stem for found in file.parent.glob(f"*{method.suffix}"))
        raise RunFolderError(f"{folder.path} has no checkpoint {checkpoint!r}; it has {known}")
    agent = method.load(file) if method.resumable else method.load(file, trusted=True)
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
    **more: Any,
) -> Any:
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
    """The configuration with every option spelled out, whatever a preset may say one day."""
    options = agent.config()
    options.pop("seed")
    return {**asdict(config), "options": options, "start_timestep": 0}

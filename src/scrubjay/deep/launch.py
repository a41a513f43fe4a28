"""Runs of deep agents by name: what `scrubjay.runs.launch` asks this room for.

A configuration is `RunConfig`, known here by its fields only. The preset "paper" is the setting of
the authors; the others have their own names.
"""

from dataclasses import asdict
from os import PathLike
from typing import Any

from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.deep.baselines import deep_options, make_deep_agent
from scrubjay.deep.runner import (
    WatchedModel,
    is_finished,
    load_checkpoint,
    train_deep,
)
from scrubjay.training import Evaluator, Plan, RunFolder


def start(
    config: Any, out: str | PathLike[str], command: str = "", progress_bar: bool = False
) -> WatchedModel:
    """Run a new run to its end and return the trained model."""
    parts = _make(config)
    with RunFolder.create(out, _as_json(config), command) as folder:
        return _run(config, folder, *parts, progress_bar)


def restart(config: Any, folder: RunFolder, progress_bar: bool = False) -> WatchedModel:
    """Begin a run again that was broken off; one that is finished is only loaded.

    `folder` is open for writing.
    """
    if is_finished(folder.path):
        return _watched(load(config, folder, "last"), folder)
    parts = _make(config)
    folder.restart(folder.config, folder.manifest.get("command", ""))
    return _run(config, folder, *parts, progress_bar)


def load(config: Any, folder: RunFolder, checkpoint: str) -> OffPolicyAlgorithm:  # noqa: ARG001
    """The Stable-Baselines3 model of a checkpoint."""
    return load_checkpoint(folder, checkpoint)


def _make(config: Any) -> tuple[OffPolicyAlgorithm, Evaluator | None]:
    """The model and its evaluator, made before the folder is touched: either may fail."""
    setting = _setting(config)
    model = make_deep_agent(
        config.agent, config.task, config.make_env(), config.seed, setting, **_own(config, setting)
    )
    env = config.make_eval_env()
    return model, None if env is None else Evaluator(env, config.n_eval_episodes, config.seed)


def _run(
    config: Any,
    folder: RunFolder,
    model: OffPolicyAlgorithm,
    evaluator: Evaluator | None,
    progress_bar: bool,
) -> WatchedModel:
    plan = Plan(
        config.eval_freq,
        config.log_freq,
        config.checkpoint_freq,
        config.checkpoint_steps,
        config.tensorboard,
    )
    train_deep(
        model,
        folder,
        total_timesteps=config.steps,
        plan=plan,
        evaluator=evaluator,
        progress_bar=progress_bar,
    )
    return _watched(model, folder)


def _watched(model: OffPolicyAlgorithm, folder: RunFolder) -> WatchedModel:
    watched = WatchedModel(model)
    watched.n_episodes = int(folder.manifest["episodes"])
    return watched


def _setting(config: Any) -> str:
    return "authors" if config.preset == "paper" else str(config.preset)


def _own(config: Any, setting: str) -> dict[str, Any]:
    """The options that are not the setting's own already."""
    known = deep_options(config.agent, config.task, setting)
    return {name: value for name, value in config.options.items() if known.get(name) != value}


def _as_json(config: Any) -> dict[str, Any]:
    """The configuration with every option spelled out, whatever a setting may say one day."""
    options = {**deep_options(config.agent, config.task, _setting(config)), **config.options}
    return {**asdict(config), "options": options, "start_timestep": 0}

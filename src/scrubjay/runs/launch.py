"""Start, resume and load runs by name: what the command line and sweeps do."""

import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from os import PathLike
from typing import Any

import gymnasium

from scrubjay.agents import CEC, CECPlus, MemoryAgent
from scrubjay.embedding import load_embedding
from scrubjay.envs.catalog import find_task
from scrubjay.memory import read_archive
from scrubjay.optional import require
from scrubjay.runs.presets import PRESETS, preset
from scrubjay.runs.stale_index import StaleIndexCEC
from scrubjay.training import RunFolder, RunFolderError, train

MEMORY_AGENTS: dict[str, type[MemoryAgent]] = {
    "cec": CEC,
    "cec-plus": CECPlus,
    "cec-stale": StaleIndexCEC,
}
DEEP_AGENTS = ("sac", "emac")
AGENTS = (*MEMORY_AGENTS, *DEEP_AGENTS)
# "paper" is for SAC and EMAC what their authors, or those of the paper, gave to them
PRESETS_OF = {
    "cec": PRESETS,
    "cec-plus": ("default",),
    "cec-stale": PRESETS,
    "sac": ("paper", "defaults", "her"),
    "emac": ("paper",),
}
LEAST = {
    "steps": 0, "n_envs": 1, "n_eval_episodes": 1, "eval_freq": 0, "log_freq": 0,
    "checkpoint_freq": 0,
}  # fmt: skip


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run; `options` overrules single settings of the preset.

    Without a preset it is the agent's first: "paper", or "default" where the paper has none.
    """

    agent: str
    task: str
    preset: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    task_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    steps: int = 100_000
    n_envs: int = 1
    eval_freq: int = 5_000
    n_eval_episodes: int = 10
    log_freq: int = 1_000
    checkpoint_freq: int = 10_000
    checkpoint_steps: tuple[int, ...] = ()
    tensorboard: bool = False
    max_episode_steps: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", _known("agent", self.agent, AGENTS))
        presets = PRESETS_OF[self.agent]
        object.__setattr__(self, "preset", _known("preset", self.preset or presets[0], presets))
        object.__setattr__(self, "task", find_task(self.task))
        object.__setattr__(self, "checkpoint_steps", tuple(self.checkpoint_steps))
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} is at least {least}; {getattr(self, name)} came")
        if self.agent in DEEP_AGENTS and self.n_envs != 1:
            raise ValueError(
                f"{self.agent} trains on one environment here: expected n_envs=1, got {self.n_envs}"
            )
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise ValueError(f"max_episode_steps is at least 1; {self.max_episode_steps} came")
        if min(self.checkpoint_steps, default=1) < 1:
            raise ValueError(f"checkpoint_steps are at least 1; {self.checkpoint_steps} came")

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RunConfig":
        known = {entry.name for entry in fields(cls)}
        entries = {name: value for name, value in content.items() if name in known}
        if entries.get("agent") in DEEP_AGENTS:
            entries["n_envs"] = 1  # 0.1.0 recorded what was asked for, and used one environment
        return cls(**entries)

    def make_env(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(
            self.task, max_episode_steps=self.max_episode_steps, **self.task_options
        )

    def make_eval_env(self) -> gymnasium.Env[Any, Any] | None:
        return self.make_env() if self.eval_freq else None

    def make_training_env(self) -> Any:
        if self.n_envs == 1:
            return self.make_env()
        return gymnasium.make_vec(
            self.task,
            num_envs=self.n_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED},
            **self.task_options,
        )

    def make_agent(self, env: Any) -> MemoryAgent:
        settings = {} if self.agent == "cec-plus" else preset(self.task, self.preset)
        arguments = {**settings, **self.options, "seed": self.seed}
        if isinstance(arguments.get("embedding"), Mapping):
            arguments["embedding"] = load_embedding(arguments["embedding"])
        return MEMORY_AGENTS[self.agent](env, **arguments)


def _known(what: str, name: str, names: Sequence[str]) -> str:
    """The name in its own case, or an error that suggests the nearest one."""
    if name.lower() in names:
        return name.lower()
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ValueError(f"there is no {what} {name!r}{hint} (there are {', '.join(names)})")


def start(config: RunConfig, out: str | PathLike[str], command: str = "", **show: Any) -> Any:
    """Run a new run to its end and return the trained agent. `show`: progress_bar."""
    check_extras(config)
    if config.agent in DEEP_AGENTS:
        return _deep().start(config, out, command, **show)
    env, eval_env = config.make_training_env(), config.make_eval_env()
    agent = config.make_agent(env)
    with RunFolder.create(out, _as_json(config, agent), command) as folder:
        return _run(agent, env, eval_env, config, folder, **show)


def resume(path: str | PathLike[str], *, trust_module: bool = False, **show: Any) -> Any:
    """Continue a run from its last checkpoint, bit for bit as if it had never stopped.

    Args:
        path: The run folder.
        trust_module: Whether a module that the run's task names ("module:Env-v0") may be imported.
        show: `progress_bar`.

    Returns:
        The trained agent.
    """
    with RunFolder.open(path, for_writing=True) as folder:
        config = _config_of(folder)
        if "eval_freq" not in folder.config:
            raise RunFolderError(
                f"{path} was started from Python, which alone knows its environments: go on there"
            )
        check_extras(config)
        check_module(path, config, trust_module)
        if config.agent in DEEP_AGENTS:
            return _deep().restart(config, folder, **show)
        return _resume(config, folder, **show)


def _resume(config: RunConfig, folder: RunFolder, **show: Any) -> MemoryAgent:
    env, eval_env = config.make_training_env(), config.make_eval_env()
    checkpoint = folder.checkpoint("last")
    if not checkpoint.exists():
        # killed before its first checkpoint: begin again
        agent, state = config.make_agent(env), None
    else:
        agent = MEMORY_AGENTS[config.agent].load(checkpoint, env)
        state = read_archive(checkpoint, "agent")[0]["training"]
    folder.cut(agent.num_timesteps)
    folder.update(status="running", finished=None)
    return _run(agent, env, eval_env, config, folder, training_state=state, **show)


def check_extras(config: RunConfig) -> None:
    """Refuse a run that needs packages which are not installed, before anything is created."""
    if config.tensorboard:
        require("tensorboard", "tensorboard")
    if config.agent in DEEP_AGENTS:
        _deep()


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
    """The trained agent of a run, and the run's configuration."""
    folder = RunFolder.open(path)
    config = _config_of(folder)
    if config.agent in DEEP_AGENTS:
        return _deep().load(config, folder, checkpoint), config
    file = folder.checkpoint(checkpoint)
    if not file.exists():
        known = sorted(found.stem for found in file.parent.glob("*.scrub"))
        raise RunFolderError(f"{path} has no checkpoint {checkpoint!r}; it has {known}")
    return MEMORY_AGENTS[config.agent].load(file), config


def _config_of(folder: RunFolder) -> RunConfig:
    try:
        return RunConfig.from_json(folder.config)
    except (TypeError, ValueError, AttributeError) as error:
        raise RunFolderError(
            f"{folder.path / 'config.json'} does not say how to make this run again: {error}"
        ) from error


def _run(
    agent: MemoryAgent, env: Any, eval_env: Any, config: RunConfig, folder: RunFolder, **show: Any
) -> MemoryAgent:
    train(
        agent,
        env,
        total_timesteps=max(config.steps - agent.num_timesteps, 0),
        run_folder=folder,
        eval_env=eval_env,
        eval_freq=config.eval_freq,
        n_eval_episodes=config.n_eval_episodes,
        max_episode_steps=config.max_episode_steps,
        log_freq=config.log_freq,
        checkpoint_freq=config.checkpoint_freq,
        checkpoint_steps=config.checkpoint_steps,
        tensorboard=config.tensorboard,
        **show,
    )
    return agent


def _as_json(config: RunConfig, agent: MemoryAgent) -> dict[str, Any]:
    """The configuration with every option spelled out, whatever a preset may say one day."""
    options = agent.config()
    options.pop("seed")
    return {**asdict(config), "options": options, "start_timestep": 0}


def _deep() -> Any:
    """The launcher of networks, imported only when one is asked for: it needs an extra."""
    from scrubjay.deep import launch

    return launch

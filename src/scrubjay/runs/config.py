"""The configuration of a run: method, task, settings, seed, budget."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import gymnasium

from scrubjay.agents.files import upgraded
from scrubjay.agents.settings import settings_of
from scrubjay.envs.catalog import UnknownTaskError, find_task
from scrubjay.envs.custom import environment_spec
from scrubjay.registry import AgentSpec, agent_spec
from scrubjay.training import Collectors, RunFolderError
from scrubjay.training.collecting import Mode, Opening, Transport

MINIMUM = {
    "seed": 0, "steps": 0, "n_envs": 1, "n_eval_episodes": 1, "eval_freq": 0, "log_freq": 0,
    "checkpoint_freq": 0, "collectors": 0,
}  # fmt: skip


@dataclass(frozen=True)
class RunConfig:
    """Everything that determines a run.

    Attributes:
        agent: The method's name.
        task: A Gymnasium id, a bare name, the paper's name, or "module:Name" for an environment of
            your own; "" if it has none.
        preset: The method's settings for the task, by name; the method's first one if not given.
        options: Settings that override the preset's.
        task_options: Arguments of the task.
        seed: Determines every random number.
        steps: Training steps.
        episodes: Training episodes, in place of steps.
        n_envs: Environments that are stepped together.
        collectors: Processes that step environments of their own; 0: only this one.
        collector_mode: "rounds" or "free"; see `Collectors`.
        eval_freq: Steps between evaluations, 0: never.
        n_eval_episodes: Episodes of an evaluation.
        log_freq: Steps between rows of progress.csv.
        checkpoint_freq: Steps between checkpoints.
        checkpoint_steps: Steps whose checkpoints are kept permanently.
        tensorboard: Whether to write TensorBoard's files.
        max_episode_steps: Where longer episodes are ended as time-outs.
        success_key: The entry of `info` that says whether an episode was solved; by default
            "is_success", then "success".
        env_by_id: Whether `task` and `task_options` make its environments; if not, only the program
            that started it can.
    """

    agent: str
    task: str
    preset: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    task_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    steps: int = 100_000
    episodes: int | None = None
    n_envs: int = 1
    collectors: int = 0
    collector_mode: Mode = "rounds"
    eval_freq: int = 5_000
    n_eval_episodes: int = 10
    log_freq: int = 1_000
    checkpoint_freq: int = 10_000
    checkpoint_steps: tuple[int, ...] = ()
    tensorboard: bool = False
    max_episode_steps: int | None = None
    success_key: str | None = None
    env_by_id: bool = True

    def __post_init__(self) -> None:
        spec = agent_spec(self.agent)
        self._set("agent", spec.name)
        self._set("preset", _known("preset", self.preset or spec.presets[0], spec.presets))
        if self.env_by_id:
            self._set("task", find_task(self.task))
        self._set("checkpoint_steps", tuple(self.checkpoint_steps))
        for name, minimum in MINIMUM.items():
            if getattr(self, name) < minimum:
                raise ValueError(
                    f"expected {name} to be at least {minimum}, got {getattr(self, name)}"
                )
        if self.n_envs != 1 and not spec.vectors:
            raise ValueError(
                f"{self.agent} trains on one environment here: expected n_envs=1, got {self.n_envs}"
            )
        self._check_collectors(spec)
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise ValueError(
                f"expected max_episode_steps to be at least 1, got {self.max_episode_steps}"
            )
        if min(self.checkpoint_steps, default=1) < 1:
            raise ValueError(
                f"expected checkpoint_steps of at least 1, got {self.checkpoint_steps}"
            )

    def _check_collectors(self, spec: AgentSpec) -> None:
        if self.collectors and (not spec.vectors or self.n_envs != 1):
            reason = "trains in one process here" if not spec.vectors else "has n_envs > 1"
            raise ValueError(
                f"expected collectors=0 for a run of {self.agent} that {reason}, got "
                f"{self.collectors}"
            )
        if self.collectors:
            Collectors(self.collectors, self.collector_mode)

    def make_collectors(
        self, open_transport: Callable[[Opening], Transport] | None = None
    ) -> Collectors | None:
        """The run's collectors, if it has any, on this machine by default."""
        if not self.collectors:
            return None
        make_env = self.make_env if self.env_by_id else None  # otherwise as the agent's own
        return Collectors(
            self.collectors, self.collector_mode, make_env, open_transport=open_transport
        )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def spec(self) -> AgentSpec:
        """The method."""
        return agent_spec(self.agent)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RunConfig":
        """The configuration of a run folder's config.json, of this or an older version."""
        known = {entry.name for entry in fields(cls)}
        entries = {name: value for name, value in content.items() if name in known}
        entries |= _task_entries(entries)
        agent, options = upgraded(str(entries.get("agent")), entries.get("options") or {})
        if agent != entries.get("agent"):
            entries["preset"] = ""  # those of the method that it was
        entries |= {"agent": agent, "options": options}
        if not agent_spec(agent).vectors:
            entries["n_envs"] = 1  # 0.1.0 recorded the requested number, and used one environment
        return cls(**entries)

    def check_env_by_id(self) -> None:
        """Refuse to make an environment that the task's id does not make.

        Raises:
            RunFolderError: If only the program that started the run can make its environments.
        """
        if not self.env_by_id:
            name = f" {self.task!r}" if self.task else ""
            raise RunFolderError(
                f"no id makes its environment{name}: the run was started from Python, where it was "
                "made"
            )

    def make_env(self, **more: Any) -> gymnasium.Env[Any, Any]:
        """The task, with its options and more, like render_mode."""
        self.check_env_by_id()
        options = {**self.task_options, **more}
        spec = environment_spec(self.task)
        return gymnasium.make(spec, max_episode_steps=self.max_episode_steps, **options)

    def make_eval_env(self) -> gymnasium.Env[Any, Any] | None:
        """A separate environment for evaluation, if there is any."""
        return self.make_env() if self.eval_freq else None

    def make_training_env(self) -> Any:
        """The environment, or the vector environment, to train on."""
        self.check_env_by_id()
        if self.n_envs == 1:
            return self.make_env()
        options = dict(self.task_options)
        if self.max_episode_steps is not None:
            options["max_episode_steps"] = self.max_episode_steps
        return gymnasium.make_vec(
            environment_spec(self.task),
            num_envs=self.n_envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED},
            **options,
        )

    def make_agent(self, env: Any) -> Any:
        """The agent, with the preset's settings and the options."""
        method = self.spec.load()
        # a run folder has all settings, whatever a preset may say today
        complete = self.options.keys() >= settings_of(method).keys() - {"seed"}
        settings = {} if complete else method.preset(self.task, self.preset)
        return method(env, **{**settings, **self.options, "seed": self.seed})


def _task_entries(content: Mapping[str, Any]) -> dict[str, Any]:
    """The task of a config.json, and whether its id is enough to make it here."""
    task = content.get("task") or ""
    by_id = bool(task) and content.get("env_by_id", True)
    # 0.1.0 wrote no frequencies for a run that was started from Python
    frequencies = {} if "eval_freq" in content else {"eval_freq": 0}
    if frequencies:
        by_id = False
    try:
        task = find_task(task) if by_id else task
    except UnknownTaskError:
        by_id = False
    return {"task": task, "env_by_id": by_id, **frequencies}


def _known(what: str, name: str, names: Sequence[str]) -> str:
    """The name in its own case, or an error that suggests the nearest one."""
    if name.lower() in names:
        return name.lower()
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ValueError(f"there is no {what} {name!r}{hint} (expected one of {', '.join(names)})")

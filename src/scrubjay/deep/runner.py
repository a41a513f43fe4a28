"""Deep agents in the same run folder, by the same evaluation protocol as the others.

Stable-Baselines3 keeps its loop; a callback in it reports to a `Session`. What is due at a step
happens right after that step's gradient update. A killed deep run starts again from the beginning:
nothing here resumes one.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger as ModelLogger
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from scrubjay.deep.emac import EMAC
from scrubjay.deep.episodes import FINISHED, NumberedEpisodes
from scrubjay.training import EpisodeRecord, Evaluator, Logger, Plan, RunFolder, Session
from scrubjay.training.files import replacing
from scrubjay.training.interrupts import InterruptGuard
from scrubjay.training.progress import open_progress
from scrubjay.training.run_folder import RunFolderError, read_json
from scrubjay.training.session import NEVER

SUFFIX = ".zip"
CLASSES: dict[str, type[OffPolicyAlgorithm]] = {"sac": SAC, "emac": EMAC}
METRICS = (
    "train/n_updates",
    "train/learning_rate",
    "train/actor_loss",
    "train/critic_loss",
    "train/ent_coef",
    "train/ent_coef_loss",
)


def train_deep(
    model: BaseAlgorithm,
    folder: RunFolder | None,
    *,
    total_timesteps: int,
    plan: Plan | None = None,
    evaluator: Evaluator | None = None,
    progress_bar: bool = False,
) -> None:
    """Train a new Stable-Baselines3 model, and evaluate, log, save and show as the plan says.

    Its environment must be one of `NumberedEpisodes`, as `make_deep_agent` makes it. Trains in
    one thread: more do not help networks of this size, and would change the last digits. On Ctrl-C
    the model is saved first.
    """
    check_new(model)
    watched = WatchedModel(model)
    with one_thread(), InterruptGuard() as guard:
        session = Session(
            watched, plan or Plan(), folder=folder, evaluator=evaluator,
            progress=open_progress(progress_bar, total_timesteps, 0, "steps"),
            should_stop=lambda: guard.requested, checkpoint_suffix=SUFFIX,
        )  # fmt: skip
        status = "failed"
        try:
            session.compile(watched.warm_up)
            # whatever has drawn from the global generators since the model was made
            model.set_random_seed(model.seed)
            model.set_logger(ModelLogger(None, []))  # its own would open a folder elsewhere
            reporter = Reporter(session, watched, guard)
            model.learn(total_timesteps, callback=reporter, log_interval=NEVER)
            status = "interrupted" if guard.requested else "finished"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            session.close(status)
    if guard.requested:
        raise KeyboardInterrupt


def check_new(model: BaseAlgorithm) -> None:
    env = model.get_env()
    if env is None or not all(env.env_is_wrapped(NumberedEpisodes)) or env.num_envs != 1:
        raise ValueError(
            "a model on one environment wrapped in NumberedEpisodes(env, seed) was expected: "
            "make_deep_agent makes such models"
        )
    if model.num_timesteps:
        raise ValueError(
            f"a new model was expected, this one has trained for {model.num_timesteps} steps: "
            "deep runs are not resumed, make a new one"
        )


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class WatchedModel:
    """A Stable-Baselines3 model as a session sees what is trained."""

    def __init__(self, model: BaseAlgorithm) -> None:
        self.model = model
        self.n_episodes = 0
        self.logger = Logger()

    @property
    def num_timesteps(self) -> int:
        return self.model.num_timesteps

    @num_timesteps.setter
    def num_timesteps(self, value: int) -> None:
        self.model.num_timesteps = value

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        return self.model.predict(observation, state, episode_start, deterministic)

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float | None]:  # noqa: ARG002
        """The last losses; nothing where the method has none, or has not begun to learn."""
        latest = self.model.logger.name_to_value
        losses = {name: as_float(latest.get(name)) for name in METRICS}
        return {**losses, **{f"memory/{name}": float(n) for name, n in self._memory().items()}}

    def _memory(self) -> dict[str, int]:
        if not isinstance(self.model, EMAC):
            return {}
        rows = self.model.memory.rows
        return {"size": len(rows), "bytes": rows.nbytes}

    def gauges(self) -> dict[str, Any]:
        return {"memory": len(self.model.memory)} if isinstance(self.model, EMAC) else {}

    def warm_up(self) -> None:
        if isinstance(self.model, EMAC):
            self.model.memory.warm_up()

    def save(
        self,
        path: str | os.PathLike[str],
        training: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> None:
        """Stable-Baselines3's own zip, whole or not at all; what a resume needs is not kept."""
        with replacing(Path(path)) as temporary:
            self.model.save(temporary)


def as_float(value: Any) -> float | None:
    return None if value is None else float(value)


class Reporter(BaseCallback):
    """Tells the session what happens in Stable-Baselines3's loop, after each gradient step."""

    def __init__(self, session: Session, watched: WatchedModel, guard: InterruptGuard) -> None:
        super().__init__()
        self._session, self._watched, self._guard = session, watched, guard
        self._finished: list[EpisodeRecord] = []

    def _on_training_start(self) -> None:
        self._session.begin()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if FINISHED in info:
                self._finished.append(info[FINISHED])
        return not self._guard.requested

    def _on_rollout_start(self) -> None:
        self._report()

    def _on_training_end(self) -> None:
        self._report()

    def _report(self) -> None:
        for record in self._finished:
            self._watched.n_episodes += 1
            self._session.episode_finished(record, {"episodes": 1.0})
        self._finished.clear()
        if self.model.num_timesteps >= self._session.next_event:
            self._session.handle_events()


# ---------------------------------------------------------------- run folders


def is_finished(path: str | os.PathLike[str]) -> bool:
    """Whether the folder holds a run that came to its end."""
    folder = Path(path)
    return (folder / "manifest.json").exists() and (
        read_json(folder / "manifest.json").get("status") == "finished"
    )


def start_run(
    path: str | os.PathLike[str], config: Mapping[str, Any], command: str = ""
) -> RunFolder:
    """The folder of a new deep run; a run that was killed there is cleared away.

    A finished one is never touched: ask `is_finished` first.
    """
    if not (Path(path) / "manifest.json").exists():
        return RunFolder.create(path, config, command)
    folder = RunFolder.open(path, for_writing=True)
    if is_finished(path):
        folder.close()
        raise RunFolderError(f"{path} holds a finished run: choose another folder")
    folder.restart(config, command)
    return folder


def load_checkpoint(folder: RunFolder, name: str = "last", env: Any = None) -> OffPolicyAlgorithm:
    """The model of a checkpoint in a run folder that we wrote ("last", "best" or "step-N").

    Stable-Baselines3's files can execute what is in them: load none that came from elsewhere.
    """
    path = folder.checkpoint(name, SUFFIX)
    if not path.exists():
        raise RunFolderError(f"{folder.path} has no checkpoint {name!r}: {path} is missing")
    agent = folder.config.get("agent")
    if agent not in CLASSES:
        known = ", ".join(CLASSES)
        raise RunFolderError(f"{folder.path} is a run of {agent!r}; deep agents are {known}")
    # Hindsight's buffer cannot be made without an environment, and nothing predicts with a buffer.
    plain: dict[str, Any] = {"replay_buffer_class": None, "replay_buffer_kwargs": {}}
    custom = plain if env is None and CLASSES[agent] is SAC else None
    return CLASSES[agent].load(path, env=env, device="cpu", custom_objects=custom)

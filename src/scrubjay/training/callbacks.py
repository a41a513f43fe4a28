"""Callbacks with the interface of Stable-Baselines3's, so that those made for it work here too.

A rollout is an episode here: `on_rollout_start` and `on_rollout_end` are called at its two ends.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

from scrubjay.training.logger import Logger


class BaseCallback:
    """Base class of callbacks: override the methods that begin with an underscore.

    Attributes:
        model: The agent that is trained.
        n_calls: How many times the callback was called.
        num_timesteps: The agent's steps so far.
        locals: The results of a step, one entry for each environment: `infos`, `rewards`,
            `dones`, `actions`, `new_obs`; and the arguments of `learn`. Where an episode has ended,
            `new_obs` is its last observation and the info has `episode` (`r`, `l`, `t`).
        globals: Empty; Stable-Baselines3 has global names here.
        parent: The callback that calls this one, if there is one.
        agent: The agent that is trained; `model` is Stable-Baselines3's model if it has one.
        evaluator: The evaluator of the training, if there is one; `n_steps` is its step counter.
        watches_steps: Whether `on_step` must be called; training is faster if no callback needs
            it.

    Args:
        verbose: 0 for no output, 1 for messages, 2 for more of them.
    """

    model: Any
    verbose: int = 0
    num_timesteps: int = 0
    n_calls: int = 0
    parent: "BaseCallback | None" = None
    agent: Any = None
    evaluator: Any = None
    watches_steps: bool = True

    def __init__(self, verbose: int = 0) -> None:
        self.verbose = verbose
        self.locals: dict[str, Any] = {}
        self.globals: dict[str, Any] = {}

    @property
    def logger(self) -> Logger:
        """The agent's logger: `self.logger.record("rollout/my_metric", 1.0)`."""
        logger: Logger = self.model.logger
        return logger

    @property
    def training_env(self) -> Any:
        """The training environment, as a `VecEnv`."""
        return self.model.get_env()

    def init_callback(self, model: Any) -> None:
        """Called once, before training.

        Args:
            model: The agent.
        """
        self.model = model
        self._init_callback()

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:
        """Called when training starts.

        Args:
            locals_: What becomes `locals`.
            globals_: What becomes `globals`.
        """
        self.locals, self.globals = locals_, globals_
        self.num_timesteps = self.model.num_timesteps
        self._on_training_start()

    def on_rollout_start(self) -> None:
        """Called when an episode begins."""
        self._on_rollout_start()

    def on_step(self) -> bool:
        """Called after each step of the environments.

        Returns:
            False to stop the training.
        """
        self.n_calls += 1
        self.num_timesteps = self.model.num_timesteps
        return self._on_step()

    def on_rollout_end(self) -> None:
        """Called when an episode has been learned."""
        self._on_rollout_end()

    def on_training_end(self) -> None:
        """Called when training ends."""
        self._on_training_end()

    def close(self) -> None:
        """Called when training has ended, also after an error."""

    def update_locals(self, locals_: Mapping[str, Any]) -> None:
        """Called before each `on_step`.

        Args:
            locals_: The results of the step.
        """
        self.locals.update(locals_)
        self.update_child_locals(locals_)

    def update_child_locals(self, locals_: Mapping[str, Any]) -> None:
        """Pass `locals_` on to the callbacks that this one calls.

        Args:
            locals_: The results of the step.
        """

    def _init_callback(self) -> None: ...

    def _on_training_start(self) -> None: ...

    def _on_rollout_start(self) -> None: ...

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None: ...

    def _on_training_end(self) -> None: ...


class CallbackLike(Protocol):
    """Any object with the methods of a callback, such as those of Stable-Baselines3."""

    def init_callback(self, model: Any) -> None:
        """Called once, before training, with the agent."""

    def on_step(self) -> bool:
        """Called after each step; returns False to stop the training."""


Function: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], bool | None]
Callback: TypeAlias = CallbackLike | Function | Sequence["Callback"] | None
"""A callback of ours or of Stable-Baselines3, a function of (locals, globals), or several."""


class FunctionCallback(BaseCallback):
    """A function of (locals, globals) that stops the training by returning False.

    Args:
        function: The function.
    """

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def _on_step(self) -> bool:
        return should_continue(self.function(self.locals, self.globals))


class CallbackList:
    """All callbacks of one training, called together."""

    def __init__(self, callback: Callback) -> None:
        self._callbacks = _as_list(callback)
        self._updated: list[Any] = []

    def start(self, model: Any, **locals_: Any) -> None:
        """Call all at the start of a training; `locals_` are the arguments of `learn`."""
        self.locals: dict[str, Any] = {"self": model, **locals_}
        for callback in self._callbacks:
            callback.init_callback(model)
            callback.on_training_start(self.locals, {})
        self._updated = [c for c in self._callbacks if hasattr(c, "update_locals")]

    def rollout_start(self) -> None:
        """Call all at the start of an episode."""
        for callback in self._callbacks:
            callback.on_rollout_start()

    def step(self, locals_: Mapping[str, Any]) -> bool:
        """Call all after a step, even when one of them stops the training; True to go on."""
        self.locals.update(locals_)
        for callback in self._updated:
            callback.update_locals(self.locals)
        results = [should_continue(callback.on_step()) for callback in self._callbacks]
        return all(results)

    def rollout_end(self) -> None:
        """Call all at the end of an episode."""
        for callback in self._callbacks:
            callback.on_rollout_end()

    def end(self) -> None:
        """Call all at the end of a training."""
        for callback in self._callbacks:
            callback.on_training_end()

    def __bool__(self) -> bool:
        return any(getattr(callback, "watches_steps", True) for callback in self._callbacks)


@contextmanager
def attached(callback: Callback, agent: Any, evaluator: Any) -> Iterator[None]:
    """Set `agent` and `evaluator` of our callbacks, and close them at the end, also after errors.

    Args:
        callback: As in `learn`.
        agent: The agent.
        evaluator: What evaluates it, if anything does.
    """
    ours = [each for each in _as_list(callback) if isinstance(each, BaseCallback)]
    for each in ours:
        each.agent, each.evaluator = agent, evaluator
    try:
        yield
    finally:
        for each in ours:
            each.close()


def should_continue(result: bool | None) -> bool:
    """Whether training continues after a callback's return value; None counts as True."""
    return result is None or bool(result)


def _as_list(callback: Callback) -> list[Any]:
    if callback is None:
        return []
    if isinstance(callback, Sequence):
        return [single for item in callback for single in _as_list(item)]
    if hasattr(callback, "on_step"):
        return [callback]
    if callable(callback):
        return [FunctionCallback(callback)]
    raise TypeError(
        "expected a callback, a function of (locals, globals) or a list of them, got "
        f"{type(callback).__name__}"
    )

"""Callbacks in the shape of Stable-Baselines3's, so that those made for it run here too.

A rollout is an episode here: `on_rollout_start` and `on_rollout_end` stand at its two ends.
"""

from collections.abc import Callable, Sequence
from typing import Any

Callback = Any  # None, a function of (locals, globals), an object like BaseCallback, or a list


class BaseCallback:
    """Override what you need. `on_step` returns False to stop the training."""

    model: Any
    num_timesteps: int = 0
    n_calls: int = 0

    def init_callback(self, model: Any) -> None:
        self.model = model
        self._init_callback()

    def on_training_start(self, locals_: dict[str, Any], globals_: dict[str, Any]) -> None:  # noqa: ARG002
        self.num_timesteps = self.model.num_timesteps
        self._on_training_start()

    def on_rollout_start(self) -> None:
        self._on_rollout_start()

    def on_step(self) -> bool:
        self.n_calls += 1
        self.num_timesteps = self.model.num_timesteps
        return self._on_step()

    def on_rollout_end(self) -> None:
        self._on_rollout_end()

    def on_training_end(self) -> None:
        self._on_training_end()

    def update_locals(self, locals_: dict[str, Any]) -> None:
        """Told by Stable-Baselines3's list of callbacks before each step."""

    def _init_callback(self) -> None: ...

    def _on_training_start(self) -> None: ...

    def _on_rollout_start(self) -> None: ...

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None: ...

    def _on_training_end(self) -> None: ...


class FunctionCallback(BaseCallback):
    """A function of (locals, globals), as Stable-Baselines3 takes it."""

    def __init__(self, function: Callable[[dict[str, Any], dict[str, Any]], bool | None]) -> None:
        self.function = function

    def _on_step(self) -> bool:
        return self.function({"self": self.model}, {}) is not False


class CallbackList:
    """All callbacks of one training, told together."""

    def __init__(self, callback: Callback) -> None:
        self._callbacks = _as_list(callback)

    def start(self, model: Any) -> None:
        for callback in self._callbacks:
            callback.init_callback(model)
            callback.on_training_start({}, {})

    def rollout_start(self) -> None:
        for callback in self._callbacks:
            callback.on_rollout_start()

    def step(self) -> bool:
        """True to go on. Every callback is told, even when one of them stops the training."""
        answers = [callback.on_step() is not False for callback in self._callbacks]
        return all(answers)

    def rollout_end(self) -> None:
        for callback in self._callbacks:
            callback.on_rollout_end()

    def end(self) -> None:
        for callback in self._callbacks:
            callback.on_training_end()

    def __bool__(self) -> bool:
        return bool(self._callbacks)


def _as_list(callback: Callback) -> list[Any]:
    if callback is None:
        return []
    if isinstance(callback, Sequence):
        return [single for item in callback for single in _as_list(item)]
    if hasattr(callback, "on_step"):
        return [callback]
    if callable(callback):
        return [FunctionCallback(callback)]
    raise TypeError(f"a callback is a function or has on_step(); {type(callback).__name__} came")

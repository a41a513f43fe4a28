"""The base class of tasks in MuJoCo: model, start state, actions, copies and pictures."""

import copy
from functools import lru_cache
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from scrubjay.envs.rendering import Picture, Window
from scrubjay.optional import require

mujoco = require("mujoco", "mujoco")

Array = npt.NDArray[np.float64]


@lru_cache(maxsize=32)
def compile_model(mjcf: str) -> Any:
    """The compiled model of an MJCF text, compiled once per process: copy it before use."""
    return mujoco.MjModel.from_xml_string(mjcf)


class MujocoTask(gym.Env[Array, npt.NDArray[np.floating[Any]]]):
    """A Gymnasium environment on one MuJoCo model, built from a text without temporary files.

    A task sets `action_space` and `observation_space`, then calls `super().__init__(mjcf, ...)`,
    and defines `start_state`, `observe` and `step`. It may keep arrays of `self.data` (they are
    views and stay valid): assign them in `bind` and name them in `rebuilt`, so that copies and
    pickles fetch their own. `model` and `data` belong to this environment alone; after a step,
    what MuJoCo derives from `data.qpos` and `data.qvel` may lag behind until `mj_forward`.

    `reset(options={"qpos": ..., "qvel": ...})` starts from that state. A copy or a pickle made in
    the middle of an episode continues exactly as the original would.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 50}  # noqa: RUF012
    camera: ClassVar[str] = "top"
    rebuilt: ClassVar[tuple[str, ...]] = ("data", "qpos", "qvel", "_picture", "_window")

    def __init__(
        self, mjcf: str, *, render_mode: str | None = None, width: int = 480, height: int = 480
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"expected render_mode to be None or one of {self.metadata['render_modes']}, "
                f"got {render_mode!r}"
            )
        if width < 1 or height < 1:
            raise ValueError(f"expected a picture of at least 1 x 1 pixels, got {width} x {height}")
        self.render_mode = render_mode
        self.width = width
        self.height = height
        self.model = copy.copy(compile_model(mjcf))
        self.model.vis.global_.offwidth = width
        self.model.vis.global_.offheight = height
        action_space = self.action_space
        if not isinstance(action_space, gym.spaces.Box):
            raise TypeError(f"expected a Box of actions, got {action_space}")
        self._lowest_action: list[float] = action_space.low.tolist()
        self._highest_action: list[float] = action_space.high.tolist()
        self.bind()

    # What a task defines.

    def bind(self) -> None:
        """Make the data of the model and fetch views of it; called again in every copy."""
        self.data = mujoco.MjData(self.model)
        self.qpos: Array = self.data.qpos
        self.qvel: Array = self.data.qvel
        self._picture: Picture | None = None
        self._window: Window | None = None

    def start_state(self) -> tuple[Array, Array]:
        """Draw the start of an episode from `np_random`.

        Returns:
            Positions and velocities.
        """
        raise NotImplementedError

    def observe(self) -> Array:
        """Observe the current state.

        Returns:
            A new array.
        """
        raise NotImplementedError

    # What every task gets.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        start = dict(zip(("qpos", "qvel"), self.start_state(), strict=True))
        start.update(self._checked_start(options or {}))
        mujoco.mj_resetData(self.model, self.data)
        self.qpos[:] = start["qpos"]
        self.qvel[:] = start["qvel"]
        mujoco.mj_forward(self.model, self.data)
        self._show()
        return self.observe(), {}

    def _checked_start(self, options: dict[str, Any]) -> dict[str, Array]:
        shapes = {"qpos": self.qpos.shape, "qvel": self.qvel.shape}
        start = {}
        for name, value in options.items():
            if name not in shapes:
                raise ValueError(f"expected the options 'qpos' and 'qvel', got {name!r}")
            start[name] = np.asarray(value, dtype=np.float64)
            if start[name].shape != shapes[name] or not np.isfinite(start[name]).all():
                raise ValueError(
                    f"expected {shapes[name][0]} finite numbers for {name}, got {value!r}"
                )
        return start

    def inside_box(self, action: Any) -> list[float]:
        """Check an action and clip it to the action space.

        Args:
            action: An action of the action space's shape.

        Returns:
            A list, because for a few numbers Python's own arithmetic is several times faster than
            NumPy's.

        Raises:
            ValueError: If the shape is wrong or a number is NaN.
        """
        if not isinstance(action, np.ndarray) or action.dtype.kind != "f":
            action = np.asarray(action, dtype=np.float64)
        if action.shape != self.action_space.shape:
            raise ValueError(
                f"expected an action of shape {self.action_space.shape}, got {action.shape}"
            )
        numbers: list[float] = action.tolist()
        for i, number in enumerate(numbers):
            if not self._lowest_action[i] <= number <= self._highest_action[i]:
                if number != number:
                    raise ValueError(f"expected an action without NaN, got {numbers}")
                numbers[i] = min(max(number, self._lowest_action[i]), self._highest_action[i])
        return numbers

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Draw the current state.

        Returns:
            A picture of (height, width, 3) bytes, or None if it is shown in a window.
        """
        if self.render_mode is None:
            gym.logger.warn('To draw this task, make it with render_mode="rgb_array" or "human".')
        if self.render_mode == "rgb_array":
            return self._draw()
        self._show()
        return None

    def _draw(self) -> npt.NDArray[np.uint8]:
        if self._picture is None:
            self._picture = Picture(self.model, self.camera, self.width, self.height)
        self._place()
        return self._picture.draw(self.data)

    def _show(self) -> None:
        """Update the window, if there is one: called by every reset and step."""
        if self.render_mode != "human":
            return
        if self._window is None:
            fps = self.metadata["render_fps"]
            self._window = Window(self.model, self.data, self.camera, fps)
        self._place()
        self._window.show()

    def _place(self) -> None:
        # Positions of everything drawn, from qpos alone. A full forward pass would also touch the
        # solver's warm start before MuJoCo 3.3.6, and a picture must not change what follows.
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def close(self) -> None:
        for view in (self._picture, self._window):
            if view is not None:
                view.close()
        self._picture = self._window = None

    # Copies and pickles: everything but MuJoCo's data, and the state of the integrator.

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in self.rebuilt}
        state["_physics"] = self._physics()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        physics = state.pop("_physics")
        vars(self).update(state)
        self.bind()
        self._set_physics(physics)
        mujoco.mj_forward(self.model, self.data)
        self._set_physics(physics)  # the forward pass may have moved the warm start

    def _physics(self) -> Array:
        kind = mujoco.mjtState.mjSTATE_INTEGRATION.value
        physics = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, physics, kind)
        return physics

    def _set_physics(self, physics: Array) -> None:
        kind = mujoco.mjtState.mjSTATE_INTEGRATION.value
        mujoco.mj_setState(self.model, self.data, physics, kind)

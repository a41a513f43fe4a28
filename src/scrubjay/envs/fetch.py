"""SparseFetchReach: a robot arm moves its gripper to a point in the air.

The task is gymnasium-robotics' FetchReach-v4; only the reward and the end are the paper's. Its
model takes 8 MB, mostly meshes and textures, so environments that draw nothing share one. What
gymnasium-robotics looks up by name in every step is looked up once here: the same numbers, bit for
bit, in two thirds of the time.
"""

import contextlib
import copy
import io
import re
from functools import lru_cache
from importlib import metadata
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from scrubjay.envs.rendering import Picture, Window
from scrubjay.optional import require

Array = npt.NDArray[np.float64]
Observation = dict[str, Array]


def check_versions(mujoco_version: str, robotics_version: str) -> None:
    """Refuse the pairs in which gymnasium-robotics cannot find the joints of its robots.

    Since MuJoCo 3.12 its enumerations no longer equal NumPy's integers; gymnasium-robotics up to
    1.4.2 compares the two.
    """
    if _numbers(mujoco_version) >= (3, 12) and _numbers(robotics_version) <= (1, 4, 2):
        raise ImportError(
            f"gymnasium-robotics {robotics_version} does not work with mujoco {mujoco_version}: "
            f'pip install "mujoco<3.12"'
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


mujoco = require("mujoco", "mujoco")
# gymnasium-robotics prints news about its other tasks when it is imported.
with contextlib.redirect_stderr(io.StringIO()):
    require("gymnasium_robotics", "mujoco")
    from gymnasium_robotics.envs.fetch.push import MujocoFetchPushEnv as MujocoFetchPushEnv
    from gymnasium_robotics.envs.fetch.reach import MujocoFetchReachEnv
check_versions(mujoco.__version__, metadata.version("gymnasium-robotics"))


@lru_cache(maxsize=1)
def fetch_model(path: str) -> Any:
    """The model of gymnasium-robotics with a camera that sees arm and target, loaded once."""
    specification = mujoco.MjSpec.from_file(path)
    specification.worldbody.add_camera(
        name="overview", pos=(2.314, -0.487, 1.141), quat=(0.7553, 0.5487, 0.2106, 0.2899)
    )
    return specification.compile()


class SparseFetchReach(MujocoFetchReachEnv):  # type: ignore[misc]
    """FetchReach with reward 1 within 5 cm of the goal, which ends the episode, and 0 before.

    It is a goal environment: the observation is a dict of `observation` (10 numbers),
    `achieved_goal` and `desired_goal` (3 each), and `compute_reward` takes arrays of goals, so
    hindsight relabelling works on it. Actions: the gripper's move in x, y and z, and the fingers,
    which are blocked; out of range they are clipped. `reset(options={"qpos": ..., "qvel": ...})`
    starts from that state. A copy made in the middle of an episode continues as the original.

    With `render_mode=None` all environments of a process share one `model`: to change it, give
    the environment its own first, `env.unwrapped.model = copy.copy(env.unwrapped.model)`.
    """

    def __init__(
        self, *, render_mode: str | None = None, width: int = 480, height: int = 480
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(
                f"expected render_mode to be None or one of {self.metadata['render_modes']}, "
                f"got {render_mode!r}"
            )
        self._picture: Picture | None = None
        self._window: Window | None = None
        self._draws = render_mode is not None
        self.initial_qpos: Any
        super().__init__(render_mode=render_mode, width=width, height=height)

    # The model, once for all.

    def _initialize_simulation(self) -> None:
        model = fetch_model(self.fullpath)
        self.model = model
        if self._draws:  # drawing writes the target's place and its own size into the model
            self.model = copy.copy(model)
            self.model.vis.global_.offwidth = self.width
            self.model.vis.global_.offheight = self.height
        self.data = mujoco.MjData(self.model)
        self._grip = self.model.site("robot0:grip").id
        fingers = [self.model.joint(f"robot0:{side}_gripper_finger_joint") for side in "rl"]
        self._finger_positions = [int(joint.qposadr[0]) for joint in fingers]
        self._finger_velocities = [int(joint.dofadr[0]) for joint in fingers]
        self._env_setup(initial_qpos=self.initial_qpos)
        self.initial_time = self.data.time
        self.initial_qpos = self.data.qpos.copy()
        self.initial_qvel = self.data.qvel.copy()

    def _step_callback(self) -> None:
        self.data.qpos[self._finger_positions] = 0.0
        mujoco.mj_forward(self.model, self.data)

    def _get_obs(self) -> Observation:
        jacobian = np.zeros((3, self.model.nv))
        mujoco.mj_jacSite(self.model, self.data, jacobian, None, self._grip)
        velocity = self.data.qvel
        grip: Array = self.data.site_xpos[self._grip].copy()
        observation = np.concatenate(
            [
                grip,
                self.data.qpos[self._finger_positions],
                jacobian @ velocity * self.dt,
                velocity[self._finger_velocities] * self.dt,
            ]
        )
        return {
            "observation": observation,
            "achieved_goal": grip,
            "desired_goal": self.goal.copy(),
        }

    # Reward and end.

    def _reached(self, achieved_goal: Array, desired_goal: Array) -> Any:
        distance = np.linalg.norm(np.subtract(achieved_goal, desired_goal), axis=-1)
        return distance <= self.distance_threshold

    def compute_reward(
        self,
        achieved_goal: Array,
        desired_goal: Array,
        info: Any,  # noqa: ARG002  part of the interface of goal environments
    ) -> Any:
        """1 for every achieved goal within 5 cm of the desired one, else 0; one or many."""
        return self._reached(achieved_goal, desired_goal).astype(np.float64)

    def compute_terminated(
        self,
        achieved_goal: Array,
        desired_goal: Array,
        info: Any,  # noqa: ARG002
    ) -> Any:
        """An episode ends when the goal is reached."""
        return self._reached(achieved_goal, desired_goal)

    def _is_success(self, achieved_goal: Array, desired_goal: Array) -> bool:
        return bool(self._reached(achieved_goal, desired_goal))

    def step(
        self, action: npt.NDArray[np.floating[Any]]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        action = np.asarray(action)
        if action.shape != self.action_space.shape:
            raise ValueError(
                f"expected an action of shape {self.action_space.shape}, got {action.shape}"
            )
        if np.isnan(action).any():
            raise ValueError(f"expected an action without NaN, got {action.tolist()}")
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, float(reward), bool(terminated), truncated, info

    # Starts, copies and pickles.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        observation, info = super().reset(seed=seed)
        if options:
            self._set_start(options)
            observation = self._get_obs()
        return observation, info

    def _set_start(self, options: dict[str, Any]) -> None:
        places = {"qpos": self.data.qpos, "qvel": self.data.qvel}
        for name, value in options.items():
            if name not in places:
                raise ValueError(f"expected the options 'qpos' and 'qvel', got {name!r}")
            numbers = np.asarray(value, dtype=np.float64)
            if numbers.shape != places[name].shape or not np.isfinite(numbers).all():
                raise ValueError(
                    f"expected {places[name].size} finite numbers for {name}, got {value!r}"
                )
            places[name][:] = numbers
        mujoco.mj_forward(self.model, self.data)

    def __getstate__(self) -> dict[str, Any]:
        kind = mujoco.mjtState.mjSTATE_INTEGRATION.value
        physics = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, physics, kind)
        kept = ("spec", "goal", "_np_random", "_np_random_seed")
        return {
            "settings": (self.render_mode, self.width, self.height),
            "kept": {name: getattr(self, name) for name in kept},
            "physics": physics,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        render_mode, width, height = state["settings"]
        SparseFetchReach.__init__(self, render_mode=render_mode, width=width, height=height)
        self.__dict__.update(state["kept"])
        kind = mujoco.mjtState.mjSTATE_INTEGRATION.value
        mujoco.mj_setState(self.model, self.data, state["physics"], kind)
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, state["physics"], kind)  # the warm start again

    # Pictures.

    def render(self) -> npt.NDArray[np.uint8] | None:
        """A picture of the present state as (height, width, 3) bytes; None in a window."""
        if self.render_mode is None:
            gym.logger.warn('To draw this task, make it with render_mode="rgb_array" or "human".')
            return None
        self._place_target()
        if self.render_mode == "rgb_array":
            return self._draw()
        self._show()
        return None

    def _place_target(self) -> None:
        frame = self.model.body("floor0").pos
        self.model.site("target0").pos[:] = self.goal - frame
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)

    def _draw(self) -> npt.NDArray[np.uint8]:
        if self._picture is None:
            self._picture = Picture(self.model, "overview", self.width, self.height)
        return self._picture.draw(self.data)

    def _show(self) -> None:
        if self._window is None:
            fps = self.metadata["render_fps"]
            self._window = Window(self.model, self.data, "overview", fps)
        self._window.show()

    def close(self) -> None:
        for view in (self._picture, self._window):
            if view is not None:
                view.close()
        self._picture = self._window = None
        super().close()

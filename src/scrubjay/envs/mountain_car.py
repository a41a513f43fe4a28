"""MountainCarContinuous with a reward at the goal only."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.envs.classic_control import Continuous_MountainCarEnv

from scrubjay.envs.canvas import Canvas, Point

Array = npt.NDArray[np.float32]


class SparseMountainCar(Continuous_MountainCarEnv):
    """Gymnasium's continuous mountain car, paid 100 on reaching the flag and 0 for all else.

    Dynamics, start and end are Gymnasium's own; actions beyond [-1, 1] act as the nearest bound.
    The published code paid 100 for every reward that was not negative, hence also for an action of
    exactly 0 anywhere; here it is paid for reaching the goal.
    """

    def __init__(self, render_mode: str | None = None) -> None:
        if render_mode not in (None, "human", "rgb_array"):
            raise ValueError(
                f"expected render_mode to be None, 'human' or 'rgb_array', got {render_mode!r}"
            )
        super().__init__(render_mode=render_mode)

    def step(
        self, action: npt.NDArray[np.floating[Any]]
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        action = np.asarray(action)
        if action.shape != (1,) or np.isnan(action[0]):
            raise ValueError(f"expected one number of shape (1,) as action, got {action!r}")
        if abs(action[0]) > 1e9:  # Gymnasium clips the force, but squares the action: no overflow
            action = np.clip(action, -1e9, 1e9)
        observation, _, success, truncated, _ = super().step(action)
        return observation, 100.0 * success, success, truncated, {"is_success": success}

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The car on its hill as (400, 600, 3) bytes; in a window (with pygame), None.

        The picture is drawn here, so that it needs no pygame.
        """
        if self.render_mode == "rgb_array":
            return draw_car(float(self.state[0]), self.goal_position)
        super().render()  # type: ignore[no-untyped-call]
        return None

    def __getstate__(self) -> dict[str, Any]:
        # pygame's window does not pickle; a copy opens its own when it is drawn.
        return {**vars(self), "screen": None, "clock": None, "surf": None}


def hill(x: Any) -> Any:
    """The height of the hill."""
    return 0.45 * np.sin(3 * x) + 0.55


def draw_car(position: float, goal: float) -> npt.NDArray[np.uint8]:
    """A picture of the car at that position, with the flag at the goal."""
    canvas = Canvas(600, 400, -1.2, 0.6, 0.0)
    canvas.gradient((226, 240, 248), (158, 204, 234))
    canvas.below(hill(canvas.columns), (134, 110, 88))
    canvas.below(hill(canvas.columns) - 0.02, (164, 138, 110))
    foot, top = (goal, hill(goal)), (goal, hill(goal) + 0.16)
    canvas.line(foot, top, 0.005, (70, 70, 70))
    for level in np.linspace(0.0, 0.06, 13):
        canvas.line((goal, top[1] - level), (goal + 0.09 - 1.4 * level, top[1] - level), 0.004, RED)
    _draw_body(canvas, position)
    return canvas.pixels()


RED = (214, 60, 50)


def _draw_body(canvas: Canvas, position: float) -> None:
    slope = np.arctan(1.35 * np.cos(3 * position))
    along, up = np.array([np.cos(slope), np.sin(slope)]), np.array([-np.sin(slope), np.cos(slope)])
    ground = np.array([position, hill(position)])

    def place(x: float, y: float) -> Point:
        px, py = ground + x * along + y * up
        return float(px), float(py)

    canvas.line(place(-0.055, 0.055), place(0.055, 0.055), 0.022, (40, 84, 140))
    canvas.line(place(-0.025, 0.085), place(0.02, 0.085), 0.02, (40, 84, 140))
    for x in (-0.04, 0.04):
        canvas.disc(place(x, 0.026), 0.024, (50, 50, 54))
        canvas.disc(place(x, 0.026), 0.009, (200, 200, 204))

"""GrowingTree, the paper's toy task: one number, one action, one rewarded height."""

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from scrubjay.envs.canvas import Canvas

Array = npt.NDArray[np.float64]

GOAL_DISTANCE = 0.1


class GrowingTree(gym.Env[Array, npt.NDArray[np.floating[Any]]]):
    """A tree grows by its action; the reward is 1, once, when it is close to `tree_height`.

    The height h starts at 0 and becomes h + a with a in [-0.1, 0.1]; the episode ends with reward
    1 when |h - tree_height| < 0.1, strictly; every other reward is 0. Nothing is random. The limit
    of 200 steps is Gymnasium's `TimeLimit`; a success on the last step counts.

    The action is added as it is given, in float64: it is not clipped, because the original clips
    nothing (an agent clips its own actions), and not rounded: nine float32 actions of 0.1 reach
    the goal, nine float64 actions of 0.1 do not quite. The paper declares heights in [-2, 2], but
    no height is refused, so the declared space here is unbounded.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, tree_height: float = 1.0, *, render_mode: str | None = None) -> None:
        if not (np.isfinite(tree_height) and abs(tree_height) >= GOAL_DISTANCE):
            raise ValueError(
                f"expected tree_height to be at least {GOAL_DISTANCE} away from the start at 0, "
                f"got {tree_height}"
            )
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"expected render_mode to be None or 'rgb_array', got {render_mode!r}")
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Box(-0.1, 0.1, (1,), np.float32)
        self.render_mode = render_mode
        self.tree_height = float(tree_height)
        self.height = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        if options:
            raise ValueError(f"expected no options at reset, got {options}")
        self.height = 0.0
        return np.zeros(1), {}

    def step(
        self, action: npt.NDArray[np.floating[Any]]
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        action = np.asarray(action)
        if action.shape != (1,) or not np.isfinite(action[0]):
            raise ValueError(f"expected one finite number of shape (1,) as action, got {action!r}")
        self.height += float(action[0])
        success = abs(self.height - self.tree_height) < GOAL_DISTANCE
        return np.array([self.height]), float(success), success, False, {"is_success": success}

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The tree, the ground and the rewarded band of heights, as (400, 400, 3) bytes."""
        if self.render_mode is None:
            gym.logger.warn('To draw this task, make it with render_mode="rgb_array".')
            return None
        return draw_tree(self.height, self.tree_height)


def draw_tree(height: float, goal: float) -> npt.NDArray[np.uint8]:
    """A picture of a tree of that height; a negative height is a root."""
    size = 1.5 * abs(goal)  # of the visible part on either side of the ground, at most
    bottom = -0.25 * size if goal > 0 else -1.1 * size
    canvas = Canvas(400, 400, -0.675 * size, 0.675 * size, bottom)
    canvas.gradient((232, 244, 250), (150, 200, 232))
    canvas.below(0.0, (121, 96, 76))
    canvas.below(-0.012 * size, (94, 72, 56))
    canvas.band(goal - GOAL_DISTANCE, goal + GOAL_DISTANCE, (214, 60, 50), 0.25)
    canvas.band(goal - 0.004 * size, goal + 0.004 * size, (214, 60, 50), 1.0)
    tip = float(np.clip(height, bottom, bottom + 1.35 * size))
    _draw_plant(canvas, tip, size)
    return canvas.pixels()


def _draw_plant(canvas: Canvas, tip: float, size: float) -> None:
    width = 0.012 * size + 0.025 * abs(tip)
    if tip < 0:
        canvas.line((0.0, 0.0), (0.0, tip), width, (196, 164, 120))
        return
    crown = 0.03 * size + 0.16 * tip
    canvas.line((0.0, -0.02 * size), (0.0, tip - 0.6 * crown), width, (104, 74, 48))
    for side, level, shade in ((-1, 0.56, 0), (1, 0.62, 8), (-0.6, 0.77, 16), (0.6, 0.8, 22)):
        branch = (side * 0.9 * crown, level * tip)
        canvas.line((0.0, 0.8 * branch[1]), branch, 0.6 * width, (104, 74, 48))
        canvas.disc(branch, crown * 0.75, (52 + shade, 128 + shade, 62 + shade))
    canvas.disc((0.0, tip - 0.6 * crown), 0.6 * crown, (84, 160, 90))

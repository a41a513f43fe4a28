"""MinAtar: five Atari games on a grid of 10 by 10 cells, after Young and Tian (2019).

The package's own registration needs seaborn to draw, keeps its last sticky action from one episode
to the next, and seeds nothing but on request; here an episode is determined by its seed.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from scrubjay.optional import require

Image = npt.NDArray[np.uint8]

GAMES = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")
PIXELS = 32  # of a cell in a picture
BACKGROUND = (20, 24, 33)
# one for each channel of a game
COLORS = (
    *((86, 180, 233), (240, 228, 66), (230, 159, 0), (0, 158, 115), (213, 94, 0)),
    *((204, 121, 167), (160, 160, 160), (0, 114, 178), (255, 255, 255), (150, 90, 40)),
)


class MinAtar(gymnasium.Env[Image, np.int64]):
    """A game of MinAtar.

    Observations are 10 by 10 cells with one channel for each kind of object, 0 or 1. The reward is
    the game's score.

    Args:
        game: asterix, breakout, freeway, seaquest or space_invaders.
        sticky_actions: Probability that the previous action is executed again. MinAtar's own
            default is 0.1; here it is 0, so that the game is deterministic but for its own dice.
        ramping: Whether the game becomes faster with time, as by default in MinAtar.
        all_actions: Whether all six actions exist; by default only those that the game knows.
        render_mode: None or "rgb_array".

    Raises:
        ImportError: If MinAtar is not installed.
        ValueError: If an argument is out of its range.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        sticky_actions: float = 0.0,
        ramping: bool = True,
        all_actions: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if game not in GAMES:
            raise ValueError(f"expected one of the games {', '.join(GAMES)}, got {game!r}")
        if not 0.0 <= sticky_actions <= 1.0:
            raise ValueError(f"expected sticky_actions between 0 and 1, got {sticky_actions}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"expected render_mode None or 'rgb_array', got {render_mode!r}")
        require("minatar", "minatar")
        self._game = require(f"minatar.environments.{game}", "minatar").Env(ramping=ramping)
        self._sticky = sticky_actions
        self._last = 0
        self.render_mode = render_mode
        self._actions = [*range(6)] if all_actions else self._game.minimal_action_set()
        self.action_space = spaces.Discrete(len(self._actions))
        shape = tuple(self._game.state_shape())
        self.observation_space = spaces.Box(0, 1, shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin a game, which the seed determines."""
        super().reset(seed=seed, options=options)
        self._game.random = np.random.RandomState(self.np_random.integers(2**31))
        self._game.reset()
        self._last = 0
        return self._observation(), {}

    def step(self, action: np.int64) -> Any:
        """Execute an action, or the previous one."""
        if self._sticky == 0.0 or self.np_random.random() >= self._sticky:
            self._last = self._actions[int(action)]
        reward, terminated = self._game.act(self._last)
        return self._observation(), float(reward), bool(terminated), False, {}

    def _observation(self) -> Image:
        state: npt.NDArray[np.bool_] = self._game.state()
        return state.view(np.uint8)

    def render(self) -> Image | None:
        """The cells, each in the color of what is in it, if `render_mode` is "rgb_array"."""
        if self.render_mode is None:
            return None
        state = self._observation()
        cells = np.full((*state.shape[:2], 3), BACKGROUND, np.uint8)
        for channel in range(state.shape[2]):
            cells[state[:, :, channel] != 0] = COLORS[channel % len(COLORS)]
        return cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)

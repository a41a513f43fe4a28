"""Atari 2600 games in the Arcade Learning Environment, with the usual preparation of frames.

Gymnasium's AtariPreprocessing needs OpenCV. Here the emulator itself gives grey screens, and the
resizing is an area average in compiled code.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import EzPickle

from scrubjay.optional import require

Image = npt.NDArray[np.uint8]

FRAMES_PER_SECOND = 60


class Atari(gymnasium.Env[Image, np.int64], EzPickle):
    """A game of the Atari 2600.

    An observation is the grey screen, resized; with `stack` above 1, the last so many observations
    of the episode, oldest first. Two frames are joined by their maximum, because some games draw
    their objects in every other frame only. The reward is the game's score, not clipped; an episode
    is a whole game. `info` has the number of `lives`.

    Args:
        game: The game's name in the emulator, such as "ms_pacman".
        frame_skip: Frames for which an action is repeated; one step is this many frames.
        size: Height and width of an observation; None: the whole screen of 210 by 160.
        stack: Observations that are stacked, (stack, size, size); 1: not stacked.
        sticky_actions: Probability with which a frame repeats the previous action instead. The
            protocol of Machado et al. (2018) has 0.25; MFEC's paper has none, as here.
        max_noops: A game begins with 1 to so many frames without an action, as for DQN; 0: always
            in the same state.
        all_actions: Whether all 18 actions exist; by default only those that the game knows.
        render_mode: None or "rgb_array".

    Raises:
        ImportError: If ale-py is not installed.
        ValueError: If an argument is out of its range.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012

    def __init__(
        self,
        game: str,
        frame_skip: int = 4,
        size: int | None = 84,
        stack: int = 1,
        sticky_actions: float = 0.0,
        max_noops: int = 30,
        all_actions: bool = False,
        render_mode: str | None = None,
    ) -> None:
        EzPickle.__init__(
            self, game, frame_skip, size, stack, sticky_actions, max_noops, all_actions, render_mode
        )
        _check_options(frame_skip, size, stack, sticky_actions, max_noops, render_mode)
        ale_py = require("ale_py", "atari")
        roms = require("ale_py.roms", "atari")
        if game not in roms.get_all_rom_ids():
            raise ValueError(f"expected the name of a game such as 'ms_pacman', got {game!r}")
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)  # drawn here
        self.ale.setInt("random_seed", 0)
        self.ale.loadROM(roms.get_rom_path(game))
        self.ale.reset_game()
        self._start = self.ale.cloneState()
        self._actions = list(
            self.ale.getLegalActionSet() if all_actions else self.ale.getMinimalActionSet()
        )
        self._noop = self._last = ale_py.Action.NOOP
        self._skip, self._stack, self._max_noops = frame_skip, stack, max_noops
        self._sticky = float(sticky_actions)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": FRAMES_PER_SECOND / frame_skip}
        screen = self.ale.getScreenDims()
        self._screens: Image = np.zeros((2, *screen), np.uint8)
        self._resize = None if size is None else _Resizer(screen, size)
        shape = screen if size is None else (size, size)
        self._frames: Image = np.zeros((stack, *shape), np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))
        self.observation_space = spaces.Box(0, 255, (*[stack][stack == 1 :], *shape), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin a game after some frames without an action."""
        super().reset(seed=seed, options=options)
        # Both are needed for episodes that do not depend on those before: a reset alone leaves
        # traces in Frostbite and Hero, a restored state in Qbert. Loading the game again does it
        # too, and takes a third of a second; this takes 10 ms.
        self.ale.restoreState(self._start)
        self.ale.reset_game()
        self._last = self._noop
        if self._max_noops:
            for _ in range(self.np_random.integers(1, self._max_noops + 1)):
                self.ale.act(self._noop)
        self._screens[0] = 0
        self.ale.getScreenGrayscale(self._screens[1])
        self._frames[:] = 0
        self._see()
        return self._observation(), {"lives": self.ale.lives()}

    def step(self, action: np.int64) -> Any:
        """Execute an action for some frames."""
        code, reward, over = self._actions[int(action)], 0, False
        for left in range(self._skip - 1, -1, -1):
            if self._sticky == 0.0 or self.np_random.random() >= self._sticky:
                self._last = code
            reward += self.ale.act(self._last)
            over = self.ale.game_over()
            if left < 2 or over:
                self.ale.getScreenGrayscale(self._screens[left % 2])
            if over:
                break
        if self._skip == 1:
            self._screens[1] = 0
        self._see()
        info = {"lives": self.ale.lives()}
        return self._observation(), float(reward), bool(over), False, info

    def _see(self) -> None:
        """Add what the last two frames show to the stack."""
        screen = np.maximum(self._screens[0], self._screens[1])
        if self._stack > 1:
            self._frames[:-1] = self._frames[1:]
        if self._resize is None:
            self._frames[-1] = screen
        else:
            self._resize(screen, self._frames[-1])

    def _observation(self) -> Image:
        return (self._frames if self._stack > 1 else self._frames[0]).copy()

    def render(self) -> Image | None:
        """The screen in its colors, if `render_mode` is "rgb_array"."""
        if self.render_mode is None:
            return None
        screen: Image = self.ale.getScreenRGB()
        return screen


class _Resizer:
    """Writes a screen into a smaller picture, rounded to whole numbers."""

    def __init__(self, screen: tuple[int, int], size: int) -> None:
        from scrubjay.pixels import resized

        self._rows, self._columns = resized(screen[0], size), resized(screen[1], size)
        self._grey, self._out = np.ones(1), np.empty(size * size)

    def __call__(self, screen: Image, out: Image) -> None:
        from scrubjay.pixels import reduce_frames

        reduce_frames(screen[None, :, :, None], self._grey, *self._rows, *self._columns, self._out)
        np.rint(self._out, out=self._out)
        out[:] = self._out.reshape(out.shape)


def _check_options(
    frame_skip: int,
    size: int | None,
    stack: int,
    sticky_actions: float,
    max_noops: int,
    render_mode: str | None,
) -> None:
    numbers = {"frame_skip": (frame_skip, 1), "stack": (stack, 1), "max_noops": (max_noops, 0)}
    for name, (number, least) in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise ValueError(f"expected {name} to be a whole number from {least} on, got {number}")
    if size is not None and not 1 <= size <= 160:
        raise ValueError(f"expected size to be None or between 1 and 160, got {size}")
    if not 0.0 <= sticky_actions <= 1.0:
        raise ValueError(f"expected sticky_actions between 0 and 1, got {sticky_actions}")
    if render_mode not in (None, "rgb_array"):
        raise ValueError(f"expected render_mode None or 'rgb_array', got {render_mode!r}")

"""A line of text under the pictures of a film: step, return, success."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.optional import require

Frame = npt.NDArray[np.uint8]
Color = tuple[int, int, int]

MIN_WIDTH = 320  # pixels; smaller pictures are enlarged by a whole number
BACKGROUND: Color = (24, 28, 34)
TEXT: Color = (226, 230, 235)
SOLVED: Color = (104, 211, 145)
MUTED: Color = (150, 158, 168)


class Moment(NamedTuple):
    """The current moment of an episode.

    Attributes:
        episode: Its number, from 1, or 0 to leave it out.
        step: Steps so far.
        total_reward: The sum of their rewards.
        success: Whether the task is solved; None where the environment does not say.
        over: Whether the episode is over.
    """

    episode: int
    step: int
    total_reward: float
    success: bool | None
    over: bool


class Captions:
    """Draws a line under each picture, in letters that fit its width."""

    def __init__(self) -> None:
        self._draw = require("PIL.ImageDraw", "mujoco")
        self._image = require("PIL.Image", "mujoco")
        self._fonts = require("PIL.ImageFont", "mujoco")
        self._known: dict[int, Any] = {}

    def add(self, frame: Frame, moment: Moment) -> Frame:
        """The picture, enlarged if it is small, with a line of text below it."""
        factor = -(-MIN_WIDTH // frame.shape[1])
        if factor > 1:
            frame = frame.repeat(factor, axis=0).repeat(factor, axis=1)
        height, width = frame.shape[:2]
        size = min(max(width // 28, 12), 22)
        # an even height, as films are compressed in blocks of two rows
        strip = 2 * size + (height + 2 * size) % 2
        picture = self._image.new("RGB", (width, height + strip), BACKGROUND)
        picture.paste(self._image.fromarray(frame[..., :3]), (0, 0))
        self._write(self._draw.Draw(picture), moment, width, height + strip / 2, size)
        return np.asarray(picture, dtype=np.uint8)

    def _write(self, draw: Any, moment: Moment, width: int, middle: float, size: int) -> None:
        font = self._font(size)
        number = f"episode {moment.episode}, " if moment.episode else ""
        success, color = _success(moment)
        for x, anchor, text, fill in (
            (size, "lm", f"{number}step {moment.step:,}", TEXT),
            (width / 2, "mm", _reward(moment.total_reward), TEXT),
            (width - size, "rm", success, color),
        ):
            draw.text((x, middle), text, fill=fill, font=font, anchor=anchor)

    def _font(self, size: int) -> Any:
        if size not in self._known:
            self._known[size] = self._fonts.load_default(size)
        return self._known[size]


def _reward(total_reward: float) -> str:
    return f"return {total_reward:.4g}"


def _success(moment: Moment) -> tuple[str, Color]:
    if moment.success is None:
        return ("no success signal" if moment.over else ""), MUTED
    if moment.success:
        return "success", SOLVED
    return ("no success" if moment.over else "no success yet"), MUTED

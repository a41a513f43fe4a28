"""Videos of a policy in a task, as GIF or MP4."""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from scrubjay.envs.caption import Captions, Moment
from scrubjay.optional import require

Frame = npt.NDArray[np.uint8]
Policy = Callable[[Any], Any]
SuccessOf = Callable[[Mapping[str, Any]], bool | None]

MAX_STEPS = 10_000  # of an episode that nothing else ends


class Recording(NamedTuple):
    """The contents of a video.

    Attributes:
        path: Its file.
        n_frames: Its number of pictures.
        returns: The return of each episode that it shows to its end.
        lengths: Their steps.
        successes: Whether they were solved, None where the environment does not say.
        cut_at: The step at which the film ends within an episode; 0 if it shows whole episodes.
    """

    path: Path
    n_frames: int
    returns: list[float]
    lengths: list[int]
    successes: list[bool | None]
    cut_at: int = 0


def default_success(info: Mapping[str, Any]) -> bool | None:
    """Whether `info` says that the task was solved, under the names that most environments use."""
    for key in ("is_success", "success"):
        if info.get(key) is not None:
            return bool(np.all(info[key]))
    return None


def record(
    environment: str | gym.Env[Any, Any],
    policy: Policy | None,
    path: str | os.PathLike[str],
    *,
    episodes: int = 1,
    seed: int | None = 0,
    max_frames: int | None = None,
    max_frame_rate: float = 25.0,
    hold: float = 0.0,
    caption: bool = True,
    success_of: SuccessOf = default_success,
    progress: bool = False,
) -> Recording:
    """Record a video of a policy.

    The film runs at the speed of the task, with frames left out so that no more than
    `max_frame_rate` pass in a second. It appears under its name only when it is complete.

    Args:
        environment: An id, or an environment made with `render_mode="rgb_array"`.
        policy: A function from observation to action; None: random actions.
        path: The file; its suffix, .gif or .mp4, chooses the format.
        episodes: How many episodes to show.
        seed: Of the first start state and of random actions.
        max_frames: The film ends after so many frames; None: it shows whole episodes, of at most
            10,000 steps.
        max_frame_rate: Frames a second.
        hold: Seconds for which the last picture of an episode stays.
        caption: Whether to write step, return and success under each picture.
        success_of: Reads from `info` whether the task is solved.
        progress: Whether to show a progress bar.

    Returns:
        What the film shows.

    Raises:
        ValueError: If the environment draws no pictures, or the file has another suffix.
    """
    path = Path(path)
    write = _writer_of(path)
    for name, number in (("episodes", episodes), ("max_frames", max_frames)):
        if number is not None and number < 1:
            raise ValueError(f"expected {name} to be at least 1, got {number}")
    with _filmable(environment) as env:
        rate = float(env.metadata.get("render_fps") or 30)
        stride = max(1, math.ceil(rate / max_frame_rate))
        film = _Frames(env, policy, stride, max_frames, success_of)
        film.n_held = round(hold * rate / stride)
        film.captions = Captions() if caption else None
        frames = film.run(episodes, seed)
        bar = partial(tqdm, unit=" frames", leave=False, disable=not progress)
        with _complete_or_absent(path) as unfinished:
            write(unfinished, bar(frames), rate / stride)
    return Recording(path, film.n_frames, film.returns, film.lengths, film.successes, film.cut_at)


class _Frames:
    """Plays episodes, hands out their frames one by one, and keeps count."""

    captions: Captions | None = None
    n_held = 0

    def __init__(
        self,
        env: gym.Env[Any, Any],
        policy: Policy | None,
        stride: int,
        max_frames: int | None,
        success_of: SuccessOf,
    ) -> None:
        self._env = env
        self._policy = policy or (lambda _: env.action_space.sample())
        self._stride = stride
        self._max_frames = max_frames
        self._success_of = success_of
        self.n_frames = 0
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self.successes: list[bool | None] = []
        self.cut_at = 0

    def run(self, episodes: int, seed: int | None) -> Iterator[Frame]:
        """The frames of that many episodes, or of as many as fit."""
        self._env.action_space.seed(seed)
        for episode in range(episodes):
            number = episode + 1 if episodes > 1 else 0
            for moment in self._episode(number, seed if episode == 0 else None):
                frame = self._frame(moment)
                yield frame
                self.n_frames += 1
                if self.n_frames == self._max_frames:
                    self.cut_at = 0 if moment.over else moment.step
                    return
            yield from [frame] * self.n_held

    def _episode(self, number: int, seed: int | None) -> Iterator[Moment]:
        """The moments of an episode that are shown."""
        observation, info = self._env.reset(seed=seed)
        total, length, done = 0.0, 0, False
        yield Moment(number, 0, 0.0, self._success_of(info), over=False)
        while not done and length < MAX_STEPS:
            action = self._policy(observation)
            observation, reward, terminated, truncated, info = self._env.step(action)
            total, length, done = total + float(reward), length + 1, terminated or truncated
            success = self._success_of(info)
            if done:
                self.returns.append(total)
                self.lengths.append(length)
                self.successes.append(success)
            if done or length % self._stride == 0:
                yield Moment(number, length, total, success, over=done)
        if not done:
            self.cut_at = length

    def _frame(self, moment: Moment) -> Frame:
        frame = np.asarray(self._env.render(), dtype=np.uint8)
        if frame.ndim != 3 or frame.shape[2] not in (3, 4):
            raise ValueError(
                "expected render() to return an RGB picture of shape (height, width, 3), got "
                f"{'nothing' if frame.ndim == 0 else f'shape {frame.shape}'}"
            )
        return frame if self.captions is None else self.captions.add(frame, moment)


@contextmanager
def _filmable(environment: str | gym.Env[Any, Any]) -> Iterator[gym.Env[Any, Any]]:
    """The environment, made here and closed afterwards if only its id was given."""
    if isinstance(environment, str):
        env = gym.make(environment, render_mode="rgb_array")
        try:
            yield env
        finally:
            env.close()
        return
    if environment.render_mode != "rgb_array":
        raise ValueError(
            f"the environment has render_mode={environment.render_mode!r}; to film it, make it "
            'with render_mode="rgb_array"'
        )
    yield environment


@contextmanager
def _complete_or_absent(path: Path) -> Iterator[Path]:
    """A temporary name beside the path, renamed to it at the end, removed after an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _writer_of(path: Path) -> Callable[[Path, Iterator[Frame], float], None]:
    """How to write a file of this suffix; what it needs is tried before any frame is drawn."""
    suffix = path.suffix.lower()
    if suffix == ".gif":
        require("PIL.Image", "mujoco")
        return _write_gif
    if suffix == ".mp4":
        require("imageio_ffmpeg", "mujoco")
        return _write_mp4
    raise ValueError(f"expected a file name that ends in .gif or .mp4, got {path.name!r}")


def _write_gif(path: Path, frames: Iterator[Frame], rate: float) -> None:
    image = require("PIL.Image", "mujoco")
    pictures = (image.fromarray(frame).quantize(128) for frame in frames)
    # GIF counts hundredths of a second, and many players slow down below two of them.
    duration = max(20, 10 * round(100 / rate))
    next(pictures).save(path, save_all=True, append_images=pictures, duration=duration, loop=0)


def _write_mp4(path: Path, frames: Iterator[Frame], rate: float) -> None:
    imageio = require("imageio.v2", "mujoco")
    # After an error, imageio's own `with` leaves ffmpeg running and writing.
    with closing(imageio.get_writer(path, fps=rate, macro_block_size=2)) as writer:
        for frame in frames:
            writer.append_data(frame)

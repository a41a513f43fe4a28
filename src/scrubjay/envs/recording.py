"""Films of a policy in a task, as GIF or MP4."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from scrubjay.optional import require

Frame = npt.NDArray[np.uint8]
Policy = Callable[[Any], Any]


class Recording(NamedTuple):
    """What a film shows: its file, its number of frames, and the episodes that it shows in full."""

    path: Path
    n_frames: int
    returns: list[float]
    lengths: list[int]
    successes: list[bool]


def record(
    environment: str | gym.Env[Any, Any],
    policy: Policy | None,
    path: str | os.PathLike[str],
    *,
    episodes: int = 1,
    seed: int | None = 0,
    max_frames: int = 1000,
    max_frame_rate: float = 25.0,
    progress: bool = False,
) -> Recording:
    """Film a policy, a function from observation to action, or random actions if it is None.

    The environment is an id or an environment made with `render_mode="rgb_array"`. The suffix of
    the path, .gif or .mp4, chooses the format; the film appears under its name only when it is
    complete. It runs at the speed of the task, with frames left out so that no more than
    `max_frame_rate` pass in a second, and ends after so many episodes or frames.
    """
    path = Path(path)
    write = _writer_of(path)
    for name, number in (("episodes", episodes), ("max_frames", max_frames)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, not {number}.")
    with _filmable(environment) as env:
        rate = float(env.metadata.get("render_fps") or 30)
        stride = max(1, round(rate / max_frame_rate))
        film = _Film(env, policy, stride, max_frames)
        frames = film.run(episodes, seed)
        with _complete_or_absent(path) as unfinished:
            write(unfinished, tqdm(frames, unit=" frames", disable=not progress), rate / stride)
    return Recording(path, film.n_frames, film.returns, film.lengths, film.successes)


class _Film:
    """Plays episodes, hands out their frames one by one, and keeps count."""

    def __init__(
        self, env: gym.Env[Any, Any], policy: Policy | None, stride: int, max_frames: int
    ) -> None:
        self._env = env
        self._policy = policy or (lambda _: env.action_space.sample())
        self._stride = stride
        self._max_frames = max_frames
        self.n_frames = 0
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self.successes: list[bool] = []

    def run(self, episodes: int, seed: int | None) -> Iterator[Frame]:
        self._env.action_space.seed(seed)
        for episode in range(episodes):
            for frame in self._episode(seed if episode == 0 else None):
                yield frame
                self.n_frames += 1
                if self.n_frames == self._max_frames:
                    return

    def _episode(self, seed: int | None) -> Iterator[Frame]:
        observation, info = self._env.reset(seed=seed)
        total, length, done = 0.0, 0, False
        yield self._frame()
        while not done:
            action = self._policy(observation)
            observation, reward, terminated, truncated, info = self._env.step(action)
            total, length, done = total + float(reward), length + 1, terminated or truncated
            if done:
                self.returns.append(total)
                self.lengths.append(length)
                self.successes.append(bool(info.get("is_success", False)))
            if done or length % self._stride == 0:
                yield self._frame()

    def _frame(self) -> Frame:
        frame: Any = self._env.render()
        return np.asarray(frame, dtype=np.uint8)


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
            f"The environment has render_mode={environment.render_mode!r}; to film it, make it "
            f'with render_mode="rgb_array".'
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
    raise ValueError(f"A film's name must end in .gif or .mp4, not {path.name!r}.")


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

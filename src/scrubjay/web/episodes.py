"""Greedy episodes in the task: steps, rendered frames, and the returns after each followed row.

Environments are made, stepped and drawn in one thread of their own: OpenGL contexts belong to the
thread that made them.
"""

import io
import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.optional import require
from scrubjay.randomness import Stream, reset_seed
from scrubjay.training.records import SuccessReader
from scrubjay.web.source import Checkpoint, Source

MAX_STEPS = 5_000  # of an episode that nothing else ends
MAX_WITH_FRAMES = 4  # episodes whose frames are kept
MAX_KEPT = 200  # episodes
TOLERANCE = 0.05  # of the range of values: a row with a larger gap is overestimated

Floats = npt.NDArray[np.float64]


class Followed(NamedTuple):
    """The row that decided a step.

    Attributes:
        memory: The name of its memory.
        row: Its number.
        value: Its value, an estimate of the return.
        distance: From the state to the row.
        trust: How much it counted; NaN if the method does not say.
    """

    memory: str
    row: int
    value: float
    distance: float
    trust: float


class PlayedEpisode:
    """One greedy episode, while it is played and afterwards.

    Args:
        number: Its number, which decides its start.
        with_frames: Whether its frames are drawn.
    """

    def __init__(self, number: int, with_frames: bool) -> None:
        self.number, self.with_frames = number, with_frames
        self.keys: list[Floats] = []
        self.actions: list[list[float]] = []
        self.rewards: list[float] = []
        self.followed: list[Followed | None] = []
        self.frames: list[bytes] = []
        self.returns: list[float] = []
        self.success: bool | None = None
        self.ended = ""
        self.error = ""
        self.done = threading.Event()
        self.cancelled = False

    @property
    def n_steps(self) -> int:
        """Steps that are complete."""
        return len(self.rewards)


class Player:
    """Plays greedy episodes of checkpoints, one at a time, and keeps them.

    Args:
        source: What is inspected.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="episodes")
        self._lock = threading.Lock()
        self._played: OrderedDict[tuple[str, int, bool], PlayedEpisode] = OrderedDict()
        self._envs: dict[bool, gymnasium.Env[Any, Any]] = {}
        self.no_frames = ""

    def episode(self, checkpoint: Checkpoint, number: int, *, with_frames: bool) -> PlayedEpisode:
        """An episode, which is begun if it has not been played yet.

        Args:
            checkpoint: Whose agent acts.
            number: The number of the episode, which decides its start.
            with_frames: Whether its frames are drawn.

        Returns:
            The episode; it may still be in progress.
        """
        name = (checkpoint.name, number, with_frames)
        with self._lock:
            known = self._played.get(name)
            if known is None or known.cancelled:
                if with_frames:
                    self._stop_others()
                known = self._played[name] = PlayedEpisode(number, with_frames)
                self._thread.submit(self._play, checkpoint, known)
            self._played.move_to_end(name)
            self._forget()
        return known

    def _stop_others(self) -> None:
        """Frames are drawn for one episode at a time, the one requested last."""
        for (_, _, with_frames), episode in self._played.items():
            if with_frames and not episode.done.is_set():
                episode.cancelled = True

    def _forget(self) -> None:
        framed = [name for name in self._played if name[2]]
        for name in [*framed[:-MAX_WITH_FRAMES], *list(self._played)[:-MAX_KEPT]]:
            episode = self._played.pop(name, None)
            if episode is not None:
                episode.cancelled = True

    def close(self) -> None:
        """Stop playing, and close the environments."""
        for episode in list(self._played.values()):
            episode.cancelled = True
        self._thread.submit(self._close_environments)
        self._thread.shutdown(wait=True)

    def _close_environments(self) -> None:
        for env in self._envs.values():
            env.close()

    # -- in the thread of the environments ------------------------------------------------------

    def look(self) -> dict[str, Any]:
        """A first observation of the task, its position and its walls.

        Returns:
            "observation", and "position", "walls" and "position_in_observation" where the task has
            them; "error" if it cannot be made.
        """
        return self._thread.submit(self._look).result()

    def _look(self) -> dict[str, Any]:
        from scrubjay.training.evaluation import has_position

        try:
            env = self._env(with_frames=False)
            observation, _ = env.reset(seed=0)
        except Exception as error:
            return {"error": one_line(error)}
        found = {"observation": observation}
        if has_position(env.unwrapped):
            found["position"] = env.unwrapped.position  # type: ignore[attr-defined]
            found["walls"] = list(getattr(env.unwrapped, "outline", []))
            if hasattr(env.unwrapped, "position_in_observation"):
                found["position_in_observation"] = env.unwrapped.position_in_observation
        return found

    def _env(self, with_frames: bool) -> gymnasium.Env[Any, Any]:
        """The task's environment; with frames if possible and requested."""
        if with_frames and not self.no_frames and True not in self._envs:
            try:
                require("PIL.Image", "web")
                self._envs[True] = drawing(self._source.make_env)
            except Exception as error:
                self.no_frames = f"no frames: {one_line(error)}"
        if with_frames and True in self._envs:
            return self._envs[True]
        if False not in self._envs:
            self._envs[False] = self._source.make_env()
        return self._envs[False]

    def _play(self, checkpoint: Checkpoint, episode: PlayedEpisode) -> None:
        try:
            if not episode.cancelled:
                self._run(checkpoint, self._env(episode.with_frames), episode)
        except Exception as error:
            episode.error = one_line(error)
        finally:
            episode.done.set()

    def _run(
        self, checkpoint: Checkpoint, env: gymnasium.Env[Any, Any], episode: PlayedEpisode
    ) -> None:
        agent, success_of = checkpoint.agent, SuccessReader(self._source.success_key)
        seed = reset_seed(self._source.seed, Stream.EVALUATION, 0, episode.number)
        observation, info = env.reset(seed=seed)
        terminated = truncated = False
        while not (terminated or truncated or episode.cancelled):
            if episode.n_steps >= MAX_STEPS:
                break
            self._draw_frame(env, episode)
            action = _decide(checkpoint, observation, episode)
            episode.actions.append([float(x) for x in np.ravel(action)])
            observation, reward, terminated, truncated, info = env.step(action)
            episode.rewards.append(float(reward))
        self._draw_frame(env, episode)
        episode.success = success_of(info)
        episode.ended = _ending(terminated, truncated, episode)
        rewards = np.array(episode.rewards)
        episode.returns = [float(x) for x in agent.plain_returns(rewards, bool(terminated))]

    def _draw_frame(self, env: gymnasium.Env[Any, Any], episode: PlayedEpisode) -> None:
        if not episode.with_frames or self.no_frames:
            return
        picture = np.asarray(env.render(), np.uint8)
        if picture.ndim != 3 or picture.shape[2] not in (3, 4):
            self.no_frames = "no frames: render() returns no RGB picture"
            return
        episode.frames.append(as_png(picture[..., :3]))


def _decide(checkpoint: Checkpoint, observation: Any, episode: PlayedEpisode) -> Any:
    """The greedy action; notes the key and the row that is followed."""
    agent = checkpoint.agent
    action, _ = agent.predict(observation, deterministic=True)
    followed = None
    if hasattr(agent, "explain"):
        found = agent.explain(observation)
        episode.keys.append(np.array(found.key))
        if found.followed >= 0:
            row = found.neighbors[found.followed]
            followed = Followed(row.memory, row.row, row.value, row.distance, row.trust)
    episode.followed.append(followed)
    return action


def _ending(terminated: bool, truncated: bool, episode: PlayedEpisode) -> str:
    if terminated:
        return "ended"
    if truncated:
        return "time limit"
    return "" if episode.cancelled else f"cut at step {MAX_STEPS:,}"


def drawing(make_env: Any) -> gymnasium.Env[Any, Any]:
    """The task's environment with pictures.

    Args:
        make_env: Makes the environment.

    Returns:
        The environment.

    Raises:
        ValueError: If it draws no pictures.
    """
    try:
        env: gymnasium.Env[Any, Any] = make_env(render_mode="rgb_array")
    except TypeError as error:
        if "render_mode" not in str(error):
            raise
        raise ValueError("the task does not take render_mode") from error
    if env.render_mode != "rgb_array":
        raise ValueError("the task has no render_mode 'rgb_array'")
    return env


def as_png(picture: npt.NDArray[np.uint8]) -> bytes:
    """A picture as the bytes of a PNG file.

    Args:
        picture: (height, width, 3).

    Returns:
        The bytes.
    """
    image = require("PIL.Image", "web")
    file = io.BytesIO()
    image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


def overestimated_rows(episodes: list[PlayedEpisode], value_range: float) -> list[dict[str, Any]]:
    """The value of each followed row, and the mean return after it.

    Args:
        episodes: Episodes that are complete.
        value_range: The difference of the highest and the lowest value in the memories; a
            value counts as overestimated if its gap is more than a twentieth of it.

    Returns:
        For each row that was followed, the mean of the discounted returns after it, and by how much
        its value is larger, the largest first.
    """
    found: dict[tuple[str, int], list[tuple[Followed, float, int, int]]] = {}
    for episode in episodes:
        for step, (row, value) in enumerate(zip(episode.followed, episode.returns, strict=False)):
            if row is not None:
                noted = (row, value, episode.number, step)
                found.setdefault((row.memory, row.row), []).append(noted)
    rows = [_compared(noted, TOLERANCE * value_range) for noted in found.values()]
    return sorted(rows, key=lambda row: -row["gap"])


def _compared(noted: list[tuple[Followed, float, int, int]], tolerance: float) -> dict[str, Any]:
    row = noted[0][0]
    mean_return = float(np.mean([entry[1] for entry in noted]))
    worst = min(noted, key=lambda entry: entry[1])
    return {
        "memory": row.memory,
        "row": row.row,
        "estimated": row.value,
        "mean_return": mean_return,
        "gap": row.value - mean_return,
        "overestimated": row.value - mean_return > tolerance,
        "times": len(noted),
        "distance": float(np.mean([entry[0].distance for entry in noted])),
        "trust": float(np.mean([entry[0].trust for entry in noted])),
        "episode": worst[2],
        "step": worst[3],
    }


def summary(episode: PlayedEpisode) -> Mapping[str, Any]:
    """An episode in a few numbers.

    Args:
        episode: The episode.

    Returns:
        Its steps, return, success, and how it ended.
    """
    return {
        "episode": episode.number,
        "steps": episode.n_steps,
        "total": float(np.sum(episode.rewards)),
        "success": episode.success,
        "ended": episode.ended,
        "done": episode.done.is_set(),
        "error": episode.error,
    }


def one_line(error: BaseException) -> str:
    """The message of an error without its line breaks."""
    return " ".join(str(error).split()) or type(error).__name__

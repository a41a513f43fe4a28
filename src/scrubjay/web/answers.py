"""The answers to the page's questions. A question names things by number; it never names a file."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents.explanation import Explanation, Neighbor
from scrubjay.web.episodes import Player, broken_promises, summary
from scrubjay.web.places import Place, find_place
from scrubjay.web.planes import MOST_POINTS, Plane
from scrubjay.web.source import Checkpoint, Checkpoints, Source

COLORS = ("value", "age", "density")
MOST_EPISODES = 20
MOST_PROMISES = 200  # rows of the table
LARGEST_EPISODE = 100_000


class BadQuestion(ValueError):  # noqa: N818
    """A question that the page never asks."""


Question = Mapping[str, str]


def number(question: Question, name: str, below: int, default: int | None = None) -> int:
    """A whole number of a question.

    Args:
        question: The question.
        name: The number's name.
        below: It must be at least 0 and below this.
        default: Its value if it is missing.

    Returns:
        The number.

    Raises:
        BadQuestion: If it is missing or out of range.
    """
    text = question.get(name, "" if default is None else str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) < below):
        raise BadQuestion(f"expected {name} to be a whole number below {below}, got {text!r}")
    return int(text)


class Answers:
    """Answers the questions of the page.

    Args:
        source: What is inspected.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.checkpoints = Checkpoints(source)
        self.player = Player(source)
        first = self.checkpoints[source.shown]
        self._seen = self.player.look() if first.agent is not None else {"error": NO_AGENT}
        if first.planes and (row := _best_row(next(iter(first.planes.values())))) is not None:
            # compiles what the page will ask for, before anyone waits for it
            first.explain(next(iter(first.memories.values())).keys[row].astype(np.float64))
        self.no_replay: str = self._seen.get("error", "")

    def close(self) -> None:
        """End what runs in the background."""
        self.player.close()

    # -- what there is --------------------------------------------------------------------------

    def about(self, question: Question) -> dict[str, Any]:  # noqa: ARG002
        """The run, and the names of its checkpoints."""
        source, agent = self.source, self.checkpoints[self.source.shown].agent
        return {
            "title": source.title,
            "task": source.task,
            "method": getattr(agent, "name", ""),
            "seed": getattr(agent, "seed", None),
            "checkpoints": list(source.checkpoints),
            "shown": source.shown,
            "no_replay": self.no_replay,
            "most_points": MOST_POINTS,
        }

    def memories(self, question: Question) -> dict[str, Any]:
        """The memories of a checkpoint."""
        checkpoint = self._checkpoint(question)
        agent = checkpoint.agent
        place = find_place(agent, self._seen)
        self.checkpoints.prepare_around(self._index(question))
        return {
            "walls": place.walls if place else [],
            "place": list(place.axes) if place else None,
            "ratio": place.ratio if place else None,
            "flipped": list(place.flipped) if place else [False, False],
            "steps": getattr(agent, "num_timesteps", None),
            "episodes": getattr(agent, "n_episodes", None),
            "memories": [_memory(*entry, place) for entry in checkpoint.planes.items()],
        }

    # -- the map --------------------------------------------------------------------------------

    def cloud(self, question: Question) -> bytes:
        """The drawn rows: x, y (float32), and their numbers (int32)."""
        plane, x, y = self._axes(question)
        parts = plane.along(x), plane.along(y), plane.rows.astype(np.int32)
        return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)

    def colors(self, question: Question) -> bytes:
        """The share that is known, then a number for each drawn row (float32)."""
        by = question.get("by", "value")
        if by not in COLORS:
            raise BadQuestion(f"expected one of {', '.join(COLORS)}, got {by!r}")
        found, share = self._plane(question).colors(by)
        return np.float32(share).tobytes() + np.ascontiguousarray(found, np.float32).tobytes()

    # -- one state ------------------------------------------------------------------------------

    def explain(self, question: Question) -> dict[str, Any]:
        """The neighbours of a row, or of the state at a step of an episode."""
        checkpoint = self._checkpoint(question)
        plane, x, y = self._axes(question)
        memory = plane.memory
        row = None
        if "step" in question:
            episode = self.player.episode(checkpoint, self._episode(question), filmed=True)
            key = episode.keys[number(question, "step", len(episode.keys))]
        else:
            row = number(question, "row", len(memory))
            key = memory.keys[row].astype(np.float64)
        found = checkpoint.explain(key)
        at = _point(plane, x, y, key[None]) if row is None else _row_point(plane, x, y, row)
        return {
            **self._explained(checkpoint, found),
            "row": row,
            "value": None if row is None else float(memory.values[row]),
            "age": None if row is None else int(memory.clock - memory.stamps[row]),
            "key": [float(number) for number in found.key],
            "at": at,
            "neighbors": [
                {**_plain(neighbor), "at": _row_point(plane, x, y, neighbor.row)}
                if checkpoint.planes[neighbor.memory] is plane
                else {**_plain(neighbor), "at": None}
                for neighbor in found.neighbors
            ],
        }

    def _explained(self, checkpoint: Checkpoint, found: Explanation) -> dict[str, Any]:
        codec = getattr(checkpoint.agent, "codec", None)
        action = [] if codec is None or not len(found.action) else codec.decode(found.action)
        return {
            "action": [float(x) for x in np.ravel(action)],
            "followed": found.followed,
            "estimates": [None if math.isinf(x) else x for x in found.estimates],
        }

    # -- episodes -------------------------------------------------------------------------------

    def replay(self, question: Question) -> dict[str, Any]:
        """The steps of an episode from step `since` on; begins it if necessary."""
        checkpoint, which = self._playable(question), self._episode(question)
        episode = self.player.episode(checkpoint, which, filmed=True)
        since = number(question, "since", 1 << 30, 0)
        # a step is complete when it has a reward; what comes first is read last
        until = episode.n_steps
        steps = [
            {
                "reward": episode.rewards[t],
                "action": episode.actions[t],
                "followed": None if (row := episode.followed[t]) is None else row._asdict(),
            }
            for t in range(since, until)
        ]
        found = {**summary(episode), "since": since, "new": steps}
        found["frames"] = len(episode.frames)
        found["no_frames"] = self.player.no_frames
        found["kept"] = list(episode.kept) if episode.done.is_set() else []
        return found

    def path(self, question: Question) -> bytes:
        """Where an episode has gone on the map: x, y (float32); nothing if the axes have no place.

        Raises:
            BadQuestion: If the episode has not been begun.
        """
        checkpoint = self._playable(question)
        episode = self.player.episode(checkpoint, self._episode(question), filmed=True)
        plane, x, y = self._axes(question)
        if not episode.keys:
            return b""
        keys = np.array(episode.keys)
        parts = plane.locate(x, keys), plane.locate(y, keys)
        if parts[0] is None or parts[1] is None:
            return b""
        return parts[0].tobytes() + parts[1].tobytes()

    def frame(self, question: Question) -> bytes:
        """A frame of an episode, as PNG."""
        checkpoint = self._playable(question)
        episode = self.player.episode(checkpoint, self._episode(question), filmed=True)
        return episode.frames[number(question, "step", len(episode.frames))]

    def promises(self, question: Question) -> dict[str, Any]:
        """What the rows that greedy episodes follow promise, and what they keep."""
        checkpoint = self._playable(question)
        n = number(question, "episodes", MOST_EPISODES + 1, 5)
        episodes = [self.player.episode(checkpoint, i, filmed=False) for i in range(n)]
        done = [episode for episode in episodes if episode.done.is_set()]
        complete = [episode for episode in done if not episode.error]
        rows = broken_promises(complete, _value_range(checkpoint))
        return {
            "of": n,
            "done": len(done),
            "error": next((episode.error for episode in done if episode.error), ""),
            "episodes": [summary(episode) for episode in complete],
            "n_rows": len(rows),
            "n_broken": sum(row["broken"] for row in rows),
            "rows": rows[:MOST_PROMISES],
        }

    # -- the parts of a question ----------------------------------------------------------------

    def _checkpoint(self, question: Question) -> Checkpoint:
        return self.checkpoints[self._index(question)]

    def _index(self, question: Question) -> int:
        return number(question, "checkpoint", len(self.source.checkpoints))

    def _playable(self, question: Question) -> Checkpoint:
        if self.no_replay:
            raise BadQuestion(self.no_replay)
        return self._checkpoint(question)

    def _plane(self, question: Question) -> Plane:
        planes = list(self._checkpoint(question).planes.values())
        return planes[number(question, "memory", len(planes), 0)]

    def _axes(self, question: Question) -> tuple[Plane, int, int]:
        plane = self._plane(question)
        n = len(plane.axes())
        return plane, number(question, "x", n), number(question, "y", n)

    def _episode(self, question: Question) -> int:
        return number(question, "episode", LARGEST_EPISODE)


def _memory(name: str, plane: Plane, place: Place | None) -> dict[str, Any]:
    memory, axes, default = plane.memory, plane.axes(), plane.default_axes()
    if place is not None:
        default = place.axes
        for axis, label in zip(default, "xy", strict=True):
            axes[axis] = f"{label} ({axes[axis]})"
    return {
        "name": name,
        "rows": len(memory),
        "drawn": len(plane.rows),
        "capacity": memory.capacity,
        "threshold": memory.distance_threshold,
        "axes": axes,
        "default": list(default),
        "best": _best_row(plane),
        "values": list(memory.value_range),
    }


NO_AGENT = "the file has a memory and no agent, so there is nothing to replay"


def _value_range(checkpoint: Checkpoint) -> float:
    ranges = [memory.value_range for memory in checkpoint.memories.values() if len(memory)]
    return max(high for _, high in ranges) - min(low for low, _ in ranges) if ranges else 0.0


def _best_row(plane: Plane) -> int | None:
    """The first drawn row of the highest value."""
    if not len(plane.rows):
        return None
    return int(plane.rows[np.argmax(plane.memory.values[plane.rows])])


def _row_point(plane: Plane, x: int, y: int, row: int) -> list[float]:
    rows = np.array([row])
    return [float(plane.coordinates(x, rows)[0]), float(plane.coordinates(y, rows)[0])]


def _point(plane: Plane, x: int, y: int, keys: npt.NDArray[Any]) -> list[float] | None:
    across, up = plane.locate(x, keys), plane.locate(y, keys)
    return None if across is None or up is None else [float(across[0]), float(up[0])]


def _plain(neighbor: Neighbor) -> dict[str, Any]:
    return {**neighbor._asdict(), "action": [float(x) for x in neighbor.action]}


def as_json(content: Any) -> bytes:
    """JSON in which numbers that are not finite are null.

    Args:
        content: What to write.

    Returns:
        The bytes.
    """
    return json.dumps(_finite(content), allow_nan=False, separators=(",", ":")).encode()


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return content

"""The API of the page. A query names things by number; it never names a file."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents.explanation import Explanation, Neighbor
from scrubjay.web.episodes import Player, overestimated_rows, summary
from scrubjay.web.point_cloud import MAX_POINTS, PointCloud
from scrubjay.web.position import PositionAxes, find_position
from scrubjay.web.source import Checkpoint, Checkpoints, Source

COLORS = ("value", "age", "density")
MAX_EPISODES = 20
MAX_ROWS = 200  # rows of the table
LARGEST_EPISODE = 100_000


class BadRequest(ValueError):  # noqa: N818
    """A query with a missing or invalid parameter."""


Query = Mapping[str, str]


def number(query: Query, name: str, below: int, default: int | None = None) -> int:
    """A whole number from a query.

    Args:
        query: The query.
        name: The number's name.
        below: It must be at least 0 and below this.
        default: Its value if it is missing.

    Returns:
        The number.

    Raises:
        BadRequest: If it is missing or out of range.
    """
    text = query.get(name, "" if default is None else str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) < below):
        raise BadRequest(f"expected {name} to be a whole number below {below}, got {text!r}")
    return int(text)


class Api:
    """The handlers of the page's requests, one method for each.

    Args:
        source: What is inspected.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.checkpoints = Checkpoints(source)
        self.player = Player(source)
        first = self.checkpoints[source.shown]
        self._seen = self.player.look() if first.agent is not None else {"error": NO_AGENT}
        if first.clouds and (row := _best_row(next(iter(first.clouds.values())))) is not None:
            # compiles what the page needs before the first request
            first.explain(next(iter(first.memories.values())).keys[row].astype(np.float64))
        self.no_replay: str = self._seen.get("error", "")

    def close(self) -> None:
        """End the background threads."""
        self.player.close()

    # -- what there is --------------------------------------------------------------------------

    def about(self, query: Query) -> dict[str, Any]:  # noqa: ARG002
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
            "most_points": MAX_POINTS,
        }

    def memories(self, query: Query) -> dict[str, Any]:
        """The memories of a checkpoint."""
        checkpoint = self._checkpoint(query)
        agent = checkpoint.agent
        position = find_position(agent, self._seen)
        self.checkpoints.prepare_around(self._index(query))
        return {
            "walls": position.walls if position else [],
            "place": list(position.axes) if position else None,
            "ratio": position.ratio if position else None,
            "flipped": list(position.flipped) if position else [False, False],
            "steps": getattr(agent, "num_timesteps", None),
            "episodes": getattr(agent, "n_episodes", None),
            "memories": [_memory(*entry, position) for entry in checkpoint.clouds.items()],
        }

    # -- the map --------------------------------------------------------------------------------

    def cloud(self, query: Query) -> bytes:
        """The drawn rows: x, y (float32), and their numbers (int32)."""
        cloud, x, y = self._axes(query)
        parts = cloud.along(x), cloud.along(y), cloud.rows.astype(np.int32)
        return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)

    def colors(self, query: Query) -> bytes:
        """The share that is known, then a number for each drawn row (float32)."""
        by = query.get("by", "value")
        if by not in COLORS:
            raise BadRequest(f"expected one of {', '.join(COLORS)}, got {by!r}")
        found, share = self._cloud(query).colors(by)
        return np.float32(share).tobytes() + np.ascontiguousarray(found, np.float32).tobytes()

    # -- one state ------------------------------------------------------------------------------

    def explain(self, query: Query) -> dict[str, Any]:
        """The neighbours of a row, or of the state at a step of an episode."""
        checkpoint = self._checkpoint(query)
        cloud, x, y = self._axes(query)
        memory = cloud.memory
        row = None
        if "step" in query:
            episode = self.player.episode(checkpoint, self._episode(query), with_frames=True)
            key = episode.keys[number(query, "step", len(episode.keys))]
        else:
            row = number(query, "row", len(memory))
            key = memory.keys[row].astype(np.float64)
        found = checkpoint.explain(key)
        at = _point(cloud, x, y, key[None]) if row is None else _row_point(cloud, x, y, row)
        return {
            **self._explained(checkpoint, found),
            "row": row,
            "value": None if row is None else float(memory.values[row]),
            "age": None if row is None else int(memory.clock - memory.stamps[row]),
            "key": [float(number) for number in found.key],
            "at": at,
            "neighbors": [
                {**_plain(neighbor), "at": _row_point(cloud, x, y, neighbor.row)}
                if checkpoint.clouds[neighbor.memory] is cloud
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

    def replay(self, query: Query) -> dict[str, Any]:
        """The steps of an episode from step `since` on; begins it if necessary."""
        checkpoint, which = self._playable(query), self._episode(query)
        episode = self.player.episode(checkpoint, which, with_frames=True)
        since = number(query, "since", 1 << 30, 0)
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
        found["returns"] = list(episode.returns) if episode.done.is_set() else []
        return found

    def path(self, query: Query) -> bytes:
        """The path of an episode on the map: x, y (float32); empty if the axes have no position.

        Raises:
            BadRequest: If the episode has not been begun.
        """
        checkpoint = self._playable(query)
        episode = self.player.episode(checkpoint, self._episode(query), with_frames=True)
        cloud, x, y = self._axes(query)
        if not episode.keys:
            return b""
        keys = np.array(episode.keys)
        parts = cloud.locate(x, keys), cloud.locate(y, keys)
        if parts[0] is None or parts[1] is None:
            return b""
        return parts[0].tobytes() + parts[1].tobytes()

    def frame(self, query: Query) -> bytes:
        """A frame of an episode, as PNG."""
        checkpoint = self._playable(query)
        episode = self.player.episode(checkpoint, self._episode(query), with_frames=True)
        return episode.frames[number(query, "step", len(episode.frames))]

    def overestimates(self, query: Query) -> dict[str, Any]:
        """The values of the rows that greedy episodes follow, and the returns after them."""
        checkpoint = self._playable(query)
        n = number(query, "episodes", MAX_EPISODES + 1, 5)
        episodes = [self.player.episode(checkpoint, i, with_frames=False) for i in range(n)]
        done = [episode for episode in episodes if episode.done.is_set()]
        complete = [episode for episode in done if not episode.error]
        rows = overestimated_rows(complete, _value_range(checkpoint))
        return {
            "of": n,
            "done": len(done),
            "error": next((episode.error for episode in done if episode.error), ""),
            "episodes": [summary(episode) for episode in complete],
            "n_rows": len(rows),
            "n_overestimated": sum(row["overestimated"] for row in rows),
            "rows": rows[:MAX_ROWS],
        }

    # -- the parts of a query --------------------------------------------------------------------

    def _checkpoint(self, query: Query) -> Checkpoint:
        return self.checkpoints[self._index(query)]

    def _index(self, query: Query) -> int:
        return number(query, "checkpoint", len(self.source.checkpoints))

    def _playable(self, query: Query) -> Checkpoint:
        if self.no_replay:
            raise BadRequest(self.no_replay)
        return self._checkpoint(query)

    def _cloud(self, query: Query) -> PointCloud:
        clouds = list(self._checkpoint(query).clouds.values())
        return clouds[number(query, "memory", len(clouds), 0)]

    def _axes(self, query: Query) -> tuple[PointCloud, int, int]:
        cloud = self._cloud(query)
        n = len(cloud.axes())
        return cloud, number(query, "x", n), number(query, "y", n)

    def _episode(self, query: Query) -> int:
        return number(query, "episode", LARGEST_EPISODE)


def _memory(name: str, cloud: PointCloud, position: PositionAxes | None) -> dict[str, Any]:
    memory, axes, default = cloud.memory, cloud.axes(), cloud.default_axes()
    if position is not None:
        default = position.axes
        for axis, label in zip(default, "xy", strict=True):
            axes[axis] = f"{label} ({axes[axis]})"
    return {
        "name": name,
        "rows": len(memory),
        "drawn": len(cloud.rows),
        "capacity": memory.capacity,
        "threshold": memory.distance_threshold,
        "axes": axes,
        "default": list(default),
        "best": _best_row(cloud),
        "values": list(memory.value_range),
    }


NO_AGENT = "the file has a memory and no agent, so there is nothing to replay"


def _value_range(checkpoint: Checkpoint) -> float:
    ranges = [memory.value_range for memory in checkpoint.memories.values() if len(memory)]
    return max(high for _, high in ranges) - min(low for low, _ in ranges) if ranges else 0.0


def _best_row(cloud: PointCloud) -> int | None:
    """The first drawn row of the highest value."""
    if not len(cloud.rows):
        return None
    return int(cloud.rows[np.argmax(cloud.memory.values[cloud.rows])])


def _row_point(cloud: PointCloud, x: int, y: int, row: int) -> list[float]:
    rows = np.array([row])
    return [float(cloud.coordinates(x, rows)[0]), float(cloud.coordinates(y, rows)[0])]


def _point(cloud: PointCloud, x: int, y: int, keys: npt.NDArray[Any]) -> list[float] | None:
    across, up = cloud.locate(x, keys), cloud.locate(y, keys)
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

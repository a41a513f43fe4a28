"""Model-Free Episodic Control (MFEC), Blundell et al., arXiv 1606.04460, 2016.

For discrete actions. There is one memory for each action a: a row is a state, as the key phi(s),
with the highest return that has ever followed a there, Q(s, a).

ACT (Eq. 2): the estimate of an action is

    Q(s, a)                                       if phi(s) is a key in the memory of a
    the mean of Q(s_i, a) over its k nearest keys s_i    otherwise

and the action with the highest estimate is chosen, a random one with probability epsilon. Among
equal estimates the choice is random.

UPDATE (Eq. 1), backwards over a finished episode, with its returns R_t = r_t + gamma R_{t+1}:

    Q(s_t, a_t) <- R_t                            if phi(s_t) is not in the memory of a_t yet
    Q(s_t, a_t) <- max(Q(s_t, a_t), R_t)          otherwise

When a memory is full, a new row takes the place of the one that was updated least recently.

Equations and settings follow the paper as its public implementations do. They are silent, or
differ, on these points:

- Exploration: with `hold` above 1, which the paper does not have, a random action, or one of which
  no action is better, is repeated for n or more steps with probability 1 / n.
- An action never tried: while a memory has fewer than k rows, a state that is not in it has the
  estimate infinity in training, so that every action is tried. Evaluation averages the rows that
  there are, and an action without any is not chosen.
- A time-out ends the return as a real end does.
- Reading changes nothing: neither a decision nor an evaluation makes a row recent.
"""

from collections.abc import Mapping
from os import PathLike
from typing import Annotated, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.agents.base import MemoryAgent, Spaces
from scrubjay.agents.explanation import Explanation, Neighbor, neighbors
from scrubjay.agents.recorder import (
    BLOCK,
    CHOICE,
    DECIDES,
    DISTANCE,
    HELD,
    NOT_SEARCHED,
    STEP,
    WEIGHT,
    Choice,
    Experience,
    Floats,
    Lanes,
    Learned,
    Notes,
)
from scrubjay.agents.returns import check_returns
from scrubjay.agents.sampling import duration, store_key, write_uniform_action
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.agents.settings import Range
from scrubjay.compiled import compiled
from scrubjay.embedding import Chain, Embedding, Identity, RandomProjection, Resize
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.index_arrays import IndexArrays
from scrubjay.memory.index_kernels import index_find, index_search
from scrubjay.memory.tree_arrays import scratch_size
from scrubjay.memory.writing import discounted_returns
from scrubjay.training import Environment

MEMORY, UNIFORM = int(Choice.MEMORY), int(Choice.UNIFORM)
NO_NEIGHBOR, HELD_ACTION = int(Choice.NO_NEIGHBOR), int(Choice.HELD)

Tables = tuple[tuple[npt.NDArray[Any], ...], ...]
"""For each action the arrays of its memory: those of the index, then the values."""


@compiled()
def estimate(
    table: tuple[npt.NDArray[Any], ...],
    key: npt.NDArray[np.float32],
    n_neighbors: int,
    threshold: float,
    optimistic: bool,
    rows: npt.NDArray[np.int64],
    squared: Floats,
    scratch: Floats,
) -> float:
    """Eq. 2: the estimate of one action; `squared[0]` is the nearest squared distance."""
    index_keys, nodes, boxes, buckets, values = table
    index = IndexArrays(index_keys, nodes, boxes, buckets)
    row, squared[0] = index_find(index, key), 0.0
    if row < 0 and threshold > 0.0:
        found = index_search(index, key, 1, threshold, rows, squared, scratch)
        row = rows[0] if found > 0 else -1
    if row >= 0:
        same: float = np.float64(values[row])
        return same
    found = index_search(index, key, n_neighbors, np.inf, rows, squared, scratch)
    if found == 0:
        squared[0] = np.inf
        return np.inf if optimistic else -np.inf
    if found < n_neighbors and optimistic:
        return np.inf
    total = 0.0
    for i in range(found):
        total += np.float64(values[rows[i]])
    mean: float = total / found
    return mean


@compiled()
def first_or_drawn(estimates: Floats, draw: float) -> int:
    """The action with the highest estimate; among equal ones `draw`, in [0, 1), decides."""
    best = estimates.max()
    skip = int(draw * (estimates == best).sum())
    for action in range(len(estimates)):
        if estimates[action] == best:
            if skip == 0:
                return action
            skip -= 1
    return 0


@compiled()
def select_actions(
    tables: Tables,
    n_neighbors: int,
    threshold: float,
    hold: int,
    bounds: npt.NDArray[np.float32],
    lane_keys: npt.NDArray[np.float32],
    lane_actions: npt.NDArray[np.float32],
    numbers: Floats,
    trace: npt.NDArray[np.int64],
    draws: Floats,
    state: npt.NDArray[np.int64],
    scales: Floats,
    keys: Floats,
    epsilon: float,
) -> int:
    """Epsilon-greedy actions of all lanes; returns the lane whose key is not finite, or -1."""
    rows, squared = np.empty(n_neighbors, np.int64), np.empty(n_neighbors, np.float64)
    scratch = np.empty(scratch_size(keys.shape[1]))
    estimates, nearest = np.empty(len(tables)), np.empty(len(tables))
    for lane in range(len(keys)):
        if state[lane, DECIDES] == 0:
            continue
        step = state[lane, STEP]
        key, action = lane_keys[lane, step], lane_actions[lane, step]
        if not store_key(keys[lane], key):
            return lane
        uniforms = draws[lane, step % BLOCK]
        numbers[lane, step, DISTANCE], numbers[lane, step, WEIGHT] = NOT_SEARCHED, 0.0
        if state[lane, HELD] > 0:
            state[lane, HELD] -= 1
            action[0] = lane_actions[lane, step - 1, 0]
            trace[lane, step, CHOICE] = HELD_ACTION
            continue
        if uniforms[0] < epsilon * scales[lane]:
            write_uniform_action(bounds, True, uniforms[2:], action)
            trace[lane, step, CHOICE] = UNIFORM
            if hold > 1:
                state[lane, HELD] = duration(uniforms[3], hold) - 1
            continue
        for a in range(len(tables)):
            estimates[a] = estimate(
                tables[a], key, n_neighbors, threshold, True, rows, squared, scratch
            )
            nearest[a] = squared[0]
        chosen = first_or_drawn(estimates, uniforms[1])
        action[0] = np.float32(chosen)
        trace[lane, step, CHOICE] = MEMORY if estimates[chosen] < np.inf else NO_NEIGHBOR
        if nearest[chosen] < np.inf:
            numbers[lane, step, DISTANCE] = np.sqrt(nearest[chosen])
            numbers[lane, step, WEIGHT] = 1.0
        if hold > 1 and estimates.min() == estimates.max():
            state[lane, HELD] = duration(uniforms[3], hold) - 1
    return -1


@compiled()
def greedy_actions(
    tables: Tables,
    n_neighbors: int,
    threshold: float,
    keys: Floats,
    actions: npt.NDArray[np.float32],
) -> int:
    """The evaluation rule: the first action with the highest estimate, without optimism.

    Returns the index of a key that is not finite, or -1.
    """
    rows, squared = np.empty(n_neighbors, np.int64), np.empty(n_neighbors, np.float64)
    scratch = np.empty(scratch_size(keys.shape[1]))
    key, estimates = np.empty(keys.shape[1], np.float32), np.empty(len(tables))
    for i in range(len(keys)):
        if not store_key(keys[i], key):
            return i
        for a in range(len(tables)):
            estimates[a] = estimate(
                tables[a], key, n_neighbors, threshold, False, rows, squared, scratch
            )
        actions[i, 0] = np.float32(first_or_drawn(estimates, 0.0))
    return -1


class MFEC(MemoryAgent):
    """Model-Free Episodic Control: the best return ever seen, for each state and discrete action.

    Args:
        env: A Gymnasium environment or vector environment, a `VecEnv` of Stable-Baselines3, or an
            id; its action space is Discrete.
        n_neighbors: rows whose values are averaged for a state that is not in the memory, k
        gamma: discount factor
        epsilon: probability of a random action: a number, or START,END,STEPS
        hold: largest number of steps for which a random action is repeated; 1: not repeated, as in
            the paper
        distance_threshold: states at most this far apart are the same; 0: the same key, as in the
            paper
        capacity: rows of each action's memory; when it is full, the least recent one is replaced
        embedding: how an observation becomes a key; by default a random projection for images,
            otherwise the observation itself
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
        device: accepted as in Stable-Baselines3; memory agents run on the CPU
    """

    name = "mfec"
    action_kinds = ("Discrete",)
    takes_learned_keys = True

    def __init__(
        self,
        env: Environment | Spaces,
        *,
        n_neighbors: Annotated[int, Range(1, 2**31 - 1, tune=(1, 20))] = 3,
        gamma: Annotated[float, Range(0, 1, tune=(0.9, 1.0))] = 0.99,
        epsilon: float | tuple[float, float, int] | LinearSchedule = 0.1,
        hold: Annotated[int, Range(1, 2**31 - 1, tune=(1, 200), log=True)] = 1,
        distance_threshold: Annotated[float, Range(0)] = 0.0,
        capacity: Annotated[int, Range(1, 2**31 - 1)] = 1_000_000,
        embedding: Embedding | None = None,
        seed: int | None = None,
        verbose: int = 0,
        tensorboard_log: str | PathLike[str] | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(env, locals())

    @property
    def notes(self) -> Notes:
        """One uniform number more if exploratory actions last."""
        return Notes(uniforms=3 + (self.hold > 1))

    def default_embedding(self) -> Embedding:
        """A random projection of images, as in the paper; other observations as they are."""
        space = self.observation_space
        shape = space.shape if isinstance(space, gymnasium.spaces.Box) else ()
        return image_embedding(shape) if len(shape) > 1 else Identity()

    def make_memories(self) -> dict[str, EpisodicMemory]:
        """One memory for each action; the columns are empty, a row is a key and a value."""
        n_actions = int(self.codec.bounds[1, 0]) + 1
        return {f"action_{action}": self._make_memory() for action in range(n_actions)}

    def _make_memory(self) -> EpisodicMemory:
        return EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self.distance_threshold,
            columns={},
            rule="max",
            recency="hit",
        )

    def memory_changed(self) -> None:
        """Collect the arrays that every decision needs."""
        self._tables: Tables = tuple(
            (*memory.index.arrays, memory.value_array) for memory in self.memories.values()
        )

    def decide(self, lanes: Lanes, keys: Floats) -> int:
        """Eq. 2, and a random action with probability epsilon."""
        epsilon = self.epsilon(self.num_timesteps)
        return select_actions(  # type: ignore[no-any-return]
            self._tables, self.n_neighbors, self.distance_threshold, self.hold, self.codec.bounds,
            *lanes[:-1], keys, epsilon,
        )  # fmt: skip

    def greedy_actions(self, keys: Floats) -> npt.NDArray[np.float32]:
        """The actions with the highest estimates."""
        actions = np.empty((len(keys), 1), np.float32)
        bad = greedy_actions(self._tables, self.n_neighbors, self.distance_threshold, keys, actions)
        if bad >= 0:
            raise ValueError(f"expected a finite observation, got one whose key is {keys[bad]}")
        return actions

    def explain_key(self, key: Floats) -> Explanation:
        """Eq. 2: the rows over which the estimate of each action is the mean."""
        action = self.greedy_actions(np.asarray(key, np.float64)[None])[0]
        asked = [
            self._asked(name, memory, key, number)
            for number, (name, memory) in enumerate(self.memories.items())
        ]
        estimates = [np.mean([row.value for row in rows]) if rows else -np.inf for rows in asked]
        # in training, actions with too few rows are tried first
        hopes = [
            estimate if len(rows) > 0 and (rows[0].trust == 1 or len(rows) == self.n_neighbors)
            else np.inf
            for rows, estimate in zip(asked, estimates, strict=True)
        ]  # fmt: skip
        best = [hope == max(hopes) for hope in hopes]
        found = tuple(
            row._replace(probability=row.trust * best[number] / sum(best))
            for number, rows in enumerate(asked)
            for row in rows
        )
        chosen = int(action[0])
        followed = sum(map(len, asked[:chosen])) if asked[chosen] else -1
        return Explanation(key, action, found, followed, tuple(map(float, estimates)))

    def _asked(
        self, name: str, memory: EpisodicMemory, key: Floats, action: int
    ) -> tuple[Neighbor, ...]:
        """The row of the same state, or the k nearest ones, each with its share of the mean."""
        if not len(memory):
            return ()
        rows, distances = memory.neighbors(key, self.n_neighbors)
        if distances[0] <= self.distance_threshold:
            rows, distances = rows[:1], distances[:1]
        shares = [1.0 / len(rows)] * len(rows)
        stored = np.array([action], np.float32)
        return neighbors(name, memory, rows, distances, shares, action=stored)

    def learn_from(self, experience: Experience) -> Learned:
        """Eq. 1, backwards: each step is written to the memory of its action."""
        returns = discounted_returns(experience.rewards, self.gamma, 0.0)
        check_returns(returns, experience.rewards)
        actions = experience.actions[:, 0].astype(np.int64)
        outcomes = np.empty(len(actions), np.int8)
        for action, memory in enumerate(self.memories.values()):
            steps = np.flatnonzero(actions == action)[::-1]
            if len(steps):
                outcomes[steps] = memory.write_many(experience.keys[steps], returns[steps])[1]
        return Learned(outcomes)

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:
        """The settings for a task; see the function `preset`."""
        return preset(task, name)

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        """The exploration rate, and the metrics of every agent."""
        return {
            "rollout/exploration_rate": self.epsilon(self.num_timesteps),
            **super().metrics(totals),
        }


# ---------------------------------------------------------------- settings by task

PRESETS = ("default", "paper")
PAPER_SIZE, SCREEN_DIM = 84, 64  # the paper's frames and keys
# A projection of 28 by 28 pixels takes a ninth of the time, and the same screens have the same key.
SCREEN_SIZE = 28
SMALL_DIM = 8  # of pictures that are smaller than a screen
ATARI_GAMES = ("mspacman", "qbert", "frostbite", "hero", "riverraid", "spaceinvaders")

PAPER: dict[str, Any] = {"n_neighbors": 11, "gamma": 1.0, "epsilon": 0.005, "capacity": 1_000_000}
DEFAULT: dict[str, dict[str, Any]] = {
    "atari": PAPER,
    "minatar": {"n_neighbors": 5, "gamma": 0.99, "epsilon": (0.2, 0.005, 100_000)},
    "grid": {"n_neighbors": 3, "gamma": 0.99, "epsilon": 0.1, "hold": 8},
    "other": {"n_neighbors": 3, "gamma": 0.99, "epsilon": 0.1},
}


def image_embedding(shape: tuple[int, ...]) -> Embedding:
    """A random projection of images: of screens in grey, 28 by 28; of small pictures as they are.

    Args:
        shape: The shape of an image.

    Returns:
        The embedding.
    """
    if sorted(shape)[-2] < PAPER_SIZE:  # the second longest side
        return RandomProjection(SMALL_DIM)
    return Chain([Resize(SCREEN_SIZE), RandomProjection(SCREEN_DIM)])


def preset(task: str, name: str = "default") -> dict[str, Any]:
    """The arguments of `MFEC` for a task: `MFEC(env, **preset("MsPacman"), seed=0)`.

    Args:
        task: A task's name or id.
        name: "paper": k = 11, gamma = 1 and epsilon = 0.005, and for Atari the paper's keys, a
            projection of 84 by 84 pixels. "default": settings that were chosen by short trials on
            seeds which no table reports.

    Returns:
        The arguments by name.

    Raises:
        ValueError: If there is no such preset.
    """
    if name not in PRESETS:
        raise ValueError(f"expected one of the presets {', '.join(PRESETS)}, got {name!r}")
    kind = kind_of_task(task)
    if name == "default":
        return dict(DEFAULT[kind])
    keys = Chain([Resize(PAPER_SIZE), RandomProjection(SCREEN_DIM)])
    return {**PAPER, "embedding": keys} if kind == "atari" else dict(PAPER)


def kind_of_task(task: str) -> str:
    """The entry of `DEFAULT` for a task."""
    short = task.lower().removeprefix("scrubjay/").removesuffix("-v0")
    if short.startswith("minatar"):
        return "minatar"
    if short == "fourroomsgrid":
        return "grid"
    return "atari" if short in ATARI_GAMES or short.startswith("ale/") else "other"

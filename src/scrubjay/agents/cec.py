"""Continuous Episodic Control (Yang, Moerland, Preuss and Plaat, 2023), Section IV, Algorithm 1.

A table of (state, action, return). To act, find the k nearest stored states within n*d, sample one
of their actions by a softmax over the returns (Eq. 5), and with probability epsilon add Gaussian
noise. After each episode, go through it backwards: a state far from all stored states is added, and
a higher return replaces a lower one (Eqs. 3 and 4). No network, no gradient.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt

from scrubjay.agents.base import EnvLike, Folder, MemoryAgent
from scrubjay.agents.explanation import Explanation, neighbors, softmax
from scrubjay.agents.recorder import (
    BLOCK,
    CHOICE,
    DECIDES,
    DISTANCE,
    NUMBER,
    STEP,
    Choice,
    Experience,
    Floats,
    Lanes,
    Learned,
    Notes,
)
from scrubjay.agents.returns import check_returns
from scrubjay.agents.sampling import (
    copy_action,
    room_for,
    sample_softmax,
    split_room,
    store_key,
    write_noisy_action,
    write_uniform_action,
)
from scrubjay.agents.scale_check import ScaleCheck, note_distance
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.agents.settings import Range
from scrubjay.agents.threads import LANES_PER_THREAD, decide_together
from scrubjay.compiled import UNCOUNTED, compiled, without_dispatch
from scrubjay.embedding import (
    Chain,
    Embedding,
    Identity,
    RandomProjection,
    RunningNormalizer,
    SelectKeys,
)
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.kdtree import TreeArrays, search
from scrubjay.memory.writing import discounted_returns

MEMORY, NOISE, UNIFORM, NO_NEIGHBOR = (int(choice) for choice in list(Choice)[:4])


@compiled(**UNCOUNTED, nogil=True)
def select_actions(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    n_neighbors: int,
    radius: float,
    temperature: float,
    noise_std: float,
    uniform: bool,
    bounds: npt.NDArray[np.float32],
    discrete: bool,
    lane_keys: npt.NDArray[np.float32],
    lane_actions: npt.NDArray[np.float32],
    numbers: Floats,
    trace: npt.NDArray[np.int64],
    draws: Floats,
    state: npt.NDArray[np.int64],
    scales: Floats,
    room: Floats,
    keys: Floats,
    epsilon: float,
) -> int:
    """Algorithm 1, SELECT ACTION, for all lanes: k, n*d, tau and sigma are the paper's.

    Arrays come one by one, because a tuple of them costs a caller in Python 2.5 us. Returns the
    lane whose key is not finite, or -1.
    """
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    n_actions = bounds.shape[1]
    for lane in range(len(keys)):
        if state[lane, DECIDES] == 0:
            continue
        step = state[lane, STEP]
        key, action = lane_keys[lane, step], lane_actions[lane, step]
        if not store_key(keys[lane], key):
            return lane
        uniforms = draws[lane, step % BLOCK]
        scratch, rows, squared, scores = split_room(room[lane], n_neighbors)
        explore = uniforms[0] < epsilon * scales[lane]
        # the k nearest, of those the ones within n * d
        found = search(tree, key, n_neighbors, radius, rows, squared, scratch)
        note_distance(tree, key, found, squared, step + state[lane, NUMBER], numbers[lane, step])
        at_random = explore and uniform
        if found == 0 or at_random:
            write_uniform_action(bounds, discrete, uniforms[2:], action)
            trace[lane, step, CHOICE] = UNIFORM if at_random else NO_NEIGHBOR
            continue
        for i in range(found):
            scores[i] = np.float64(values[rows[i]])
        row = rows[sample_softmax(scores, found, temperature, uniforms[1])]  # Eq. 5
        if explore:
            normals = uniforms[2 + n_actions :]
            write_noisy_action(bounds, noise_std, actions[row], normals, action)
            trace[lane, step, CHOICE] = NOISE
        else:
            copy_action(actions[row], action)
            trace[lane, step, CHOICE] = MEMORY
    return -1


@compiled()
def nearest_actions(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    actions: npt.NDArray[np.float32],
    keys: Floats,
    found: npt.NDArray[np.float32],
) -> int:
    """The evaluation rule: the action of the closest row, whatever its distance or value.

    Returns the index of a key that is not finite, or -1.
    """
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    key = np.empty(keys.shape[1], np.float32)
    # one array for all of them, because allocating each takes longer than a step of the search
    scratch, row, distance, _ = split_room(np.empty(room_for(1, len(key))), 1)
    for i in range(len(keys)):
        if not store_key(keys[i], key):
            return i
        search(tree, key, len(row), np.inf, row, distance, scratch)
        copy_action(actions[row[0]], found[i])
    return -1


class CEC(MemoryAgent):
    """Continuous Episodic Control: acts from a memory of (state, action, return).

    The presets `paper`, `published` and `literal` have the settings of the paper's experiments, of
    the first published code, and of the paper's text alone; see `preset`.

    Args:
        env: A Gymnasium environment or vector environment, a `VecEnv` of Stable-Baselines3, or an
            id.
        n_neighbors: number of neighbours considered in a decision, the paper's k
        temperature: temperature of the softmax over the neighbours' values, the paper's tau
        noise_std: standard deviation of the exploration noise, in an action box scaled to [-1, 1]
        radius_factor: neighbours farther than this times the threshold are ignored, the paper's n
        distance_threshold: states nearer than this share a row, the paper's d
        gamma: discount factor
        epsilon: probability of exploring: a number, or START,END,STEPS
        capacity: rows of the memory; when it is full, the least recent one is replaced
        embedding: how an observation becomes a key; the observation itself by default
        exploration: noise adds noise to the action (the paper), uniform takes a uniform one
        recency: what makes a row recent: write, hit or never
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
        device: accepted as in Stable-Baselines3; memory agents run on the CPU
    """

    name = "cec"

    def __init__(
        self,
        env: EnvLike,
        *,
        n_neighbors: Annotated[int, Range(1, 2**31 - 1, tune=(1, 10))] = 5,
        temperature: Annotated[float, Range(0, above=True, tune=(0.01, 10), log=True)] = 1.0,
        noise_std: Annotated[float, Range(0, tune=(0.01, 1), log=True)] = 0.1,
        radius_factor: Annotated[float, Range(0, above=True, tune=(1, 10))] = 1.0,
        distance_threshold: Annotated[float, Range(0, above=True, tune=(0.01, 1), log=True)] = 0.1,
        gamma: Annotated[float, Range(0, 1, tune=(0.9, 0.999))] = 0.99,
        epsilon: float | tuple[float, float, int] | LinearSchedule = (0.9, 0.05, 100_000),
        capacity: Annotated[int, Range(1, 2**31 - 1)] = 1_000_000,
        embedding: Embedding | None = None,
        exploration: Literal["noise", "uniform"] = "noise",
        recency: Literal["write", "hit", "never"] = "write",
        seed: int | None = None,
        verbose: int = 0,
        tensorboard_log: Folder | None = None,
        device: str = "auto",
    ) -> None:
        super().__init__(env, locals())
        self._scale_check = ScaleCheck()

    @property
    def notes(self) -> Notes:
        """Uniform numbers for epsilon, the softmax and each part of the action; normal ones."""
        noisy = self.exploration == "noise" and not self.codec.discrete
        size = self.codec.size
        return Notes(
            2 + size, size if noisy else 0, room=room_for(self.n_neighbors, self.embedding.key_dim)
        )

    def make_memories(self) -> dict[str, EpisodicMemory]:
        """One memory, with the action of each step in the column `action`."""
        memory = EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self.distance_threshold,
            columns={"action": self.codec.size},
            recency=self.recency,
            index="kdtree",
        )
        return {"memory": memory}

    def memory_changed(self) -> None:
        """Collect the arrays and settings that every decision needs."""
        memory, codec = self.memory, self.codec
        self._tree = tuple(memory.tree.arrays)
        self._actions = memory.column_arrays["action"]
        uniform = self.exploration == "uniform" or codec.discrete
        self._arguments = (
            *self._tree, memory.value_array, self._actions, self.n_neighbors, self.radius,
            self.temperature, self.noise_std, uniform, codec.bounds, codec.discrete,
        )  # fmt: skip

    @property
    def radius(self) -> float:
        """The largest distance of a neighbour, n d."""
        return float(self.radius_factor * self.memory.distance_threshold)

    def decide(self, lanes: Lanes, keys: Floats) -> int:
        """Algorithm 1, SELECT ACTION."""
        epsilon = self.epsilon(self.num_timesteps)
        if self._kernel is None:
            given = *self._arguments, *lanes, keys, epsilon
            self._kernel = without_dispatch(select_actions, *given)
        if len(keys) < 2 * LANES_PER_THREAD:
            return self._kernel(*self._arguments, *lanes, keys, epsilon)  # type: ignore[no-any-return]
        return decide_together(self._kernel, self._arguments, lanes, keys, epsilon)

    def greedy_actions(self, keys: Floats) -> npt.NDArray[np.float32]:
        """The actions of the closest rows."""
        found = np.empty((len(keys), self.codec.size), np.float32)
        bad = nearest_actions(*self._tree, self._actions, keys, found)
        if bad >= 0:
            raise ValueError(f"expected a finite observation, got one whose key is {keys[bad]}")
        return found

    def explain_key(self, key: Floats) -> Explanation:
        """Eq. 5 over the k nearest rows within n d; the greedy action is the nearest row's."""
        memory = self.memory
        rows, distances = memory.neighbors(key, self.n_neighbors, self.radius)
        within = len(rows) > 0
        if not within:
            rows, distances = memory.neighbors(key, 1)
        chances = softmax(memory.values[rows].astype(np.float64), self.temperature)
        trust = [float(within)] * len(rows)
        found = neighbors("memory", memory, rows, distances, trust, chances if within else trust)
        return Explanation(key, found[0].action, found, followed=0)

    def learn_from(self, experience: Experience) -> Learned:
        """Algorithm 1, UPDATE: backwards, each step with its discounted return (Eqs. 3 and 4).

        A time-out ends the return as a real end does, as in the paper.
        """
        returns = discounted_returns(experience.rewards, self.gamma, 0.0)
        check_returns(returns, experience.rewards)
        return Learned(self.write(experience.keys[::-1], returns[::-1], experience.actions[::-1]))

    def write(self, keys: Any, values: Any, actions: Any) -> npt.NDArray[np.int8]:
        """The one line where the memory is written.

        Args:
            keys: (n, D): the keys, in the order in which they are written.
            values: (n,): the return of each step.
            actions: (n, A): the action of each step.

        Returns:
            The outcome of each write.
        """
        return self.memory.write_many(keys, values, action=actions)[1]

    @classmethod
    def preset(cls, task: str, name: str) -> dict[str, Any]:
        """The paper's settings for a task; see the function `preset`."""
        return preset(task, name)

    def watch(self, experience: Experience) -> None:
        """Warn once when too many decisions find no neighbour: the scale is wrong."""
        # a step with a uniform action does not follow a neighbour
        searched = experience.trace[:, CHOICE] != Choice.UNIFORM
        distances = experience.numbers[searched, DISTANCE]
        self._scale_check.add(distances, self.radius, len(searched))

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        """The exploration rate, and the metrics of every agent."""
        return {
            "rollout/exploration_rate": self.epsilon(self.num_timesteps),
            **super().metrics(totals),
        }


# ---------------------------------------------------------------- settings by task


@dataclass(frozen=True)
class Settings:
    """One row of the paper's Table III: its symbols, then what it leaves open."""

    k: int
    tau: float
    sigma: float
    n: float
    d: float
    exploration: str
    normalize: bool = False
    project: bool = False
    select: tuple[str, ...] = ()
    capacity: int = 1_000_000


PRESETS = ("paper", "published", "literal")
PROJECTION_DIM = 8
TABLE = {
    "GrowingTree": Settings(5, 1, 0.1, 1, 0.01, "uniform", capacity=10_000),
    "SparseMountainCar": Settings(3, 10, 0.1, 3, 0.1, "noise", normalize=True),
    "PointUMaze": Settings(5, 0.1, 0.3, 1, 0.1, "noise", normalize=True),
    "Point4Rooms": Settings(5, 1, 0.3, 3, 0.1, "noise", normalize=True),
    "Point4RoomsOneGoal": Settings(5, 1, 0.3, 3, 0.1, "noise", normalize=True),
    "SafexpPointGoal": Settings(5, 0.1, 0.1, 1, 0.1, "uniform"),
    "SafexpCarGoal": Settings(1, 10, 0.1, 3, 0.1, "uniform", project=True),
    "SparseFetchReach": Settings(
        5, 1, 0.1, 3, 0.5, "noise", normalize=True, project=True,
        select=("observation", "desired_goal"),
    ),
}  # fmt: skip
# The names in the paper, if they differ.
PAPER_NAMES = {
    "MountainCarContinuous": "SparseMountainCar",
    "Point4Rooms-v1": "Point4RoomsOneGoal",
    "Safexp-PointGoal": "SafexpPointGoal",
    "Safexp-CarGoal": "SafexpCarGoal",
    "FetchReach": "SparseFetchReach",
}
# For a task that is not in the paper: its most common settings.
OTHER_TASKS = Settings(5, 1, 0.1, 1, 0.1, "noise", normalize=True)


def preset(task: str, name: str = "paper") -> dict[str, Any]:
    """The arguments of `CEC` for a task: `CEC(env, **preset("PointUMaze"), seed=0)`.

    Args:
        task: A task's name, its id or the paper's name, in any case. A noisy variant has the
            settings of its task; a task that is not in the paper has the most common settings.
        name: "paper": the settings of Section IV and Table III; where the paper does not give one,
            the setting that produced its figures (the normaliser, uniform exploration for three
            tasks). "published": like "paper", but as in the released code, with uniform exploration
            on all tasks, rows that become recent on every hit, and the random projection for
            PointGoal too. "literal": the paper's text alone: no normaliser, noise on all tasks.

    Returns:
        The arguments by name.

    Raises:
        ValueError: If there is no such preset, or the task's name is misspelt.
    """
    if name not in PRESETS:
        raise ValueError(f"expected one of the presets {', '.join(PRESETS)}, got {name!r}")
    task = name_of_task(task)
    settings = TABLE.get(task, OTHER_TASKS)
    literal, published = name == "literal", name == "published"
    return {
        "n_neighbors": settings.k,
        "temperature": float(settings.tau),
        "noise_std": settings.sigma,
        "radius_factor": float(settings.n),
        "distance_threshold": settings.d,
        "gamma": 0.99,
        "epsilon": (0.9, 0.05, 100_000),
        "capacity": settings.capacity,
        "exploration": "noise" if literal else "uniform" if published else settings.exploration,
        "recency": "hit" if published else "write",
        "embedding": _embedding(settings, name, task),
    }


def name_of_task(task: str) -> str:
    """The name under which a task is in the table; other names are returned unchanged."""
    known = {name.lower(): name for name in TABLE}
    known |= {alias.lower(): name for alias, name in PAPER_NAMES.items()}
    short = task.lower().removeprefix("scrubjay/").removesuffix("-v0").removeprefix("noisy")
    if short in known:
        return known[short]
    near = difflib.get_close_matches(short, known, n=1, cutoff=0.85)
    registered = {name.lower() for name in gymnasium.registry}
    if near and not registered & {task.lower(), f"scrubjay/{short}-v0"}:
        raise ValueError(f"there is no task {task!r}; did you mean {known[near[0]]}?")
    return task


def _embedding(settings: Settings, name: str, task: str) -> Embedding:
    stages: list[Embedding] = []
    if settings.select:
        stages.append(SelectKeys(settings.select))
    if settings.project or (name == "published" and task == "SafexpPointGoal"):
        stages.append(RandomProjection(PROJECTION_DIM))
    if settings.normalize and name != "literal":
        stages.append(RunningNormalizer())
    if not stages:
        return Identity()
    return stages[0] if len(stages) == 1 else Chain(stages)

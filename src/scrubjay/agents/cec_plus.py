"""CECPlus: CEC that explores further, joins what it knows and checks what it believes.

The table and the walk of `CEC`, with one setting for all tasks: lengths are measured in steps,
values as shares of the best at hand. What it adds, and the value with which each part does nothing:

- `epsilon_spread` (1): each episode has an epsilon of its own, up to so many times larger or
  smaller: some episodes are nearly greedy, some explore all the time.
- `hold` (1): an exploratory action lasts n steps with probability about n^-2.
- `skip_worthless` (False): rows of the lowest value there is say nothing about how to act.
- `detour_cost` (None): the greedy action is that of the best neighbour, not the nearest; a
  neighbour at the distance m d counts gamma^(detour_cost m D) times, because the more dimensions D,
  the longer the way to where it stands.
- `stitching` (False): a step is worth what the best neighbour of the next state promises, if that
  is more than what the episode made of it.
- `correction` (0): the value of a row that was followed moves towards what it led to.
- `distance_threshold="step"`: d is half the median step between the keys of the first episodes.
- `temperature_unit="best"`: the temperature is a share of the best neighbour's value.
- `timeouts="continue"`: after a time-out all is taken to go on as in the last tenth.

docs/plus.md says what each is worth.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from scrubjay.agents.base import EnvLike, Folder, MemoryAgent
from scrubjay.agents.recorder import (
    BLOCK,
    CHOICE,
    DECIDES,
    DISTANCE,
    HELD,
    NOT_SEARCHED,
    NUMBER,
    STEP,
    WEIGHT,
    Choice,
    Experience,
    Floats,
    Lanes,
    Learned,
    Notes,
)
from scrubjay.agents.returns import check_corrections, check_returns, timeout_value
from scrubjay.agents.sampling import (
    sample_softmax,
    store_key,
    write_noisy_action,
    write_uniform_action,
)
from scrubjay.agents.scale_check import ScaleCheck, note_distance
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.agents.settings import Range
from scrubjay.compiled import compiled
from scrubjay.embedding import Chain, Embedding, FrozenNormalizer, GoalDifference, Periodic
from scrubjay.embedding.goal import has_goals
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.kdtree import TreeArrays, find_neighbors

Ints = npt.NDArray[np.int64]

MEMORY, NOISE, UNIFORM, NO_NEIGHBOR, HELD_ACTION = (int(choice) for choice in list(Choice)[:5])

HERE = 1.0 / 3.0  # within this share of the radius a neighbour's value is a promise for a state
COLDEST = 1e-300  # a temperature that is as good as 0 and may be divided by
FAR = 64  # rows that are asked when no neighbour knows anything

# Columns of the trace behind `CHOICE`: the row whose action was taken as it is and from where it
# stands (within the threshold), the best row close by, whether the first is the row in whose place
# this step would be written, and the memory's clock at the decision. -1: no row.
FOLLOWED, BEST, REPEATED, SEEN = range(1, 5)
CLOSENESS = WEIGHT + 1  # of the numbers: what the best neighbour's value counts here

NO_ROWS, NO_VALUES = np.zeros(0, np.int64), np.zeros(0, np.float32)

RULE = np.dtype(
    [
        ("n_neighbors", np.int64),
        ("radius", np.float64),
        ("temperature", np.float64),
        ("relative", np.bool_),  # whether the temperature is a share of the best value
        ("noise_std", np.float64),
        ("uniform", np.bool_),
        ("discrete", np.bool_),
        ("threshold", np.float64),
        ("worthless", np.float64),  # rows of at most this value are ignored
        ("knows", np.bool_),  # whether there are others
        ("lowest", np.float64),
        ("fading", np.float64),  # at the distance f a value counts exp(-fading * f) times
        ("best", np.bool_),  # whether the greedy action is the best neighbour's
        ("hold", np.int64),
        ("clock", np.int64),
    ]
)
"""What a decision reads of the settings and of the memory's present state."""


# ---------------------------------------------------------------- deciding


@compiled()
def select_actions(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    rules: npt.NDArray[Any],
    bounds: npt.NDArray[np.float32],
    lane_keys: npt.NDArray[np.float32],
    lane_actions: npt.NDArray[np.float32],
    numbers: Floats,
    trace: Ints,
    draws: Floats,
    state: Ints,
    scales: Floats,
    keys: Floats,
    epsilon: float,
) -> int:
    """The decisions of all lanes; returns the lane whose key is not finite, or -1."""
    tree, rule = TreeArrays(tree_keys, nodes, boxes, buckets), rules[0]
    n_neighbors = rule.n_neighbors
    rows, squared = np.empty(n_neighbors, np.int64), np.empty(n_neighbors, np.float64)
    scores = np.empty(n_neighbors, np.float64)
    for lane in range(len(keys)):
        if state[lane, DECIDES] == 0:
            continue
        step = state[lane, STEP]
        key, action = lane_keys[lane, step], lane_actions[lane, step]
        notes, noted = trace[lane, step], numbers[lane, step]
        if not store_key(keys[lane], key):
            return lane
        notes[FOLLOWED], notes[BEST], notes[REPEATED], notes[SEEN] = -1, -1, 0, rule.clock
        if state[lane, HELD] > 0:
            state[lane, HELD] -= 1
            action[:] = lane_actions[lane, step - 1]
            noted[DISTANCE], noted[WEIGHT] = NOT_SEARCHED, 0.0
            notes[CHOICE] = HELD_ACTION
            continue
        uniforms = draws[lane, step % BLOCK]
        explore = uniforms[0] < epsilon * scales[lane]
        at_random = explore and rule.uniform
        found = 0
        if rule.knows:
            # a random step follows no one: only what is promised here matters
            radius = rule.radius * HERE if at_random else rule.radius
            found = find_neighbors(tree, key, n_neighbors, radius, rows, squared)
            note_distance(tree, key, found, squared, step + state[lane, NUMBER], noted)
        else:
            noted[DISTANCE], noted[WEIGHT] = NOT_SEARCHED, 0.0
        nearest = rows[0]
        count = weigh(values, rows, squared, found, rule, scores)
        note_best(rows, squared, scores, count, rule, notes, noted)
        if count == 0 or at_random:
            notes[CHOICE] = UNIFORM if at_random else NO_NEIGHBOR
            write_uniform_action(bounds, rule.discrete, uniforms[2:], action)
            if rule.hold > 1:
                state[lane, HELD] = duration(uniforms[2 + len(action)], rule.hold) - 1
            continue
        temperature = rule.temperature
        if rule.relative:
            temperature = max(temperature * (scores[:count].max() - rule.lowest), COLDEST)
        chosen = sample_softmax(scores, count, temperature, uniforms[1])  # Eq. 5
        row = rows[chosen]
        if explore:
            normals = uniforms[len(uniforms) - len(action) :]
            write_noisy_action(bounds, rule.noise_std, actions[row], normals, action)
            notes[CHOICE] = NOISE
            continue
        action[:] = actions[row]
        notes[CHOICE] = MEMORY
        # what its action does elsewhere says nothing about where the row stands
        if squared[chosen] <= rule.threshold**2:
            notes[FOLLOWED], notes[REPEATED] = row, row == nearest
    return -1


@compiled()
def weigh(
    values: npt.NDArray[np.float32], rows: Ints, squared: Floats, found: int, rule: Any,
    scores: Floats,
) -> int:  # fmt: skip
    """Keep the neighbours that know something, in front; returns how many, with their scores."""
    count = 0
    for i in range(found):
        value = np.float64(values[rows[i]])
        if value <= rule.worthless:
            continue
        if rule.fading > 0.0:
            near = np.exp(-rule.fading * np.sqrt(squared[i]))
            value = rule.lowest + (value - rule.lowest) * near
        rows[count], squared[count], scores[count] = rows[i], squared[i], value
        count += 1
    return count


@compiled()
def note_best(
    rows: Ints, squared: Floats, scores: Floats, count: int, rule: Any, notes: Ints, noted: Floats
) -> None:
    """Write down the best row close by, whose value is what this state promises."""
    # squared distances are in ascending order; what is far away promises nothing about here
    n_here = np.searchsorted(squared[:count], (rule.radius * HERE) ** 2, side="right")
    if n_here > 0:
        best = scores[:n_here].argmax()
        notes[BEST] = rows[best]
        noted[CLOSENESS] = np.exp(-rule.fading * np.sqrt(squared[best]))


@compiled()
def duration(draw: float, longest: int) -> int:
    """How many steps an exploratory action lasts: n or more with probability 1 / n, then cut.

    P(n) = 1 / (n (n + 1)), the n^-2 of temporally extended epsilon-greedy exploration.
    """
    return int(min(1.0 / (1.0 - draw), np.float64(longest)))


@compiled()
def greedy_actions(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    rules: npt.NDArray[Any],
    keys: Floats,
    found_actions: npt.NDArray[np.float32],
) -> int:
    """The evaluation rule: the best of the neighbours, or (`best` is False) the closest row.

    Where no neighbour knows something, the closest of the next `FAR` that does. Returns the index
    of a key that is not finite, or -1.
    """
    tree, rule = TreeArrays(tree_keys, nodes, boxes, buckets), rules[0]
    n_neighbors = rule.n_neighbors
    n_far = FAR if rule.worthless > -np.inf else 1
    size = max(n_neighbors, n_far)
    rows, squared = np.empty(size, np.int64), np.empty(size, np.float64)
    scores, key = np.empty(size, np.float64), np.empty(keys.shape[1], np.float32)
    for i in range(len(keys)):
        if not store_key(keys[i], key):
            return i
        count = 0
        if rule.best:
            found = find_neighbors(tree, key, n_neighbors, rule.radius, rows, squared)
            count = weigh(values, rows, squared, found, rule, scores)
        if count > 0:
            found_actions[i] = actions[rows[scores[:count].argmax()]]
            continue
        found = find_neighbors(tree, key, n_far, np.inf, rows, squared)
        row = rows[0]
        for j in range(found):
            if values[rows[j]] > rule.worthless:
                row = rows[j]
                break
        found_actions[i] = actions[row]
    return -1


# ---------------------------------------------------------------- learning


@compiled()
def back_up(
    rewards: Floats,
    gamma: float,
    stitching: bool,
    correction: float,
    places: Ints,
    in_place: npt.NDArray[np.bool_],
    closeness: Floats,
    values: npt.NDArray[np.float32],
    lowest: float,
) -> Floats:
    """The value of each step, backwards; corrects `values`, which are a copy.

    v_t = r_t + gamma v_{t+1} is the paper's. `stitching` puts in place of v_{t+1} what the best
    neighbour of the next state promises, if that is more. `correction` moves the value of a row
    whose action was taken by that share towards r_t + gamma times the better of the two: up if it
    led to more than it promised, down if to less. `places` says where in `values` the row that a
    step followed and the best row near it are; those that are not `in_place` do not count.
    """
    returns = np.empty(len(rewards))
    value = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        promise = value
        if t + 1 < len(rewards) and in_place[t + 1, 1]:
            known = np.float64(values[places[t + 1, 1]])
            promise = max(promise, lowest + (known - lowest) * closeness[t + 1])
        value = rewards[t] + gamma * (promise if stitching else value)
        returns[t] = value
        if correction > 0.0 and in_place[t, 0]:
            followed = places[t, 0]
            kept = rewards[t] + gamma * promise
            values[followed] += np.float32(correction * (kept - np.float64(values[followed])))
    return returns


@compiled()
def plan_update(
    rewards: Floats,
    gamma: float,
    stitching: bool,
    correction: float,
    terminated: bool,
    trace: Ints,
    numbers: Floats,
    values: npt.NDArray[np.float32],
    written: Ints,
    lowest: float,
) -> tuple[Floats, Ints, Ints, npt.NDArray[np.float32]]:
    """What an episode changes; nothing is changed yet.

    The backward pass reads values that it has just corrected, so it works on a copy of the values
    of the rows that the episode met. With several environments, another one may have replaced a row
    since a step was decided: then it is not the row that was followed any more.

    Returns the value of each step, the steps to write, last one first, the rows to correct and
    their values.
    """
    n = len(rewards)
    rows, in_place = np.empty(2 * n, np.int64), np.empty((n, 2), np.bool_)
    for t in range(n):
        for j in range(2):
            row = trace[t, FOLLOWED + j]
            rows[2 * t + j] = row
            in_place[t, j] = row >= 0 and written[row] <= trace[t, SEEN]
    if not terminated and n > 0:
        in_place[n - 1, 0] = False  # nobody knows what the last step led to
    met = np.unique(rows)
    places = np.searchsorted(met, rows).reshape(n, 2)
    copied = np.empty(len(met), np.float32)
    for i in range(len(met)):
        copied[i] = values[met[i]] if met[i] >= 0 else np.float32(0.0)
    closeness = numbers[:, CLOSENESS]
    returns = back_up(
        rewards, gamma, stitching, correction, places, in_place, closeness, copied, lowest
    )
    corrected = np.zeros(len(met), np.bool_)
    fresh = np.empty(n, np.int64)
    n_fresh = 0
    for t in range(n - 1, -1, -1):
        followed = correction > 0.0 and in_place[t, 0]
        if followed:
            corrected[places[t, 0]] = True
        # a repeated step is no news, unless its row has been replaced since
        if not (followed and trace[t, REPEATED] > 0):
            fresh[n_fresh] = t
            n_fresh += 1
    return returns, fresh[:n_fresh], met[corrected], copied[corrected]


class CECPlus(MemoryAgent):
    """`CEC` that needs no settings: explores further, joins what it knows, checks what it believes.

    Keys are the observations, divided by their spread in the first 1,000 steps; of a dictionary
    with goals the difference of desired and achieved goal.

    Args:
        env: A Gymnasium environment or vector environment, a `VecEnv` of Stable-Baselines3, or an
            id.
        n_neighbors: neighbours asked for a decision
        temperature: of the softmax over the neighbours' values
        temperature_unit: return, or best: the temperature is a share of the best neighbour's value
        noise_std: of the exploring noise, in an action box scaled to [-1, 1]
        radius_factor: neighbours farther than this times the threshold are ignored
        distance_threshold: states nearer than this are one row of the memory; or step
        gamma: discount factor
        epsilon: probability of exploring: a number, or START,END,STEPS
        epsilon_spread: how many times larger or smaller an episode's own epsilon may be
        capacity: rows of the memory; then the least recent one gives its place
        embedding: how an observation becomes a key, in place of the default
        periodic: dimensions of the observation that are angles in radians
        exploration: uniform takes a uniform action, noise adds noise to the remembered one
        recency: what makes a row recent: write, hit or never
        hold: the longest time that an exploratory action lasts (1: a step)
        skip_worthless: whether rows of the lowest value are ignored: true or false
        detour_cost: what distance takes from a value; null: greedy is the nearest row
        stitching: whether steps take over what neighbours of the next state promise
        correction: the share by which a followed row's value moves to what it led to
        timeouts: end, or continue: all would go on as in the last tenth
        seed: decides every random number; None draws one, which `agent.seed` tells
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
        device: accepted as in Stable-Baselines3; memory agents run on the CPU
    """

    name = "cec-plus"
    periodic: tuple[int, ...]

    def __init__(
        self,
        env: EnvLike,
        *,
        n_neighbors: Annotated[int, Range(1, 2**31 - 1, tune=(5, 40))] = 20,
        temperature: Annotated[float, Range(0, above=True, tune=(0.001, 1), log=True)] = 0.02,
        temperature_unit: Literal["best", "return"] = "best",
        noise_std: Annotated[float, Range(0, tune=(0.01, 1), log=True)] = 0.1,
        radius_factor: Annotated[float, Range(0, above=True, tune=(1, 12))] = 6.0,
        distance_threshold: Annotated[float, Range(0, above=True, tune=(0.01, 1), log=True)]
        | Literal["step"] = "step",
        gamma: Annotated[float, Range(0, 1, tune=(0.9, 0.999))] = 0.99,
        epsilon: float | tuple[float, float, int] | LinearSchedule = 0.05,
        epsilon_spread: Annotated[float, Range(1, tune=(1, 40))] = 20.0,
        capacity: Annotated[int, Range(1, 2**31 - 1)] = 1_000_000,
        embedding: Embedding | None = None, periodic: Sequence[int] = (),
        exploration: Literal["uniform", "noise"] = "uniform",
        recency: Literal["write", "hit", "never"] = "write",
        hold: Annotated[int, Range(1, 2**31 - 1, tune=(1, 200), log=True)] = 100,
        skip_worthless: bool = True,
        detour_cost: Annotated[float, Range(0, tune=(0, 5))] | None = 1.3,
        stitching: bool = True,
        correction: Annotated[float, Range(0, 1, tune=(0, 1))] = 0.3,
        timeouts: Literal["continue", "end"] = "continue",
        seed: int | None = None,
        verbose: int = 0, tensorboard_log: Folder | None = None, device: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(env, locals())
        if self.stitching and self.gamma == 1:
            # a state that is met again would promise itself one reward more, for ever
            raise ValueError("stitching requires gamma < 1, got gamma=1; set stitching=False")
        self._scale_check = ScaleCheck()
        found = periodic_dimensions(self.embedding)
        if tuple(self.periodic) not in ((), found):
            raise ValueError(
                "periodic dimensions are for the default embedding: give one of both, or an "
                f"embedding with Periodic({list(self.periodic)})"
            )
        self.periodic = found

    def default_embedding(self) -> Embedding:
        stages: list[Embedding] = [FrozenNormalizer(1000)]
        if self.periodic:
            stages.insert(0, Periodic(self.periodic))
        if has_goals(self.observation_space):
            stages.insert(0, GoalDifference())
        return stages[0] if len(stages) == 1 else Chain(stages)

    def config(self) -> dict[str, Any]:
        config = super().config()
        # left out where there are none, as in files that are older than this entry
        if not self.periodic:
            del config["periodic"]
        return config

    # -- deciding ------------------------------------------------------------------------------

    @property
    def notes(self) -> Notes:
        """Uniforms for epsilon, softmax, each part of the action and, if held, its duration."""
        size = self.codec.size
        return Notes(
            uniforms=2 + size + (self.hold > 1),
            normals=size if self._adds_noise else 0,
            trace=5,
            numbers=3,
        )

    @property
    def _adds_noise(self) -> bool:
        return self.exploration == "noise" and not self.codec.discrete

    def exploration_scale(self, rng: np.random.Generator) -> float:
        """An epsilon of its own for each episode, log-uniformly around the common one."""
        if self.epsilon_spread == 1:
            return 1.0
        return float(self.epsilon_spread ** rng.uniform(-1.0, 1.0))

    def random_duration(self, uniforms: Floats) -> int:
        if self.hold == 1:
            return 1
        return int(duration(uniforms[2 + self.codec.size], self.hold))

    @property
    def radius(self) -> float:
        """How far a neighbour may be; 0 while the threshold is not known yet."""
        return float(self.radius_factor * self.memory.distance_threshold)

    @property
    def can_decide(self) -> bool:
        """Keys are not enough: the threshold may have to be measured first."""
        return self.embedding.ready and self.memory.distance_threshold > 0

    def make_memories(self) -> dict[str, EpisodicMemory]:
        """One memory; a threshold of 0 stands for one that is measured on the first episodes."""
        measured = self.distance_threshold == "step"
        memory = EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=0.0 if measured else self.distance_threshold,
            columns={"action": self.codec.size},
            recency=self.recency, index="kdtree",
        )  # fmt: skip
        return {"memory": memory}

    def memory_changed(self) -> None:
        memory = self.memory
        self._rules = self._make_rule()
        self._read = (*memory.tree.arrays, memory.value_array, memory.column_arrays["action"])
        self._arguments = (*self._read, self._rules, self.codec.bounds)

    def _make_rule(self) -> npt.NDArray[Any]:
        memory = self.memory
        threshold = memory.distance_threshold
        lowest, highest = memory.value_range
        fading = 0.0
        if self.detour_cost and self.gamma < 1 and threshold > 0:
            cost = self.detour_cost * self.embedding.key_dim
            fading = -cost * math.log(max(self.gamma, 1e-300)) / threshold
        fields = {
            "n_neighbors": self.n_neighbors,
            "radius": self.radius,
            "temperature": self.temperature,
            "relative": self.temperature_unit == "best",
            "noise_std": self.noise_std,
            "uniform": not self._adds_noise,
            "discrete": self.codec.discrete,
            "threshold": threshold,
            # a share of the range, because a corrected value approaches the lowest one for ever
            "worthless": lowest + 1e-6 * (highest - lowest) if self.skip_worthless else -math.inf,
            "knows": len(memory) > 0 and (not self.skip_worthless or highest > lowest),
            "lowest": lowest,
            "fading": fading,
            "best": self.detour_cost is not None,
            "hold": self.hold,
            "clock": memory.clock,
        }
        return np.array([tuple(fields[name] for name in RULE.names or ())], RULE)

    def decide(self, lanes: Lanes, keys: Floats) -> int:
        epsilon = self.epsilon(self.num_timesteps)
        return select_actions(*self._arguments, *lanes, keys, epsilon)  # type: ignore[no-any-return]

    def greedy_actions(self, keys: Floats) -> npt.NDArray[np.float32]:
        """The actions of the best neighbours."""
        found = np.empty((len(keys), self.codec.size), np.float32)
        bad = greedy_actions(*self._read, self._rules, keys, found)
        if bad >= 0:
            raise ValueError(f"expected a finite observation, got one whose key is {keys[bad]}")
        return found

    # -- learning ------------------------------------------------------------------------------

    def calibrate(self, episodes: list[Experience]) -> None:
        """Measure the threshold: half the median step between keys."""
        self.memory.distance_threshold = median_step([each.keys for each in episodes]) / 2

    def learn_from(self, experience: Experience) -> Learned:
        """Values backwards, as in CEC; corrections and writes are checked before either is made."""
        memory = self.memory
        rewards = self._extended(experience.rewards, experience.terminated)
        rows, row_values = NO_ROWS, NO_VALUES
        if experience.decided:
            returns, steps, rows, row_values = plan_update(
                rewards, self.gamma, self.stitching, self.correction, experience.terminated,
                experience.trace, experience.numbers, memory.value_array, memory.written_array,
                memory.value_range[0],
            )  # fmt: skip
        else:
            returns = super().plain_returns(rewards, terminated=True)
            steps = np.arange(len(rewards))[::-1]
        check_returns(returns, rewards)
        check_corrections(rows, row_values)
        memory.set_values(rows, row_values)
        _, outcomes = memory.write_many(
            experience.keys[steps], returns[steps], action=experience.actions[steps]
        )
        return Learned(outcomes, len(rewards) - len(steps))

    def plain_returns(self, rewards: Floats, terminated: bool) -> Floats:
        return super().plain_returns(self._extended(rewards, terminated), terminated)

    def _extended(self, rewards: Floats, terminated: bool) -> Floats:
        """The rewards, the last one with what would have come after a time-out."""
        if terminated or self.timeouts == "end":
            return rewards
        extended = rewards.copy()
        extended[-1] += self.gamma * timeout_value(rewards, self.gamma)
        return extended

    def watch(self, experience: Experience) -> None:
        """Warn once when too many decisions find no neighbour, if the threshold was given."""
        if self.distance_threshold != "step":
            searched = experience.trace[:, CHOICE] != Choice.UNIFORM
            distances = experience.numbers[searched, DISTANCE]
            self._scale_check.add(distances, self.radius, len(searched))

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        return {
            "rollout/exploration_rate": self.epsilon(self.num_timesteps),
            **super().metrics(totals),
        }

    def warm_up_config(self) -> dict[str, Any]:
        config = {**super().warm_up_config(), "distance_threshold": "step"}
        config.pop("periodic", None)
        return config


def median_step(episodes: list[npt.NDArray[Any]]) -> float:
    """The median distance between consecutive keys that differ; 1 where nothing ever moves."""
    steps = np.concatenate([np.linalg.norm(np.diff(keys, axis=0), axis=1) for keys in episodes])
    moved = steps[steps > 0]
    return float(np.median(moved)) if moved.size else 1.0


def periodic_dimensions(embedding: Embedding) -> tuple[int, ...]:
    """The dimensions that an embedding takes as angles."""
    stages = embedding.stages if isinstance(embedding, Chain) else (embedding,)
    return tuple(i for stage in stages if isinstance(stage, Periodic) for i in stage.dimensions)

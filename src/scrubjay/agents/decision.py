"""One decision of CEC, in one compiled call: Algorithm 1, SELECT ACTION.

Random numbers come in as arrays, drawn in blocks: a NumPy generator handed to compiled code costs
12 us a call, a row of an array nothing.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.compiled import compiled
from scrubjay.memory.kdtree import find_neighbors
from scrubjay.memory.tree_arrays import TreeArrays

NOT_ASKED = -1.0  # the distance of a step that asked for no neighbour
SAMPLED = 16  # of so many steps without a neighbour one asks how far the nearest row is
HERE = 1.0 / 3.0  # within this share of the radius a neighbour's value is a promise for a state
COLDEST = 1e-300  # a temperature that is as good as 0 and may be divided by
FAR = 64  # rows that are asked when no neighbour knows anything


class Choice(IntEnum):
    """Where an action came from."""

    NOT_FINITE = -1
    MEMORY = 0
    NOISE = 1
    UNIFORM = 2
    NO_NEIGHBOR = 3
    HELD = 4
    """An exploratory action that goes on."""


class Rule(NamedTuple):
    """The settings that a decision reads (symbols of the paper: k, n*d, tau, sigma).

    `relative`, which is not in the paper: the temperature is a share of the best neighbour's value
    above `lowest` (False). Neither is the lower half; each has a value that leaves the paper's rule
    as it is. `worthless`: rows of at most this value are nobody's neighbours (-inf), `knows`:
    whether there are others (True). `lowest`, `fading`: at the distance f what a value is above the
    lowest counts exp(-fading * f) times (0). `best`: the greedy action is that of the best
    neighbour, not the nearest (False). `hold`: the longest time an exploratory action may last (1).
    `clock`: the memory's clock, for the trace.
    """

    n_neighbors: int
    radius: float
    temperature: float
    relative: bool
    noise_std: float
    uniform: bool
    threshold: float
    worthless: float
    knows: bool
    lowest: float
    fading: float
    best: bool
    hold: int
    clock: int
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]

    def flat(self) -> tuple[npt.NDArray[Any], ...]:
        """The same as two plain arrays, which cost a caller in Python much less."""
        return np.array(self[:-2], dtype=np.float64), np.stack([self.low, self.high])


class EpisodeArrays(NamedTuple):
    """What an episode writes down, a row for each step.

    `trace` has four columns: the row whose action was taken as it is and from where it stands
    (within the threshold), the best row close by, whether the first is the very row in whose
    place this step would be written (-1: none, 0: no), and the memory's clock at the decision.
    `closeness` is what the best neighbour's value counts here.
    """

    keys: npt.NDArray[np.float32]
    actions: npt.NDArray[np.float32]
    distances: npt.NDArray[np.float64]
    choices: npt.NDArray[np.int8]
    trace: npt.NDArray[np.int64]
    closeness: npt.NDArray[np.float64]


FOLLOWED, BEST, REPEATED, SEEN = range(4)
EMPTY_TRACE = (-1, -1, 0, 0)


class Draws(NamedTuple):
    """Random numbers of a block of steps, and normals.

    Uniforms: epsilon, softmax, one for each action, and where actions are held a duration.
    """

    uniforms: npt.NDArray[np.float64]
    normals: npt.NDArray[np.float64]


@compiled()
def store_key(vector: npt.NDArray[np.float64], key: npt.NDArray[np.float32]) -> bool:
    """Round a key to the storage type; False if it is not finite there."""
    for i in range(vector.shape[0]):
        key[i] = np.float32(vector[i])
        if not np.isfinite(key[i]):
            return False
    return True


@compiled()
def is_finite(vector: npt.NDArray[np.float64]) -> bool:
    for i in range(vector.shape[0]):  # noqa: SIM110
        if not np.isfinite(vector[i]):
            return False
    return True


@compiled()
def weigh(
    values: npt.NDArray[np.float32],
    rows: npt.NDArray[np.int64],
    squared: npt.NDArray[np.float64],
    found: int,
    rule: Rule,
    scores: npt.NDArray[np.float64],
) -> int:
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
def sample_softmax(
    scores: npt.NDArray[np.float64], count: int, temperature: float, draw: float
) -> int:
    """Eq. 5: one of the first `count` with probability proportional to exp(v / tau).

    Shifted by the largest value, so that no exponential overflows.
    """
    largest = scores[:count].max()
    weights = np.empty(count)
    total = 0.0
    for i in range(count):
        weights[i] = np.exp((scores[i] - largest) / temperature)
        total += weights[i]
    threshold = draw * total
    for i in range(count):
        threshold -= weights[i]
        if threshold < 0.0:
            return i
    return count - 1


@compiled()
def duration(draw: float, longest: int) -> int:
    """How many steps an exploratory action lasts: n or more with probability 1 / n, then cut.

    P(n) = 1 / (n (n + 1)), the n^-2 of temporally extended epsilon-greedy exploration.
    """
    return int(min(1.0 / (1.0 - draw), np.float64(longest)))


@compiled()
def write_uniform_action(
    rule: Rule, draws: npt.NDArray[np.float64], action: npt.NDArray[np.float32]
) -> None:
    for j in range(action.shape[0]):
        low, high = np.float64(rule.low[j]), np.float64(rule.high[j])
        value = np.float32(low + draws[2 + j] * (high - low))
        action[j] = min(max(value, rule.low[j]), rule.high[j])


@compiled()
def write_noisy_action(
    rule: Rule,
    stored: npt.NDArray[np.float32],
    normals: npt.NDArray[np.float64],
    action: npt.NDArray[np.float32],
) -> None:
    """a + psi, psi ~ N(0, sigma^2) in a box scaled to [-1, 1], then clipped."""
    for j in range(action.shape[0]):
        half_width = (np.float64(rule.high[j]) - np.float64(rule.low[j])) / 2.0
        value = np.float32(stored[j] + rule.noise_std * normals[j] * half_width)
        action[j] = min(max(value, rule.low[j]), rule.high[j])


@compiled()
def choose_action(
    tree: Any,
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    vector: npt.NDArray[np.float64],
    rule: Rule,
    epsilon: float,
    draws: Draws,
    draw: int,
    held: npt.NDArray[np.int64],
    episode: EpisodeArrays,
    step: int,
) -> int:
    """Write key, action, nearest distance, kind of choice and trace of a step into the episode.

    `held[0]` counts the steps that an exploratory action still lasts; `held[1]` is the number of
    the episode.
    """
    key = episode.keys[step]
    if not store_key(vector, key):
        return Choice.NOT_FINITE.value
    action, trace = episode.actions[step], episode.trace[step]
    trace[FOLLOWED], trace[BEST], trace[REPEATED], trace[SEEN] = -1, -1, 0, rule.clock
    if held[0] > 0:
        held[0] -= 1
        action[:] = episode.actions[step - 1]
        episode.distances[step] = NOT_ASKED
        episode.choices[step] = Choice.HELD.value
        return Choice.HELD.value
    uniforms, normals = draws.uniforms[draw], draws.normals[draw]
    explore = uniforms[0] < epsilon
    at_random = explore and rule.uniform
    rows = np.empty(rule.n_neighbors, dtype=np.int64)
    squared = np.empty(rule.n_neighbors, dtype=np.float64)
    found = 0
    if rule.knows:
        # whom nobody is going to follow need not be sought: only what is promised here matters
        radius = rule.radius * HERE if at_random else rule.radius
        found = find_neighbors(tree, key, rule.n_neighbors, radius, rows, squared)
    # Without a neighbour the nearest row is searched beyond the radius for the log alone, so one
    # step in a few is enough: in many dimensions it is a scan of all rows. Which steps those are
    # differs from episode to episode, so that in short episodes all steps have their turn.
    if found > 0:
        episode.distances[step] = np.sqrt(squared[0])
    elif not rule.knows:
        episode.distances[step] = NOT_ASKED
    elif (step + held[1]) % SAMPLED > 0:
        episode.distances[step] = np.nan
    elif find_neighbors(tree, key, 1, np.inf, rows, squared) > 0:
        episode.distances[step] = np.sqrt(squared[0])
    else:
        episode.distances[step] = np.inf
    nearest = rows[0]
    scores = np.empty(rule.n_neighbors, dtype=np.float64)
    count = weigh(values, rows, squared, found, rule, scores)
    # squared distances are in ascending order; what is far away promises nothing about here
    n_here = np.searchsorted(squared[:count], (rule.radius * HERE) ** 2, side="right")
    if n_here > 0:
        best = scores[:n_here].argmax()
        trace[BEST] = rows[best]
        episode.closeness[step] = np.exp(-rule.fading * np.sqrt(squared[best]))
    n_actions = action.shape[0]
    choice = Choice.MEMORY.value
    if count == 0 or at_random:
        write_uniform_action(rule, uniforms, action)
        if rule.hold > 1:
            held[0] = duration(uniforms[2 + n_actions], rule.hold) - 1
        choice = Choice.UNIFORM.value if at_random else Choice.NO_NEIGHBOR.value
    else:
        temperature = rule.temperature
        if rule.relative:
            temperature = max(temperature * (scores[:count].max() - rule.lowest), COLDEST)
        chosen = sample_softmax(scores, count, temperature, uniforms[1])
        row = rows[chosen]
        if explore:
            write_noisy_action(rule, actions[row], normals, action)
            choice = Choice.NOISE.value
        else:
            action[:] = actions[row]
            # what its action does elsewhere says nothing about where the row stands
            if squared[chosen] <= rule.threshold**2:
                trace[FOLLOWED] = row
                trace[REPEATED] = row == nearest
    episode.choices[step] = choice
    return choice


@compiled()
def unpacked(numbers: npt.NDArray[np.float64], box: npt.NDArray[np.float32]) -> Rule:
    """The rule that `Rule.flat` laid flat."""
    return Rule(
        int(numbers[0]),
        numbers[1],
        numbers[2],
        numbers[3] > 0.0,
        numbers[4],
        numbers[5] > 0.0,
        numbers[6],
        numbers[7],
        numbers[8] > 0.0,
        numbers[9],
        numbers[10],
        numbers[11] > 0.0,
        int(numbers[12]),
        int(numbers[13]),
        box[0],
        box[1],
    )


@compiled()
def decide(
    keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    numbers: npt.NDArray[np.float64],
    box: npt.NDArray[np.float32],
    episode_keys: npt.NDArray[np.float32],
    episode_actions: npt.NDArray[np.float32],
    distances: npt.NDArray[np.float64],
    choices: npt.NDArray[np.int8],
    trace: npt.NDArray[np.int64],
    closeness: npt.NDArray[np.float64],
    held: npt.NDArray[np.int64],
    block: npt.NDArray[np.float64],
    n_uniforms: int,
    vector: npt.NDArray[np.float64],
    epsilon: float,
    draw: int,
    step: int,
) -> int:
    """`choose_action` for callers in Python, who pay 2.5 us for every tuple they hand over."""
    tree = TreeArrays(keys, nodes, boxes, buckets)
    rule = unpacked(numbers, box)
    draws = Draws(block[:, :n_uniforms], block[:, n_uniforms:])
    episode = EpisodeArrays(episode_keys, episode_actions, distances, choices, trace, closeness)
    return int(
        choose_action(
            tree, values, actions, vector, rule, epsilon, draws, draw, held, episode, step
        )
    )


@compiled()
def greedy_row(
    keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    values: npt.NDArray[np.float32],
    numbers: npt.NDArray[np.float64],
    box: npt.NDArray[np.float32],
    vector: npt.NDArray[np.float64],
) -> int:
    """The row whose action is the greedy one; -1: no row at all, -2: key not finite.

    The paper: the closest row, whatever its distance or value. With `rule.best`: the best of the
    neighbours; where there is none that knows something, the closest of the next `FAR` that does.
    """
    key = np.empty(vector.shape[0], dtype=np.float32)
    if not store_key(vector, key):
        return -2
    tree, rule = TreeArrays(keys, nodes, boxes, buckets), unpacked(numbers, box)
    if rule.best:
        rows = np.empty(rule.n_neighbors, dtype=np.int64)
        squared = np.empty(rule.n_neighbors, dtype=np.float64)
        scores = np.empty(rule.n_neighbors, dtype=np.float64)
        found = find_neighbors(tree, key, rule.n_neighbors, rule.radius, rows, squared)
        count = weigh(values, rows, squared, found, rule, scores)
        if count > 0:
            return int(rows[scores[:count].argmax()])
    n_far = FAR if rule.worthless > -np.inf else 1
    far, far_squared = np.empty(n_far, dtype=np.int64), np.empty(n_far, dtype=np.float64)
    found = find_neighbors(tree, key, n_far, np.inf, far, far_squared)
    for i in range(found):
        if values[far[i]] > rule.worthless:
            return int(far[i])
    return int(far[0]) if found > 0 else -1

"""The kernels of `CECPlus`: deciding for all lanes, and the backward pass over an episode."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scrubjay.agents.discovery import TARGET
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
)
from scrubjay.agents.sampling import (
    best_of,
    copy_action,
    duration,
    sample_softmax,
    split_room,
    store_key,
    write_noisy_action,
    write_uniform_action,
)
from scrubjay.agents.scale_check import note_distance
from scrubjay.compiled import UNCOUNTED, compiled
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.kdtree import TreeArrays, find_neighbors, search
from scrubjay.memory.tree_arrays import scratch_size

Ints = npt.NDArray[np.int64]

MEMORY, NOISE, UNIFORM, NO_NEIGHBOR, HELD_ACTION = (int(choice) for choice in list(Choice)[:5])

HERE = 1.0 / 3.0  # stitching uses neighbours within this share of the radius
COLDEST = 1e-300  # practically 0, but can be divided by
ALWAYS = 1e9  # the exploration scale of an episode that only explores
STILL = 0.1  # a step of less than this many thresholds does not count as movement
RIM = 5.0  # steps by which the value of a goal is reduced at its edge, which is easily missed
AROUND = 8  # rows that give the value of a predicted state
FAR = 64  # rows that are searched if no neighbour has a value

# Columns of the trace after `CHOICE`: the row whose action was executed within the threshold of its
# key, the best row near the state, and the memory's clock at the decision. -1: no row.
FOLLOWED, BEST, SEEN = range(1, 4)
CLOSENESS = WEIGHT + 1  # column of the numbers: the weight of the best neighbour's value


class DecisionRule(NamedTuple):
    """The settings and the current state of the memory, as used by a decision."""

    n_neighbors: int
    radius: float
    temperature: float
    relative: bool  # whether the temperature is a share of the best value
    noise_std: float
    uniform: bool
    discrete: bool
    threshold: float
    worthless: float  # rows of at most this value are ignored
    knows: bool  # whether any row has a higher value
    lowest: float
    fading: float  # the weight of a value at the distance f is exp(-fading * f)
    best: bool  # whether the greedy action is the best neighbour's
    hold: int
    clock: int
    seeks: bool  # whether the episode travels to a target and explores there
    gamma: float  # discount factor


RULE = np.dtype(list(DecisionRule.__annotations__.items()))


def noted_rows(memory: EpisodicMemory, experience: Experience, column: int) -> tuple[Ints, Ints]:
    """The rows that were recorded by the decisions of an episode and have not been replaced.

    Args:
        memory: The memory.
        experience: The episode.
        column: The column of its trace, `FOLLOWED` or `BEST`.

    Returns:
        The steps, and their rows.
    """
    found: tuple[Ints, Ints] = same_rows(experience.trace, column, memory.written_array)
    return found


@compiled()
def same_rows(trace: Ints, column: int, written: Ints) -> tuple[Ints, Ints]:
    """The steps that have noted a row that is still the same, and these rows."""
    steps, rows = np.empty(len(trace), np.int64), np.empty(len(trace), np.int64)
    count = 0
    for t in range(len(trace)):
        row = trace[t, column]
        # with several environments, another one may have replaced a row since
        if 0 <= row < len(written) and written[row] <= trace[t, SEEN]:
            steps[count], rows[count] = t, row
            count += 1
    return steps[:count], rows[:count]


def planned(rules: npt.NDArray[Any], n_rows: int) -> npt.NDArray[Any]:
    """The rule for the values of a plan, which are above 0 if a path is known."""
    rules["knows"], rules["seeks"] = n_rows > 0, True
    rules["lowest"], rules["worthless"] = 0.0, 1e-6
    return rules


# ---------------------------------------------------------------- deciding


@compiled(**UNCOUNTED)
def select_actions(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    plans: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    mask: npt.NDArray[np.float32],
    nexts: npt.NDArray[np.float32],
    moved: npt.NDArray[np.float32],
    aims: Floats,
    rules: npt.NDArray[Any],
    bounds: npt.NDArray[np.float32],
    lane_keys: npt.NDArray[np.float32],
    lane_actions: npt.NDArray[np.float32],
    numbers: Floats,
    trace: Ints,
    draws: Floats,
    state: Ints,
    scales: Floats,
    room: Floats,
    keys: Floats,
    epsilon: float,
) -> int:
    """The decisions of all lanes; returns the lane whose key is not finite, or -1.

    `plans` has the values of all rows, for each lane if every lane has its own goal.
    `mask` is 0 for the dimensions of keys that contain the goal, which the memory does not store.
    `nexts`, `moved` and `aims` are for goals (`score_predictions`); a limit of 0 means no goal.
    """
    tree, rule = TreeArrays(tree_keys, nodes, boxes, buckets), rules[0]
    n_neighbors, key_dim = rule.n_neighbors, keys.shape[1]
    for lane in range(len(keys)):
        if state[lane, DECIDES] == 0:
            continue
        values = plans[lane if len(plans) > 1 else 0]
        step = state[lane, STEP]
        key, action = lane_keys[lane, step], lane_actions[lane, step]
        notes, noted = trace[lane, step], numbers[lane, step]
        if not store_key(keys[lane], key):
            return lane
        scratch, rows, squared, scores = split_room(room[lane, key_dim:], n_neighbors)
        place = room[lane, :key_dim].view(np.float32)[:key_dim]
        for i in range(key_dim):
            place[i] = key[i] * mask[i]
        notes[FOLLOWED], notes[BEST], notes[SEEN] = -1, -1, rule.clock
        if state[lane, HELD] > 0 and is_stuck(key, lane_keys[lane, step - 1], rule.threshold):
            state[lane, HELD] = 0
        if state[lane, HELD] > 0:
            state[lane, HELD] -= 1
            copy_action(lane_actions[lane, step - 1], action)
            noted[DISTANCE], noted[WEIGHT] = NOT_SEARCHED, 0.0
            notes[CHOICE] = HELD_ACTION
            continue
        uniforms = draws[lane, step % BLOCK]
        explore = uniforms[0] < epsilon * scales[lane]
        at_random = explore and rule.uniform
        found = 0
        if rule.knows:
            # a random action uses no neighbour: only the value for stitching is needed
            radius = rule.radius * HERE if at_random else rule.radius
            found = search(tree, place, n_neighbors, radius, rows, squared, scratch)
            note_distance(tree, place, found, squared, step + state[lane, NUMBER], noted)
        else:
            noted[DISTANCE], noted[WEIGHT] = NOT_SEARCHED, 0.0
        count = weigh(values, rows, squared, found, rule, scores)
        aim = aims[lane if len(plans) > 1 else 0]
        if aim[-1] > 0.0 and not at_random:
            score_predictions(
                tree, values, mask, nexts, moved, aim, place, rows, count, rule, scores
            )
        note_best(rows, squared, scores, count, rule, notes, noted)
        if rule.seeks and notes[BEST] >= 0 and values[notes[BEST]] >= TARGET:
            scales[lane] = ALWAYS  # the target is reached: explore for the rest of the episode
        if count == 0 or at_random:
            notes[CHOICE] = UNIFORM if at_random else NO_NEIGHBOR
            write_uniform_action(bounds, rule.discrete, uniforms[2:], action)
            if rule.hold > 1:
                state[lane, HELD] = duration(uniforms[2 + len(action)], rule.hold) - 1
            continue
        temperature = rule.temperature
        if rule.relative:
            best = scores[best_of(scores, count)]
            temperature = max(temperature * (best - rule.lowest), COLDEST)
        chosen = sample_softmax(scores, count, temperature, uniforms[1])  # Eq. 5
        row = rows[chosen]
        if explore:
            normals = uniforms[len(uniforms) - len(action) :]
            write_noisy_action(bounds, rule.noise_std, actions[row], normals, action)
            notes[CHOICE] = NOISE
            continue
        copy_action(actions[row], action)
        notes[CHOICE] = MEMORY
        # farther away, the outcome of its action is no information about the row
        if squared[chosen] <= rule.threshold**2:
            notes[FOLLOWED] = row
    return -1


@compiled()
def weigh(
    values: npt.NDArray[np.float32], rows: Ints, squared: Floats, found: int, rule: Any,
    scores: Floats,
) -> int:  # fmt: skip
    """Move the neighbours that have a value to the front; returns their number and scores."""
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
def score_predictions(
    tree: TreeArrays, values: npt.NDArray[np.float32], mask: npt.NDArray[np.float32],
    nexts: npt.NDArray[np.float32], moved: npt.NDArray[np.float32], aim: Floats,
    key: npt.NDArray[np.float32], rows: Ints, count: int, rule: Any, scores: Floats,
) -> None:  # fmt: skip
    """Score neighbours by the state that their actions would lead to from the current one.

    An action is assumed to change the key by as much as it did at its row, and the achieved goal
    by `moved`. Otherwise small goals are missed, because the same action ends at another state.

    Args:
        tree: The index.
        values: The value of each row for the goal.
        mask: 1 for each dimension of the state.
        nexts: (n, D): the keys that the rows led to.
        moved: (n, G): how far they moved the achieved goal.
        aim: (G + 1,): the current achieved goal minus the desired one, and the largest distance at
            which the goal is achieved.
        key: (D,): the key of the state.
        rows: The neighbours.
        count: Their number.
        rule: What a decision reads of the settings.
        scores: Receives the scores.
    """
    limit = aim[-1]
    near_rows, near_squared = np.empty(AROUND, np.int64), np.empty(AROUND, np.float64)
    scratch = np.empty(scratch_size(len(key)))
    predicted = np.empty(len(key), np.float32)
    for i in range(count):
        row = rows[i]
        apart = 0.0
        for j in range(len(aim) - 1):
            apart += (aim[j] + np.float64(moved[row, j])) ** 2
        if apart <= limit * limit:
            scores[i] = rule.gamma ** (RIM * np.sqrt(apart) / limit)
            continue
        for j in range(len(key)):
            predicted[j] = key[j] + nexts[row, j] * mask[j] - tree.keys[row, j]
        found = search(tree, predicted, AROUND, rule.radius, near_rows, near_squared, scratch)
        best = 0.0
        for j in range(found):
            value = np.float64(values[near_rows[j]])
            best = max(best, value * np.exp(-rule.fading * np.sqrt(near_squared[j])))
        scores[i] = rule.gamma * best


def weigh_for_goal(
    memory: EpisodicMemory, key: Floats, mask: npt.NDArray[np.float32], aim: Floats
) -> Callable[..., int]:
    """`weigh` with the scores of a decision for a goal, for explanations.

    Args:
        memory: The memory.
        key: The key of the state.
        mask: 1 for each dimension of the state.
        aim: As for `score_predictions`.
    """
    tree, columns = TreeArrays(*memory.tree.arrays), memory.column_arrays
    steps, place = (columns["next"], columns["moved"]), np.float32(key) * mask

    def weighed(values: Any, rows: Any, squared: Any, n: int, rule: Any, scores: Any) -> int:
        count: int = weigh(values, rows, squared, n, rule, scores)
        if aim[-1] > 0:
            score_predictions(tree, values, mask, *steps, aim, place, rows, count, rule, scores)
        return count

    return weighed


@compiled()
def note_best(
    rows: Ints, squared: Floats, scores: Floats, count: int, rule: Any, notes: Ints, noted: Floats
) -> None:
    """Record the best row near the state, whose value is used for stitching."""
    # squared distances are in ascending order; rows far away are not used for stitching
    n_here = 0
    while n_here < count and squared[n_here] <= (rule.radius * HERE) ** 2:
        n_here += 1
    if n_here > 0:
        best = best_of(scores, n_here)
        notes[BEST] = rows[best]
        noted[CLOSENESS] = np.exp(-rule.fading * np.sqrt(squared[best]))


@compiled()
def is_stuck(
    key: npt.NDArray[np.float32], before: npt.NDArray[np.float32], threshold: float
) -> bool:
    """Whether a step did not change the state, as at a wall: its action is not repeated then."""
    squared = 0.0
    for i in range(len(key)):
        squared += (np.float64(key[i]) - np.float64(before[i])) ** 2
    return squared < (STILL * threshold) ** 2


@compiled()
def greedy_actions(
    tree_keys: npt.NDArray[np.float32],
    nodes: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.float32],
    buckets: npt.NDArray[np.int32],
    plans: npt.NDArray[np.float32],
    actions: npt.NDArray[np.float32],
    mask: npt.NDArray[np.float32],
    nexts: npt.NDArray[np.float32],
    moved: npt.NDArray[np.float32],
    aims: Floats,
    rules: npt.NDArray[Any],
    keys: Floats,
    found_actions: npt.NDArray[np.float32],
) -> int:
    """The evaluation rule: the best of the neighbours, or (`best` is False) the closest row.

    If no neighbour has a value, the closest of the next `FAR` rows that has one. Returns the index
    of a key that is not finite, or -1.
    """
    tree, rule = TreeArrays(tree_keys, nodes, boxes, buckets), rules[0]
    n_neighbors = rule.n_neighbors
    n_far = FAR if rule.worthless > -np.inf else 1
    size = max(n_neighbors, n_far)
    rows, squared = np.empty(size, np.int64), np.empty(size, np.float64)
    scores, key = np.empty(size, np.float64), np.empty(keys.shape[1], np.float32)
    values = plans[0]
    for i in range(len(keys)):
        if not store_key(keys[i], key):
            return i
        for j in range(len(key)):
            key[j] *= mask[j]
        count = 0
        if rule.best:
            found = find_neighbors(tree, key, n_neighbors, rule.radius, rows, squared)
            count = weigh(values, rows, squared, found, rule, scores)
            if aims[0, -1] > 0.0:
                score_predictions(
                    tree, values, mask, nexts, moved, aims[0], key, rows, count, rule, scores
                )
        if count > 0:
            copy_action(actions[rows[best_of(scores, count)]], found_actions[i])
            continue
        found = find_neighbors(tree, key, n_far, np.inf, rows, squared)
        row = rows[0]
        for j in range(found):
            if values[rows[j]] > rule.worthless:
                row = rows[j]
                break
        copy_action(actions[row], found_actions[i])
    return -1


# ---------------------------------------------------------------- learning


@compiled()
def promised(
    trace: Ints, numbers: Floats, written: Ints, values: npt.NDArray[np.float32], lowest: float
) -> Floats:
    """What the best neighbour of each state is worth there, -inf where there was none."""
    promises = np.full(len(trace), -np.inf)
    steps, rows = same_rows(trace, BEST, written)
    for i in range(len(steps)):
        known = np.float64(values[rows[i]])
        promises[steps[i]] = lowest + (known - lowest) * numbers[steps[i], CLOSENESS]
    return promises


@compiled()
def back_up(rewards: Floats, gamma: float, promises: Floats) -> Floats:
    """The value of each step, backwards: v_t = r_t + gamma max(v_{t+1}, promises[t + 1]).

    `promises` contains the reduced value of the best neighbour of each state, -inf if it has none.
    If all are -inf, the values are those of the paper.
    """
    returns = np.empty(len(rewards))
    value = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        if t + 1 < len(rewards):
            value = max(value, promises[t + 1])
        value = rewards[t] + gamma * value
        returns[t] = value
    return returns

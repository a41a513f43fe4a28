"""Lookahead: the second decision rule of `CECPlus`, for tasks that reward most steps.

The first rule takes the action of the best neighbour. Where rewards are dense and the dynamics
unstable, that action is wrong for the present state, and the maximum of noisy values selects
mistakes. This rule predicts the next state of each action with a linear model of the nearest steps,
and takes the action whose next state has the highest average value (kernel-based reinforcement
learning: Ormoneit and Sen, 2002; locally weighted learning for control: Atkeson, Moore and Schaal,
1997). docs/plus.md has the formulas.

It is used only if most steps are rewarded. Both rules are then used in alternate episodes until
each has played ten. After that, the rule whose recent episodes have the higher mean return plays
three of four, and all greedy episodes if it is lookahead.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scrubjay.agents.actions import ActionCodec, Stored
from scrubjay.agents.base import EnvLike, MemoryAgent
from scrubjay.agents.cec_plus_kernels import FOLLOWED
from scrubjay.agents.explanation import Explanation, nearest_rows
from scrubjay.agents.planning import led_to
from scrubjay.agents.recorder import (
    CHOICE,
    DECIDES,
    NUMBER,
    STEP,
    Choice,
    Experience,
    Floats,
    Lanes,
)
from scrubjay.agents.sampling import copy_action
from scrubjay.compiled import compiled
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.kdtree import TreeArrays, search
from scrubjay.memory.tree_arrays import scratch_size
from scrubjay.training.collector import Order

Ints = npt.NDArray[np.int64]
Records = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]

LOOKED = -2  # in the trace, in place of a row: the action was chosen by lookahead
FEWEST = 500  # steps before the share of rewarded steps is used
TRIALS = 10  # episodes of each rule before they are compared
RECENT = 20  # episodes of each rule that are compared
RARELY = 4  # one of so many episodes is played by the worse rule
MODEL = 40  # nearest steps, to which the model is fitted
STATES = 30  # rows that give the value of a predicted state
LINKS = 10  # rows that give the value of a next state in the evaluation
RIDGE = 1e-3
PASSES = 200  # over all rows, at most
SETTLED = 1e-3  # share of the range of values; a pass with smaller changes is the last
GROWTH = 0.25  # growth of the number of steps between two evaluations
SAME = 0.1  # smaller changes of the scale (logarithm) do not rebuild the index
GRID = 21  # actions that are compared in a box of one dimension
MANY = 64  # actions that are compared in larger boxes; the most discrete actions

IN_TURN, RARE, MOSTLY = range(3)  # which episodes are played with lookahead


class Lookahead:
    """The state of lookahead, apart from its memory.

    Args:
        codec: Converts actions to stored numbers.
    """

    def __init__(self, codec: ActionCodec) -> None:
        self.actions = candidates(codec)
        self.codec = codec
        self.features = action_features(codec, self.actions).astype(np.float64)
        self.n_steps = self.n_rewarded = 0
        self.returns: tuple[list[float], list[float]] = ([], [])
        self.scale: Floats | None = None  # None: no memory yet
        self.next_fit = 0

    def make_memory(self, key_dim: int, capacity: int) -> EpisodicMemory:
        """The memory of all steps: a row for each state; terminal states have the value 0.

        Args:
            key_dim: Dimensions of a key.
            capacity: Rows, at most.

        Returns:
            The memory.
        """
        if self.scale is None:
            self.scale = np.ones(key_dim)
        return EpisodicMemory(
            key_dim,
            capacity=capacity,
            rule="append",
            index="kdtree",
            columns={
                "move": self.features.shape[1],
                "next": key_dim,
                "reward": ((1,), np.float64),
                "ended": ((1,), np.bool_),
            },
        )

    @property
    def is_dense(self) -> bool:
        """Whether most steps are rewarded."""
        return self.n_steps >= FEWEST and 2 * self.n_rewarded > self.n_steps

    @property
    def turn(self) -> int:
        """Which episodes are played with lookahead at present."""
        if min(map(len, self.returns)) < TRIALS:
            return IN_TURN
        usual, ahead = (sum(each) / len(each) for each in self.returns)
        return MOSTLY if ahead > usual else RARE

    def count(self, experience: Experience, followed: Ints) -> None:
        """Count rewarded steps, and the return for the rule that has played the episode.

        Args:
            experience: The episode.
            followed: The column of its trace that has `LOOKED`.
        """
        self.n_steps += len(experience.rewards)
        self.n_rewarded += n_rewarded(experience.rewards)
        chosen = experience.trace[:, CHOICE] == Choice.MEMORY
        if experience.decided and self.next_fit and chosen.any():
            looked = 2 * np.count_nonzero(followed[chosen] == LOOKED) > np.count_nonzero(chosen)
            recent = self.returns[int(looked)]
            recent.append(float(experience.rewards.sum()))
            del recent[:-RECENT]

    def learn(
        self, memory: EpisodicMemory, experience: Experience, returns: Floats, gamma: float,
        now: int,
    ) -> None:  # fmt: skip
        """Write the steps of an episode, and evaluate all states when the steps have grown enough.

        Args:
            memory: The memory of all steps.
            experience: The episode.
            returns: What its steps are worth until they are evaluated.
            gamma: Discount factor.
            now: The number of steps so far.
        """
        assert self.scale is not None
        keys, nexts = experience.keys, led_to(experience)
        moves = action_features(self.codec, experience.actions)
        rewards, ended = experience.rewards, np.zeros(len(keys), np.bool_)
        if experience.terminated:
            keys, nexts = np.vstack([keys, nexts[-1:]]), np.vstack([nexts, nexts[-1:]])
            moves = np.vstack([moves, np.zeros_like(moves[:1])])
            rewards, returns, ended = (np.append(a, 0) for a in (rewards, returns, ended))
            ended[-1] = True
        memory.write_many(
            (keys * self.scale).astype(np.float32), returns,
            move=moves, next=(nexts * self.scale).astype(np.float32),
            reward=rewards[:, None], ended=ended[:, None].astype(np.bool_),
        )  # fmt: skip
        if now >= self.next_fit:
            self.next_fit = int(max(now + FEWEST, now * (1 + GROWTH)))
            self._rescale(memory)
            memory.set_values(np.arange(len(memory)), evaluated(memory, gamma))

    def _rescale(self, memory: EpisodicMemory) -> None:
        """Scale keys by the present spread of all states instead of that of the first ones."""
        spread = memory.keys.std(axis=0, dtype=np.float64)
        factor = np.where(spread > 1e-6, 1.0 / np.maximum(spread, 1e-6), 1.0)
        if np.abs(np.log(factor)).max() > SAME:
            self.scale = self.scale * factor
            nexts = (memory.columns["next"] * factor).astype(np.float32)
            rows = memory.rekey((memory.keys * factor).astype(np.float32))
            memory.set_columns(rows, next=nexts)

    def arguments(self, memory: EpisodicMemory, gamma: float) -> tuple[Any, ...]:
        """What the kernels take before the keys.

        Args:
            memory: The memory of all steps.
            gamma: Discount factor.

        Returns:
            The arguments.
        """
        columns = memory.column_arrays
        return (
            *memory.tree.arrays, memory.value_array, columns["move"], columns["next"],
            columns["reward"], columns["ended"], self.actions, self.features, self.scale, gamma,
        )  # fmt: skip

    def state(self) -> dict[str, Any]:
        """The counters for a file.

        Returns:
            The counters by name.
        """
        return {
            "n_steps": self.n_steps,
            "n_rewarded": self.n_rewarded,
            "returns": [list(each) for each in self.returns],
            "scale": None if self.scale is None else self.scale.tolist(),
            "next_fit": self.next_fit,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the counters from a file.

        Args:
            state: The counters by name.
        """
        self.n_steps, self.n_rewarded = int(state["n_steps"]), int(state["n_rewarded"])
        usual, ahead = ([float(r) for r in each] for each in state["returns"])
        self.returns = usual, ahead
        self.scale = None if state["scale"] is None else np.array(state["scale"], np.float64)
        self.next_fit = int(state["next_fit"])


class LookaheadAgent(MemoryAgent):
    """A method with lookahead, which does not change the method's own memory.

    The settings `lookahead` and `capacity` belong to the method, which calls these functions where
    it decides and learns.
    """

    _ahead: Lookahead | None = None
    _ahead_arguments: tuple[Any, ...] | None = None
    _turn = IN_TURN
    _has_collectors = False

    def __init__(self, env: EnvLike, settings: Mapping[str, Any]) -> None:
        super().__init__(env, settings)
        if self.lookahead and can_look_ahead(self.codec, self.embedding.key_dim):
            self._ahead = Lookahead(self.codec)

    def _make_steps(self, ahead: Lookahead) -> None:
        self.memories["steps"] = ahead.make_memory(self.embedding.key_dim, self.capacity)

    def prepare_lookahead(self) -> None:
        """Note what a decision needs, once the steps of a task with dense rewards are evaluated."""
        ahead, steps, given = self._ahead, self.memories.get("steps"), None
        if (
            ahead is not None and steps is not None and not self._has_collectors
            and ahead.is_dense and ahead.next_fit
        ):  # fmt: skip
            self._turn, given = ahead.turn, ahead.arguments(steps, self.gamma)
        self._ahead_arguments = given  # set once, because other threads may predict meanwhile

    def look_ahead_in(self, lanes: Lanes, bad: int) -> int:
        """Replace actions of the memory, unless a lane had a bad key.

        Args:
            lanes: The lanes, which are decided.
            bad: The result of that decision.

        Returns:
            The same result.
        """
        given = self._ahead_arguments
        if bad < 0 and given is not None:
            own = lanes.keys, lanes.actions, lanes.trace, lanes.state
            look_ahead_in_lanes(*given, self._turn, FOLLOWED, *own)
        return bad

    def look_ahead_from(self, keys: Floats, found: Stored) -> Stored:
        """Replace greedy actions, if lookahead has the higher returns.

        Args:
            keys: (n, D): the keys.
            found: (n, A): their actions.

        Returns:
            The actions.
        """
        given = self._ahead_arguments
        if given is not None and self._turn == MOSTLY:
            look_ahead(*given, np.asarray(keys, np.float64), found)
        return found

    def explain_lookahead(self, key: Floats) -> Explanation | None:
        """The nearest rows and the greedy action, where it is lookahead's.

        Args:
            key: (D,): the key.

        Returns:
            The explanation, or None if the greedy action is not lookahead's.
        """
        if self._ahead_arguments is None or self._turn != MOSTLY:
            return None
        action = self.greedy_actions(np.asarray(key, np.float64)[None])[0]
        return Explanation(key, action, nearest_rows({"memory": self.memory}, key), -1)

    def learn_lookahead(self, experience: Experience) -> None:
        """Let lookahead learn from an episode, where most steps are rewarded.

        Args:
            experience: The episode.
        """
        ahead = self._ahead
        if ahead is None or self._has_collectors or experience.last_key is None:
            return
        ahead.count(experience, experience.trace[:, FOLLOWED])
        if ahead.is_dense:
            if "steps" not in self.memories:
                self._make_steps(ahead)
            returns = self.plain_returns(experience.rewards, experience.terminated)
            steps, now = self.memories["steps"], self.num_timesteps
            ahead.learn(steps, experience, returns, self.gamma, now)

    def hand_out(self, environment: int) -> Order:
        # collectors decide without it, because they do not know what it has measured
        self._has_collectors, self._ahead_arguments = True, None
        return super().hand_out(environment)

    def counters(self) -> dict[str, Any]:
        ahead = self._ahead
        kept = ahead is not None and (ahead.scale is None or "steps" in self.memories)
        return {**super().counters(), "lookahead": ahead.state() if ahead and kept else None}

    def restore_counters(self, counters: Mapping[str, Any]) -> None:
        super().restore_counters(counters)
        if self._ahead is not None and (state := counters.get("lookahead")):
            self._ahead.restore(state)
            if self._ahead.scale is not None:
                self._make_steps(self._ahead)


def n_rewarded(rewards: Floats) -> int:
    """How many steps are rewarded: by more than 0, or otherwise than the step before.

    A reward of -1 in every step until the goal is reached says as little as one of 0.
    """
    same = np.diff(rewards, prepend=rewards[:1]) == 0
    return len(rewards) - int(np.count_nonzero(same & (rewards <= 0)))


# ---------------------------------------------------------------- actions


def can_look_ahead(codec: ActionCodec, key_dim: int) -> bool:
    """Whether all discrete actions can be compared, and a model has fewer numbers than steps."""
    choices = float(np.prod(codec.bounds[1].astype(np.float64) + 1)) if codec.discrete else 1.0
    width = int((codec.bounds[1] + 1).sum()) if codec.discrete else codec.size
    return choices <= MANY and 1 + key_dim + width < MODEL


def candidates(codec: ActionCodec) -> Stored:
    """The actions that are compared: all discrete ones, or points spread over the box."""
    low, high = codec.bounds.astype(np.float64)
    if codec.discrete:
        numbers = np.indices(tuple((high + 1).astype(int)))
        return numbers.reshape(codec.size, -1).T.astype(np.float32)
    if codec.size == 1:
        shares = np.linspace(0.0, 1.0, GRID)[:, None]
    else:
        # Roberts' sequence: evenly spread in any number of dimensions
        ratio = 2.0
        for _ in range(50):
            ratio = (1.0 + ratio) ** (1.0 / (codec.size + 1))
        shares = (0.5 + np.outer(np.arange(MANY), ratio ** -np.arange(1.0, codec.size + 1))) % 1.0
    found: Stored = np.clip((low + shares * (high - low)).astype(np.float32), *codec.bounds)
    return found


def action_features(codec: ActionCodec, actions: Stored) -> Singles:
    """Actions as numbers that a linear model can use: a box scaled to [-1, 1], or indicators."""
    low, high = codec.bounds
    if codec.discrete:
        each = [actions[:, [j]] == np.arange(int(high[j]) + 1) for j in range(codec.size)]
        return np.hstack(each).astype(np.float32)
    half = np.maximum(high - low, np.float32(1e-12)) / np.float32(2)
    found: Singles = (actions - low) / half - np.float32(1)
    return found


# ---------------------------------------------------------------- deciding


@compiled()
def plays(number: int, turn: int) -> bool:
    """Whether the episode of this number is played with lookahead; -1 is no training episode."""
    if number < 0 or turn == IN_TURN:
        return turn == MOSTLY if number < 0 else number % 2 == 1
    return (number % RARELY == 0) == (turn == RARE)


@compiled()
def look_ahead_in_lanes(
    tree_keys: Singles, nodes: Records, boxes: Singles, buckets: Records,
    values: Singles, moves: Singles, nexts: Singles, rewards: Floats, ended: Flags,
    actions: Singles, features: Floats, scale: Floats, gamma: float, turn: int, followed: int,
    lane_keys: Singles, lane_actions: Singles, trace: Ints, state: Ints,
) -> None:  # fmt: skip
    """Replace the actions of neighbours in the lanes whose episodes are played with lookahead."""
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    for lane in range(len(state)):
        step = state[lane, STEP]
        if state[lane, DECIDES] == 0 or not plays(state[lane, NUMBER], turn):
            continue
        if trace[lane, step, CHOICE] != 0:  # an action of the memory
            continue
        chosen = best_action(
            tree, values, moves, nexts, rewards, ended, features, gamma,
            lane_keys[lane, step] * scale,
        )  # fmt: skip
        if chosen >= 0:
            copy_action(actions[chosen], lane_actions[lane, step])
            trace[lane, step, followed] = LOOKED


@compiled()
def look_ahead(
    tree_keys: Singles, nodes: Records, boxes: Singles, buckets: Records,
    values: Singles, moves: Singles, nexts: Singles, rewards: Floats, ended: Flags,
    actions: Singles, features: Floats, scale: Floats, gamma: float, keys: Floats, found: Singles,
) -> None:  # fmt: skip
    """The greedy actions for finite keys; `found` stays as it is where nothing is known."""
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    for i in range(len(keys)):
        chosen = best_action(
            tree, values, moves, nexts, rewards, ended, features, gamma, keys[i] * scale
        )
        if chosen >= 0:
            copy_action(actions[chosen], found[i])


@compiled()
def best_action(
    tree: TreeArrays, values: Singles, moves: Singles, nexts: Singles, rewards: Floats,
    ended: Flags, features: Floats, gamma: float, key: Floats,
) -> int:  # fmt: skip
    """The action with the highest predicted reward and value of the next state, -1 if unknown."""
    dim, width, size = len(key), features.shape[1], max(MODEL, STATES)
    place = np.empty(dim, np.float32)
    for j in range(dim):
        place[j] = key[j]
    rows, squared = np.empty(size, np.int64), np.empty(size)
    scratch = np.empty(scratch_size(dim))
    n = search(tree, place, MODEL, np.inf, rows, squared, scratch)
    effect = np.empty((1 + dim + width, dim + 1))
    least, most = fit_model(tree, moves, nexts, rewards, ended, place, rows, squared, n, effect)
    if least > most:
        return -1
    predicted, normal = np.empty(dim, np.float32), np.empty((1 + dim, 1 + dim))
    slope, reward = np.empty((1 + dim, 1)), 0.0
    best, highest = -1, -np.inf
    for c in range(len(features)):
        for j in range(dim + 1):
            value = effect[0, j]
            for i in range(width):
                value += effect[1 + dim + i, j] * features[c, i]
            if j < dim:
                predicted[j] = place[j] + value
            else:
                reward = min(max(value, least), most)
        n = search(tree, predicted, STATES, np.inf, rows, squared, scratch)
        value = local_value(tree, values, predicted, rows, squared, n, normal, slope)
        score = reward + gamma * value
        if score > highest:
            best, highest = c, score
    return best


@compiled()
def fit_model(
    tree: TreeArrays, moves: Singles, nexts: Singles, rewards: Floats,
    ended: Flags, key: Singles, rows: Ints, squared: Floats, n: int,
    effect: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Fit how far a step moves the key, and its reward, to the nearest steps.

    `effect` receives the coefficients of 1, of the difference to the key, and of the action, for
    each dimension and the reward. Returns the lowest and the highest reward; the lowest is above
    the highest if there is no step.
    """
    dim, width = len(key), moves.shape[1]
    p = 1 + dim + width
    normal, x = np.zeros((p, p)), np.empty(p)
    effect[:] = 0.0
    reach, total = squared[n - 1] * 1.2 + 1e-12, 0.0
    least, most = np.inf, -np.inf
    for t in range(n):
        row = rows[t]
        if ended[row, 0]:
            continue
        weight = (1.0 - squared[t] / reach) ** 2
        total += weight
        least, most = min(least, rewards[row, 0]), max(most, rewards[row, 0])
        x[0] = 1.0
        for j in range(dim):
            x[1 + j] = (np.float64(tree.keys[row, j]) - key[j]) / np.sqrt(reach)
        for j in range(width):
            x[1 + dim + j] = moves[row, j]
        for i in range(p):
            for j in range(i + 1):
                normal[i, j] += weight * x[i] * x[j]
            for j in range(dim):
                moved = np.float64(nexts[row, j]) - np.float64(tree.keys[row, j])
                effect[i, j] += weight * x[i] * moved
            effect[i, dim] += weight * x[i] * rewards[row, 0]
    for i in range(p):
        normal[i, i] += 1e-9 + (RIDGE * total if i > 0 else 0.0)
    solve(normal, effect)
    return least, most


@compiled()
def local_value(
    tree: TreeArrays, values: Singles, key: Singles, rows: Ints, squared: Floats, n: int,
    normal: Floats, slope: Floats,
) -> float:  # fmt: skip
    """The value of a state: a line through those around it, within their range."""
    dim, reach = len(key), squared[n - 1] * 1.2 + 1e-12
    total, lowest, highest = 0.0, np.inf, -np.inf
    normal[:] = 0.0
    slope[:] = 0.0
    for t in range(n):
        weight, value = (1.0 - squared[t] / reach) ** 2, np.float64(values[rows[t]])
        total += weight
        lowest, highest = min(lowest, value), max(highest, value)
        normal[0, 0] += weight
        slope[0, 0] += weight * value
        for i in range(dim):
            x = (np.float64(tree.keys[rows[t], i]) - key[i]) / np.sqrt(reach)
            normal[1 + i, 0] += weight * x
            slope[1 + i, 0] += weight * x * value
            for j in range(i + 1):
                other = (np.float64(tree.keys[rows[t], j]) - key[j]) / np.sqrt(reach)
                normal[1 + i, 1 + j] += weight * x * other
    for i in range(dim + 1):
        normal[i, i] += 1e-9 + (RIDGE * total if i > 0 else 0.0)
    solve(normal, slope)
    return float(min(max(slope[0, 0], lowest), highest))


@compiled()
def solve(matrix: Floats, targets: Floats) -> None:
    """Solve a symmetric positive definite system in place, by Cholesky's method.

    Args:
        matrix: (p, p): only its lower triangle is read; is overwritten.
        targets: (p, q): becomes the solution.
    """
    p = len(matrix)
    for i in range(p):
        for j in range(i + 1):
            left = matrix[i, j]
            for k in range(j):
                left -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(max(left, 1e-12)) if i == j else left / matrix[j, j]
    for c in range(targets.shape[1]):
        for i in range(p):
            for k in range(i):
                targets[i, c] -= matrix[i, k] * targets[k, c]
            targets[i, c] /= matrix[i, i]
        for i in range(p - 1, -1, -1):
            for k in range(i + 1, p):
                targets[i, c] -= matrix[k, i] * targets[k, c]
            targets[i, c] /= matrix[i, i]


# ---------------------------------------------------------------- evaluating


def evaluated(memory: EpisodicMemory, gamma: float) -> Floats:
    """The values of all rows: averages over what their steps and those around them led to.

    Args:
        memory: The memory of all steps.
        gamma: Discount factor.

    Returns:
        The values; those of terminal states are 0.
    """
    columns, values = memory.columns, memory.values.astype(np.float64)
    settled = SETTLED * float(np.ptp(values))
    evaluate(
        *memory.tree.arrays, columns["next"].copy(), columns["reward"].copy(),
        columns["ended"].copy(), gamma, settled, values,
    )  # fmt: skip
    return values


@compiled()
def evaluate(
    tree_keys: Singles, nodes: Records, boxes: Singles, buckets: Records,
    nexts: Singles, rewards: Floats, ended: Flags, gamma: float, settled: float,
    values: Floats,
) -> int:  # fmt: skip
    """Kernel-based evaluation: V_i = r_i + gamma sum_j w_ij V_j; returns the number of passes."""
    tree = TreeArrays(tree_keys, nodes, boxes, buckets)
    linked, weights = np.zeros((len(values), LINKS), np.int64), np.zeros((len(values), LINKS))
    rows, squared = np.empty(LINKS, np.int64), np.empty(LINKS)
    scratch = np.empty(scratch_size(nexts.shape[1]))
    for i in range(len(values)):
        if ended[i, 0]:
            continue
        n = search(tree, nexts[i], LINKS, np.inf, rows, squared, scratch)
        reach, total = squared[n - 1] * 1.2 + 1e-12, 0.0
        for t in range(n):
            linked[i, t], weights[i, t] = rows[t], (1.0 - squared[t] / reach) ** 2
            total += weights[i, t]
        for t in range(n):
            weights[i, t] /= total
    for passed in range(PASSES):
        largest = 0.0
        for i in range(len(values) - 1, -1, -1):  # backwards, as episodes were written
            if ended[i, 0]:
                continue
            value = 0.0
            for t in range(LINKS):
                value += weights[i, t] * values[linked[i, t]]
            value = rewards[i, 0] + gamma * value
            largest = max(largest, abs(value - values[i]))
            values[i] = value
        if largest <= settled:
            return passed + 1
    return PASSES

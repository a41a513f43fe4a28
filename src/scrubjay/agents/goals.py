"""Goals: the path to any goal, planned over the stored transitions when it is needed.

If observations contain the desired goal, rows are stored without it: their keys are those of the
state only, and each row stores its next key, which contains the goal that was achieved there. For a
desired goal, rows that achieve its centre have the value 1, rows that achieve its edge a little
less, and all others the discounted value of the best row near their next key. So experience
with one goal is used for all goals, and no goal has to be reached twice.

Flat observations may contain goals too: dimensions that are constant within an episode, and to
which other dimensions are close at every success (`goals_in`).

Whether a goal is achieved is computed by `compute_reward` of the environment. Without it, a goal is
achieved if the distance to it is at most the largest distance in observed successes. If no row
achieves the desired goal, the rows nearest to it are the target.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from scrubjay.agents.cec_plus_kernels import FOLLOWED, RIM, noted_rows
from scrubjay.agents.discovery import TARGET, rare_row
from scrubjay.agents.metric import MOST, prediction_error, standardised
from scrubjay.agents.planning import SETTLED, led_to, link, sweep, transition_columns
from scrubjay.agents.recorder import DECIDES, NUMBER, Experience, Lanes, Learned
from scrubjay.compiled import compiled
from scrubjay.embedding.flatten import Flattener
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.table import NEWEST

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.float32]
Values = npt.NDArray[np.float32]
Rewards = Callable[[Floats, Floats], Floats]

LINKS = 8  # rows near the next key to which a row is linked
PLANNED = 30_000  # newest rows that a plan in training covers, so that its time is bounded
WIDER = 5 / 3  # times the usual radius, because the states that actions lead to are predicted
KEPT_PLANS = 64
LATEST_PLANS = 8
ROUNDING = 1e-6  # of a number's distance from its mean: what is lost in float32, with room
FEWEST_SUCCESSES = 8  # for different goals, before goals are searched in flat observations
CLOSE = 0.3  # largest distance to a goal at a success, in standard deviations
EXPLAINED = 0.5  # share of the variance of a difference that is left when the goal is added
AGREED = 0.8  # share of the steps to within that distance of a goal that had a reward


class Goals(NamedTuple):
    """The dimensions of a key that contain goals.

    Attributes:
        desired: The dimensions of the desired goal.
        achieved: The dimensions of the achieved goal.
        state: The dimensions of the state, which decide how near two keys are.
        shape: The shape of a goal.
        signs: For each achieved dimension 0 if it is the achieved goal itself, 1 if it is that
            minus the desired one, -1 if it is the desired one minus that.
    """

    desired: tuple[int, ...]
    achieved: tuple[int, ...]
    state: tuple[int, ...]
    shape: tuple[int, ...]
    signs: tuple[int, ...]

    def reached(self, numbers: Floats) -> Floats:
        """(n, G): the achieved goals of observations.

        Args:
            numbers: (n, D): the observations.
        """
        desired, signs = numbers[:, list(self.desired)], np.array(self.signs)
        others = numbers[:, list(self.achieved)]
        found: Floats = np.where(signs == 0, others, desired + signs * others)
        return found

    def mask(self, key_dim: int) -> Keys:
        """1 for each dimension of the state, 0 for the others."""
        mask = np.zeros(key_dim, np.float32)
        mask[list(self.state)] = 1.0
        return mask


def find_goals(flattener: Flattener) -> Goals | None:
    """Where the goals of flattened observations are, None where they have none."""
    keys = flattener.keys or ()
    if "desired_goal" not in keys or "achieved_goal" not in keys:
        return None
    ends = np.cumsum(flattener.sizes).tolist()
    places = dict(zip(keys, zip(ends, flattener.sizes, flattener.shapes, strict=True), strict=True))
    desired, achieved = places["desired_goal"], places["achieved_goal"]
    if desired[2] != achieved[2]:
        return None
    wanted, reached = (tuple(range(end - size, end)) for end, size, _ in (desired, achieved))
    state = tuple(i for i in range(ends[-1]) if i not in wanted)
    return Goals(wanted, reached, state, tuple(desired[2]), (0,) * desired[1])


def goals_in(memory: EpisodicMemory, shift: Floats, scale: Floats) -> tuple[Goals, float] | None:
    """Find goals in flat observations.

    A goal is constant within an episode and differs between episodes. Another dimension is the
    achieved goal if it is close to the goal at every success. It is the difference of the two if it
    is close to 0 at every success and depends on the goal: the sum of goal and difference can then
    be predicted from the rest of the observation.

    Args:
        memory: The memory, with the columns "next" and "reward".
        shift: (D,): what is added to a key times its scale to get an observation.
        scale: (D,): the scale.

    Returns:
        The goals and their largest distance at a success, None if there are none.
    """
    keys, nexts = memory.keys, memory.columns["next"]
    # a row that was followed keeps where it led to then, for a goal within the threshold of its own
    some = slice(None, None, 1 + len(keys) // MOST)  # a few rows are enough to exclude goals
    same, apart = (keys[some] == nexts[some]).mean(axis=0), np.abs(nexts[some] - keys[some])
    still = (same > 0.5) & (apart.max(axis=0) <= memory.distance_threshold)
    fixed = still & (np.ptp(keys[some], axis=0) > 0)
    if not fixed.any():
        return None
    rewards = memory.columns["reward"][:, 0]
    paid = rewards > (rewards.min() + rewards.max()) / 2
    if len(np.unique(nexts[paid][:, fixed], axis=0)) < FEWEST_SUCCESSES:
        return None
    numbers = nexts * scale + shift
    free = np.flatnonzero(~fixed & (np.ptp(nexts, axis=0) > 0))
    pairs = [(int(i), *_partner(numbers, paid, int(i), free)) for i in np.flatnonzero(fixed)]
    found = [(i, j, sign) for i, j, sign in pairs if j >= 0]
    if not found or len({j for _, j, _ in found}) < len(found):
        return None
    desired, achieved, signs = zip(*found, strict=True)
    hidden = {*desired, *(j for _, j, sign in found if sign)}
    state = tuple(i for i in range(keys.shape[1]) if i not in hidden)
    goals = Goals(desired, achieved, state, (len(desired),), signs)
    apart = np.linalg.norm(goals.reached(numbers) - numbers[:, list(desired)], axis=1)
    radius = float(apart[paid].max())
    return (goals, radius) if paid[apart <= radius].mean() >= AGREED else None


def _partner(
    numbers: Floats, paid: npt.NDArray[np.bool_], goal: int, free: npt.NDArray[np.int64]
) -> tuple[int, int]:
    """The dimension that comes close to a goal at every success, and its sign; -1 if none does."""
    some = numbers[np.linspace(0, len(numbers) - 1, min(len(numbers), MOST)).astype(np.int64)]
    best, found = CLOSE, (-1, 0)
    for other in free:
        for sign in (0, 1, -1):
            gap = numbers[:, other] - (0.0 if sign else 1.0) * numbers[:, goal]
            share = np.abs(gap[paid]).max() / max(gap.std(), 1e-300)
            if share < best and (sign == 0 or _explains(some, goal, int(other), sign, free)):
                best, found = share, (int(other), sign)
    return found


def _explains(
    numbers: Floats, goal: int, other: int, sign: int, free: npt.NDArray[np.int64]
) -> bool:
    """Whether a goal plus a difference depends on the rest of an observation, not on the goal."""
    rest = standardised(numbers, numbers)[:, free[free != other]]
    errors = [
        prediction_error(rest, standardised(each, each)[:, None])
        for each in (numbers[:, goal] + sign * numbers[:, other], numbers[:, other])
    ]
    return errors[0] < EXPLAINED * errors[1]


class Plan(NamedTuple):
    """The path to a goal.

    Attributes:
        values: The value of each row: 1 if it achieves the centre of the goal. If no row achieves
            it, the nearest rows have the value `TARGET`, which is higher.
        limit: The largest distance to the centre of rows that achieve the goal; 0 if none does.
    """

    values: Values
    limit: float


class LanePlans:
    """The values of rows for the goal of each lane; they change with the goal and the episode."""

    def __init__(self) -> None:
        self.values: Values = np.zeros((1, 1), np.float32)
        self.limits: Floats = np.zeros(1)
        self._aims: dict[int, tuple[int, bytes]] = {}
        # of episodes that are open at the same time without being lanes of one environment
        self._latest: dict[tuple[int, int, bytes], Plan] = {}

    def has(self, lane: int, aim: tuple[int, bytes]) -> bool:
        """Whether a lane's plan is that for an episode's number and a goal."""
        return self._aims.get(lane) == aim

    def latest(self, lane: int, aim: tuple[int, bytes]) -> Plan | None:
        """The plan that a lane had for an episode's number and a goal, if it is not long ago."""
        return self._latest.get((lane, *aim))

    def forget(self, rows: Ints) -> None:
        """Rows that have been written since are worth nothing for the plans before."""
        for values in (*self.values, *(plan.values for plan in self._latest.values())):
            values[rows[rows < len(values)]] = 0.0

    def put(self, lane: int, aim: tuple[int, bytes], plan: Plan) -> None:
        """Keep the plan of a lane."""
        self._latest.pop((lane, *aim), None)
        self._latest[lane, *aim] = plan
        while len(self._latest) > LATEST_PLANS:
            del self._latest[next(iter(self._latest))]
        values = plan.values
        self.reserve(lane + 1, len(values))
        self.limits[lane] = plan.limit
        self.values[lane, : len(values)] = values
        self.values[lane, len(values) :] = 0.0
        self._aims[lane] = aim

    def reserve(self, n_lanes: int, n_rows: int) -> None:
        """Allocate arrays; rows that are newer than a plan have the value 0 in it."""
        lanes, rows = self.values.shape
        if n_lanes > lanes or n_rows > rows:
            rows = rows if n_rows <= rows else 2 * n_rows
            grown = np.zeros((max(n_lanes, lanes), rows), np.float32)
            grown[:lanes, : self.values.shape[1]] = self.values
            self.limits = np.append(self.limits, np.zeros(len(grown) - lanes))
            self.values = grown


class GoalMap:
    """Goals: their dimensions, when one is achieved, and the plans for some of them.

    Args:
        goals: Where they are in a key.
        radius: The largest distance of goals that counted as equal.
    """

    def __init__(self, goals: Goals, radius: float = 0.0) -> None:
        self.goals, self.radius = goals, radius
        self._env: Any = None
        self._compute: Rewards | None = None
        self._shift = self._scale = np.zeros(0)
        self._places = tuple(
            np.array(each, np.int64) for each in (goals.desired, goals.achieved, goals.signs)
        )
        self._links: tuple[tuple[int, int], Ints, Floats] | None = None
        self.lanes = LanePlans()
        self._known: tuple[int, dict[bytes, Plan]] = -1, {}

    def state(self) -> dict[str, Any]:
        """What a file keeps."""
        return {**self.goals._asdict(), "radius": self.radius}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], key_dim: int) -> "GoalMap":
        """What `state` returned, as it comes out of a file, for keys of `key_dim` dimensions."""
        goals = Goals(*(tuple(map(int, state[name])) for name in Goals._fields))
        sizes = {len(goals.desired), len(goals.achieved), len(goals.signs)}
        places = {*goals.desired, *goals.achieved, *goals.state}
        if len(sizes) > 1 or not goals.state or not places <= set(range(key_dim)):
            raise ValueError(f"expected goals within keys of {key_dim} dimensions, got {goals}")
        return cls(goals, float(state["radius"]))

    def set_scale(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Set the numbers by which keys were normalised.

        Args:
            state: The state of the normaliser.
        """
        self._shift, self._scale = state["mean"], np.sqrt(state["variance"])

    def set_env(self, env: Any) -> None:
        """Set the environment, or None; its `compute_reward` decides what is achieved."""
        if env is not self._env:
            self._env, self._compute = env, reward_function(env, self.goals)
            self._known, self.lanes = (-1, {}), LanePlans()  # plans of the former one

    def desired(self, keys: npt.NDArray[Any]) -> Floats:
        """(n, G): the desired goals of keys, in the numbers of the environment."""
        chosen = list(self.goals.desired)
        found: Floats = keys[:, chosen] * self._scale[chosen] + self._shift[chosen]
        return found

    def achieved(self, keys: npt.NDArray[Any]) -> Floats:
        """(n, G): the achieved goals of keys."""
        return self.goals.reached(keys * self._scale + self._shift)

    def observe(self, keys: npt.NDArray[Any], rewards: Floats) -> None:
        """Update the largest distance at which a goal is achieved, from an episode.

        Args:
            keys: (n + 1, D): its keys, that after the last action too.
            rewards: (n,): its rewards.
        """
        desired, achieved = self.desired(keys[:-1]), self.achieved(keys[1:])
        paid = rewards > rewards.min()
        if self._compute is not None:
            # consecutive achieved goals are close to each other
            desired, achieved = achieved[:-1], achieved[1:]
            paid = self._compute(achieved, desired) >= self._compute(desired, desired)
        if paid.any():
            apart = np.linalg.norm(achieved[paid] - desired[paid], axis=1)
            self.radius = max(self.radius, float(apart.max()))

    def moved(self, keys: npt.NDArray[Any], nexts: npt.NDArray[Any]) -> Keys:
        """(n, G): how far each step moved the achieved goal, from the keys before and after it."""
        return (self.achieved(nexts) - self.achieved(keys)).astype(np.float32)

    def aims(self, keys: Floats, limits: Floats) -> tuple[Floats, Floats]:
        """The desired goals of keys, and how far the achieved ones are from them.

        Args:
            keys: (n, D): the keys.
            limits: (n,): how far each goal may be missed.

        Returns:
            (n, G): the goals, and (n, G + 1): achieved minus desired goals, and the limits.
        """
        wanted = np.empty((len(keys), len(self.goals.desired)))
        aims = np.empty((len(keys), len(self.goals.desired) + 1))
        measure_goals(keys, self._shift, self._scale, *self._places, limits, wanted, aims)
        return wanted, aims

    def _rounding(self, goal: Floats) -> Floats:
        """(G,): how far from a goal its numbers may be after they were stored as float32."""
        places = [list(self.goals.desired), list(self.goals.achieved)]
        sizes = [self._scale[place] + np.abs(goal - self._shift[place]) for place in places]
        found: Floats = ROUNDING * np.max(sizes, axis=0)
        return found

    def achieves(self, achieved: Floats, goal: Floats) -> npt.NDArray[np.bool_]:
        """Which of the achieved goals count as a goal."""
        rounding = self._rounding(goal)
        if self._compute is None:
            radius = max(self.radius, float(np.linalg.norm(rounding)))
            paid, full = -np.linalg.norm(achieved - goal, axis=1), np.array([-radius])
        else:
            # as it was observed, for rewards that ask whether the two are equal
            achieved = np.where(np.abs(achieved - goal) <= rounding, goal, achieved)
            paid = self._compute(achieved, np.repeat(goal[None], len(achieved), axis=0))
            full = self._compute(goal[None], goal[None])
        found: npt.NDArray[np.bool_] = paid >= full
        return found

    def plan(
        self,
        memory: EpisodicMemory,
        goal: Floats,
        gamma: float,
        fading: float,
        rng: np.random.Generator | None = None,
    ) -> Plan:
        """The value of each row for a goal.

        Args:
            memory: The memory, with the columns "next" and "links".
            goal: (G,): the goal.
            gamma: Discount factor.
            fading: At the distance f a value counts exp(-fading f) times.
            rng: For training: decides, if no row achieves the goal, whether the target is the row
                nearest to it or one in a rarely visited cell; the plan covers the newest `PLANNED`
                rows. Without it, the target is the nearest row, and the plan covers all rows.

        Returns:
            The plan.
        """
        rows = newest_rows(memory, len(memory) if rng is None else PLANNED)
        links, near = self._linked(memory, fading, rows)
        achieved = self.achieved(memory.columns["next"][rows])
        hits = self.achieves(achieved, goal)
        apart = np.linalg.norm(achieved - goal, axis=1)
        values = np.zeros(len(hits), np.float32)
        limit = 0.0
        if hits.any():
            limit = max(float(apart[hits].max()), float(np.linalg.norm(self._rounding(goal))))
            values[hits] = gamma ** (RIM * apart[hits] / limit)
        else:
            hits = _targets(memory.keys[rows], apart, rng)
            values[hits] = TARGET
        mine = np.where(hits[:, None], -1, links)
        sweep(values, np.zeros(len(values)), mine, near, gamma, 0.0, SETTLED)
        found = np.zeros(len(memory), np.float32)
        found[rows] = values
        return Plan(found, limit)

    def plan_lanes(
        self, memory: EpisodicMemory, lanes: Lanes, keys: Floats, gamma: float, fading: float,
        draws: Callable[[int], np.random.Generator],
    ) -> tuple[Values, Floats]:  # fmt: skip
        """Plan for each lane with a new goal or episode.

        Args:
            memory: The memory.
            lanes: The lanes; those that decide need a plan.
            keys: (L, D): their keys.
            gamma: Discount factor.
            fading: As for `plan`.
            draws: Makes the random numbers of a lane.

        Returns:
            (L, n): the value of each row for each lane, and (L, G + 1): their aims.
        """
        self.lanes.reserve(len(keys), len(memory))
        goals, aims = self.aims(keys, self.lanes.limits)
        for lane in np.flatnonzero(lanes.state[:, DECIDES]).tolist():
            aim = int(lanes.state[lane, NUMBER]), goals[lane].tobytes()
            if not self.lanes.has(lane, aim):
                plan = self.lanes.latest(lane, aim)
                if plan is None:
                    plan = self.plan(memory, goals[lane], gamma, fading, draws(lane))
                self.lanes.put(lane, aim, plan)
                aims[lane, -1] = plan.limit
        return self.lanes.values, aims

    def known_plan(self, memory: EpisodicMemory, goal: Floats, gamma: float, fading: float) -> Plan:
        """The same as `plan`, made once for each goal and state of the memory."""
        clock, plans = self._known
        if clock != memory.clock:
            plans = {}
            self._known = memory.clock, plans
        # other threads may do the same at the same time, with the same result
        found = plans.get(goal.tobytes())
        if found is None:
            if len(plans) >= KEPT_PLANS:
                plans.clear()
            found = plans[goal.tobytes()] = self.plan(memory, goal, gamma, fading)
        return found

    def _linked(self, memory: EpisodicMemory, fading: float, rows: Ints) -> tuple[Ints, Floats]:
        """Where among some rows each of them leads to, and what their values count there."""
        known, now = self._links, (memory.clock, len(rows))
        if known is None or known[0] != now:
            places = np.full(len(memory), -1)
            places[rows] = np.arange(len(rows))
            nexts, links = memory.columns["next"][rows], memory.columns["links"][rows]
            # copied, because Numba compiles read-only arrays apart
            keys, mask = memory.keys.copy(), self.goals.mask(memory.key_dim)
            known = self._links = now, *closeness_of_links(nexts, mask, keys, links, fading, places)
        return known[1:]

    def __getstate__(self) -> dict[str, Any]:
        """Without environment and plans."""
        dropped: dict[str, Any] = {"_env": None, "_compute": None, "_links": None}
        return {**vars(self), **dropped, "_known": (-1, {}), "lanes": LanePlans()}


def newest_rows(memory: EpisodicMemory, n: int) -> Ints:
    """The rows that were written last, at most n of them, in that order.

    A full memory replaces its rows in turn, from the first on again.
    """
    n_rows = len(memory)
    if n_rows <= n:
        return np.arange(n_rows)
    newest = memory.table.counters.item(NEWEST)
    if newest < 0:  # a collector's copy has no order of recency
        newest = int(memory.written_array[:n_rows].argmax())
    found: Ints = np.arange(newest + 1 - n, newest + 1) % n_rows
    return found


def _targets(keys: Keys, apart: Floats, rng: np.random.Generator | None) -> npt.NDArray[np.bool_]:
    """The rows nearest to a goal or, with probability 0.5, a row in a rarely visited cell."""
    if rng is not None and rng.random() < 0.5:
        chosen: npt.NDArray[np.bool_] = np.arange(len(keys)) == rare_row(keys, rng)
        return chosen
    nearest: npt.NDArray[np.bool_] = apart <= apart.min()
    return nearest


# ---------------------------------------------------------------- rows without goals


def write_ways(
    known: GoalMap, memory: EpisodicMemory, mask: Keys, experience: Experience, returns: Floats
) -> Learned:
    """Write the steps of an episode, each linked to the one after it.

    Args:
        known: What is known of goals.
        memory: The memory.
        mask: (D,): 1 for each dimension of the state.
        experience: The episode.
        returns: (n,): its returns, which say nothing about other goals, and are only shown.

    Returns:
        What was written. A step that repeated a row, and led to the same, is not.
    """
    columns = transition_columns(led_to(experience), experience.actions, experience.rewards)
    repeated = repeated_steps(memory, mask, experience, columns["next"])
    # a row whose step changed nothing would only take the place of others among the neighbours
    still = ~repeated & (columns["next"] * mask == np.float32(experience.keys) * mask).all(axis=1)
    # from the last step to the first, so that a sweep carries values along an episode
    steps = np.flatnonzero(~repeated & ~still)[::-1]
    # with another goal the episode would have continued after a success, not after a failure
    columns["ended"] &= experience.terminated and returns.max() <= 0
    columns["links"] = np.full((len(returns), LINKS), -1, np.int32)
    columns["moved"] = known.moved(experience.keys, columns["next"])
    rows = np.where(repeated, experience.trace[:, FOLLOWED], -1)
    chosen: dict[str, Any] = {name: columns[name][steps] for name in memory.column_arrays}
    keys = experience.keys[steps] * mask
    rows[steps], outcomes = memory.write_many(keys, returns[steps], **chosen)
    known.lanes.forget(rows[steps])
    for step in np.flatnonzero(still[:-1])[::-1]:
        rows[step] = rows[step + 1]
    links = chosen["links"]
    links[:, 0] = np.append(rows[1:], -1)[steps]
    memory.set_columns(rows[steps], links=links)
    return Learned(outcomes, int((repeated | still).sum()))


def repeated_steps(
    memory: EpisodicMemory, mask: Keys, experience: Experience, nexts: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Which steps followed a row from its own state, and led to the same next state."""
    repeated = np.zeros(len(nexts), np.bool_)
    if experience.decided and len(memory) > 0:
        steps, rows = noted_rows(memory, experience, FOLLOWED)
        gap = (nexts[steps] - memory.columns["next"][rows]) * mask
        repeated[steps] = np.linalg.norm(gap, axis=1) <= memory.distance_threshold
    return repeated


def copy_rows(known: GoalMap, old: EpisodicMemory, new: EpisodicMemory, mask: Keys) -> None:
    """Write the rows of a memory with goals into one without."""
    columns: dict[str, Any] = {name: column.copy() for name, column in old.columns.items()}
    columns["ended"] &= columns["reward"] <= 0
    columns["links"] = np.full((len(old), LINKS), -1, np.int32)
    columns["moved"] = known.moved(old.keys, old.columns["next"])
    new.write_many(old.keys * mask, old.values, **columns)


def link_rows(memory: EpisodicMemory, mask: Keys, radius: float) -> None:
    """Link each row to those around the key that it led to, nearest first.

    Args:
        memory: The memory, with a kd-tree.
        mask: (D,): 1 for each dimension of the state.
        radius: How far from that key they are at most.
    """
    ended = np.ascontiguousarray(memory.columns["ended"][:, 0])
    nexts = memory.columns["next"] * mask
    rows, _ = link(*memory.tree.arrays, nexts, ended, radius, 0.0, LINKS)
    memory.set_columns(np.arange(len(memory)), links=rows.astype(np.int32))


@compiled()
def closeness_of_links(
    nexts: Keys, mask: Keys, keys: Keys, links: npt.NDArray[np.int32], fading: float, places: Ints
) -> tuple[Ints, Floats]:
    """The weight of the value of each linked row at the next key of a row.

    Args:
        nexts: (n, D): the next keys of some rows.
        mask: (D,): 1 for each dimension of the state.
        keys: The keys of all rows.
        links: (n, LINKS): the rows that they are linked to.
        fading: At the distance f a value counts exp(-fading f) times.
        places: Where each row is among them, -1 if it is not: links to it are left out.

    Returns:
        (n, LINKS): the places of the linked rows, then -1; and their weights.
    """
    kept, near = np.full(links.shape, -1, np.int64), np.zeros(links.shape)
    for i in range(len(links)):
        count = 0
        for row in links[i]:
            if row < 0 or row >= len(keys) or places[row] < 0:
                continue
            squared = 0.0
            for k in range(len(mask)):
                squared += (np.float64(nexts[i, k] * mask[k]) - np.float64(keys[row, k])) ** 2
            kept[i, count], near[i, count] = places[row], np.exp(-fading * np.sqrt(squared))
            count += 1
    return kept, near


@compiled()
def measure_goals(
    keys: Floats, shift: Floats, scale: Floats, desired: Ints, achieved: Ints, signs: Ints,
    limits: Floats, wanted: Floats, aims: Floats,
) -> None:  # fmt: skip
    """Write the desired goals of keys, and how far the achieved ones are from them.

    The same as `Goals.reached` in one call, because it is needed for every decision.
    """
    n_goals = len(desired)
    for i in range(len(keys)):
        for j in range(n_goals):
            goal = keys[i, desired[j]] * scale[desired[j]] + shift[desired[j]]
            other = keys[i, achieved[j]] * scale[achieved[j]] + shift[achieved[j]]
            wanted[i, j] = goal
            aims[i, j] = (other if signs[j] == 0 else goal + signs[j] * other) - goal
        aims[i, n_goals] = limits[i]


def call_goal_kernels(memory: EpisodicMemory) -> None:
    """Call what only goals need, so that it is compiled."""
    nexts, keys = memory.columns["next"].copy(), memory.keys.copy()
    mask, links = np.ones(memory.key_dim, np.float32), np.full((len(memory), LINKS), -1, np.int32)
    closeness_of_links(nexts, mask, keys, links, 1.0, np.arange(len(memory)))
    one, place, scale = np.zeros((1, 1)), np.zeros(1, np.int64), np.ones(1)
    measure_goals(one, scale, scale, place, place, place, scale, one, np.zeros((1, 2)))


def reward_function(env: Any, goals: Goals) -> Rewards | None:
    """The `compute_reward` of an environment for many goals at once, None if it has none."""
    call = _find(env)
    # of categories keys have codes, which it does not know; two of them are equal or not
    if call is None or len(goals.desired) != math.prod(goals.shape):
        return None

    two = np.zeros((2, len(goals.desired)))
    # an info for all goals, as Gymnasium-Robotics has it, or one for each, as Stable-Baselines3
    for each in (False, True):
        compute = _batched(call, goals.shape, each)
        try:
            compute(two, two)
        except Exception as error:  # it may be for single goals, or need what only a step knows
            if hasattr(getattr(env, "unwrapped", env), "processes"):
                raise ValueError(
                    "expected compute_reward to take arrays of goals and an empty info, got "
                    f"{error!r} in the process of an environment, which ended: change "
                    "compute_reward, use a vector environment without processes, or set "
                    "goal_planning=False"
                ) from error
            continue
        return compute
    return None


def _batched(call: Callable[..., Any], shape: tuple[int, ...], each: bool) -> Rewards:
    """A `compute_reward` for matrices of goals; `each`: with an info for each of them."""

    def compute(achieved: Floats, desired: Floats) -> Floats:
        n = len(achieved)
        if n == 0:  # of an episode of one step; it may not expect that
            return np.zeros(0)
        infos: Any = [{}] * n if each else {}
        pair = achieved.reshape(n, *shape), desired.reshape(n, *shape)
        paid = np.asarray(call(*pair, infos), np.float64)
        if paid.shape != (n,) or not np.isfinite(paid).all():
            raise ValueError(f"expected {n} finite rewards of compute_reward, got {paid}")
        return paid

    return compute


def _find(env: Any) -> Callable[..., Any] | None:
    """The function `compute_reward` of an environment of any kind."""
    name = "compute_reward"
    if isinstance(env, gymnasium.Env):
        return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None
    if isinstance(env, VectorEnv):
        env = env.unwrapped  # wrappers of vector environments cannot call functions
    # checked first, because a worker process ends if it must call a method that does not exist
    if hasattr(env, "env_method"):  # a VecEnv of Stable-Baselines3
        if not env.has_attr(name):
            return None
        return lambda *given: env.env_method(name, *given, indices=[0])[0]
    if isinstance(env, VectorEnv) and hasattr(env, "call"):
        if not env.call("has_wrapper_attr", name)[0]:
            return None
        return lambda *given: env.call(name, *given)[0]
    return None

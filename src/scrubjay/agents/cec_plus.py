"""CECPlus: CEC with better exploration and with planning over the stored transitions.

It stores, searches and writes as `CEC` does, with one setting for all tasks: distances are measured
in steps, and the temperature is relative to the best neighbour's value. Each addition is one
setting, listed here with the value that switches it off:

- `epsilon_spread` (1): each episode has its own epsilon, up to this many times larger or smaller,
  so that some episodes are nearly greedy and some explore all the time.
- `hold` (1): an exploratory action lasts n steps with probability about n^-2.
- `skip_worthless` (False): rows with the lowest value are ignored when acting.
- `detour_cost` (None): the greedy action is that of the best neighbour, not the nearest; the value
  of a neighbour at the distance m d is multiplied by gamma^(detour_cost m D), because the path to
  it is longer in more dimensions D.
- `stitching` (False): the value of a step is at least that of the best neighbour of the next state,
  discounted.
- `distance_threshold="step"`: d is half the median step between the keys of the first episodes.
- `temperature_unit="best"`: the temperature is a share of the best neighbour's value.
- `timeouts="continue"`: after a time-out, rewards are assumed to continue as in the last tenth of
  the episode.
- `measure_keys` (False): dimensions that contain only white noise are ignored.
- `goal_planning` (False): if observations contain goals, the path to each goal is planned over all
  stored transitions, including those of episodes with other goals.
- `planning` (0): values are propagated along the stored transitions each time the number of steps
  has grown by this fraction.
- `lookahead` (False): if most steps are rewarded, actions are also compared by the predicted next
  state and its average value; the rule with the higher returns plays most episodes.
- `discovery` (False): until the first success, most episodes first travel to a rarely visited
  state.

docs/plus.md has the ablation of each part.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from scrubjay.agents import discovery, planning
from scrubjay.agents.base import EnvLike, Folder
from scrubjay.agents.cec_plus_kernels import (
    ALWAYS,
    FAR,
    FOLLOWED,
    HERE,
    RULE,
    DecisionRule,
    back_up,
    greedy_actions,
    noted_rows,
    planned,
    promised,
    select_actions,
    weigh,
    weigh_for_goal,
)
from scrubjay.agents.explanation import Explanation, explain_best
from scrubjay.agents.goals import (
    LINKS,
    WIDER,
    GoalMap,
    Goals,
    call_goal_kernels,
    copy_rows,
    find_goals,
    goals_in,
    link_rows,
    write_ways,
)
from scrubjay.agents.lookahead import LookaheadAgent
from scrubjay.agents.metric import (
    count_dimensions,
    default_keys,
    intrinsic_dimensions,
    last_normalizer,
    median_step,
    noise_dimensions,
    periodic_dimensions,
    without_ignored,
)
from scrubjay.agents.planning import led_to, transition_columns, with_last
from scrubjay.agents.recorder import (
    CHOICE,
    DISTANCE,
    NUMBER,
    Choice,
    Experience,
    Floats,
    Lanes,
    Learned,
    Notes,
)
from scrubjay.agents.returns import check_returns, timeout_value
from scrubjay.agents.sampling import duration, room_for
from scrubjay.agents.scale_check import ScaleCheck
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.agents.settings import Range
from scrubjay.compiled import without_dispatch
from scrubjay.embedding import Embedding, FrozenNormalizer
from scrubjay.embedding.images import reduction
from scrubjay.memory import EpisodicMemory
from scrubjay.randomness import Stream, generator
from scrubjay.training.collector import Order

SEEK_AFTER = 5_000  # steps without success before episodes travel to rarely visited states
NO_AIM = np.zeros((1, 1))  # where there are no goals


class CECPlus(LookaheadAgent):
    """The default method: `CEC` with better exploration and planning, without settings to tune.

    Keys are the observations, divided by their spread in the first 1,000 steps; images are first
    reduced to about 8 x 8 blocks. If observations are dictionaries with goals, the path to the
    desired goal is planned over all stored transitions, including those of episodes with other
    goals.

    Args:
        env: A Gymnasium environment or vector environment, a `VecEnv` of Stable-Baselines3, or an
            id.
        n_neighbors: number of neighbours considered in a decision
        temperature: temperature of the softmax over the neighbours' values
        temperature_unit: best: relative to the best neighbour's value; return: in units of return
        noise_std: standard deviation of the exploration noise, in an action box scaled to [-1, 1]
        radius_factor: neighbours farther than this times the threshold are ignored
        distance_threshold: states nearer than this share a row; step: half of the median step
        gamma: discount factor
        epsilon: probability of exploring: a number, or START,END,STEPS
        epsilon_spread: how many times larger or smaller an episode's own epsilon may be
        capacity: rows of the memory; when it is full, the least recent one is replaced
        embedding: how an observation becomes a key, in place of the default
        periodic: dimensions of the observation that are angles in radians
        exploration: uniform takes a uniform action, noise adds noise to the remembered one
        recency: what makes a row recent: write, hit or never
        hold: largest number of steps for which an exploratory action is repeated
        skip_worthless: whether rows of the lowest value are ignored
        detour_cost: how much values are reduced with distance; null: greedy is the nearest row
        stitching: whether a step's value is at least that of the next state's best neighbour
        measure_keys: whether dimensions that contain only noise are ignored
        planning: fraction by which the steps grow between sweeps of planning; 0: no planning
        discovery: whether rarely visited states are explored until the first success
        goal_planning: whether the path to each goal is planned, if observations have goals
        lookahead: whether actions are compared by the next state where most steps are rewarded
        timeouts: end: as a terminal state; continue: rewards are assumed to continue
        seed: determines every random number; None draws one, which is stored in `agent.seed`
        verbose: 1 prints a table of the training's progress
        tensorboard_log: folder for TensorBoard's files
        device: accepted as in Stable-Baselines3; memory agents run on the CPU
    """

    name = "cec-plus"
    periodic: tuple[int, ...]
    _floor = math.inf  # the lowest value ever
    _intrinsic: float | None = None  # dimensions of the keys of images
    _map: GoalMap | None = None
    _looks_for_goals = True

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
        measure_keys: bool = True,
        planning: Annotated[float, Range(0, tune=(0, 1))] = 0.25,
        discovery: bool = True,
        goal_planning: bool = True,
        lookahead: bool = True,
        timeouts: Literal["continue", "end"] = "continue",
        seed: int | None = None,
        verbose: int = 0, tensorboard_log: Folder | None = None, device: str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(env, locals())
        if self.stitching and self.gamma == 1:
            # the value of a state that is visited repeatedly would grow without bound
            raise ValueError("stitching requires gamma < 1, got gamma=1; set stitching=False")
        self._scale_check = ScaleCheck()
        self._next_plan = self._next_look = 0
        found = periodic_dimensions(self.embedding)
        if tuple(self.periodic) not in ((), found):
            raise ValueError(
                "periodic dimensions are for the default embedding: give one of both, or an "
                f"embedding with Periodic({list(self.periodic)})"
            )
        self.periodic = found

    def default_embedding(self) -> Embedding:
        return default_keys(self.observation_space, self.periodic, self.goal_planning)

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
        key_dim = self.embedding.key_dim
        room = key_dim + room_for(self.n_neighbors, key_dim)
        normals = size if self._adds_noise else 0
        return Notes(2 + size + (self.hold > 1), normals, trace=4, numbers=3, room=room)

    @property
    def _adds_noise(self) -> bool:
        return self.exploration == "noise" and not self.codec.discrete

    def exploration_scale(self, rng: np.random.Generator) -> float:
        """An epsilon of its own for each episode, log-uniformly around the common one."""
        if self.seeks and rng.random() < 0.25:
            return ALWAYS
        if self.seeks:
            return float(self.epsilon_spread ** rng.uniform(-1.0, 0.0))
        if self.epsilon_spread == 1:
            return 1.0
        return float(self.epsilon_spread ** rng.uniform(-1.0, 1.0))

    def random_duration(self, uniforms: Floats) -> int:
        return 1 if self.hold == 1 else int(duration(uniforms[2 + self.codec.size], self.hold))

    @property
    def radius(self) -> float:
        """The largest distance of a neighbour; 0 until the threshold is known."""
        factor = self.radius_factor * (1.0 if self._map is None else WIDER)
        # rows of another category are not neighbours
        return float(min(factor, self.flattener.reach) * self.memory.distance_threshold)

    @property
    def can_decide(self) -> bool:
        """Whether keys and threshold are known; the threshold may be measured after the keys."""
        return self.embedding.ready and self.memory.distance_threshold > 0

    def make_memories(self) -> dict[str, EpisodicMemory]:
        """One memory; a threshold of 0 stands for one that is measured on the first episodes."""
        measured = self.distance_threshold == "step"
        if self._map is None and self._plans_goals and (goals := find_goals(self.flattener)):
            self._map = GoalMap(goals)
        memory = EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=0.0 if measured else self.distance_threshold,
            columns={"action": self.codec.size, **self._transition_columns()},
            rule="append" if self._map else "replace_if_better",
            recency=self.recency, index="kdtree",
        )  # fmt: skip
        return {"memory": memory}

    @property
    def _plans_goals(self) -> bool:
        """Whether goals can be planned for: only if keys are whole observations."""
        is_default = type(self.embedding) is FrozenNormalizer
        return self.goal_planning and 0 < self.gamma < 1 and is_default

    def _transition_columns(self) -> dict[str, Any]:
        """The columns for next states, if any setting needs them."""
        if self._map is not None:
            columns = {"links": ((LINKS,), np.int32), "moved": len(self._map.goals.desired)}
            return planning.columns(self.embedding.key_dim) | columns
        keeps = self.planning or self.discovery or self._plans_goals
        return planning.columns(self.embedding.key_dim) if keeps else {}

    def memory_changed(self) -> None:
        memory, key_dim = self.memory, self.embedding.key_dim
        self._rules = self._make_rule()
        self._mask = np.ones(key_dim, np.float32)
        self.seeks = False
        if self._map is not None:
            self._mask = self._map.goals.mask(key_dim)
            self._map.set_scale(self.embedding.state())
            self._map.set_env(self.env)
            planned(self._rules, len(memory))
        self._arguments = self._with_values(memory.value_array[None], self._rules)
        self.prepare_lookahead()
        if self._map is None and self.discovery and not self._rules["knows"][0]:
            self._seek(memory.column_arrays["lure"][:, 0])

    def _with_values(
        self, values: npt.NDArray[np.float32], rules: npt.NDArray[Any], aims: Floats = NO_AIM
    ) -> tuple[Any, ...]:
        """The arguments of a decision; values are (1, n), or (L, n) with a row for each lane."""
        tree, columns = self.memory.tree.arrays, self.memory.column_arrays
        actions = columns["action"]
        # without an aim they are not read; actions have the type that the kernel is compiled for
        steps = (actions, actions) if self._map is None else (columns["next"], columns["moved"])
        return *tree, values, actions, self._mask, *steps, aims, rules

    def _seek(self, lure: npt.NDArray[np.float32]) -> None:
        """Follow temporary values instead of the stored ones, if there are any."""
        self.seeks = bool(lure.any())
        if self.seeks:
            rules = planned(self._rules.copy(), len(self.memory))
            self._arguments = self._with_values(np.ascontiguousarray(lure)[None], rules)

    def _make_rule(self) -> npt.NDArray[Any]:
        memory = self.memory
        threshold = memory.distance_threshold
        lowest, highest = self._value_range
        fading = 0.0
        if self.detour_cost and self.gamma < 1 and threshold > 0:
            cost = self.detour_cost * self._dimensions
            fading = -cost * math.log(max(self.gamma, 1e-300)) / threshold
        rule = DecisionRule(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            temperature=self.temperature,
            relative=self.temperature_unit == "best",
            noise_std=self.noise_std,
            uniform=not self._adds_noise,
            discrete=self.codec.discrete,
            threshold=threshold,
            # a share of the range: values come close to the lowest one without being equal to it
            worthless=lowest + 1e-6 * (highest - lowest) if self.skip_worthless else -math.inf,
            knows=len(memory) > 0 and (not self.skip_worthless or self._has_found),
            lowest=lowest,
            fading=fading,
            best=self.detour_cost is not None,
            hold=self.hold,
            clock=memory.clock,
            seeks=False,
            gamma=self.gamma,
        )
        return np.array([rule], RULE)

    @property
    def _dimensions(self) -> float:
        """The dimensions of a key that count; the pixels of an image vary together."""
        if self._intrinsic is not None:
            return self._intrinsic
        return count_dimensions(self.embedding, self._map.goals.desired if self._map else ())

    def decide(self, lanes: Lanes, keys: Floats) -> int:
        epsilon, given = self.epsilon(self.num_timesteps), self._arguments
        if self._map is not None:
            if lanes.state[0, NUMBER] < 0:  # not part of an episode: each key has its own plan
                return self._decide_apart(self._map, lanes, keys, epsilon)
            fading = float(self._rules["fading"][0])
            found = self._map.plan_lanes(self.memory, lanes, keys, self.gamma, fading, self._draws)
            given = self._with_values(found[0], self._rules, found[1])
        given = *given, self.codec.bounds, *lanes, keys, epsilon
        if self._kernel is None:
            self._kernel = without_dispatch(select_actions, *given)
        return self.look_ahead_in(lanes, self._kernel(*given))

    def _draws(self, lane: int) -> np.random.Generator:
        """The random numbers that choose the target of a plan if no row achieves the goal."""
        return generator(self.seed, Stream.TARGET, lane, self.num_timesteps)

    def _plan_of(
        self, known: GoalMap, key: Floats
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[Any], Floats]:
        """The arguments of `_with_values` for one key: (1, n) values for its goal, rule and aim."""
        goals, aims = known.aims(key[None], np.zeros(1))
        fading = float(self._rules["fading"][0])
        plan = known.known_plan(self.memory, goals[0], self.gamma, fading)
        aims[0, -1] = plan.limit
        return plan.values[None], self._rules, aims

    def _decide_apart(self, known: GoalMap, lanes: Lanes, keys: Floats, epsilon: float) -> int:
        """The decisions for keys that belong to no episode, one after the other."""
        for i in range(len(keys)):
            own = (array[i : i + 1] for array in lanes)
            given = self._with_values(*self._plan_of(known, keys[i]))
            if select_actions(*given, self.codec.bounds, *own, keys[i : i + 1], epsilon) >= 0:
                return i
        return -1

    def greedy_actions(self, keys: Floats) -> npt.NDArray[np.float32]:
        """The actions of the best neighbours."""
        found = np.empty((len(keys), self.codec.size), np.float32)
        given = self._with_values(self.memory.value_array[None], self._rules)
        size = max(len(keys), 1) if self._map is None else 1
        for part in (slice(i, i + size) for i in range(0, len(keys), size)):
            if self._map is not None:
                given = self._with_values(*self._plan_of(self._map, keys[part][0]))
            bad = greedy_actions(*given, keys[part], found[part])
            if bad >= 0:
                key = keys[part][bad]
                raise ValueError(f"expected a finite observation, got one whose key is {key}")
        return self.look_ahead_from(keys, found)

    # -- learning ------------------------------------------------------------------------------

    def calibrate(self, episodes: list[Experience]) -> None:
        """Ignore dimensions of noise, and set the threshold to half of the median step."""
        normalizer = last_normalizer(self.embedding)
        if self.measure_keys and normalizer is not None:
            normalizer.ignore(self._useless(episodes))
        keys = [without_ignored(self.embedding, with_last(each)) * self._mask for each in episodes]
        self.memory.distance_threshold = median_step(keys) / 2
        if reduction(self.observation_space):
            self._intrinsic = intrinsic_dimensions(np.concatenate(keys))

    def _useless(self, episodes: list[Experience]) -> npt.NDArray[np.bool_]:
        """The dimensions of keys that are noise; those of goals are never included."""
        found = noise_dimensions([(with_last(each), each.actions) for each in episodes])
        if self._map is not None:
            found[[*self._map.goals.desired, *self._map.goals.achieved]] = False
        return found

    def learn_from(self, experience: Experience) -> Learned:
        """Compute values backwards, as in CEC, with the values of neighbours, and write them."""
        memory = self.memory
        if not experience.decided:
            last = experience.last_key
            experience = experience._replace(
                keys=without_ignored(self.embedding, experience.keys),
                last_key=None if last is None else without_ignored(self.embedding, last),
            )
        if self._map is not None:
            return self._learn_ways(self._map, experience)
        rewards = self._extended(experience.rewards, experience.terminated)
        returns = back_up(rewards, self.gamma, self._promises(experience))
        check_returns(returns, rewards)
        columns = transition_columns(led_to(experience), experience.actions, rewards)
        self._floor = min(self._floor, float(returns.min()))
        if experience.decided and self.planning:
            self._note_outcomes(experience, columns)
        # backwards, as the values were computed
        chosen: dict[str, Any] = {name: columns[name][::-1] for name in memory.column_arrays}
        _, outcomes = memory.write_many(experience.keys[::-1], returns[::-1], **chosen)
        self._plan(experience.keys[0])
        self.learn_lookahead(experience)
        self._look_for_goals()
        return Learned(outcomes)

    def _promises(self, experience: Experience) -> Floats:
        """The discounted value of each state's best neighbour, -inf if it had none."""
        if not (self.stitching and experience.decided):
            return np.full(len(experience.rewards), -math.inf)
        memory, lowest = self.memory, self._value_range[0]
        promises: Floats = promised(
            experience.trace, experience.numbers, memory.written_array, memory.value_array, lowest
        )
        return promises

    def _look_for_goals(self) -> None:
        """Look for goals in the observations; once they are found, paths to them are planned."""
        may = self._looks_for_goals and self._plans_goals and self.album is None
        if not (may and self.num_timesteps >= self._next_look and self._has_found):
            return
        self._next_look = int(max(self.num_timesteps + 500, 1.25 * self.num_timesteps))
        state = self.embedding.state()
        found = goals_in(self.memory, state["mean"], np.sqrt(state["variance"]))
        if found is not None:
            self._use_goals(*found)

    def _use_goals(self, goals: Goals, radius: float) -> None:
        """Move all rows to a new memory whose keys do not contain the goal."""
        old, self._map, self._next_plan = self.memory, GoalMap(goals, radius), 0
        self.memories = self.make_memories()
        self.memory.distance_threshold = old.distance_threshold
        self._map.set_scale(self.embedding.state())
        copy_rows(self._map, old, self.memory, goals.mask(old.key_dim))
        self.memory_changed()
        self._link()

    def hand_out(self, environment: int) -> Order:
        # collectors have a copy of the current memory, which must not be replaced
        self._looks_for_goals = False
        return super().hand_out(environment)

    def _learn_ways(self, known: GoalMap, experience: Experience) -> Learned:
        """Store every step as a row, whatever its goal; values depend on the goal of a plan."""
        returns = self.plain_returns(experience.rewards, experience.terminated)
        check_returns(returns, experience.rewards)
        known.set_env(self.env)
        known.observe(with_last(experience), experience.rewards)
        learned = write_ways(known, self.memory, self._mask, experience, returns)
        self._link()
        return learned

    def _link(self) -> None:
        """Link each row to the rows near its next key, when there are enough new steps."""
        if self.num_timesteps >= self._next_plan:
            grown = self.num_timesteps * (1 + (self.planning or 0.25))
            self._next_plan = int(max(self.num_timesteps + 500, grown))
            link_rows(self.memory, self._mask, self.radius)

    def _note_outcomes(self, experience: Experience, columns: Mapping[str, Any]) -> None:
        """Store in followed rows which state they led to this time."""
        steps, rows = noted_rows(self.memory, experience, FOLLOWED)
        if len(rows) == 0:
            return
        chosen = {name: columns[name][steps] for name in ("next", "reward", "ended")}
        self.memory.set_columns(rows, followed=np.ones((len(rows), 1), np.bool_), **chosen)

    def planning_rule(self) -> planning.Rule:
        """The rule for planning with the current settings.

        Returns:
            How values are propagated.
        """
        rule = self._make_rule()[0]
        radius = float(rule["radius"]) * HERE
        return planning.Rule(self.gamma, radius, float(rule["fading"]), float(rule["lowest"]))

    def _plan(self, start: npt.NDArray[np.float32]) -> None:
        """Propagate values when there are enough new steps; before success, choose a target."""
        memory, now = self.memory, self.num_timesteps
        if now < self._next_plan or self.gamma == 1:
            return
        rule = self.planning_rule()
        if self._has_found and self.planning:
            self._next_plan = int(max(now + 500, now * (1 + self.planning)))
            values = planning.swept_values(memory, rule)
            changed = np.flatnonzero(values != memory.values)
            memory.set_values(changed, values[changed])
        elif self.discovery and now >= SEEK_AFTER and not self._has_found:
            self._next_plan = now + len(memory) // 20
            lures = discovery.lures(memory, start, rule, self._draws(0))
            memory.set_columns(np.arange(len(memory)), lure=lures[:, None])

    def call_rare_kernels(self) -> None:
        super().call_rare_kernels()
        if self._transition_columns() and self.gamma < 1:
            planning.swept_values(self.memory, self.planning_rule())
            start, rng = self.memory.keys[0], np.random.default_rng(0)
            discovery.lures(self.memory, start, self.planning_rule(), rng)
            self.memory.set_columns([0], lure=[[0.0]])
            call_goal_kernels(self.memory)

    @property
    def _value_range(self) -> tuple[float, float]:
        """The lowest value so far, and the current highest.

        The current lowest value is not used: it is high if all rows lead to the goal, and distance
        reduces the part of a value above the lowest, so that it would cost almost nothing.
        """
        lowest, highest = self.memory.value_range
        return min(lowest, self._floor), highest

    @property
    def _has_found(self) -> bool:
        """Whether some value is above the lowest, by more than rounding."""
        lowest, highest = self._value_range
        return highest - lowest > 1e-6 * max(abs(lowest), abs(highest))

    def plain_returns(self, rewards: Floats, terminated: bool) -> Floats:
        return super().plain_returns(self._extended(rewards, terminated), terminated)

    def _extended(self, rewards: Floats, terminated: bool) -> Floats:
        """The rewards; after a time-out, the last one includes the assumed later rewards."""
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

    # -- files ---------------------------------------------------------------------------------

    def counters(self) -> dict[str, Any]:
        return {
            **super().counters(),
            "next_plan": self._next_plan,
            "lowest_value": None if math.isinf(self._floor) else self._floor,
            "next_look": self._next_look,
            "intrinsic_dimensions": self._intrinsic,
            "goals": None if self._map is None else self._map.state(),
        }

    def restore_counters(self, counters: Mapping[str, Any]) -> None:
        super().restore_counters(counters)
        self._next_plan = int(counters.get("next_plan", 0))  # 0.2.0 had none of them
        lowest = counters.get("lowest_value")
        self._floor = math.inf if lowest is None else float(lowest)
        self._next_look = int(counters.get("next_look", 0))
        self._intrinsic = counters.get("intrinsic_dimensions")
        if self._plans_goals and (goals := counters.get("goals")):
            self._map = GoalMap.from_state(goals, self.embedding.key_dim)
            self.memories = self.make_memories()
        elif self._map is not None and "goals" not in counters:
            # of 0.2.0, with an embedding of its own: the rows tell the goal, and stay as they are
            self._map, self.goal_planning = None, False
            self.memories = self.make_memories()

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        rate = {"rollout/exploration_rate": self.epsilon(self.num_timesteps)}
        return rate | super().metrics(totals)

    def __getstate__(self) -> dict[str, Any]:
        """With what is known of goals of its own: a copy may have another environment."""
        return {**super().__getstate__(), "_map": copy.copy(self._map)}

    def warm_up_config(self) -> dict[str, Any]:
        config = {**super().warm_up_config(), "distance_threshold": "step"}
        config.pop("periodic", None)
        return config

    def explain_key(self, key: Floats) -> Explanation:
        if (looked := self.explain_lookahead(key)) is not None:
            return looked
        values, weighed = self.memory.value_array, weigh
        if self._map is not None:
            plans, _, aims = self._plan_of(self._map, np.asarray(key, np.float64))
            values, weighed = plans[0], weigh_for_goal(self.memory, key, self._mask, aims[0])
        found = explain_best(self.memory, key * self._mask, self._rules[0], weighed, FAR, values)
        return found._replace(key=key)

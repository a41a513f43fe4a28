"""Continuous Episodic Control (Yang, Moerland, Preuss and Plaat, 2023), Section IV.

A table of (state, action, return). To act: the k nearest stored states, of them those within n*d,
one of their actions by a softmax over the returns (Eq. 5), with probability epsilon some Gaussian
noise. After each episode, backwards: what is far from everything known is added, what is better
than what is known replaces it (Eqs. 3 and 4). No network, no gradient.
"""

import copy
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from scrubjay.agents.action_box import ActionBox
from scrubjay.agents.backup import back_up_episode, median_step, still_in_place
from scrubjay.agents.base import (
    HeldEpisode,
    MemoryAgent,
    Spaces,
    check_choice,
    check_count,
    check_flag,
    check_number,
    warn_empty_memory,
)
from scrubjay.agents.cec_episode import (
    CECEpisode,
    Experience,
    draw_block,
    episode_arrays,
    n_uniforms,
    untraced,
)
from scrubjay.agents.decision import (
    FOLLOWED,
    REPEATED,
    EpisodeArrays,
    Rule,
    decide,
    greedy_row,
)
from scrubjay.agents.scale_check import ScaleCheck
from scrubjay.agents.schedules import LinearSchedule, as_schedule
from scrubjay.embedding import Embedding, FrozenNormalizer, load_embedding
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.writing import discounted_returns
from scrubjay.randomness import Stream, generator

EXPLORATIONS = ("noise", "uniform")
TEMPERATURES = ("return", "best")
TIMEOUTS = ("end", "continue")


class CEC(MemoryAgent):
    """Acts from a memory of (state, action, return).

    Names here, symbols in the paper: `n_neighbors` k, `temperature` tau, `noise_std` sigma (in an
    action box scaled to [-1, 1]), `radius_factor` n, `distance_threshold` d. `epsilon` is a number
    or (start, end, steps). `exploration="noise"` adds Gaussian noise with probability epsilon (the
    paper's text), `"uniform"` takes a uniform action instead (what its code did). `recency="write"`
    evicts the least recently updated row (the paper), `"hit"` the least recently visited (its
    code).

    What the paper does not have, each with the value that leaves its rule as it is (`CECPlus` has
    them all on, and docs/plus.md says what each is worth):

    - `epsilon_spread` (1): each episode has an epsilon of its own, up to so many times larger or
      smaller, log-uniformly: some episodes are nearly greedy, some explore all the time.
    - `hold` (1): an exploratory action lasts n steps with probability about n^-2, at most `hold`.
    - `skip_worthless` (False): rows of the lowest value there is say nothing about how to act.
    - `detour_cost` (None): a number makes the greedy action that of the best neighbour instead of
      the nearest; a neighbour at the distance m d counts gamma^(detour_cost m D) times, because the
      more dimensions D, the longer the way to where it stands.
    - `stitching` (False): a step is worth what the best neighbour of the next state promises (of
      those within a third of the radius), if that is more than what the episode made of it.
    - `correction` (0): the value of a row that was followed, from within d of it, moves by this
      share towards what it led to. So promises that are not kept lose their rank.
    - `distance_threshold="step"`: d is half the median step between consecutive keys of the first
      episodes (those that the embedding needs, or one).
    - `temperature_unit="best"`: the temperature is a share of what the best neighbour's value is
      above the lowest there is; so the same detour in steps is as likely far from the goal as near.
    - `timeouts="continue"`: after a time-out all is taken to go on as in the last tenth.
    """

    name = "cec"

    def __init__(
        self,
        env: Any,
        *,
        n_neighbors: int = 5,
        temperature: float = 1.0,
        noise_std: float = 0.1,
        radius_factor: float = 1.0,
        distance_threshold: float | str = 0.1,
        gamma: float = 0.99,
        epsilon: float | tuple[float, float, int] | LinearSchedule = (0.9, 0.05, 100_000),
        capacity: int = 1_000_000,
        embedding: Embedding | None = None,
        exploration: str = "noise",
        recency: str = "write",
        epsilon_spread: float = 1.0,
        hold: int = 1,
        skip_worthless: bool = False,
        detour_cost: float | None = None,
        stitching: bool = False,
        correction: float = 0.0,
        temperature_unit: str = "return",
        timeouts: str = "end",
        seed: int = 0,
    ) -> None:
        self.n_neighbors = check_count("n_neighbors", n_neighbors)
        self.temperature = check_number("temperature", temperature, low=0, open_low=True)
        self.noise_std = check_number("noise_std", noise_std, low=0)
        self.radius_factor = check_number("radius_factor", radius_factor, low=0, open_low=True)
        self.distance_threshold = check_threshold(distance_threshold)
        self.gamma = check_number("gamma", gamma, low=0, high=1)
        self.epsilon = as_schedule(epsilon)
        self.capacity = check_count("capacity", capacity)
        self.exploration = check_choice("exploration", exploration, EXPLORATIONS)
        self.recency = recency
        self.epsilon_spread = check_number("epsilon_spread", epsilon_spread, low=1)
        self.hold = check_count("hold", hold)
        self.skip_worthless = check_flag("skip_worthless", skip_worthless)
        self.detour_cost = (
            None if detour_cost is None else check_number("detour_cost", detour_cost, low=0)
        )
        self.stitching = check_flag("stitching", stitching)
        if self.stitching and self.gamma == 1:
            # a state that is met again promises itself one reward more, for ever
            raise ValueError("stitched values need an end: give a gamma below 1, or no stitching")
        self.correction = check_number("correction", correction, low=0, high=1)
        self.temperature_unit = check_choice("temperature_unit", temperature_unit, TEMPERATURES)
        self.timeouts = check_choice("timeouts", timeouts, TIMEOUTS)
        super().__init__(env, embedding=embedding, seed=seed)
        self.action_box = ActionBox(self.action_space)
        self._scale_check = ScaleCheck()
        self._warned_empty = False
        self._prediction_rng = generator(self.seed, Stream.PREDICTION)
        self._buffers: dict[int, EpisodeArrays] = {}
        self._set_memory(self._make_memory())

    @property
    def radius(self) -> float:
        """How far a neighbour may be, n d; 0 while d is not known yet."""
        return self.radius_factor * self.memory.distance_threshold

    def _make_rule(self) -> Rule:
        threshold = self.memory.distance_threshold
        lowest, span = self._value_range()
        fading = 0.0
        if self.detour_cost and self.gamma < 1 and threshold > 0:
            cost = self.detour_cost * self.embedding.key_dim
            fading = -cost * math.log(max(self.gamma, 1e-300)) / threshold
        return Rule(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            temperature=self.temperature,
            relative=self.temperature_unit == "best",
            noise_std=self.noise_std,
            uniform=self.exploration == "uniform",
            threshold=threshold,
            # a share of the range, because a corrected value approaches the lowest one for ever
            worthless=lowest + 1e-6 * span if self.skip_worthless else -math.inf,
            knows=len(self.memory) > 0 and (not self.skip_worthless or span > 0),
            lowest=lowest,
            fading=fading,
            best=self.detour_cost is not None,
            hold=self.hold,
            clock=self.memory.clock,
            low=self.action_box.low,
            high=self.action_box.high,
        )

    def _value_range(self) -> tuple[float, float]:
        """The lowest value and how far the highest is above it."""
        values = self.memory.values
        if len(values) == 0 or not self._reads_range:
            return 0.0, 0.0
        lowest, highest = float(values.min()), float(values.max())
        return lowest, highest - lowest

    @property
    def _reads_range(self) -> bool:
        relative = self.temperature_unit == "best"
        return relative or self.skip_worthless or self.stitching or self.detour_cost is not None

    @property
    def _first_threshold(self) -> float:
        """The memory's threshold before the first episode; 0: not known yet."""
        return self.distance_threshold if isinstance(self.distance_threshold, float) else 0.0

    def _make_memory(self) -> EpisodicMemory:
        return self._new_memory("replace_if_better", self.recency)

    def _new_memory(self, rule: str, recency: str) -> EpisodicMemory:
        return EpisodicMemory(
            self.embedding.key_dim,
            capacity=self.capacity,
            distance_threshold=self._first_threshold,
            columns={"action": self.action_box.size},
            rule=rule,
            recency=recency,
        )

    def _set_memory(self, memory: EpisodicMemory) -> None:
        super()._set_memory(memory)
        self._read_arrays()

    def _read_arrays(self) -> None:
        """The memory's arrays for compiled code; they may be other ones after a write."""
        self._tree = self.memory.tree.arrays
        self._values = self.memory.value_array
        self._actions = self.memory.column_arrays["action"]
        self._memory_arrays = (*self._tree, self._values, self._actions)
        self._rule = self._make_rule()
        self._flat_rule = self._rule.flat()
        self._n_uniforms = n_uniforms(self._rule)

    def begin_episode(self, environment: int) -> CECEpisode:
        return CECEpisode(self, environment, self._open_episode(environment))

    def _learn_from(self, episode: Experience | HeldEpisode) -> tuple[list[npt.NDArray[Any]], int]:
        """Algorithm 1, UPDATE. Everything is computed and checked before anything changes.

        An episode without keys waits until the embedding is ready; then all that wait are written.

        Returns:
            The outcomes of the writes, an array for each episode, and how many steps were not
            written because they repeated what is remembered.
        """
        held, episodes = list(self._held), []
        if isinstance(episode, HeldEpisode):
            check_returns(discounted_returns(episode.rewards, self.gamma, 0.0), episode.rewards)
            held.append(episode)
        else:
            episodes.append(episode)
        if not self.embedding.ready:
            self._held = held
            return [], 0
        episodes = [*(self._with_keys(waiting) for waiting in held), *episodes]
        threshold = self.memory.distance_threshold
        if threshold == 0:
            threshold = median_step([episode.keys for episode in episodes]) / 2
        updates = [self._update_from(episode) for episode in episodes]
        self._held = []
        self.memory.distance_threshold = threshold
        outcomes = [self._apply(update) for update in updates]
        self._read_arrays()
        return outcomes, sum(update.n_repeated for update in updates)

    def _with_keys(self, held: HeldEpisode) -> Experience:
        keys = self.embedding.embed_batch(held.vectors)
        with np.errstate(over="ignore"):
            finite = np.isfinite(keys.astype(np.float32)).all(axis=1)
        if not finite.all():
            vector = held.vectors[finite.argmin()]
            raise ValueError(f"expected finite keys, got {keys[finite.argmin()]} for {vector}")
        return untraced(keys, held.actions, held.rewards)

    def _update_from(self, episode: Experience) -> "Update":
        """What an episode changes in the memory: backwards, as in the paper.

        A time-out ends the return as a real end does, as in the paper, unless `timeouts` says
        otherwise.
        """
        returns, corrected, corrected_values = back_up_episode(
            self.memory, episode, self.gamma, self.stitching, self.correction, self._rule.lowest
        )
        check_returns(returns, episode.rewards)
        check_corrections(corrected, corrected_values)
        fresh = np.ones(len(returns), dtype=np.bool_)
        if self.correction > 0:
            # a repeated step is no news, unless its row has been replaced since
            repeated = episode.trace[:, REPEATED] > 0
            fresh = ~(repeated & still_in_place(self.memory, episode.trace)[:, FOLLOWED])
        order = np.flatnonzero(fresh)[::-1]
        return Update(
            keys=episode.keys[order],
            values=returns[order],
            actions=episode.actions[order],
            corrected=corrected,
            corrected_values=corrected_values,
            n_repeated=len(returns) - len(order),
        )

    def _apply(self, update: "Update") -> npt.NDArray[Any]:
        """The one place where the memory is written."""
        self.memory.set_values(update.corrected, update.corrected_values)
        return self._write(update.keys, update.values, update.actions)

    def _write(self, keys: Any, values: Any, actions: Any) -> npt.NDArray[Any]:
        return self.memory.write_many(keys, values, action=actions)[1]

    def _predict_one(self, observation: Any, deterministic: bool) -> npt.NDArray[Any]:
        # buffers of its own: many threads may predict at once
        vector, key = np.empty(self._flattener.size), np.empty(self.embedding.key_dim)
        self._flattener.into(observation, vector)
        if len(self.memory) == 0:
            return self._predict_without_memory()
        self.embedding.embed(vector, key)
        if not deterministic:
            return self._predict_random(key)
        row = greedy_row(*self._tree, self._values, *self._flat_rule, key)
        if row < 0:
            raise ValueError(f"a finite observation was expected, {observation!r} came")
        return self.action_box.executed(self._actions[row])

    def _predict_without_memory(self) -> npt.NDArray[Any]:
        if not self._warned_empty:
            self._warned_empty = True
            warn_empty_memory()
        return self.action_box.centre()

    def _predict_random(self, key: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        arrays = episode_arrays(1, self.embedding.key_dim, self.action_box.size)
        draws = draw_block(self._prediction_rng, 1, self._rule)
        epsilon = self.epsilon(self.num_timesteps)
        choice = decide(
            *self._memory_arrays, *self._flat_rule, *arrays, np.zeros(2, np.int64), draws,
            self._n_uniforms, key, epsilon, 0, 0,
        )  # fmt: skip
        if choice < 0:
            raise ValueError(f"a finite observation was expected, its key is {key}")
        return self.action_box.executed(arrays.actions[0])

    def metrics(self, totals: Mapping[str, float]) -> dict[str, float]:
        return {
            "rollout/exploration_rate": self.epsilon(self.num_timesteps),
            "memory/size": float(len(self.memory)),
            "memory/hit_rate": _ratio(totals, "hits", "writes"),
            "memory/nearest_distance": _ratio(totals, "distance", "distances"),
            "memory/added": totals.get("added", 0.0),
            "memory/replaced": totals.get("replaced", 0.0),
            "memory/evicted": totals.get("evicted", 0.0),
            "policy/random_fraction": _ratio(totals, "random", "decisions"),
            "policy/no_neighbor_fraction": _ratio(totals, "no_neighbor", "looked"),
        }

    def gauges(self) -> dict[str, Any]:
        return {"memory": len(self.memory)}

    def config(self) -> dict[str, Any]:
        return {
            "n_neighbors": self.n_neighbors,
            "temperature": self.temperature,
            "noise_std": self.noise_std,
            "radius_factor": self.radius_factor,
            "distance_threshold": self.distance_threshold,
            "gamma": self.gamma,
            "epsilon": self.epsilon.config(),
            "capacity": self.capacity,
            "embedding": self.embedding.config(),
            "exploration": self.exploration,
            "recency": self.recency,
            "epsilon_spread": self.epsilon_spread,
            "hold": self.hold,
            "skip_worthless": self.skip_worthless,
            "detour_cost": self.detour_cost,
            "stitching": self.stitching,
            "correction": self.correction,
            "temperature_unit": self.temperature_unit,
            "timeouts": self.timeouts,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, env: Any, config: Mapping[str, Any]) -> Self:
        """Make an agent from its `config`."""
        arguments = dict(config)
        arguments["embedding"] = load_embedding(arguments["embedding"])
        return cls(env, **arguments)

    def warm_up(self) -> None:
        """Compile everything that training and `predict` call.

        A second agent with the same settings does all of it once. Its embedding is one that soon
        has keys, so that its first episode is without keys and its second with them.
        """
        self.embedding.warm_up()
        template = copy.copy(self)
        template.embedding, template.distance_threshold = FrozenNormalizer(2), "step"
        observations = spaces.Box(-1.0, 1.0, (self.embedding.key_dim,), np.float64)
        agent = self.from_config(Spaces(observations, self.action_space), template.config())
        observation = np.zeros(self.embedding.key_dim)
        for environment in range(2):
            episode = agent.begin_episode(environment)
            for _ in range(2):
                episode.act(observation)
                episode.record(0.0)
            episode.finish(observation)
        agent.predict(observation, deterministic=True)
        agent.predict(observation)
        agent.memory.recency_order()  # for checkpoints


class Update(NamedTuple):
    """What one episode changes in the memory: tuples to write, in order, and corrected rows."""

    keys: npt.NDArray[Any]
    values: npt.NDArray[np.float64]
    actions: npt.NDArray[np.float32]
    corrected: npt.NDArray[np.int64]
    corrected_values: npt.NDArray[np.float32]
    n_repeated: int


def check_returns(returns: npt.NDArray[np.float64], rewards: npt.NDArray[np.float64]) -> None:
    """Refuse returns that the memory's float32 cannot hold, before anything is written."""
    too_large = ~(np.abs(returns) <= np.finfo(np.float32).max)
    if too_large.any():
        step = int(too_large.nonzero()[0][-1])  # returns are made backwards: the first to overflow
        raise ValueError(
            f"expected returns that float32 can hold, got {returns[step]:g} at step {step} of the "
            f"episode (its reward is {rewards[step]:g}); scale the rewards"
        )


def check_corrections(rows: npt.NDArray[np.int64], values: npt.NDArray[np.float32]) -> None:
    if not np.isfinite(values).all():
        row = int(rows[~np.isfinite(values)][0])
        raise ValueError(
            f"expected corrected values that float32 can hold, got infinity for row {row}; "
            "scale the rewards"
        )


def check_threshold(threshold: Any) -> float | str:
    if isinstance(threshold, str):
        return check_choice("distance_threshold", threshold, ("step",))
    return check_number("distance_threshold", threshold, low=0, open_low=True)


def _ratio(totals: Mapping[str, float], part: str, whole: str) -> float:
    count = totals.get(whole, 0.0)
    return totals.get(part, 0.0) / count if count else float("nan")

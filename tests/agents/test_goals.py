"""Ways to goals, planned over stored transitions."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

from scrubjay.agents import CECPlus, goals
from scrubjay.agents.cec_plus_kernels import RIM, RULE, score_predictions
from scrubjay.agents.discovery import TARGET
from scrubjay.agents.goals import (
    LINKS,
    GoalMap,
    Goals,
    LanePlans,
    Plan,
    closeness_of_links,
    find_goals,
    goals_in,
    newest_rows,
    reward_function,
)
from scrubjay.embedding import FrozenNormalizer
from scrubjay.embedding.flatten import Flattener
from scrubjay.memory import EpisodicMemory
from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.memory.kdtree import TreeArrays
from scrubjay.training.collector import Collector, Job

NAMES = ("achieved_goal", "desired_goal", "observation")


class Plane(gym.Env):
    """A point in a square; being within 0.5 of the goal pays 1 and ends the episode.

    With `kind`, the observation is no dictionary: position and goal, or the difference of the goal
    and where a tool is that the angle of an arm decides.
    """

    def __init__(self, known=True, kind="named"):
        box = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.observation_space = gym.spaces.Dict(dict.fromkeys(NAMES, box))
        if kind != "named":
            self.observation_space = gym.spaces.Box(-np.inf, np.inf, (6,), np.float64)
        self.action_space = gym.spaces.Box(-1, 1, (2,), np.float32)
        self.kind = kind
        if not known:
            self.compute_reward = None

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        return (np.linalg.norm(achieved - desired, axis=-1) < 0.5).astype(np.float64)

    def observe(self):
        if self.kind == "named":
            return {"achieved_goal": self.x, "desired_goal": self.goal, "observation": self.x}
        other = self.x if self.kind == "position" else np.tanh(self.x / 5)
        last = np.zeros(2) if self.kind == "position" else self.x - self.goal
        return np.concatenate([self.goal, last, other])

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.goal, self.t = np.zeros(2), self.np_random.uniform(-4, 4, 2), 0
        return self.observe(), {}

    def step(self, action):
        self.x = np.clip(self.x + action, -5, 5)
        self.t += 1
        done = bool(np.linalg.norm(self.x - self.goal) < 0.5)
        return self.observe(), float(done), done, self.t >= 40, {"is_success": done}


def success(agent, env, n=30):
    solved = 0
    for seed in range(n):
        observation, _ = env.reset(seed=1000 + seed)
        for _ in range(40):
            action = agent.predict(observation, deterministic=True)[0]
            observation, _, done, _, _ = env.step(action)
            if done:
                solved += 1
                break
    return solved / n


LINE = Goals((0,), (1,), (1,), (1,), (0,))


def line_memory(nexts, links):
    """Rows at 0, 1, 2, ... of a line, each leading to one of `nexts`."""
    n = len(nexts)
    keys = np.stack([np.zeros(n), np.arange(n)], axis=1)
    memory = EpisodicMemory(
        2, capacity=99, rule="append", columns={"next": 2, "links": ((LINKS,), np.int32)}
    )
    padded = np.full((n, LINKS), -1, np.int32)
    for i, rows in enumerate(links):
        padded[i, : len(rows)] = rows
    memory.write_many(
        keys, np.zeros(n), next=np.stack([np.full(n, 9.0), nexts], axis=1), links=padded
    )
    return memory


def known(radius=0.1):
    found = GoalMap(LINE)
    found.set_scale({"mean": np.zeros(2), "variance": np.ones(2)})
    found.radius = radius
    return found


def test_rows_are_worth_what_they_lead_to():
    memory = line_memory([1, 2, 3, 0], [[1], [2], [3], [0]])
    goal_at_3 = known().plan(memory, np.array([3.0]), 0.5, 0.0).values
    np.testing.assert_allclose(goal_at_3, [0.25, 0.5, 1.0, 0.125])
    goal_at_1 = known().plan(memory, np.array([1.0]), 0.5, 0.0).values
    np.testing.assert_allclose(goal_at_1, [1.0, 0.125, 0.25, 0.5])


def test_a_goal_that_nothing_achieves_is_approached():
    memory = line_memory([1, 2, 3, 0], [[1], [2], [3], [0]])
    values, limit = known().plan(memory, np.array([7.0]), 0.5, 0.0)
    np.testing.assert_allclose(values, TARGET * np.array([0.25, 0.5, 1.0, 0.125]))
    assert limit == 0


def test_half_of_the_time_the_target_is_a_row_in_a_rare_place():
    memory = line_memory([1, 2, 3, 0], [[1], [2], [3], [0]])
    targets = [
        int(
            known().plan(memory, np.array([7.0]), 0.5, 0.0, np.random.default_rng(seed))[0].argmax()
        )
        for seed in range(200)
    ]
    assert set(targets) == {0, 1, 2, 3}
    assert 0.5 < np.mean(np.array(targets) == 2) < 0.75  # the nearest: always 2; a rare one: any


def test_a_distance_takes_from_what_a_link_is_worth():
    memory = line_memory([1.5, 2], [[1, 0], [-1]])
    nexts, links = memory.columns["next"], memory.columns["links"]
    rows, near = closeness_of_links(nexts, LINE.mask(2), memory.keys, links, 2.0, np.arange(2))
    assert rows[0, :3].tolist() == [1, 0, -1]
    np.testing.assert_allclose(near[0, :2], np.exp(-2.0 * np.array([0.5, 1.5])), rtol=1e-6)
    assert not near[1].any()
    # without row 0; row 1 is at place 0
    places = np.array([-1, 0])
    rows, near = closeness_of_links(nexts[1:], LINE.mask(2), memory.keys, links[:1], 2.0, places)
    assert rows[0, :2].tolist() == [0, -1]
    np.testing.assert_allclose(near[0, 0], np.exp(-2.0), rtol=1e-6)


def test_training_plans_over_the_newest_rows(monkeypatch):
    # from 0 to 3, and from 4 back to 3
    memory = line_memory([1, 2, 3, 0, 3], [[1, 4], [2], [3], [0], [2, 3]])
    goal, rng = np.array([3.0]), np.random.default_rng(0)
    whole = known().plan(memory, goal, 0.5, 0.0, rng).values
    np.testing.assert_allclose(whole, [0.5, 0.5, 1.0, 0.25, 1.0])
    monkeypatch.setattr(goals, "PLANNED", 3)
    newest = known().plan(memory, goal, 0.5, 0.0, rng).values
    np.testing.assert_allclose(newest, [0, 0, 1.0, 0, 1.0])  # 3 leads to 0, which is too old
    np.testing.assert_allclose(known().plan(memory, goal, 0.5, 0.0).values, whole)


def test_the_newest_rows_of_a_full_memory_are_in_the_places_of_old_ones():
    memory = EpisodicMemory(1, capacity=5, rule="append")
    for n, expected in ((3, [1, 2]), (2, [3, 4]), (3, [1, 2])):
        columns = {"action": np.zeros((n, 2))}
        memory.write_many(np.random.default_rng(n).normal(size=(n, 1)), np.zeros(n), **columns)
        assert newest_rows(memory, 2).tolist() == expected
        # links of all rows have been set, as by `link_rows`, and the file was read
        memory.set_columns(np.arange(len(memory)), action=np.ones((len(memory), 2)))
        loaded = EpisodicMemory.from_state(*memory.state())
        assert newest_rows(loaded, 2).tolist() == expected
        copied = EpisodicMemory(1, capacity=5, rule="append")
        copied.apply(memory.changes())  # in another process
        assert newest_rows(copied, 2).tolist() == expected
    assert newest_rows(memory, 9).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("signs", [(0, 0), (1, -1)])
def test_aims_are_the_achieved_goals_minus_the_desired_ones(signs):
    found = GoalMap(Goals((0, 3), (4, 1), (1, 2, 4), (2,), signs))
    rng = np.random.default_rng(0)
    found.set_scale({"mean": rng.normal(size=5), "variance": rng.uniform(0.1, 2, 5)})
    keys, limits = rng.normal(size=(7, 5)), rng.uniform(size=7)
    wanted, aims = found.aims(keys, limits)
    np.testing.assert_array_equal(wanted, found.desired(keys))
    np.testing.assert_array_equal(aims[:, :2], found.achieved(keys) - wanted)
    np.testing.assert_array_equal(aims[:, 2], limits)


def scores_of(aim, key=1.2, values=(0.0, 0.0, 1.0), fading=1.0):
    """Scores of two neighbours on a line: one leads 0.5 to the right, one 1.0 to the left."""
    keys = np.array([[1.0], [2.0], [1.7]], np.float32)
    memory = EpisodicMemory(1, capacity=9, rule="append", index="kdtree", columns={})
    memory.write_many(keys, np.zeros(3))
    nexts, moved = np.array([[1.5], [1.0], [9.0]], np.float32), np.float32([[0.5], [-1.0], [0.0]])
    rule = np.zeros(1, RULE)
    rule["gamma"], rule["radius"], rule["fading"] = 0.9, 1.0, fading
    scores = np.full(2, np.nan)
    score_predictions(
        TreeArrays(*memory.tree.arrays), np.array(values, np.float32), np.ones(1, np.float32),
        nexts, moved, np.array(aim), np.array([key], np.float32), np.arange(2), 2, rule[0], scores,
    )  # fmt: skip
    return scores


def test_neighbours_are_scored_by_where_their_steps_would_lead_from_here():
    # the goal is at 1.7, within 0.1: from 1.2 the first one hits its middle, the second leads away
    scores = scores_of(aim=[1.2 - 1.7, 0.1])
    np.testing.assert_allclose(scores, [1.0, 0.9 * 0.0], atol=1e-6)
    # from 1.25 it hits half way between the middle and the rim
    np.testing.assert_allclose(scores_of([1.25 - 1.7, 0.1], 1.25)[0], 0.9 ** (RIM / 2), rtol=1e-6)
    # a goal farther away: what the row is worth that stands nearest to where they would lead
    scores = scores_of(aim=[1.2 - 5.0, 0.1])
    np.testing.assert_allclose(scores, [0.9, 0.9 * 0.0], rtol=1e-6)
    scores = scores_of(aim=[1.3 - 5.0, 0.1], key=1.3)
    np.testing.assert_allclose(scores[0], 0.9 * np.exp(-0.1), rtol=1e-6)


def test_plans_of_lanes_are_kept_apart():
    plans = LanePlans()
    plans.put(0, (1, b"a"), Plan(np.ones(3, np.float32), 0.5))
    plans.put(2, (1, b"b"), Plan(np.full(5, 2, np.float32), 0.0))
    assert plans.has(0, (1, b"a"))
    assert not plans.has(0, (2, b"a"))
    assert plans.values[0, :5].tolist() == [1, 1, 1, 0, 0]
    assert plans.values[2, :5].tolist() == [2] * 5
    assert plans.limits[:3].tolist() == [0.5, 0, 0]
    plans.put(2, (2, b"b"), Plan(np.ones(4, np.float32), 0.0))
    assert plans.values[2, :5].tolist() == [1, 1, 1, 1, 0]


def test_where_goals_are():
    space = Plane().observation_space
    found = find_goals(Flattener(space, ("desired_goal", "observation", "achieved_goal")))
    assert found == Goals((0, 1), (4, 5), (2, 3, 4, 5), (2,), (0, 0))
    assert find_goals(Flattener(space, ("observation",))) is None


@pytest.mark.parametrize("kind", ["one", "sync", "wrapped"])
def test_rewards_are_asked_of_the_environment(kind):
    env = Plane()
    if kind == "sync":
        env = gym.vector.SyncVectorEnv([Plane, Plane])
    if kind == "wrapped":
        env = gym.wrappers.TimeLimit(env, 7)
    compute = reward_function(env, Goals((0, 1), (2, 3), (2, 3), (2,), (0, 0)))
    assert compute(np.zeros((3, 2)), np.array([[0, 0], [0, 2], [0.1, 0]])).tolist() == [1, 0, 1]


class InfoForEach(Plane):
    """Its `compute_reward` goes through a list of infos, as Stable-Baselines3 gives it."""

    def compute_reward(self, achieved, desired, info):
        pairs = zip(achieved, desired, info, strict=True)
        return np.array([super(InfoForEach, self).compute_reward(*each) for each in pairs])


def test_compute_reward_may_take_an_info_for_each_goal():
    compute = reward_function(InfoForEach(), Goals((0, 1), (2, 3), (2, 3), (2,), (0, 0)))
    assert compute(np.zeros((3, 2)), np.array([[0, 0], [0, 2], [0.1, 0]])).tolist() == [1, 0, 1]


class NoRewards(gym.Wrapper):
    """An environment that cannot say what a goal pays."""

    def get_wrapper_attr(self, name):
        if name == "compute_reward":
            raise AttributeError(name)
        return super().get_wrapper_attr(name)

    def has_wrapper_attr(self, name):
        return name != "compute_reward" and super().has_wrapper_attr(name)


class OneGoal(Plane):
    """Its `compute_reward` needs an entry of info."""

    def compute_reward(self, achieved, desired, info):
        return super().compute_reward(achieved, desired, info) * info["weight"]


def in_processes(kind, make):
    if kind == "async":
        return gym.vector.AsyncVectorEnv([make] * 2)
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    return vec_env.SubprocVecEnv([make] * 2, start_method="fork")


@pytest.mark.parametrize("kind", ["async", "subproc"])
def test_environments_in_processes_may_have_no_compute_reward(kind):
    env = in_processes(kind, lambda: NoRewards(Plane()))
    assert reward_function(env, Goals((0, 1), (2, 3), (2, 3), (2,), (0, 0))) is None
    env.reset()  # its processes are still there
    env.close()


@pytest.mark.filterwarnings("ignore")  # Gymnasium's, of the error in the process
@pytest.mark.parametrize("kind", ["async", "subproc"])
def test_a_compute_reward_that_ends_the_processes_is_named(kind):
    env = in_processes(kind, OneGoal)
    with pytest.raises(ValueError, match="compute_reward to take arrays of goals"):
        reward_function(env, Goals((0, 1), (2, 3), (2, 3), (2,), (0, 0)))


@pytest.mark.parametrize("known", [True, False])
def test_all_goals_are_learned_at_once(known):
    agent = CECPlus(Plane(known), seed=0).learn(4000)
    assert agent.memory.rule == "append"
    assert success(agent, Plane()) >= 0.9
    assert 0.1 < agent.counters()["goals"]["radius"] <= 0.75
    del agent.env
    assert success(agent, Plane()) >= 0.9  # a loaded agent may have no environment


@pytest.mark.parametrize("kind", ["position", "difference"])
def test_goals_are_found_in_observations_that_do_not_name_them(kind):
    agent = CECPlus(Plane(kind=kind), seed=0).learn(8000)
    goals = agent.counters()["goals"]
    achieved = (4, 5) if kind == "position" else (2, 3)
    sign = 0 if kind == "position" else 1
    assert (goals["desired"], goals["achieved"]) == ((0, 1), achieved)
    assert goals["signs"] == (sign, sign)
    assert success(agent, Plane(kind=kind)) >= 0.9


def test_where_there_are_no_goals_none_are_found():
    agent = CECPlus("scrubjay/PointUMaze-v0", seed=0).learn(6000)
    state = agent.embedding.state()
    assert goals_in(agent.memory, state["mean"], np.sqrt(state["variance"])) is None
    assert agent.counters()["goals"] is None


def test_lanes_have_goals_of_their_own():
    env = gym.vector.SyncVectorEnv([Plane] * 4)
    agent = CECPlus(env, seed=0).learn(6000)
    assert success(agent, Plane()) >= 0.9
    observations, _ = env.reset(seed=3)
    together = agent.predict(observations, deterministic=True)[0]
    for lane in range(4):
        alone = {name: values[lane] for name, values in observations.items()}
        action = agent.predict(alone, deterministic=True)[0]
        np.testing.assert_array_equal(action, together[lane])


def test_predicting_changes_nothing_that_is_learned():
    quiet = CECPlus(Plane(), seed=3).learn(2500)
    busy = CECPlus(Plane(), seed=3).learn(1500)
    observation, _ = Plane().reset(seed=1)
    for _ in range(3):
        busy.predict(observation)
        busy.predict(observation, deterministic=True)
    busy.learn(2500 - busy.num_timesteps)
    assert busy.memory.digest() == quiet.memory.digest()


@pytest.mark.parametrize("kind", ["named", "position"])
def test_a_resumed_agent_continues_bit_for_bit(kind, tmp_path):
    whole = CECPlus(Plane(kind=kind), seed=3).learn(5000)
    for steps in (1200, 4000):
        part = CECPlus(Plane(kind=kind), seed=3).learn(steps)
        part.save(tmp_path / "part")
        resumed = CECPlus.load(tmp_path / "part", env=Plane(kind=kind))
        resumed.learn(5000 - resumed.num_timesteps)
        assert resumed.memory.digest() == whole.memory.digest()
        assert resumed.counters() == whole.counters()


class Near(Plane):
    """Calls goals achieved from farther away than observed successes are."""

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        return (np.linalg.norm(achieved - desired, axis=-1) < 2.0).astype(np.float64)


def test_the_environment_of_a_loaded_agent_says_what_is_achieved(tmp_path):
    agent = CECPlus(Plane(), seed=0).learn(3000)
    agent.save(tmp_path / "agent")
    loaded = CECPlus.load(tmp_path / "agent")
    key = np.zeros(agent.embedding.key_dim)
    alone = loaded._plan_of(loaded._map, key)
    assert loaded._map.achieves(np.array([[1.9, 0.0]]), np.zeros(2)).tolist() == [False]
    loaded.set_env(Near())
    assert loaded._map.achieves(np.array([[1.9, 0.0]]), np.zeros(2)).tolist() == [True]
    # nor are plans kept that were made without it
    assert loaded._plan_of(loaded._map, key)[2][0, -1] > alone[2][0, -1]
    again = CECPlus.load(tmp_path / "agent", env=Near())
    np.testing.assert_array_equal(
        again._plan_of(again._map, key)[0], loaded._plan_of(loaded._map, key)[0]
    )


def test_the_environment_of_a_collector_says_what_is_achieved():
    agent = CECPlus(Plane(), seed=0)
    copy = pickle.loads(pickle.dumps(agent.collector()))
    assert agent._map._compute is not None  # making a copy without environment changed nothing
    Collector(Job(copy, Near, None, None), 0)
    copy._map.set_scale({"mean": np.zeros(6), "variance": np.ones(6)})
    assert copy._map.achieves(np.array([[1.9, 0.0]]), np.zeros(2)).tolist() == [True]


def test_a_decision_for_a_goal_is_explained():
    agent = CECPlus(Plane(), seed=0).learn(3000)
    for seed in range(5):
        observation, _ = Plane().reset(seed=seed)
        found = agent.explain(observation)
        action = agent.predict(observation, deterministic=True)[0]
        np.testing.assert_array_equal(agent.codec.decode(found.action), action)
        assert found.neighbors[found.followed].value > 0


class Cells(gym.Env):
    """A walk on a grid, whose reward asks whether two goals are equal; it may take single goals."""

    def __init__(self, known=True, dtype=np.float32):
        box = gym.spaces.Box(0, 7, (2,), dtype)
        self.observation_space = gym.spaces.Dict(dict.fromkeys(NAMES, box))
        self.action_space = gym.spaces.Discrete(4)
        self.dtype = dtype
        if not known:
            self.compute_reward = None

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        pairs = zip(np.atleast_2d(achieved), np.atleast_2d(desired), strict=True)
        return np.stack([np.float64((one == two).all()) for one, two in pairs])

    def observe(self):
        x, goal = self.x.astype(self.dtype), self.goal.astype(self.dtype)
        return {"achieved_goal": x, "desired_goal": goal, "observation": x}

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.goal = self.np_random.integers(0, 8, (2, 2))
        return self.observe(), {}

    def step(self, action):
        move = ((1, 0), (-1, 0), (0, 1), (0, -1))[int(action)]
        self.x = np.clip(self.x + move, 0, 7)
        done = bool((self.x == self.goal).all())
        return self.observe(), float(done), done, False, {}


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("known", [True, False])
def test_goals_may_have_to_be_equal(known, dtype):
    """Rows keep float32 numbers, and no goal was achieved in them for the rounding."""
    env = gym.wrappers.TimeLimit(Cells(known, dtype), 40)
    agent = CECPlus(env, seed=0).learn(3000)
    nexts = agent._map.achieved(agent.memory.columns["next"])
    for goal in ((1.0, 1.0), (3.0, 5.0), (7.0, 0.0)):
        there = np.abs(nexts - goal).max(axis=1) < 0.5
        assert there.any()
        np.testing.assert_array_equal(agent._map.achieves(nexts, np.array(goal)), there)
        plan = agent._map.plan(agent.memory, np.array(goal), 0.99, 0.0)
        assert 0 < plan.limit < 1e-4
        assert (plan.values[there] > 0.95).all()  # not `TARGET`


class Rooms(Cells):
    """Goals are categories, beside an observation of numbers."""

    def __init__(self, space):
        super().__init__()
        box = self.observation_space["observation"]
        self.observation_space = gym.spaces.Dict(dict.fromkeys(NAMES[:2], space), observation=box)

    def observe(self):
        single = isinstance(self.observation_space["desired_goal"], gym.spaces.Discrete)
        x, goal = (int(8 * at[0] + at[1]) if single else at.copy() for at in (self.x, self.goal))
        return {"achieved_goal": x, "desired_goal": goal, "observation": self.x.astype(np.float32)}


@pytest.mark.parametrize("space", [gym.spaces.MultiDiscrete([8, 8]), gym.spaces.Discrete(64)])
def test_goals_may_be_categories(space, tmp_path):
    env = gym.wrappers.TimeLimit(Rooms(space), 40)
    agent = CECPlus(env, seed=0).learn(3000)
    nexts = agent._map.achieved(agent.memory.columns["next"])
    goal = np.round(nexts[0])
    there = (np.round(nexts) == goal).all(axis=1)
    np.testing.assert_array_equal(agent._map.achieves(nexts, goal), there)
    assert success(agent, env) >= 0.9
    agent.save(tmp_path / "agent")
    assert CECPlus.load(tmp_path / "agent").memory.digest() == agent.memory.digest()


def test_rounding_does_not_change_goals_with_a_radius():
    found = known(radius=0.25)
    near = 3.0 + np.array([[0.25], [0.2500001], [-0.2499999], [0.0]])
    assert found.achieves(near, np.array([3.0])).tolist() == [True, False, True, True]


class Short(Plane):
    """Episodes of one step, and a `compute_reward` that has to have a goal."""

    def compute_reward(self, achieved, desired, info):
        return np.stack(list(super().compute_reward(achieved, desired, info)))

    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        return observation, reward, True, False, info


def test_an_episode_of_one_step_asks_nothing_of_compute_reward():
    agent = CECPlus(Short(), seed=0).learn(1500)
    assert agent.n_episodes == 1500


def test_wrapped_vector_environments_say_what_is_achieved():
    env = gym.wrappers.vector.RecordEpisodeStatistics(gym.vector.SyncVectorEnv([Plane] * 2))
    compute = reward_function(env, Goals((0, 1), (2, 3), (2, 3), (2,), (0, 0)))
    assert compute(np.zeros((2, 2)), np.array([[0, 0], [0, 2]])).tolist() == [1, 0]


def test_rows_that_replace_others_are_worth_nothing_for_older_plans():
    """A lane's plan is older than what other lanes write into the places of old rows."""
    plans = LanePlans()
    plans.put(0, (1, b"a"), Plan(np.ones(3, np.float32), 0.5))
    plans.forget(np.array([1, 7]))
    assert plans.values[0, :3].tolist() == [1, 0, 1]
    assert plans.latest(0, (1, b"a")).values.tolist() == [1, 0, 1]
    env = gym.vector.SyncVectorEnv([Plane] * 3)
    agent = CECPlus(env, seed=1, capacity=300).learn(2000)
    written, plan = agent.memory.written_array, agent._map.plan
    made = {}

    def noting(memory, goal, *rest):
        made[goal.tobytes()] = memory.clock
        return plan(memory, goal, *rest)

    agent._map.plan = noting
    agent.learn(1000)
    for lane, (_, goal) in agent._map.lanes._aims.items():
        replaced = written > made[goal]
        assert replaced.any()
        assert not agent._map.lanes.values[lane, : len(replaced)][replaced].any()


def test_episodes_that_are_open_at_the_same_time_keep_their_plans(monkeypatch):
    agent = CECPlus(Plane(), seed=1).learn(2000)
    n_plans, plan = 0, GoalMap.plan

    def counted(*given, **named):
        nonlocal n_plans
        n_plans += 1
        return plan(*given, **named)

    monkeypatch.setattr(GoalMap, "plan", counted)
    envs, episodes = [Plane(), Plane()], [agent.begin_episode(i) for i in range(2)]
    seen = [env.reset(seed=i)[0] for i, env in enumerate(envs)]
    for _ in range(5):
        for i, env in enumerate(envs):
            seen[i], reward, *_ = env.step(episodes[i].act(seen[i]))
            episodes[i].record(reward)
    assert n_plans == 2


def written_again(path, change):
    """The saved agent with another manifest."""
    manifest, arrays = read_archive(path, "agent")
    for entry in ("format", "schema", "arrays"):
        manifest.pop(entry, None)
    change(manifest)
    write_archive(path, manifest, arrays)


def test_a_file_without_goals_whose_observations_have_some_is_opened_as_it_was(tmp_path):
    """0.2.0 stored goals as a part of each row, if one gave it an embedding that kept them."""
    path = tmp_path / "old.scrub"
    agent = CECPlus(Plane(), seed=0, goal_planning=False, embedding=FrozenNormalizer(1000))
    agent.learn(1500).save(path)

    def older(manifest):
        del manifest["config"]["goal_planning"]
        for entry in ("goals", "next_look", "intrinsic_dimensions"):
            del manifest["counters"][entry]

    written_again(path, older)
    opened = CECPlus.load(path, env=Plane())
    assert opened.memory.digest() == agent.memory.digest()
    assert not opened.config()["goal_planning"]
    opened.learn(500).save(path)
    assert CECPlus.load(path).memory.digest() == opened.memory.digest()


@pytest.mark.parametrize(
    "wrong",
    [
        {"desired": [99, 1]},
        {"desired": [-1, 1]},
        {"signs": [0]},
        {"achieved": [0]},
        {"state": []},
        {"radius": "far"},
    ],
)
def test_goals_that_contradict_the_keys_are_refused(wrong, plane_file, tmp_path):
    path = tmp_path / "wrong.scrub"
    path.write_bytes(plane_file.read_bytes())
    written_again(path, lambda manifest: manifest["counters"]["goals"].update(wrong))
    with pytest.raises(ArchiveError):
        CECPlus.load(path)


@pytest.fixture(scope="module")
def plane_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("plane") / "plane.scrub"
    CECPlus(Plane(), seed=0).learn(1200).save(path)
    return path


class Grid(gym.Env):
    """A cell of a line of 9; discrete steps, which do nothing at both ends."""

    def __init__(self):
        box = gym.spaces.Box(0, 8, (1,), np.float64)
        self.observation_space = gym.spaces.Dict(dict.fromkeys(NAMES, box))
        self.action_space = gym.spaces.Discrete(2)

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        return (np.abs(achieved - desired)[..., 0] < 0.5).astype(np.float64)

    def observe(self):
        return {"achieved_goal": self.x, "desired_goal": self.goal, "observation": self.x}

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.x, self.goal = np.zeros(1), self.np_random.integers(1, 9, 1).astype(np.float64)
        self.t = 0
        return self.observe(), {}

    def step(self, action):
        self.x = np.clip(self.x + (2 * action - 1), 0, 8)
        self.t += 1
        done = bool(self.x[0] == self.goal[0])
        return self.observe(), float(done), done, self.t >= 30, {"is_success": done}


def test_steps_that_change_nothing_are_not_stored():
    agent = CECPlus(Grid(), seed=0).learn(4_000)
    rows, mask = agent.memory, agent._mask
    assert len(rows) > 5
    moved = np.abs((rows.columns["next"] - rows.keys) * mask).max(axis=1)
    assert moved.min() > 0


def played(agent, states, goal=8.0):
    """An episode of these states, whatever the agent decides."""
    of = [{n: np.full(1, goal if n == "desired_goal" else x) for n in NAMES} for x in states]
    episode = agent.begin_episode()
    for observation in of[:-1]:
        episode.act(observation)
        episode.record(0.0)
    episode.finish(of[-1], terminated=False)


def test_the_step_before_one_that_changes_nothing_is_linked_to_the_one_after_it():
    agent = CECPlus(Grid(), seed=0).learn(3_000)
    agent._next_plan = 10**9  # links stay as they are written
    before = len(agent.memory)
    played(agent, [20.0, 22.0, 22.0, 24.0, 27.0])
    assert len(agent.memory) == before + 3
    links = agent.memory.columns["links"][-3:, 0]
    assert links.tolist() == [-1, before, before + 1]  # written from the last step on


def test_an_episode_in_which_nothing_changes_stores_nothing():
    agent = CECPlus(Grid(), seed=0).learn(3_000)
    before = len(agent.memory)
    played(agent, [0.0, 0.0, 0.0])
    assert len(agent.memory) == before

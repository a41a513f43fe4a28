"""`check-env`: every seeded mistake is found, and a sound environment is left in peace."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from scrubjay.training import env_play
from scrubjay.training.env_check import check_environment, method_to_try, noise_dimensions, worst
from scrubjay.training.env_play import outside, play_at_random


class Walk(gymnasium.Env):
    """A walk on a line; a reward of 1 at the end of it. Sound, unless told otherwise."""

    def __init__(self, n_dims=2):
        self.observation_space = spaces.Box(-np.inf, np.inf, (n_dims,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.x, self.t = self.np_random.uniform(-0.1, 0.1), 0
        return self.observe(), {}

    def observe(self):
        return np.full(self.observation_space.shape, self.x)

    def reward(self, success):
        return float(success)

    def step(self, action):
        self.x += 0.2 * float(np.asarray(action).reshape(-1)[0])
        self.t += 1
        success = bool(self.x > 2)
        return self.observe(), self.reward(success), success, self.t >= 100, self.info(success)

    def info(self, success):
        return {"is_success": success}


class Unbounded(Walk):
    def __init__(self):
        super().__init__()
        self.action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)


class TupleActions(Walk):
    def __init__(self):
        super().__init__()
        self.action_space = spaces.Tuple([spaces.Discrete(2), spaces.Discrete(3)])


class Unseeded(Walk):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.x = np.random.default_rng().uniform(-0.1, 0.1)
        return self.observe(), {}


class UnseededSteps(Walk):
    def step(self, action):
        self.x += np.random.default_rng().normal() * 0.01
        return super().step(action)


class Endless(Walk):
    def step(self, action):
        self.t = -1
        return (*super().step(0 * np.asarray(action))[:2], False, False, {})


class Silent(Walk):
    def info(self, success):
        return {"reached": success}


class BadReward(Walk):
    def reward(self, success):
        return float("nan") if self.t == 50 else float(success)


class HugeReward(Walk):
    def reward(self, success):
        return 1e6 * success


class BadNumbers(Walk):
    def observe(self):
        return np.array([self.x, np.nan if self.t == 30 else 0.0])


class NoiseSensor(Walk):
    def observe(self):
        return np.array([self.x, self.np_random.normal()])


class Scales(Walk):
    def observe(self):
        return np.array([self.x, 1e6 * self.x])


class ConstantSensor(Walk):
    def observe(self):
        return np.array([self.x, 3.0])


class OneArray(Walk):
    def observe(self):
        if not hasattr(self, "array"):
            self.array = np.zeros(2)
        self.array[:] = self.x
        return self.array


class TimeIsAnEnd(Walk):
    def step(self, action):
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, truncated, False, info


class Dense(Walk):
    def reward(self, success):  # noqa: ARG002
        return -abs(2 - self.x)


class Hopeless(Walk):
    def info(self, success):  # noqa: ARG002
        return {"is_success": False}


class OutOfItsSpace(Walk):
    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(-0.5, 0.5, (2,), np.float64)


class WrongType(Walk):
    def __init__(self):
        super().__init__()
        self.observation_space = spaces.Box(-9, 9, (2,), np.float32)

    def observe(self):
        return super().observe().astype(np.float64)


class WrongShape(Walk):
    def observe(self):
        return np.full(3, self.x)


class ChangingShape(Walk):
    def observe(self):
        return np.full(2 + (self.t > 3), self.x)


class NoEntry(Walk):
    def __init__(self):
        super().__init__()
        box = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.observation_space = spaces.Dict({"place": box, "speed": box})

    def observe(self):
        return {"place": np.array([self.x])}


class NeverChanges(Walk):
    def observe(self):
        return np.ones(2)


class NoReward(Walk):
    def reward(self, success):  # noqa: ARG002
        return None


class NeverPays(Walk):
    def reward(self, success):  # noqa: ARG002
        return 0.0


class PaysNothingAndSaysNothing(NeverPays):
    def info(self, success):  # noqa: ARG002
        return {}


class AlwaysSolved(Walk):
    def info(self, success):  # noqa: ARG002
        return {"is_success": True}


class HugeActions(Walk):
    def __init__(self):
        super().__init__()
        self.action_space = spaces.Box(-3e38, 3e38, (1,), np.float32)


class ManyBits(Walk):
    def __init__(self):
        super().__init__()
        self.action_space = spaces.MultiBinary(3)


class GoalsOneByOne(Walk):
    def __init__(self):
        super().__init__()
        box = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        names = ("observation", "achieved_goal", "desired_goal")
        self.observation_space = spaces.Dict(dict.fromkeys(names, box))

    def observe(self):
        return {name: np.array([self.x]) for name in self.observation_space.spaces}

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        return float(achieved[0] > desired[0])


class GoalsWithoutReward(GoalsOneByOne):
    compute_reward = None


MISTAKES = {
    WrongType: ("advice", "numbers", "expected float32, got float64"),
    WrongShape: ("problem", "observations", "expected shape (2,), got (3,)"),
    ChangingShape: ("problem", "observations", "shape (3,) at step 4"),
    NoEntry: ("problem", "observations", "no entry 'speed'"),
    NeverChanges: ("problem", "dimensions", "all of them are the same"),
    NoReward: ("problem", "step", "None"),
    NeverPays: ("problem", "rewards", "also at successes"),
    PaysNothingAndSaysNothing: ("advice", "rewards", "0 in all of"),
    AlwaysSolved: ("advice", "success", "100% of"),
    HugeActions: ("advice", "actions", "less than 1e+06 apart"),
    ManyBits: ("problem", "actions", "MultiBinary(3)"),
    GoalsOneByOne: ("advice", "goals", "for many goals at once"),
    GoalsWithoutReward: ("advice", "goals", "no compute_reward"),
    Unbounded: ("problem", "actions", "bounded Box"),
    TupleActions: ("problem", "actions", "bounded Box"),
    Unseeded: ("problem", "reset", "two resets with seed 7 differ"),
    UnseededSteps: ("advice", "step", "different from step"),
    Endless: ("problem", "episodes", "more than 10,000 steps"),
    Silent: ("advice", "success", "info has reached"),
    BadReward: ("problem", "rewards", "nan"),
    HugeReward: ("advice", "rewards", "one of 1e+06"),
    BadNumbers: ("problem", "numbers", "dimensions [1]"),
    NoiseSensor: (
        "advice",
        "dimensions",
        "on the one before: dimension 1",
    ),
    Scales: ("advice", "dimensions", "1,000,000 times as much as 0"),
    ConstantSensor: ("advice", "dimensions", "always the same: dimension 1"),
    OneArray: ("problem", "numbers", "changes after it was returned"),
    TimeIsAnEnd: ("advice", "time limit", "terminated after 100 steps"),
    Dense: ("advice", "rewards", "of the steps have a reward other than"),
    Hopeless: ("advice", "success", "0% of"),
    OutOfItsSpace: ("advice", "numbers", "expected at most 0.5, got 0.5"),
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda kind: kind.__name__)
def test_check_17_every_seeded_mistake_is_found(mistake):
    level, what, words = MISTAKES[mistake]
    findings = check_environment(mistake, n_steps=3000)
    found = [each for each in findings if each.level == level and each.what == what]
    assert any(words in f"{each.expected} {each.found}" for each in found), findings
    assert all(each.fix for each in found)


def test_a_sound_environment_has_no_problem():
    findings = check_environment(Walk, n_steps=3000)
    assert worst(findings) == "ok", findings


@pytest.mark.parametrize("task", ["GrowingTree", "SparseMountainCar", "PointUMaze"])
def test_the_tasks_that_ship_have_no_problem(task):
    findings = check_environment(lambda: gymnasium.make(f"scrubjay/{task}-v0"), n_steps=2000)
    assert worst(findings) != "problem", findings


class OldStep(Walk):
    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, info


class OldReset(Walk):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options=options)[0]


@pytest.mark.parametrize(
    ("mistake", "what", "expected"),
    [
        (OldStep, "step", "5 values: (observation, reward, terminated, truncated, info)"),
        (OldReset, "reset", "2 values: (observation, info)"),
    ],
)
def test_an_old_interface_is_a_finding_and_no_crash(mistake, what, expected):
    findings = check_environment(mistake, 500)
    assert worst(findings) == "problem"
    assert expected in [finding.expected for finding in findings if finding.what == what]


class Coded(Walk):
    """What it observes is of a space without a shape of its own."""

    codes = spaces.Dict(
        {"cell": spaces.Discrete(9), "both": spaces.Tuple((spaces.MultiBinary(2),) * 2)}
    )

    def __init__(self):
        super().__init__()
        self.observation_space = self.codes

    def observe(self):
        cell = min(int(4 + 2 * self.x), 8)
        return {"both": (np.zeros(2, np.int8),) * 2, "cell": cell}


def test_categories_are_told_and_words_are_refused(monkeypatch):
    found = check_environment(Coded, 500)
    assert worst(found) == "advice"  # flags that never change
    texts = [finding.found for finding in found if finding.what == "observations"]
    assert texts == ["both.0 MultiBinary(2), both.1 MultiBinary(2), cell Discrete(9), one-hot"]
    monkeypatch.setattr(Coded, "codes", spaces.Dict({"word": spaces.Text(9)}))
    monkeypatch.setattr(Coded, "observe", lambda _: {"word": "abc"})
    refused = check_environment(Coded, 500)[-1]
    assert (refused.level, refused.what) == ("problem", "observations")
    assert refused.fix.startswith("return numbers, for example by gymnasium.wrappers.")


class Pictures(Walk):
    """Arrays so large that NumPy prints their shape, in a dictionary or a tuple."""

    def __init__(self, kind, picture=(32, 32, 3)):
        super().__init__()
        parts = {
            "camera": spaces.Box(0, 255, picture, np.uint8),
            "place": spaces.Box(-9, 9, (1,), np.float32),
        }
        self.kind = kind
        self.observation_space = kind(parts if kind is spaces.Dict else tuple(parts.values()))

    def observe(self):
        camera = np.full((32, 32, 3), int(10 * abs(self.x)), np.uint8)
        parts = {"camera": camera, "place": np.full(1, self.x, np.float32)}
        return parts if self.kind is spaces.Dict else tuple(parts.values())


@pytest.mark.parametrize("kind", [spaces.Dict, spaces.Tuple])
def test_large_arrays_within_their_spaces_are_no_problem(kind):
    findings = check_environment(lambda: Pictures(kind), 500)
    assert worst(findings) == "ok", findings


@pytest.mark.parametrize("kind", [spaces.Dict, spaces.Tuple])
def test_the_part_that_is_not_in_its_space_is_named_without_its_numbers(kind):
    findings = check_environment(lambda: Pictures(kind, (16, 32, 3)), 500)
    assert worst(findings) == "problem"
    name = "'camera'" if kind is spaces.Dict else "0"
    assert findings[-1].found == f"{name}: expected shape (16, 32, 3), got (32, 32, 3)"


def test_what_is_not_in_its_space_is_said():
    box = spaces.Box(0, 1, (2,), np.float64)
    two = spaces.Dict({"a": box, "b": spaces.Tuple((box, spaces.Discrete(3)))})
    good = {"a": np.zeros(2), "b": (np.zeros(2), 1)}
    assert outside(two, good) == ""
    assert outside(two, {"a": np.zeros(2)}) == "no entry 'b'"
    assert outside(two, {**good, "c": 1}) == "unexpected entry 'c'"
    assert outside(two, {**good, "b": (np.zeros(2),)}) == "'b': expected 2 parts, got 1"
    assert outside(two, {**good, "b": (np.full(2, 3.0), 1)}) == (
        "'b': 0: dimension 0: expected at most 1, got 3"
    )
    assert outside(two, {**good, "b": (np.zeros(2), 7)}) == (
        "'b': 1: expected a value of Discrete(3), got 7"
    )
    assert len(outside(spaces.MultiBinary(2), np.zeros(9999))) < 300


def test_noise_is_told_from_what_moves():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(500, 1)), axis=0)
    episodes = [np.hstack([walk, rng.normal(size=(500, 1)), np.ones((500, 1))])]
    assert noise_dimensions(episodes) == [1]
    assert noise_dimensions([episodes[0][:50]]) == []  # too little to say


def test_rounding_errors_of_a_simulator_are_neither_noise_nor_a_scale():
    class Rounded(Walk):
        def observe(self):
            return np.array([self.x, 0.5 + 1e-15 * self.np_random.normal()])

    findings = check_environment(Rounded, n_steps=1000)
    said = " ".join(each.found for each in findings if each.what == "dimensions")
    assert "always the same: dimension 1" in said
    assert "times as much" not in said
    assert "white noise" not in said


def test_a_reward_for_every_step_is_said():
    class Counting(Walk):
        def reward(self, success):  # noqa: ARG002
            return 1.0

    findings = check_environment(Counting, n_steps=500)
    assert any("every step pays 1" in each.found for each in findings)


def test_the_method_to_try_first():
    walk = Walk()
    assert method_to_try(walk, [])[0] == "cec-plus"
    walk.observation_space = spaces.Box(0, 255, (84, 84), np.uint8)
    walk.action_space = spaces.Discrete(4)
    assert method_to_try(walk, [])[0] == "mfec"
    walk.action_space = spaces.Box(-1, 1, (2,))
    assert method_to_try(walk, [])[2] == ["--embedding", "frequencies:4+frozen:1000"]
    assert "sac" in method_to_try(Dense(), check_environment(Dense, n_steps=500))[1]


class FarGoals(Walk):
    """Goals that random actions do not achieve."""

    def __init__(self):
        super().__init__()
        box = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        names = ("achieved_goal", "desired_goal", "observation")
        self.observation_space = spaces.Dict(dict.fromkeys(names, box))

    def compute_reward(self, achieved, desired, info):  # noqa: ARG002
        return (np.abs(achieved - desired) < 0.01).all(axis=-1).astype(np.float64)

    def observe(self):
        x = np.array([self.x])
        return {"achieved_goal": x, "desired_goal": x + 1000.0, "observation": x}

    def info(self, success):  # noqa: ARG002
        return {"is_success": False}

    def reward(self, success):  # noqa: ARG002
        return 0.0


def test_where_goals_are_told_success_by_chance_is_not_needed():
    found = [each for each in check_environment(FarGoals, 1000) if each.what == "success"]
    assert [each.level for each in found] == ["ok"]
    assert found[0].found.startswith("0% of 18 random episodes succeed;")


def test_of_images_only_some_are_kept(monkeypatch):
    monkeypatch.setattr(env_play, "KEPT_NUMBERS", 40 * 3073)
    played = play_at_random(Pictures(spaces.Dict), 400)
    assert sum(played.lengths) == len(played.rewards) == 413
    assert 40 <= sum(map(len, played.observations)) <= 50
    few = play_at_random(Walk(), 400)
    assert sum(map(len, few.observations)) == len(few.rewards) + len(few.lengths)  # no image


@pytest.mark.parametrize(
    ("reward", "level"),
    [
        (lambda *given: [0.0 for _ in zip(*given, strict=True)], "ok"),
        (lambda *given: [given[-1].get("x", 0.0)] * len(given[0]), "ok"),
        (lambda *given: 0.0 * len(given), "advice"),
        (lambda *given: given[-1]["x"], "advice"),
    ],
)
def test_compute_reward_is_called_as_agents_call_it(reward, level):
    class Paying(FarGoals):
        def compute_reward(self, achieved, desired, info):
            return reward(achieved, desired, info)

    found = [each for each in check_environment(Paying, 500) if each.what == "goals"]
    assert [each.level for each in found] == [level], found

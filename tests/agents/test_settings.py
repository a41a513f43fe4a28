"""Settings come from the constructor: types, ranges, defaults, help, and messages for mistakes."""

import inspect
import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional

import numpy as np
import pytest

from probes import Corridor, Drift
from scrubjay.agents import CEC, CECPlus, LinearSchedule
from scrubjay.agents.settings import NO_DEFAULT, Range, argument_help, settings_of
from scrubjay.embedding import Embedding, Identity, RunningNormalizer


class Toy:
    """A class with settings of every kind.

    Args:
        env: not a setting
        count: how many
        share: how much of it, which is
            explained on a second line
        word: one of two: yes or no
    """

    def __init__(
        self,
        env: Any,
        *,
        count: Annotated[int, Range(1, 10, tune=(2, 5))] = 3,
        share: Annotated[float, Range(0, 1, above=True)] = 0.5,
        free: float = 0.0,
        word: Literal["yes", "no"] = "yes",
        flag: bool = False,
        perhaps: Annotated[float, Range(0)] | None = None,
        maybe: Optional[int] = None,  # noqa: UP045
        mixed: Annotated[float, Range(0, above=True)] | Literal["auto"] = "auto",
        level: Literal[1, 2, "top"] = 1,
        rate: float | tuple[float, float, int] | LinearSchedule = 0.1,
        embedding: Embedding | None = None,
        dims: Sequence[int] = (),
        anything=None,
        needed: int,
        verbose: int = 0,
    ):
        pass


SETTINGS = settings_of(Toy)

GOOD = {
    "count": [(1, 1), (10, 10), (np.int64(4), 4), (np.uint8(4), 4)],
    "share": [(1, 1.0), (0.25, 0.25), (np.float32(0.5), 0.5), (1e-300, 1e-300)],
    "free": [(-5, -5.0), (1e300, 1e300)],
    "word": [("yes", "yes"), ("no", "no")],
    "flag": [(True, True), (False, False), (np.True_, True)],
    "perhaps": [(None, None), (0, 0.0), (3.5, 3.5)],
    "maybe": [(None, None), (-7, -7), (2**70, 2**70)],
    "mixed": [("auto", "auto"), (2, 2.0)],
    "level": [(1, 1), (2, 2), ("top", "top")],
    "rate": [
        (0.5, LinearSchedule(0.5, 0.5, 1)),
        (1, LinearSchedule(1.0, 1.0, 1)),
        ((1, 0, 10), LinearSchedule(1.0, 0.0, 10)),
        ([0.9, 0.05, 1e5], LinearSchedule(0.9, 0.05, 100_000)),
        (LinearSchedule(1, 0, 5), LinearSchedule(1, 0, 5)),
        ({"start": 1.0, "end": 0.5, "steps": 3}, LinearSchedule(1.0, 0.5, 3)),
    ],
    "dims": [((), ()), ([2, 0], (2, 0)), (np.array([1]), (1,))],
    "anything": [(3, 3), ("x", "x"), (None, None)],
    "needed": [(0, 0)],
}
WORDS = {
    "count": "a whole number of at least 1 and at most 10",
    "share": "a finite number greater than 0 and at most 1",
    "free": "a finite number",
    "word": "'yes' or 'no'",
    "flag": "True or False",
    "perhaps": "a finite number of at least 0 or None",
    "maybe": "a whole number or None",
    "mixed": "a finite number greater than 0 or 'auto'",
    "level": "1 or 2 or 'top'",
    "rate": "a number between 0 and 1, (start, end, steps)",
    "embedding": "an Embedding such as RunningNormalizer() or None",
    "dims": "a list, each entry a whole number",
    "needed": "a whole number",
}
BAD = {
    "count": [0, 11, 2.0, "3", True, None, [], np.nan, np.float64(3), 10**400, 1j, np.array([3])],
    "share": [0, 1.01, -0.5, np.nan, np.inf, "0.5", True, None, (), 10**400, 1j],
    "free": [np.inf, -np.inf, np.nan, 10**400, "1", None, b"1"],
    "word": ["YES", "maybe", 1, None, ("yes",), True],
    "flag": [0, 1, "true", None, 1.0],
    "perhaps": [-1e-9, np.nan, "None", False],
    "maybe": [0.5, "1", False, np.inf],
    "mixed": [0, -1, "step", None, True],
    "level": [3, 1.0, True, "1", None],
    "rate": [
        1.5, -0.1, np.nan, "linear", None, True, (0.9, 0.1), (0.9, 0.1, 0), (0.9, 0.1, 2.5),
        (2, 0, 10), (0.9, 0.1, np.inf), (0.9, 0.1, np.nan), ("a", "b", "c"), (0.9, 0.1, 10, 4),
        {"start": 0.5}, {"begin": 1}, object,
    ],
    "embedding": ["running", RunningNormalizer, 3, [Identity()]],
    "dims": [3, "01", [0.5], [True], [None], {0: 1}, None],
    "needed": [None, 0.5],
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_good_values_come_back_in_the_settings_own_type(name):
    for value, expected in GOOD[name]:
        found = SETTINGS[name].checked(value)
        assert found == expected
        assert type(found) is type(expected)


def test_an_embedding_may_be_given_or_described():
    setting, stage = SETTINGS["embedding"], RunningNormalizer()
    assert setting.checked(stage) is stage
    assert setting.checked(None) is None
    assert isinstance(setting.checked({"name": "running_normalizer"}), RunningNormalizer)
    with pytest.raises(ValueError, match="expected the name of an embedding, got 'magic'"):
        setting.checked({"name": "magic"})


@pytest.mark.parametrize("name", BAD)
def test_wrong_values_are_value_errors_that_say_what_was_expected(name):
    for value in BAD[name]:
        with pytest.raises(ValueError, match=f"^expected {name} to be ") as caught:
            SETTINGS[name].checked(value)
        message = str(caught.value)
        assert message.startswith(f"expected {name} to be {WORDS[name]}")
        assert message.endswith(f", got {value!r}")


def test_names_defaults_and_help():
    assert list(SETTINGS) == [*[*GOOD][:10], "embedding", "dims", "anything", "needed"]
    assert SETTINGS["count"].default == 3
    assert SETTINGS["needed"].default is NO_DEFAULT
    assert SETTINGS["count"].help == "how many"
    assert SETTINGS["share"].help == "how much of it, which is explained on a second line"
    assert SETTINGS["word"].help == "one of two: yes or no"
    assert SETTINGS["flag"].help == ""


def test_ranges_and_choices():
    assert SETTINGS["count"].range == Range(1, 10, tune=(2, 5))
    assert SETTINGS["perhaps"].range == Range(0)
    assert SETTINGS["mixed"].range == Range(0, above=True)
    assert SETTINGS["free"].range == Range()
    assert SETTINGS["word"].choices == ("yes", "no")
    assert SETTINGS["mixed"].choices == ("auto",)
    assert SETTINGS["level"].choices == ("top",)
    assert SETTINGS["count"].choices == ()
    assert 0 not in Range(0, above=True)
    assert 0 in Range(0)
    assert 1 in Range(0, 1)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Range(), ""),
        (Range(0), " of at least 0"),
        (Range(0, above=True), " greater than 0"),
        (Range(1, 2**31 - 1), " of at least 1 and at most 2147483647"),
        (Range(high=0.5), " of at most 0.5"),
        (Range(1e-3, 0.999), " of at least 0.001 and at most 0.999"),
    ],
)
def test_ranges_in_words(limits, words):
    assert str(limits) == words


def test_help_is_read_from_google_style_docstrings():
    text = """Do it.

    Some prose, with a colon: no argument.

    Args:
        first: one
        second: two
            on two lines
        **options: many

        third: after an empty line

    Returns:
        result: not an argument
    """
    assert argument_help(text) == {
        "first": "one",
        "second": "two on two lines",
        "third": "after an empty line",
    }
    assert argument_help("") == {}


# ---------------------------------------------------------------- inherited


class Bolder(CEC):
    """CEC with one more setting and another default.

    Args:
        bonus: added to every reward
    """

    name = "bolder"

    def __init__(
        self,
        env: Any,
        *,
        bonus: Annotated[float, Range(0)] = 1.0,
        gamma: Annotated[float, Range(0, 0.5)] = 0.5,
        **settings: Any,
    ) -> None:
        super().__init__(env, gamma=gamma, **settings)
        self.bonus = settings_of(type(self))["bonus"].checked(bonus)


def test_a_constructor_with_kwargs_inherits_settings():
    found, above = settings_of(Bolder), settings_of(CEC)
    assert found.keys() == {*above, "bonus"}
    assert found["bonus"].help == "added to every reward"
    assert found["gamma"].default == 0.5
    assert found["gamma"].range == Range(0, 0.5)
    assert found["capacity"] == above["capacity"]
    assert above["gamma"].range.high == 1, "the class above is as it was"
    with pytest.raises(ValueError, match=r"expected gamma to be .* at most 0\.5, got 0\.9"):
        Bolder(Corridor(), gamma=0.9)
    with pytest.raises(TypeError, match="telepathy"):
        Bolder(Corridor(), telepathy=True)


def test_inherited_settings_are_saved(tmp_path):
    agent = Bolder(Drift(), bonus=2, n_neighbors=7).learn(100)
    config = json.loads(json.dumps(agent.config()))
    assert (config["bonus"], config["gamma"], config["n_neighbors"]) == (2.0, 0.5, 7)
    agent.save(tmp_path / "agent.scrub")
    for cls in (Bolder, CEC):
        loaded = cls.load(tmp_path / "agent.scrub")
        assert (type(loaded), loaded.bonus, loaded.config()) == (Bolder, 2.0, agent.config())


def test_a_subclass_without_a_constructor_has_the_same_settings():
    class Same(CEC):
        pass

    assert settings_of(Same) == settings_of(CEC)


def test_the_answer_may_be_changed_without_harm():
    settings_of(CEC).clear()
    assert len(settings_of(CEC)) > 10


# ---------------------------------------------------------------- the methods' own


@pytest.mark.parametrize("cls", [CEC, CECPlus])
def test_every_setting_has_help_and_a_default_that_it_takes(cls):
    for name, setting in settings_of(cls).items():
        assert setting.help, name
        assert not setting.help.endswith("."), name
        setting.checked(setting.default)
        if setting.range.tune:
            low, high = setting.range.tune
            assert low in setting.range, name
            assert high in setting.range, name
            assert low < high, name
            assert not setting.range.log or low > 0, name


@pytest.mark.parametrize("cls", [CEC, CECPlus])
def test_settings_are_attributes_and_config(cls):
    agent = cls(Drift())
    parameters = list(inspect.signature(cls.__init__).parameters)[2:]
    parameters = [name for name in parameters if name not in cls.conveniences]
    assert list(settings_of(cls)) == parameters
    config = agent.config()
    assert config.keys() | {"periodic"} == {*parameters, "periodic"}
    again = cls.from_config(Drift(), json.loads(json.dumps(config)))
    assert again.config() == config
    for name in parameters:
        assert hasattr(agent, name)


@pytest.mark.parametrize("cls", [CEC, CECPlus])
def test_every_wrong_setting_of_a_method_is_a_value_error(cls):
    for name in settings_of(cls):
        for wrong in (object(), [[]], "nonsense", float("nan"), 1j):
            message = f"expected {name} to be .*, got {re.escape(repr(wrong))}"
            with pytest.raises(ValueError, match=message):
                cls(Drift(), **{name: wrong})

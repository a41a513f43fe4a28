"""Methods by name: scrubjay's own, registered ones, and those of installed packages."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import scrubjay
from probes import Drift
from scrubjay import CEC, CECPlus, registry
from scrubjay.agents import MemoryAgent
from scrubjay.agents.cec_stale import StaleIndexCEC
from scrubjay.memory.archive import ArchiveError
from scrubjay.registry import (
    AgentSpec,
    UnknownAgentError,
    agent_spec,
    agent_specs,
    make,
    register,
)

FOLDERS = [str(Path(scrubjay.__file__).parents[1]), str(Path(__file__).parent)]


@pytest.fixture
def untouched(monkeypatch):
    """Whatever is registered in a test is unknown after it."""
    monkeypatch.setattr(registry, "_SPECS", dict(registry._SPECS))


# a method of somebody else, in a module that the tests can import by name
class Another(CEC):
    name = "another"


ANOTHER = f"{__name__}:Another"

# ---------------------------------------------------------------- known names


@pytest.mark.parametrize(
    ("name", "cls"), [("cec", CEC), ("cec-plus", CECPlus), ("cec-stale", StaleIndexCEC)]
)
def test_methods_are_found_by_name_in_any_case(name, cls):
    for written in (name, name.upper(), name.title()):
        assert agent_spec(written).load() is cls
    assert cls.name == name


def test_every_method_says_what_it_is():
    for name, spec in agent_specs().items():
        assert spec.name == name == name.lower()
        assert spec.summary
        assert set(spec.actions) <= {"Box", "Discrete", "MultiDiscrete"}
        assert ":" in spec.entry_point


def test_make_makes_an_agent():
    agent = make("cec", Drift(), n_neighbors=3, seed=2)
    assert (type(agent), agent.n_neighbors, agent.seed) == (CEC, 3, 2)
    plus = make("CEC-Plus", "scrubjay/GrowingTree-v0")
    assert type(plus) is CECPlus
    with pytest.raises(ValueError, match="expected n_neighbors"):
        make("cec", Drift(), n_neighbors=0)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cec-pluss", "did you mean cec-plus?"),
        ("CECPLUS", "did you mean cec-plus?"),
        ("cec_stale", "did you mean cec-stale?"),
        ("zzz", "(expected one of cec, cec-plus, cec-stale"),
        ("", "(expected one of cec, "),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(name, hint):
    with pytest.raises(UnknownAgentError) as caught:
        make(name, Drift())
    assert f"there is no method {name!r}" in str(caught.value)
    assert hint in str(caught.value)
    assert isinstance(caught.value, ValueError)


# ---------------------------------------------------------------- register


@pytest.mark.usefixtures("untouched")
def test_a_registered_method_is_made_by_name():
    spec = register("another", ANOTHER, actions=("Box",), extra="deep", summary="one more")
    assert spec == AgentSpec("another", ANOTHER, ("Box",), "deep", "one more")
    assert agent_spec("another") == agent_specs()["another"] == spec
    assert type(make("another", Drift())) is Another
    assert register("another", ANOTHER) == AgentSpec("another", ANOTHER), "again is no error"


@pytest.mark.usefixtures("untouched")
def test_a_name_with_capitals_is_found():
    register("Another", ANOTHER)
    assert agent_spec("another").name == agent_spec("ANOTHER").name == "Another"


@pytest.mark.usefixtures("untouched")
def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match=r"named 'cec' already: scrubjay\.agents\.cec:CEC"):
        register("cec", ANOTHER)
    assert agent_spec("cec").load() is CEC


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("entry_point", ["", "module", ":Class", "module:", "a.b.Class"])
def test_an_entry_point_is_a_module_and_a_class(entry_point):
    with pytest.raises(ValueError, match='expected an entry point "module:Class"'):
        register("strange", entry_point)
    assert "strange" not in agent_specs()


def test_what_was_registered_in_a_test_is_gone():
    assert "another" not in agent_specs()


def test_loading_an_unknown_agent_says_what_to_do(tmp_path):
    agent = Another(Drift(), seed=1).learn(50)
    agent.save(tmp_path / "agent.scrub")
    script = f"""
        from scrubjay.agents import MemoryAgent
        MemoryAgent.load({str(tmp_path / "agent.scrub")!r})
    """
    done = run(script)
    assert ArchiveError.__name__ in done.stderr
    assert "import the module that defines it" in done.stderr


# ---------------------------------------------------------------- installed packages


def run(script, *folders):
    """A Python of its own, which has imported nothing before."""
    path = os.pathsep.join([*map(str, folders), *FOLDERS])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


METHOD = '''
from scrubjay.agents import CEC


class Timid(CEC):
    """CEC of another package."""

    name = "timid"

    def __init__(self, env, *, n_neighbors: int = 2, **settings):
        super().__init__(env, n_neighbors=n_neighbors, **settings)
'''


@pytest.fixture
def installed(tmp_path):
    """A folder as pip leaves it: a package, and its metadata with an entry point."""
    folder = tmp_path / "site-packages"
    metadata = folder / "timid_methods-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "timid_methods.py").write_text(METHOD)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: timid-methods\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[scrubjay.agents]\ntimid = timid_methods:Timid\n"
        "cec = timid_methods:Timid\nbroken = timid_methods:Nothing\n"
    )
    return folder


def test_the_method_of_an_installed_package_is_known_before_it_is_imported(installed):
    done = run(
        """
        import sys
        from scrubjay.registry import agent_spec, agent_specs
        assert list(agent_specs()).count("timid") == 1
        spec = agent_spec("Timid")
        print(spec.entry_point, "|", spec.summary, "|", "timid_methods" in sys.modules)
        print(spec.load().__name__, agent_spec("cec").load().__name__)
        """,
        installed,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "timid_methods:Timid | from timid-methods | False",
        "Timid CEC",  # nobody takes the name of one of scrubjay's own
    ]


def test_the_method_of_an_installed_package_trains_saves_and_loads(installed, tmp_path):
    path = tmp_path / "agent.scrub"
    train = run(
        f"""
        from probes import Drift
        from scrubjay.registry import make
        agent = make("timid", Drift(), seed=3).learn(200)
        agent.save({str(path)!r})
        print(agent.n_neighbors, agent.memory.digest())
        """,
        installed,
    )
    assert train.returncode == 0, train.stderr
    load = run(
        f"""
        import sys
        from scrubjay.agents import MemoryAgent
        assert "timid_methods" not in sys.modules
        agent = MemoryAgent.load({str(path)!r})
        assert type(agent).__name__ == "Timid"
        print(agent.n_neighbors, agent.memory.digest())
        """,
        installed,
    )
    assert load.returncode == 0, load.stderr
    assert load.stdout == train.stdout
    assert train.stdout.startswith("2 ")


def test_an_entry_point_that_leads_nowhere_harms_no_other(installed):
    done = run(
        """
        from scrubjay.registry import agent_spec
        agent_spec("timid").load()
        agent_spec("broken").load()
        """,
        installed,
    )
    assert done.returncode == 1
    assert "Nothing" in done.stderr


def test_without_the_package_its_method_is_unknown():
    done = run("from scrubjay.registry import agent_spec; agent_spec('timid')")
    assert "there is no method 'timid'" in done.stderr


# ---------------------------------------------------------------- a method from the registry


@pytest.mark.usefixtures("untouched")
def test_a_registered_method_is_loaded_by_any_class_above_it(tmp_path):
    register("another", ANOTHER)
    agent = make("another", Drift(), seed=1).learn(100)
    agent.save(tmp_path / "agent.scrub")
    for cls in (MemoryAgent, CEC, Another):
        loaded = cls.load(tmp_path / "agent.scrub")
        assert type(loaded) is Another
        np.testing.assert_array_equal(loaded.memory.values, agent.memory.values)

"""Every method by name.

This module imports nothing of scrubjay: an entry point is text, "module:Class", and is imported
when the class is needed. Packages of other people add methods by `register`, or by the entry-point
group `scrubjay.agents` in their own metadata:

    [project.entry-points."scrubjay.agents"]
    my-method = "my_package.my_method:MyMethod"
"""

import difflib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

GROUP = "scrubjay.agents"


class UnknownAgentError(ValueError):
    """There is no method of that name; the message suggests the nearest one."""


@dataclass(frozen=True)
class AgentSpec:
    """The properties of a method that are known before it is imported.

    Attributes:
        name: Its name on the command line and in files.
        entry_point: Its class, as "module:Class".
        actions: The kinds of action spaces that it can act in.
        extra: The extra of scrubjay that it needs, "" if none.
        summary: One line that says what it is.
        presets: The names of its presets, the default first.
        vectors: Whether it trains on vector environments.
    """

    name: str
    entry_point: str
    actions: tuple[str, ...] = ("Box", "Discrete", "MultiDiscrete")
    extra: str = ""
    summary: str = ""
    presets: tuple[str, ...] = ("default",)
    vectors: bool = True

    def load(self) -> Any:
        """Import the class.

        Returns:
            The agent's class.

        Raises:
            ImportError: If the extra that it needs is not installed; the message says how to.
            TypeError: If the class has another name, under which its files would not be found.
        """
        module, _, name = self.entry_point.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        if getattr(found, "name", None) != self.name:
            raise TypeError(f"expected {self.entry_point} to have name = {self.name!r}")
        return found


_SPECS = {
    spec.name: spec
    for spec in (
        AgentSpec(
            "cec",
            "scrubjay.agents.cec:CEC",
            summary="Continuous Episodic Control, as in its paper",
            presets=("paper", "published", "literal"),
        ),
        AgentSpec(
            "cec-plus",
            "scrubjay.agents.cec_plus:CECPlus",
            summary="CEC with better exploration and planning; needs no settings",
        ),
        AgentSpec(
            "cec-stale",
            "scrubjay.agents.cec_stale:StaleIndexCEC",
            summary="CEC with the stale index of its first published code",
            presets=("paper", "published", "literal"),
        ),
        AgentSpec(
            "mfec",
            "scrubjay.agents.mfec:MFEC",
            actions=("Discrete",),
            summary="Model-Free Episodic Control: discrete actions, vectors and images",
            presets=("default", "paper"),
        ),
        AgentSpec(
            "sac",
            "scrubjay.deep.sac:SAC",
            actions=("Box",),
            extra="deep",
            summary="Stable-Baselines3's Soft Actor-Critic, a baseline",
            presets=("paper", "defaults", "small-entropy", "her"),
            vectors=False,
        ),
        AgentSpec(
            "emac",
            "scrubjay.deep.emac:EMACAgent",
            actions=("Box",),
            extra="deep",
            summary="Episodic Memory Actor-Critic, a baseline",
            presets=("paper",),
            vectors=False,
        ),
        AgentSpec(
            "crossq",
            "scrubjay.deep.crossq:CrossQ",
            actions=("Box",),
            extra="deep",
            summary="sb3-contrib's CrossQ, a baseline",
            presets=("defaults", "small-entropy"),
            vectors=False,
        ),
        AgentSpec(
            "tqc",
            "scrubjay.deep.tqc:TQC",
            actions=("Box",),
            extra="deep",
            summary="sb3-contrib's TQC, a baseline",
            presets=("defaults", "small-entropy"),
            vectors=False,
        ),
        AgentSpec(
            "dqn",
            "scrubjay.deep.dqn:DQN",
            actions=("Discrete",),
            extra="deep",
            summary="Stable-Baselines3's Deep Q-Network, a baseline for discrete actions",
            vectors=False,
        ),
    )
}


def register(
    name: str,
    entry_point: str,
    *,
    actions: tuple[str, ...] = ("Box", "Discrete", "MultiDiscrete"),
    extra: str = "",
    summary: str = "",
    presets: tuple[str, ...] = ("default",),
    vectors: bool = True,
) -> AgentSpec:
    """Register a method by name, for `make`, the command line, sweeps, reports and `load`.

    Args:
        name: Its name, which its class has as `name` too.
        entry_point: Its class, as "module:Class".
        actions: The kinds of action spaces that it can act in.
        extra: The extra of scrubjay that it needs.
        summary: One line that says what it is.
        presets: The names that its class's `preset(task, name)` accepts, the default first.
        vectors: Whether it trains on vector environments.

    Returns:
        What was registered.

    Raises:
        ValueError: If another method has that name, or the entry point is not "module:Class".
    """
    module, colon, attribute = entry_point.partition(":")
    if not (module and colon and attribute):
        raise ValueError(f'expected an entry point "module:Class", got {entry_point!r}')
    spec = AgentSpec(name, entry_point, tuple(actions), extra, summary, tuple(presets), vectors)
    known = _SPECS.get(name)
    if known is not None and known.entry_point != entry_point:
        raise ValueError(f"there is a method named {name!r} already: {known.entry_point}")
    _SPECS[name] = spec
    return spec


def agent_specs() -> dict[str, AgentSpec]:
    """All methods by name: scrubjay's own, registered ones, and those of installed packages."""
    return {**_installed(), **_SPECS}


def agent_spec(name: str) -> AgentSpec:
    """The method of that name, in whatever case it is written.

    Raises:
        UnknownAgentError: If there is none.
    """
    specs = {known.lower(): spec for known, spec in agent_specs().items()}
    if name.lower() in specs:
        return specs[name.lower()]
    near = difflib.get_close_matches(name.lower(), specs, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UnknownAgentError(
        f"there is no method {name!r}{hint} (expected one of {', '.join(specs)})"
    )


def make(name: str, env: Any, **options: Any) -> Any:
    """Make an agent by name.

    >>> agent = scrubjay.make("cec-plus", "scrubjay/PointUMaze-v0", seed=1)

    Args:
        name: A method's name.
        env: What its constructor takes as its environment.
        **options: Its settings.

    Returns:
        The agent.
    """
    return agent_spec(name).load()(env, **options)


@cache
def _installed() -> dict[str, AgentSpec]:
    return {spec.name: spec for spec in _entry_points()}


def _entry_points() -> Iterator[AgentSpec]:
    for entry in metadata.entry_points(group=GROUP):
        yield AgentSpec(entry.name, entry.value, summary=f"from {_distribution(entry)}")


def _distribution(entry: metadata.EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an installed package"

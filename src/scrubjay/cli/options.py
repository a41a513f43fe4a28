"""Settings of an agent as `--name value` words."""

import argparse
import json
import math
import typing
from collections.abc import Sequence
from typing import Any

from scrubjay.cli.main import CommandError
from scrubjay.cli.suggestions import nearest

if typing.TYPE_CHECKING:
    from scrubjay.agents.settings import Setting

HUGE = 2**31 - 1  # a limit as large as this is not worth mentioning
METAVARS: dict[Any, str] = {int: "N", float: "X", bool: "{true,false}"}
EMBEDDINGS = (
    "identity",
    "bounds",
    "downsample:FACTOR",
    "frequencies:SIZE",
    "grey",
    "learned[:DIM]",
    "resize:SIZE",
    "running",
    "frozen[:STEPS]",
    "goal[:KEY,KEY]",
    "periodic:DIM,DIM",
    "project:DIM",
    "select:KEY,KEY",
)


def add_settings(parser: argparse.ArgumentParser, agent: str) -> None:
    """The settings of an agent, read off its constructor, as `--n-neighbors 3`."""
    from scrubjay.agents.settings import settings_of
    from scrubjay.embedding import Embedding
    from scrubjay.registry import agent_spec

    group = parser.add_argument_group(f"settings of {agent}, which override its preset")
    for name, setting in settings_of(agent_spec(agent).load()).items():
        if name == "seed":
            continue
        words, parse = setting.help, parse_value
        if Embedding in setting.kinds:
            words = f"{words}; one of {', '.join(EMBEDDINGS)}, or several joined by +"
            parse = parse_embedding
        elif any(typing.get_origin(kind) is Sequence for kind in setting.kinds):
            parse = parse_list
        group.add_argument(
            flag(name),
            type=parse,
            default=argparse.SUPPRESS,
            metavar=metavar(setting),
            help=f"{words} {limits(setting)}".strip().replace("%", "%%"),
        )


def metavar(setting: "Setting") -> str:
    """How the values of a setting are typed, in its help: N, {true,false}, X|null ..."""
    choices = setting.choices
    words = ["{" + ",".join(choices) + "}"] if len(choices) > 1 else list(choices)
    for kind in setting.kinds:
        if kind in METAVARS:
            words.insert(0, METAVARS[kind])
        elif typing.get_origin(kind) is tuple:
            words.append("START,END,STEPS")
        elif typing.get_origin(kind) is Sequence:
            words.append("N,N")
    if type(None) in setting.kinds and words:
        words.append("null")
    return "|".join(dict.fromkeys(words)) or "VALUE"


def limits(setting: "Setting") -> str:
    """The range and the default of a setting, in its help: (0 to 1, default 0.99)."""
    low, high = setting.range.low, setting.range.high
    if -math.inf < low and high < HUGE:
        parts = [f"{low:g} to {high:g}"]
    elif low > -math.inf:
        parts = [f"greater than {low:g}" if setting.range.above else f"at least {low:g}"]
    else:
        parts = []
    default = setting.default
    if default not in (None, ()):
        values = default if isinstance(default, tuple) else (default,)
        parts.append("default " + ",".join(typed(value) for value in values))
    return f"({', '.join(parts)})" if parts else ""


def typed(value: Any) -> str:
    """A value as it is typed on the command line."""
    if isinstance(value, bool):
        return str(value).lower()
    whole_float = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole_float else str(value)


def owner_of(option: str) -> str:
    """The agent that has an option among its settings, "" if none has."""
    from scrubjay.agents.settings import settings_of
    from scrubjay.registry import agent_specs

    for name, spec in agent_specs().items():
        try:
            settings = settings_of(spec.load())
        except ImportError:  # an extra that is not installed
            continue
        if option.partition("=")[0] in map(flag, settings):
            return name
    return ""


def flag(name: str) -> str:
    """The command-line spelling of a setting."""
    return "--" + name.replace("_", "-")


def whole(text: str) -> int:
    """A whole number, also written as 1e6 or 100_000."""
    for parse in (int, float):
        try:
            number = parse(text)
        except ValueError:
            continue
        if number == number // 1 and abs(number) < math.inf:
            return int(number)
    raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")


def parse_value(text: str) -> Any:
    """A number, a list of numbers (0.9,0.05,100000), JSON or a word."""
    for parse in (whole, json.loads):
        try:
            return parse(text)
        except (argparse.ArgumentTypeError, json.JSONDecodeError):
            continue
    return [parse_value(part) for part in text.split(",")] if "," in text else text


def parse_list(text: str) -> list[Any]:
    """Numbers joined by commas, or a single one."""
    value = parse_value(text)
    return value if isinstance(value, list) else [value]


def parse_embedding(text: str) -> dict[str, Any]:
    """Stages joined by +: select:observation,desired_goal+project:8+running."""
    stages = [_stage(part) for part in text.split("+")]
    return stages[0] if len(stages) == 1 else {"name": "chain", "stages": stages}


def _sizes(text: str) -> list[int]:
    """Height and width from "84", "84x84" or "84,84"."""
    numbers = [int(n) for n in text.replace("x", ",").split(",")]
    return numbers * 2 if len(numbers) == 1 else numbers


def _stage(text: str) -> dict[str, Any]:
    name, _, argument = text.partition(":")
    try:
        match name:
            case "identity" | "bounds" | "grey":
                return {"name": name}
            case "running":
                return {"name": "running_normalizer"}
            case "frozen":
                return {"name": "frozen_normalizer", "n_steps": int(argument or 1000)}
            case "resize":
                return {"name": "resize", "size": _sizes(argument)}
            case "frequencies":
                return {"name": "low_frequencies", "size": _sizes(argument)}
            case "downsample":
                return {"name": "downsample", "factor": int(argument)}
            case "learned":
                return {"name": "learned_encoder", "dim": int(argument or 32)}
            case "goal":
                return {"name": "goal_difference", "keys": argument.split(",") if argument else []}
            case "periodic":
                return {"name": "periodic", "dimensions": [int(n) for n in argument.split(",")]}
            case "project":
                return {"name": "projection", "dim": int(argument)}
            case "select":
                return {"name": "select", "keys": argument.split(",")}
    except ValueError as error:
        raise CommandError(f"--embedding {text}: expected a whole number") from error
    names = [known.partition(":")[0].partition("[")[0] for known in EMBEDDINGS]
    near = nearest(name, names)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise CommandError(
        f"there is no embedding {name!r}{hint} (expected one of {', '.join(EMBEDDINGS)})"
    )

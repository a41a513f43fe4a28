"""Settings of an agent as `--name value` words."""

import argparse
import json
import math
from typing import Any

from scrubjay.cli.main import CommandError, suggestion

EMBEDDINGS = (
    "identity",
    "bounds",
    "running",
    "frozen[:STEPS]",
    "goal[:KEY,KEY]",
    "periodic:DIM,DIM",
    "project:DIM",
    "select:KEY,KEY",
)

# The arguments of the agents, spelled out here because looking them up would import the agents.
SETTINGS = {
    "n_neighbors": "neighbours asked for a decision, the paper's k",
    "temperature": "of the softmax over their values, tau",
    "noise_std": "of the exploring noise, in an action box of [-1, 1], sigma",
    "radius_factor": "neighbours farther than this times the threshold are left out, n",
    "distance_threshold": "states nearer than this are one row of the memory, d; or step",
    "gamma": "discount",
    "epsilon": "a number, or START,END,STEPS",
    "capacity": "rows of the memory",
    "embedding": "identity, bounds, running, frozen:1000, goal, periodic:2, project:8, "
    "select:a,b; joined by +",
    "exploration": "noise or uniform",
    "recency": "what keeps a row from giving way: write, hit or never",
    "epsilon_spread": "how many times larger or smaller an episode's own epsilon may be",
    "hold": "the longest time that an exploratory action lasts (1: a step)",
    "skip_worthless": "whether rows of the lowest value are nobody's neighbours: true or false",
    "detour_cost": "what distance takes from a value; null: greedy is the nearest row",
    "stitching": "whether steps take over what neighbours of the next state promise",
    "correction": "the share by which a followed row's value moves to what it led to",
    "temperature_unit": "return, or best: the temperature is a share of the best neighbour's value",
    "timeouts": "end, or continue: all would go on as in the last tenth",
}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """`--n-neighbors 3 --temperature=0.1` as arguments of the agent."""
    group = parser.add_argument_group("settings of the agent, which overrule the preset")
    for name, line in SETTINGS.items():
        group.add_argument(
            "--" + name.replace("_", "-"),
            type=parse_embedding if name == "embedding" else parse_value,
            default=argparse.SUPPRESS,
            metavar="VALUE",
            help=line,
        )


def whole(text: str) -> int:
    """A whole number, also written as 1e6 or 100_000."""
    for parse in (int, float):
        try:
            number = parse(text)
        except ValueError:
            continue
        if number == number // 1 and abs(number) < math.inf:
            return int(number)
    raise argparse.ArgumentTypeError(f"a whole number was expected, {text!r} came")


def parse_value(text: str) -> Any:
    """A number, a list of numbers (0.9,0.05,100000) or a word."""
    if "," in text:
        return [parse_value(part) for part in text.split(",")]
    for parse in (whole, json.loads):
        try:
            return parse(text)
        except (argparse.ArgumentTypeError, json.JSONDecodeError):
            continue
    return text


def parse_embedding(text: str) -> dict[str, Any]:
    """Stages joined by +: select:observation,desired_goal+project:8+running."""
    stages = [_stage(part) for part in text.split("+")]
    return stages[0] if len(stages) == 1 else {"name": "chain", "stages": stages}


def _stage(text: str) -> dict[str, Any]:
    name, _, argument = text.partition(":")
    try:
        match name:
            case "identity" | "bounds":
                return {"name": name}
            case "running":
                return {"name": "running_normalizer"}
            case "frozen":
                return {"name": "frozen_normalizer", "n_steps": int(argument or 1000)}
            case "goal":
                return {"name": "goal_difference", "keys": argument.split(",") if argument else []}
            case "periodic":
                return {"name": "periodic", "dimensions": [int(n) for n in argument.split(",")]}
            case "project":
                return {"name": "projection", "dim": int(argument)}
            case "select":
                return {"name": "select", "keys": argument.split(",")}
    except ValueError as error:
        raise CommandError(f"--embedding {text}: a whole number was expected") from error
    names = [known.partition(":")[0].partition("[")[0] for known in EMBEDDINGS]
    raise CommandError(
        f"{suggestion(name, names, 'embedding')} (there are {', '.join(EMBEDDINGS)})"
    )

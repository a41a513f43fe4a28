"""Settings of an agent as `--name value` words."""

import json
from collections.abc import Sequence
from typing import Any

from scrubjay.cli.main import CommandError, suggestion

EMBEDDINGS = ("identity", "bounds", "running", "frozen[:STEPS]", "project:DIM", "select:KEY,KEY")


def parse_options(words: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    """`--n-neighbors 3 --temperature=0.1` as arguments of the agent."""
    flags = ["--" + name.replace("_", "-") for name in known]
    options: dict[str, Any] = {}
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        flag, equals, text = word.partition("=")
        if flag not in flags:
            raise CommandError(suggestion(flag, flags))
        if not equals:
            if not remaining:
                raise CommandError(f"{flag} needs a value")
            text = remaining.pop(0)
        name = known[flags.index(flag)]
        options[name] = parse_embedding(text) if name == "embedding" else parse_value(text)
    return options


def parse_value(text: str) -> Any:
    """A number, a list of numbers (0.9,0.05,100000) or a word."""
    try:
        return json.loads(f"[{text}]" if "," in text else text)
    except json.JSONDecodeError:
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
            case "project":
                return {"name": "projection", "dim": int(argument)}
            case "select":
                return {"name": "select", "keys": argument.split(",")}
    except ValueError as error:
        raise CommandError(f"--embedding {text}: a whole number was expected") from error
    raise CommandError(f"there is no embedding {name!r}; there are {', '.join(EMBEDDINGS)}")

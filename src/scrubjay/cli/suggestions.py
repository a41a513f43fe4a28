"""Suggestions for unknown commands and options: misspelt ones, and those of other tools."""

import difflib
from collections.abc import Sequence

# Commands of other tools, or likely guesses, and their names here.
COMMANDS = {
    "help": "--help",
    "enjoy": "watch",
    "play": "watch",
    "render": "watch",
    "video": "watch",
    "record": "watch",
    "eval": "evaluate",
    "test": "evaluate",
    "plot": "report",
    "list": "tasks",
    "envs": "tasks",
    "environments": "tasks",
    "info": "inspect",
    "learn": "train",
    "run": "train",
    "resume": "train --resume",
    "continue": "train --resume",
    "check": "doctor",
}

# Options of other tools, and the options here that may be meant; the first that a command has.
OPTIONS = {
    "--total-timesteps": ("--steps", "--episodes"),
    "--n-timesteps": ("--steps", "--episodes"),
    "--num-timesteps": ("--steps", "--episodes"),
    "--timesteps": ("--steps", "--episodes"),
    "--max-steps": ("--steps", "--max-frames"),
    "-n": ("--steps", "--episodes"),
    "--num-envs": ("--n-envs",),
    "--n-eval-envs": ("--n-envs",),
    "--vec-env": ("--n-envs",),
    "--eval-interval": ("--eval-freq",),
    "--n-eval-episodes": ("--eval-episodes", "--episodes"),
    "--n-episodes": ("--episodes", "--eval-episodes"),
    "--num-episodes": ("--episodes", "--eval-episodes"),
    "--save-freq": ("--checkpoint-freq",),
    "--log-interval": ("--log-freq",),
    "-f": ("--out",),
    "-o": ("--out",),
    "--folder": ("--out",),
    "--output": ("--out",),
    "--log-folder": ("--out",),
    "--log-dir": ("--out",),
    "--tensorboard-log": ("--tensorboard",),
    "-i": ("--resume",),
    "--trained-agent": ("--resume",),
    "--load-best": ("--checkpoint best",),
    "--load-checkpoint": ("--checkpoint",),
    "--load-last-checkpoint": ("--checkpoint last",),
    "--force": ("--overwrite",),
    "--kwargs": ("--env-kwargs",),
    "--max-frame": ("--max-frames",),
}

METHOD = ("--algo", "--algorithm", "--agent", "--method", "--model", "--policy")
TASK = ("--env", "--env-id", "--env-name", "--environment", "--task", "--gym-id")
ORDER = {
    "train": "the method and the task are plain words: scrubjay train cec-plus PointUMaze",
    "evaluate": "the run and its task are plain words: scrubjay evaluate RUN [TASK]",
    "watch": "the run and its task are plain words: scrubjay watch RUN [TASK]",
}


def unknown_command(word: str, known: Sequence[str]) -> str:
    """The message for a command that does not exist."""
    near = [COMMANDS[word.lower()]] if word.lower() in COMMANDS else nearest(word, known)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    return f"there is no command {word!r}; {hint}"


def unknown_option(word: str, known: Sequence[str], command: str = "") -> str:
    """The message for an option, or a superfluous word, that a command does not have."""
    option = word.partition("=")[0].replace("_", "-")
    if option in (*METHOD, *TASK) and command in ORDER:
        return f"there is no option {word!r}; {ORDER[command]}"
    if not word.startswith("-"):
        return f"expected no further word, got {word!r}"
    meant = from_other_tools(option, known) or nearest(option, known)
    hint = f"; did you mean {meant[0]}?" if meant else f"; `scrubjay {command} --help` lists them"
    return f"there is no option {word!r}{hint if command or meant else ''}"


def from_other_tools(option: str, known: Sequence[str]) -> list[str]:
    """Our options that correspond to an option of another tool."""
    return [name for name in OPTIONS.get(option, ()) if name.split()[0] in known]


def nearest(word: str, known: Sequence[str], cutoff: float = 0.5) -> list[str]:
    """The known word that is most like this one, if any is."""
    return difflib.get_close_matches(word, known, n=1, cutoff=cutoff)

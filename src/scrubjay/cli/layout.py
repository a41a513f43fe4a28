"""Text that fits the terminal: 80 columns in a pipe, otherwise as many as there are."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence


def columns() -> int:
    """The width of the terminal, or the value of COLUMNS; 80 in a pipe."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40)


def print_facts(facts: Iterable[tuple[str, str]], indent: int = 2) -> None:
    """Names and their descriptions in two columns; long words are not broken."""
    facts = list(facts)
    width = max((len(name) for name, _ in facts), default=0)
    for name, text in facts:
        first = f"{'':{indent}}{name:<{width}}  "
        print(wrapped(text, first, " " * len(first)))


def print_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table whose last column has a line of its own where the terminal is too narrow for it."""
    lines = [heading, *rows]
    widths = [max(len(row[column]) for row in lines) for column in range(len(heading))]
    below = sum(widths) + 2 * (len(widths) - 1) > columns()
    for row in lines:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells[:-1] if below else cells).rstrip())
        if below and row is not heading:
            print(wrapped(row[-1], "    ", "    "))


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """A paragraph within the terminal, of whole words: paths and commands can be copied."""
    return textwrap.fill(
        text,
        columns(),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )

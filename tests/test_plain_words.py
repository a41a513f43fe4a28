"""Messages, comments and docstrings are in conventional English: "expected X, got Y; do Z"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import scrubjay

SOURCE = Path(scrubjay.__file__).parent
# what messages used to say, and what replaces it
OLD = {
    r"\bw(as|ere) expected\b": "expected X, got Y",
    r"(,|;| and|\}) came\b|\bcame$": "expected X, got Y",
    r"\bnobody\b": "none, nothing",
    r"\bneeds? an end\b": "requires gamma < 1",
    r"\bfor ever\b": "forever",
    r"\banew\b": "again",
    r"\bwhoever\b": "the caller, the process that",
}


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every string literal of a file with its line; an f-string with {} for its values."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {id(value) for value in node.values}
            pieces = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
            yield node.lineno, "".join(map(str, pieces))
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            yield node.lineno, node.value


@pytest.mark.parametrize(
    "room", sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")})
)
def test_no_string_speaks_the_old_dialect(room):
    found = []
    paths = [SOURCE / room] if room.endswith(".py") else sorted((SOURCE / room).rglob("*.py"))
    for path in paths:
        for line, text in strings(path):
            for pattern, instead in OLD.items():
                if match := re.search(pattern, text):
                    where = f"{path.relative_to(SOURCE)}:{line}"
                    found.append(f"{where}: {match[0]!r} (instead: {instead})")
    assert not found, "\n" + "\n".join(found)

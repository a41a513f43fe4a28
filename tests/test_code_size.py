"""How long functions and files are: people read them, so they stay short."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import scrubjay

SOURCE = Path(scrubjay.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES_OF_A_FILE = 450
MOST_LINES_OF_A_BODY = 25  # of nine functions in ten

Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_docstring(node: ast.stmt) -> bool:
    """Also those of attributes: text that stands alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def code_lines(text: str) -> set[int]:
    """The numbers of the lines that are neither blank nor a comment nor a docstring."""
    lines = enumerate(text.splitlines(), 1)
    written = {n for n, line in lines if line.strip() and not line.strip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and is_docstring(node):
            written -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return written


def is_compiled(function: Function) -> bool:
    """Whether it is a kernel, `@compiled(...)`: a loop that Numba wants in one piece."""
    calls = [d.func for d in function.decorator_list if isinstance(d, ast.Call)]
    return any(isinstance(call, ast.Name) and call.id == "compiled" for call in calls)


def body_lengths(text: str) -> Iterator[tuple[int, str]]:
    """The lines of code of each function's body, without signature and docstring, and its name."""
    written = code_lines(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function) and not is_compiled(node):
            first, last = node.body[0].lineno, node.end_lineno or node.lineno
            yield len(written & set(range(first, last + 1))), node.name


EXAMPLE = '''
"""A docstring."""

@compiled(nogil=True)
def kernel(x):
    a = 1
    return a

def function(
    x,
    y,
):
    """A docstring
    of two lines.
    """
    # a comment

    text = """not
    a docstring"""
    return text
'''


def test_what_is_counted():
    assert len(code_lines(EXAMPLE)) == 11
    assert list(body_lengths(EXAMPLE)) == [(3, "function")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_is_not_too_long(path):
    assert len(code_lines(path.read_text(encoding="utf-8"))) <= MOST_LINES_OF_A_FILE


def test_nine_functions_in_ten_are_short():
    lengths = [
        (length, f"{path.relative_to(SOURCE)}:{name}")
        for path in FILES
        for length, name in body_lengths(path.read_text(encoding="utf-8"))
    ]
    longest = [length for length, _ in lengths]
    found = float(np.quantile(longest, 0.9))
    assert found <= MOST_LINES_OF_A_BODY, sorted(lengths, reverse=True)[:20]

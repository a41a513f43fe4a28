"""Numbers as people write them."""

import argparse

import pytest

from scrubjay.cli.options import parse_value, whole


@pytest.mark.parametrize(
    ("text", "number"), [("1e6", 10**6), ("100_000", 100_000), ("9007199254740993", 2**53 + 1)]
)
def test_whole_numbers_as_people_write_them(text, number):
    assert whole(text) == number
    assert isinstance(parse_value(text), int)


@pytest.mark.parametrize("text", ["1.5", "1e-3", "many", "inf", "nan"])
def test_what_is_not_whole_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"expected a whole number, got '{text}'"):
        whole(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.1", 0.1), ("0.9,0.05,1e5", [0.9, 0.05, 100_000]), ("noise", "noise"), ("-1", -1)],
)
def test_numbers_lists_and_words(text, value):
    assert parse_value(text) == value

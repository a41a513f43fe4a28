"""Numbers as a person writes them."""

ABSENT = "–"
NO_SUCCESS = "no success signal"


def number(value: float) -> str:
    """A number as a person writes it: 20k, 1.5M, 0.25."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def count(amount: int, noun: str) -> str:
    """1 run, 2 runs."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def duration(seconds: float | None) -> str:
    """Seconds in the unit that suits them."""
    if seconds is None:
        return ABSENT
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def or_absent(value: object) -> str:
    """The value as text, or a dash where there is none."""
    return ABSENT if value is None else str(value)

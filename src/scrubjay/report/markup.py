"""HTML and SVG by function calls: everything that is not markup already is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = ("meta", "br")


class Markup(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` gives the attribute class, `stroke_width` stroke-width."""
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{pairs}>")
    return Markup(f"<{name}{pairs}>{join(children)}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """Parts one after the other, escaped where they are plain text."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape(str(part)) for part in parts)
    )


def table(header: Sequence[object], rows: Iterable[Sequence[object]], name: str) -> Markup:
    """A table that scrolls sideways on a narrow screen; `name` is read out to those who listen."""
    head = tag("tr", *(tag("th", cell, scope="col") for cell in header))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    whole = tag("table", tag("thead", head), tag("tbody", *body), aria_label=name)
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=name)

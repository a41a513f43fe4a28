"""Figures as files: PNG and SVG, with the numbers that they show."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.analysis.results import save_result
from scrubjay.figures.style import STYLE
from scrubjay.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = {"png": 160, "svg": 90}  # of an SVG only what is rasterized


def save_figure(
    figure: "Figure",
    stem: str | Path,
    rows: Sequence[Mapping[str, object]],
    command: str,
    notes: Sequence[str] = (),
    added: bool = False,
) -> list[Path]:
    """Write stem.png, stem.svg, stem.csv and stem.json.

    Args:
        figure: A matplotlib figure.
        stem: The files' path without a suffix.
        rows: The numbers that it shows, for stem.csv.
        command: The command that made it, for stem.json.
        notes: What its caption says beside the numbers, for stem.json.
        added: Whether the numbers of the stored figure are among the rows.

    Returns:
        The paths that were written. Earlier numbers are kept, as `save_result` says.
    """
    return save_result(stem, render(figure), rows, command, notes, added)


def render(figure: "Figure") -> dict[str, bytes]:
    """A figure as PNG and SVG, by suffix."""
    return {".png": _render(figure, "png"), ".svg": _render(figure, "svg")}


def _render(figure: "Figure", kind: str) -> bytes:
    matplotlib = require("matplotlib", "plots")
    buffer = io.BytesIO()
    # No date and no version inside: the same figure is the same file.
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format=kind, dpi=DPI[kind], metadata=metadata)
    return _with_palette(buffer) if kind == "png" else buffer.getvalue()


def _with_palette(png: io.BytesIO) -> bytes:
    """The same picture in 256 colours: a third of the bytes, and no difference to the eye."""
    pictures = require("PIL.Image", "plots")
    smaller = io.BytesIO()
    pictures.open(png).convert("RGB").quantize(256).save(smaller, "png", optimize=True)
    return smaller.getvalue()

"""Figures as files: PNG and SVG, with the numbers that they show."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scrubjay.analysis.results import save_result
from scrubjay.figures.style import STYLE
from scrubjay.optional import require

DPI = {"png": 160, "svg": 90}  # of an SVG only what is rasterized


def save_figure(
    figure: Any, stem: str | Path, rows: Sequence[Mapping[str, Any]], command: str
) -> list[Path]:
    """Write stem.png, stem.svg, stem.csv (`rows`) and stem.json (how it came to be).

    Each file appears whole or not at all. A figure that is there already with other numbers is
    first moved to `previous/<stem>.<time of it>.*`, so that no result is lost; with the same
    numbers it is replaced.
    """
    pictures = {".png": _render(figure, "png"), ".svg": _render(figure, "svg")}
    return save_result(stem, pictures, rows, command)


def _render(figure: Any, kind: str) -> bytes:
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

"""Empty figures in the house style, their legends and captions.

Only matplotlib's objects are used: no pyplot, no display, and a caller's own settings stay as they
are.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from scrubjay.figures.style import STYLE, colour_of
from scrubjay.optional import require


def check_plots() -> None:
    """Refuse to draw where the packages for it are not installed, before any work is done."""
    for module in ("matplotlib", "PIL.Image"):
        require(module, "plots")


def open_figure(rows: int, columns: int, size: tuple[float, float], **layout: Any) -> Any:
    """An empty figure in the house style and its axes, an array of rows x columns."""
    matplotlib = require("matplotlib", "plots")
    figures = require("matplotlib.figure", "plots")
    require("matplotlib.backends.backend_agg", "plots")
    with matplotlib.rc_context(STYLE):
        figure = figures.Figure(figsize=size)
        return figure, figure.subplots(rows, columns, squeeze=False, **layout)


def add_legend(figure: Any, labels: Sequence[str]) -> None:
    """The methods and their colours, above all panels."""
    lines = require("matplotlib.lines", "plots")
    handles = [
        lines.Line2D([], [], color=colour_of(label, labels), linewidth=2, label=label)
        for label in labels
    ]
    columns = min(len(labels), _legend_columns(figure))
    figure.legend(handles=handles, loc="upper center", ncols=columns, frameon=False)


def add_caption(figure: Any, text: str) -> None:
    """The caption below, and everything else laid out above it.

    Figures have room for 0.9 inches of legend and caption; what needs more makes them taller.
    """
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(text, int(width * 16.5))
    below = 0.08 + 0.16 * len(lines)
    n_labels = max((len(legend.get_texts()) for legend in figure.legends), default=1)
    above = 0.1 + 0.22 * -(-n_labels // _legend_columns(figure))
    height += max(0.0, below + above - 0.9)
    figure.set_size_inches(width, height)
    figure.text(0.012, 0.04 / height, "\n".join(lines), fontsize=8, va="bottom", color="#555b66")
    figure.tight_layout(rect=(0, below / height, 1, 1 - above / height))


def _legend_columns(figure: Any) -> int:
    """As many labels in a row as are sure to fit."""
    return max(2, int(figure.get_size_inches()[0] / 2.45))

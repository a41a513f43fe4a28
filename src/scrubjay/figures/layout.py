"""Empty figures in the package's style, their legends and captions.

Only matplotlib's objects are used: no pyplot, no display, and a caller's own settings stay as they
are. Figures are as wide as a page of documentation (about 800 pixels there), so that their text is
as large there as the text around them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scrubjay.figures.style import SOFT, STYLE, colours_of
from scrubjay.optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

PAGE_WIDTH = 8.0  # inches
ROOM = 0.9  # inches for legend and caption that figures have from the start
MARGIN = 0.1  # inches beside the caption
HINTING = 0.97  # letters on whole pixels are up to 3% wider than their outlines
CAPTION_SIZE = 8


def check_plots() -> None:
    """Refuse to draw where the packages for it are not installed, before any work is done.

    Raises:
        ImportError: If matplotlib or Pillow is missing; the message says how to install them.
    """
    for module in ("matplotlib", "PIL.Image"):
        require(module, "plots")


def open_figure(
    rows: int, columns: int, size: tuple[float, float], **layout: Any
) -> tuple["Figure", Any]:
    """An empty figure in the house style.

    Args:
        rows: Rows of panels.
        columns: Columns of panels.
        size: Width and height in inches.
        **layout: Further arguments of matplotlib's `Figure.subplots`.

    Returns:
        The figure and its axes, an array of rows x columns.
    """
    matplotlib = require("matplotlib", "plots")
    figures = require("matplotlib.figure", "plots")
    require("matplotlib.backends.backend_agg", "plots")
    with matplotlib.rc_context(STYLE):
        figure = figures.Figure(figsize=size)
        return figure, figure.subplots(rows, columns, squeeze=False, **layout)


def mark(label: str, **look: Any) -> "Line2D":
    """An entry of a legend that is not a method: a mark, or a kind of line."""
    lines = require("matplotlib.lines", "plots")
    handle: Line2D = lines.Line2D([], [], label=label, **{"color": SOFT, "linewidth": 0, **look})
    return handle


def add_legend(
    figure: "Figure",
    labels: Sequence[str],
    words: Mapping[str, str] | None = None,
    marks: Sequence["Line2D"] = (),
) -> None:
    """The methods with their colours, then what else is drawn, above all panels.

    Args:
        figure: The figure.
        labels: The methods, in the order of the legend.
        words: What to write of a method in place of its label.
        marks: Further entries, made by `mark`.
    """
    colours = colours_of(labels)
    texts = {label: (words or {}).get(label, label).strip() for label in labels}
    handles = [
        mark(texts[label], color=colours[label], linewidth=2.5, solid_capstyle="round")
        for label in labels
    ]
    handles += marks
    columns = _legend_columns(figure, [str(handle.get_label()) for handle in handles])
    figure.legend(
        handles=handles, loc="upper center", ncols=columns, frameon=False, fontsize=9,
        handlelength=1.6, columnspacing=1.6,
    )  # fmt: skip


def add_caption(figure: "Figure", text: str) -> None:
    """The caption below, and everything else laid out above it.

    Legend and caption that need more than 0.9 inches make the figure taller.
    """
    width, height = figure.get_size_inches()
    lines = _wrapped(text, HINTING * (width - 2 * MARGIN))
    below = 0.12 + 0.16 * len(lines)
    above = 0.1 + 0.2 * sum(_legend_rows(figure, legend) for legend in figure.legends)
    height += max(0.0, below + above - ROOM)
    figure.set_size_inches(width, height)
    figure.text(
        MARGIN / width,
        0.05 / height,
        "\n".join(lines),
        fontsize=CAPTION_SIZE,
        va="bottom",
        color=SOFT,
    )
    figure.tight_layout(rect=(0, below / height, 1, 1 - above / height))


def _wrapped(text: str, inches: float) -> list[str]:
    """The lines of a caption, none of them wider than that: letters are of different widths."""
    paths = require("matplotlib.textpath", "plots")
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        # a point is 1/72 of an inch; $ would begin a formula
        drawn = paths.TextPath((0, 0), longer.replace("$", "S"), size=CAPTION_SIZE)
        if drawn.get_extents().x1 / 72 <= inches or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _legend_rows(figure: "Figure", legend: "Legend") -> int:
    texts = [text.get_text() for text in legend.get_texts()]
    return -(-len(texts) // _legend_columns(figure, texts))


def _legend_columns(figure: "Figure", texts: Sequence[str]) -> int:
    """As many entries in a row as fit: a character takes about 0.07 inches."""
    room = figure.get_size_inches()[0] - 0.2
    fitting = (n for n in range(len(texts), 1, -1) if _legend_width(texts, n) <= room)
    return next(fitting, 1)


def _legend_width(texts: Sequence[str], columns: int) -> float:
    """The inches that a legend takes: matplotlib fills column by column, the first ones longer."""
    rows, longer = divmod(len(texts), columns)
    sizes = [rows + (column < longer) for column in range(columns)]
    starts = [sum(sizes[:column]) for column in range(columns)]
    columns_of = [texts[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return sum(0.55 + 0.07 * max(map(len, column)) for column in columns_of)

"""How a search for settings went: the value of each trial, and against each setting."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from scrubjay.figures.layout import PAGE_WIDTH, add_caption, open_figure
from scrubjay.figures.style import SOFT, STYLE, TITLE_SIZE
from scrubjay.optional import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 4
COMPLETE, PRUNED, BEST = "#0072b2", "#9aa3b0", "#b3124f"


def tuning_figure(
    rows: Sequence[Mapping[str, Any]], settings: Mapping[str, bool], title: str
) -> "Figure":
    """Draw the trials of a study.

    Args:
        rows: The trials: `trial`, `state`, `value`, `so_far`, `preset` and the settings.
        settings: The names of the tuned settings, and whether each was searched on a logarithmic
            scale.
        title: The method and the task.

    Returns:
        The figure.
    """
    shown = [row for row in rows if row["state"] != "failed" and row["so_far"] is not None]
    panels = len(settings) + 2  # the history takes two places
    tall = math.ceil(panels / COLUMNS)
    figure, grid = open_figure(tall, COLUMNS, (PAGE_WIDTH, 2.1 * tall + 0.9))
    places = list(grid.ravel())
    _draw_history(_joined(figure, places[0], places[1]), shown, title)
    for axes, (name, log) in zip(places[2:], settings.items(), strict=False):
        _draw_setting(axes, shown, name, log)
    for axes in places[panels:]:
        axes.set_visible(False)
    add_caption(
        figure,
        "Each dot is a trial: the mean success (or return) over all evaluations of its runs. Blue: "
        "complete; grey: ended early, with its mean so far; red ring: the best; diamond: the "
        "preset. Line: the best so far.",
    )
    return figure


def _joined(figure: "Figure", first: "Axes", second: "Axes") -> "Axes":
    """One panel in the place of two."""
    spec: Any = first.get_gridspec()
    first.remove()
    second.remove()
    with require("matplotlib", "plots").rc_context(STYLE):
        axes: Axes = figure.add_subplot(spec[0, :2])
    return axes


def _draw_history(axes: "Axes", rows: Sequence[Mapping[str, Any]], title: str) -> None:
    _draw_dots(axes, rows, [float(row["trial"]) for row in rows])
    complete = [row for row in rows if row["value"] is not None]
    best = list(accumulate((row["value"] for row in complete), max))
    axes.step([row["trial"] for row in complete], best, where="post", color=BEST, linewidth=1.2)
    axes.set_title(title, fontsize=TITLE_SIZE)
    axes.set_xlabel("trial")
    axes.set_ylabel("mean of evaluations")
    axes.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]


def _draw_setting(axes: "Axes", rows: Sequence[Mapping[str, Any]], name: str, log: bool) -> None:
    _draw_dots(axes, rows, [float(row[name]) for row in rows])
    if log:
        axes.set_xscale("log")
        _label_log_axis(axes)
    axes.set_xlabel(name)


def _label_log_axis(axes: "Axes") -> None:
    """Powers of ten; 1, 2 and 5 times them if that are fewer than two. Other labels overlap."""
    ticker: Any = require("matplotlib.ticker", "plots")
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    low, high = axes.get_xlim()
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    if sum(low <= power <= high for power in powers) < 2:
        ticks = [m * power for power in powers for m in (1, 2, 5) if low <= m * power <= high]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _draw_dots(axes: "Axes", rows: Sequence[Mapping[str, Any]], across: Sequence[float]) -> None:
    values = [row["so_far"] if row["value"] is None else row["value"] for row in rows]
    complete = [row["value"] for row in rows if row["value"] is not None]
    for row, x, y in zip(rows, across, values, strict=True):
        done = row["value"] is not None
        look: dict[str, Any] = {"color": COMPLETE if done else PRUNED, "linewidths": 0}
        if done and y == max(complete):
            look = {"color": COMPLETE, "edgecolors": BEST, "linewidths": 1.8, "zorder": 3}
        if row["preset"]:
            look["marker"] = "D"
        axes.scatter([x], [y], s=24, **look)
    axes.tick_params(labelsize=8, colors=SOFT)

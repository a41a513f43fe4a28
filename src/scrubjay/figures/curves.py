"""Learning curves with matplotlib; the report draws its own, without it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrubjay.analysis.curves import (
    BANDS,
    Curve,
    band_of,
    coincidences,
    one_task,
    summary,
    tidy_rows,
)
from scrubjay.analysis.results import Row
from scrubjay.analysis.statistics import MIN_RUNS
from scrubjay.envs.catalog import short_task
from scrubjay.figures.layout import PAGE_WIDTH, add_caption, add_legend, mark, open_figure
from scrubjay.figures.style import TITLE_SIZE, colours_of, in_order
from scrubjay.training.errors import RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

METRIC_LABELS = {
    "success": "success rate",
    "return": "return",
    "length": "episode length",
    "memory/size": "rows in memory",
}
_WORDS = {"success": "success rate", "return": "return", "length": "length"}
_BAND_WORDS = {
    "standard error": "Thick lines: mean over seeds; bands: one standard error.",
    "bootstrap": "Thick lines: interquartile mean over seeds; bands: its 95% bootstrap interval.",
}
# Lines that coincide with one, two or more lines below them: those show through the gaps.
DASHES = ("solid", (0, (3, 3)), (0, (1.5, 4.5)), (0, (0.8, 5.2)))


@dataclass(frozen=True)
class Drawing:
    """A figure, the rows of everything it shows, and its caption."""

    figure: "Figure"
    rows: list[Row]
    caption: str


def learning_curves(
    panels: Mapping[str, Sequence[Curve]],
    band: str = "standard error",
    columns: int = 3,
    show_seeds: bool = True,
    notes: Sequence[str] = (),
    marks: Sequence["Line2D"] = (),
) -> Drawing:
    """Draw one panel for each task, with one line for each method.

    Args:
        panels: The curves of each panel, by its title. A method with fewer than three seeds is
            drawn as its single runs, and the caption says so.
        band: "standard error" for the mean and its standard error, as in the paper; "bootstrap" for
            the interquartile mean with its 95% stratified-bootstrap interval.
        columns: The most panels in a row.
        show_seeds: Whether single seeds are drawn too, as thin lines.
        notes: Sentences that are added to the caption.
        marks: Entries that are added to the legend, made by `scrubjay.figures.layout.mark`.

    Returns:
        The figure, its numbers and its caption.

    Raises:
        ValueError: If there is no such band.
        RunError: If there is nothing to draw, or a panel has curves of several tasks.
    """
    if band not in BANDS:
        raise ValueError(f"expected a band of {', '.join(BANDS)}, got {band!r}")
    if not panels or not all(panels.values()):
        raise RunError("expected at least one panel with at least one curve in each, got none")
    for curves in panels.values():
        one_task(curves)
    figure, grid = _panels(len(panels), columns)
    order = in_order({curve.label for curves in panels.values() for curve in curves})
    for axes, (title, curves) in zip(grid, panels.items(), strict=True):
        draw_curves(axes, curves, band, order, show_seeds)
        axes.set_title(title, fontsize=TITLE_SIZE if columns <= 3 else TITLE_SIZE - 1)
        axes.locator_params(axis="x", nbins=5 if columns <= 3 else 3)  # labels must not touch
    _label_once(grid, panels, min(len(panels), columns))
    everything = [curve for curves in panels.values() for curve in curves]
    text = " ".join([caption(everything, band), *notes])
    singles = [mark("single seed", linewidth=0.8)] if show_seeds else []
    add_legend(figure, order, marks=[*singles, *marks])
    add_caption(figure, text)
    return Drawing(figure, tidy_rows(everything), text)


def draw_curves(
    axes: "Axes",
    curves: Sequence[Curve],
    band: str = "standard error",
    order: Sequence[str] | None = None,
    show_seeds: bool = True,
) -> None:
    """Draw methods into axes that the caller owns.

    Args:
        axes: Where to draw.
        curves: One for each method.
        band: As in `learning_curves`.
        order: All methods of the figure, so that no two share a colour.
        show_seeds: Whether single seeds are drawn too.
    """
    colours = colours_of(order or [curve.label for curve in curves])
    for curve, below in zip(curves, coincidences(curves, band), strict=True):
        colour = colours[curve.label]
        found = band_of(summary(curve), band)
        if show_seeds or found is None:
            _draw_seeds(axes, curve, colour, found is None, below)
        if found is not None:
            middle, low, high = found
            axes.fill_between(curve.steps, low, high, color=colour, alpha=0.18, linewidth=0)
            look = {"color": colour, "linewidth": 2, "linestyle": _dashes(below)}
            if len(curve.steps) == 1:  # has no length: a dot, and a bar for its interval
                look["marker"] = "o"
                axes.vlines(curve.steps, low, high, color=colour, alpha=0.4, linewidth=4)
            axes.plot(curve.steps, middle, **look, zorder=3)  # above all single seeds
    if curves[0].metric == "success":
        axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(METRIC_LABELS.get(curves[0].metric, curves[0].metric))
    axes.xaxis.set_major_formatter(_step_label)
    axes.locator_params(axis="x", nbins=5)


def caption(curves: Sequence[Curve], band: str = "standard error") -> str:
    """What the lines and bands are, the number of seeds, and what was left out."""
    metrics = dict.fromkeys(_WORDS[curve.metric] for curve in curves if curve.metric in _WORDS)
    what = " or ".join(metrics).capitalize()
    parts = [f"{what} of greedy episodes against training steps."] if metrics else []
    if any(len(curve.seeds) >= MIN_RUNS for curve in curves):
        parts.append(_BAND_WORDS[band])
    parts.append(_seed_sentence(curves))
    if any(len(curve.seeds) < MIN_RUNS for curve in curves):
        parts.append("Fewer than three seeds give no mean and no band: the runs alone are drawn.")
    if _some_coincide(curves, band):
        parts.append("Dashed: a line that coincides with another.")
    notes = dict.fromkeys(note for curve in curves for note in curve.notes)
    return " ".join([*parts, *(f"{note}." for note in notes)])


def seed_counts(counts: Mapping[str, int]) -> str:
    """A sentence with the number of seeds of each method.

    >>> seed_counts({"CEC": 5, "SAC": 3})
    'Seeds: CEC 5; SAC 3.'
    """
    if len(set(counts.values())) == 1:
        number, each = next(iter(counts.values())), "" if len(counts) == 1 else " each"
        return f"{number} {'seed' if number == 1 else 'seeds'}{each}."
    return f"Seeds: {'; '.join(f'{label.strip()} {n}' for label, n in counts.items())}."


def _panels(count: int, columns: int) -> tuple["Figure", list["Axes"]]:
    wide = min(count, columns)
    tall = -(-count // wide)
    # one panel alone would be too flat at the full width
    size = (PAGE_WIDTH, 2.3 * tall + 0.9) if wide > 1 else (0.8 * PAGE_WIDTH, 4.0)
    figure, axes_grid = open_figure(tall, wide, size)
    grid = axes_grid.ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, list(grid[:count])


def _label_once(
    grid: Sequence["Axes"], panels: Mapping[str, Sequence[Curve]], columns: int
) -> None:
    """Axes are labelled at the left and below only, unless a panel shows something else."""
    metrics = {curves[0].metric for curves in panels.values()}
    for place, axes in enumerate(grid):
        if place % columns and len(metrics) == 1:
            axes.set_ylabel("")
        if place + columns < len(grid):
            axes.set_xlabel("")


def _draw_seeds(axes: "Axes", curve: Curve, colour: str, alone: bool, below: int) -> None:
    look: dict[str, Any] = {"linewidth": 0.6, "alpha": 0.3}
    if alone:
        dots = {"marker": "o", "markersize": 3, "markevery": below + 1}
        look = {"linewidth": 1.2, "linestyle": _dashes(below), **dots}
    for values in curve.values:
        axes.plot(curve.steps, values, color=colour, **look)


def _dashes(below: int) -> Any:
    return DASHES[min(below, len(DASHES) - 1)]


def _step_label(step: float, _: float) -> str:
    return f"{step / 1000:g}k" if step else "0"


def _some_coincide(curves: Sequence[Curve], band: str) -> bool:
    tasks: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        tasks.setdefault((curve.task, curve.metric), []).append(curve)
    return any(any(coincidences(of_task, band)) for of_task in tasks.values())


def _seed_sentence(curves: Sequence[Curve]) -> str:
    counts: dict[str, dict[str, int]] = {}
    for curve in curves:
        counts.setdefault(curve.label, {})[short_task(curve.task)] = len(curve.seeds)
    if all(len(set(tasks.values())) == 1 for tasks in counts.values()):
        return seed_counts({label: next(iter(tasks.values())) for label, tasks in counts.items()})
    words = [f"{label.strip()} {_count(tasks)}" for label, tasks in counts.items()]
    return f"Seeds: {'; '.join(words)}."


def _count(tasks: Mapping[str, int]) -> str:
    """The usual number of seeds, and the tasks that have another: 10 (4 on FetchPush)."""
    numbers = Counter(tasks.values())
    usual = numbers.most_common(1)[0][0]
    others = [
        f"{number} on {' and '.join(task for task, n in tasks.items() if n == number)}"
        for number in numbers
        if number != usual
    ]
    return f"{usual} ({', '.join(others)})" if others else str(usual)

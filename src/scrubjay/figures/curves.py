"""Learning curves with matplotlib. (The report draws its own, without it.)"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrubjay.analysis.curves import BANDS, Curve, band_of, one_task, summary, tidy_rows
from scrubjay.analysis.statistics import FEWEST_RUNS
from scrubjay.envs.catalog import short_task
from scrubjay.figures.layout import add_caption, add_legend, open_figure
from scrubjay.figures.style import colour_of, in_order
from scrubjay.training.errors import RunError

METRIC_LABELS = {"success": "success rate", "return": "return", "length": "episode length"}


@dataclass(frozen=True)
class Drawing:
    """A figure and the tidy rows of everything it shows."""

    figure: Any
    rows: list[dict[str, Any]]
    caption: str


def learning_curves(
    panels: Mapping[str, Sequence[Curve]],
    band: str = "standard error",
    columns: int = 4,
    show_seeds: bool = True,
    notes: Sequence[str] = (),
) -> Drawing:
    """One panel for each task, one line for each method; `notes` are added to the caption.

    `band="standard error"` draws the mean and its standard error, as the paper does;
    `band="bootstrap"` the interquartile mean with its 95% stratified-bootstrap interval. Methods
    with fewer than three seeds are drawn as their single runs alone, and the caption says so.
    """
    if band not in BANDS:
        raise ValueError(f"one of {', '.join(BANDS)} was expected, {band!r} came")
    if not panels or not all(panels.values()):
        raise RunError("at least one panel, and at least one curve in each, was expected")
    for curves in panels.values():
        one_task(curves)
    figure, grid = _panels(len(panels), columns)
    order = in_order({curve.label for curves in panels.values() for curve in curves})
    for axes, (title, curves) in zip(grid, panels.items(), strict=True):
        draw_curves(axes, curves, band, order, show_seeds)
        axes.set_title(title)
    for axes in set(grid) - set(grid[:: min(len(panels), columns)]):
        axes.set_ylabel("")
    everything = [curve for curves in panels.values() for curve in curves]
    text = " ".join([caption(everything, band), *notes])
    add_legend(figure, order)
    add_caption(figure, text)
    return Drawing(figure, tidy_rows(everything), text)


def draw_curves(
    axes: Any,
    curves: Sequence[Curve],
    band: str = "standard error",
    order: Sequence[str] | None = None,
    show_seeds: bool = True,
) -> None:
    """Draw methods into axes that the caller owns; `order` fixes who gets which colour."""
    labels = order or [curve.label for curve in curves]
    for curve in curves:
        colour = colour_of(curve.label, labels)
        found = band_of(summary(curve), band)
        if show_seeds or found is None:
            _draw_seeds(axes, curve, colour, alone=found is None)
        if found is not None:
            middle, low, high = found
            axes.fill_between(curve.steps, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(curve.steps, middle, color=colour, linewidth=2, solid_capstyle="round")
    if curves[0].metric == "success":
        axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(METRIC_LABELS.get(curves[0].metric, curves[0].metric))
    axes.xaxis.set_major_formatter(_step_label)


def caption(curves: Sequence[Curve], band: str = "standard error") -> str:
    """What the lines, bands and points are, the number of seeds, and what was left out."""
    parts = []
    if any(len(curve.seeds) >= FEWEST_RUNS for curve in curves):
        parts.append(
            "Lines: mean over seeds, bands: one standard error."
            if band == "standard error"
            else "Lines: interquartile mean over seeds, bands: 95% stratified-bootstrap intervals."
        )
    parts.append(f"Thin lines: single seeds. Seeds: {_seed_counts(curves)}.")
    if any(len(curve.seeds) < FEWEST_RUNS for curve in curves):
        parts.append("Fewer than three seeds give no mean and no band: the runs alone are drawn.")
    notes = dict.fromkeys(note for curve in curves for note in curve.notes)
    return " ".join([*parts, *(f"{note}." for note in notes)])


def _panels(count: int, columns: int) -> tuple[Any, list[Any]]:
    wide = min(count, columns)
    tall = -(-count // wide)
    figure, axes_grid = open_figure(tall, wide, (max(4.6, 3.3 * wide), 2.7 * tall + 0.9))
    grid = axes_grid.ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, list(grid[:count])


def _draw_seeds(axes: Any, curve: Curve, colour: str, alone: bool) -> None:
    look = {"linewidth": 1.2, "marker": "o", "markersize": 3} if alone else {"linewidth": 0.6}
    for values in curve.values:
        axes.plot(curve.steps, values, color=colour, alpha=0.9 if alone else 0.3, **look)


def _step_label(step: float, _: int) -> str:
    return f"{step / 1000:g}k" if step else "0"


def seed_counts(counts: Mapping[str, int]) -> str:
    """A sentence that says how many seeds each method has.

    >>> seed_counts({"CEC": 5, "SAC": 3})
    'Seeds: 5 of CEC, 3 of SAC.'
    """
    if len(set(counts.values())) == 1:
        number = next(iter(counts.values()))
        return (
            f"{number} {'seed' if number == 1 else 'seeds'}{'' if len(counts) == 1 else ' each'}."
        )
    return f"Seeds: {', '.join(f'{n} of {label.strip()}' for label, n in counts.items())}."


def _seed_counts(curves: Sequence[Curve]) -> str:
    counts: dict[str, dict[str, int]] = {}
    for curve in curves:
        counts.setdefault(curve.label, {})[short_task(curve.task)] = len(curve.seeds)
    return "; ".join(f"{label} {_count(tasks)}" for label, tasks in counts.items())


def _count(tasks: Mapping[str, int]) -> str:
    if len(set(tasks.values())) == 1:
        return str(next(iter(tasks.values())))
    return " and ".join(f"{count} on {task}" for task, count in tasks.items())

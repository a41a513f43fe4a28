"""Tables of results as text."""

from collections.abc import Mapping, Sequence

import numpy as np

from scrubjay.analysis.curves import Curve, summary


def markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as a Markdown table, padded so that its source can be read too."""
    names = list(rows[0])
    lines = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    text = [_line(line, widths) for line in lines]
    return "\n".join([text[0], _line(["-" * width for width in widths], widths), *text[1:]])


def summary_at(curve: Curve, step: int) -> str:
    """What the seeds say at one step."""
    at = np.flatnonzero(curve.steps == step)
    if not len(at):
        return "-"
    found, i = summary(curve), int(at[0])
    if found.interval is None or found.standard_error is None:
        return ", ".join(f"{value:.3g}" for value in curve.values[:, i])
    middle = f"{found.interquartile_mean[i]:.2f}"
    interval = f"[{found.interval.low[i]:.2f}, {found.interval.high[i]:.2f}]"
    return f"{found.mean[i]:.2f} ± {found.standard_error[i]:.2f}; {middle} {interval}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return f"| {' | '.join(padded)} |"

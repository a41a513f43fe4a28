"""Colours and the style that figures and reports share."""

from collections.abc import Iterable, Sequence

INK = "#22262e"
# The paper's colours for its three methods (blue, orange, grey), in shades that people with any
# kind of colour blindness tell apart; the rest of the palette is Okabe and Ito's.
FIXED = {"cec": "#0072b2", "sac": "#e07b00", "emac": "#7a7f87"}
PALETTE = ("#009e73", "#cc79a7", "#56b4e9", "#a6761d", "#d55e00", "#5e4fa2", "#99354f")
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d8dce2",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "scrubjay",
}


def colour_of(label: str, labels: Sequence[str]) -> str:
    """The colour of a method among all the methods shown together."""
    if label.lower() in FIXED:
        return FIXED[label.lower()]
    others = [other for other in labels if other.lower() not in FIXED]
    return PALETTE[others.index(label) % len(PALETTE)]


def in_order(labels: Iterable[str]) -> list[str]:
    """The paper's methods first, variants beside their method, then the rest by name."""
    known = list(FIXED)

    def rank(label: str) -> tuple[int, str]:
        method = label.lower().partition(" ")[0]
        return (known.index(method) if method in known else len(known), label)

    return sorted(labels, key=rank)

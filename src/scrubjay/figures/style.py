"""One colour for each method, in all figures and in the report, and the style that they share."""

import zlib
from collections.abc import Iterable, Mapping, Sequence

INK, SOFT = "#22262e", "#555b66"
# The four that are compared most are told apart with any kind of colour blindness: their CIE76
# distances are at least 23 for normal, protan, deutan and tritan sight. CEC, SAC and EMAC have the
# paper's hues. Variants that studies compare have colours of their own.
METHOD_COLOURS: Mapping[str, str] = {
    "cec": "#0072b2",
    "cec-plus": "#b3124f",
    "sac": "#e69f00",
    "emac": "#7a7f87",
    "cec-stale": "#56b4e9",
    "cec, stale index": "#56b4e9",
    "cec, noisy start": "#009e73",
    "cec, published settings": "#6b7a1e",
    "published design, stale index": "#2f343d",
    "sac, sb3's defaults": "#7d4a1a",
    "sac, small entropy": "#f2785c",
    "sac with her": "#5b3fa0",
    "crossq, small entropy": "#2f343d",
    "tqc, small entropy": "#009e73",
    "unlimited": "#0072b2",
    "10,000 rows": "#009e73",
    "3,000 rows": "#e69f00",
    "1,000 rows": "#99354f",
    "cec, epsilon falls in 10k": "#c979b0",
    "cec, d = 0.2": "#009e73",
    "cec, no inner block": "#0072b2",
    "published design, no inner block": "#2f343d",
}
# For everything else, by name.
FURTHER = (
    *("#009e73", "#7d4a1a", "#5b3fa0", "#f2785c", "#2f343d", "#6b7a1e", "#c979b0", "#4fc3a1"),
    *("#a08a00", "#1b4f72", "#8fa3bf", "#99354f"),
)
TITLE_SIZE = 10
STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": TITLE_SIZE,
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


def colours_of(labels: Iterable[str]) -> dict[str, str]:
    """The colour of each method that is shown; a method keeps it wherever it is shown.

    Args:
        labels: Names of methods, variants or arms, as figures and reports write them.

    Returns:
        A hexadecimal colour by label. A name that has no colour of its own gets one of `FURTHER`,
        decided by its name alone; only if two names of one figure would share it, the second in
        alphabetical order takes the next one that is free.
    """
    names = {label: _name(label) for label in labels}
    found = {label: METHOD_COLOURS[name] for label, name in names.items() if name in METHOD_COLOURS}
    for label in sorted(names.keys() - found.keys()):
        start = zlib.crc32(names[label].encode())
        turns = [FURTHER[(start + i) % len(FURTHER)] for i in range(len(FURTHER))]
        taken = set(found.values())
        found[label] = next((colour for colour in turns if colour not in taken), turns[0])
    return found


def colour_of(label: str, labels: Sequence[str] = ()) -> str:
    """The colour of a method among all those that are shown together."""
    return colours_of([label, *labels])[label]


def in_order(labels: Iterable[str]) -> list[str]:
    """CECPlus, CEC, SAC and EMAC first, variants beside their method, then the rest by name."""
    known = ("cec-plus", "cec", "sac", "emac")

    def rank(label: str) -> tuple[int, str]:
        method = _name(label).replace(",", " ").partition(" ")[0]
        return (known.index(method) if method in known else len(known), label)

    return sorted(labels, key=rank)


def _name(label: str) -> str:
    """A label as the registry writes it: CECPlus and cec-plus are one method."""
    return label.strip().lower().replace("cecplus", "cec-plus")

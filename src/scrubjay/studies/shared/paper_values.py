"""What the paper shows, as data: its tables, and values read off its authors' figures.

Curves: mean of 5 runs at 100,000 steps with one standard error where it could be read, by eye, to
about 0.02 of the axis; they are smoothed (weight 0.3) and show the undiscounted return.
"""

from dataclasses import dataclass

STEP = 100_000


@dataclass(frozen=True)
class PaperValue:
    """The return at 100,000 steps, its standard error, and what else the curve shows."""

    value: float
    error: float | None = None
    words: str = ""


CURVES: dict[str, dict[str, PaperValue]] = {
    "SparseMountainCar": {
        "cec": PaperValue(58, 22),
        "sac": PaperValue(43, 21, "a figure of the authors; the paper's shows CEC alone"),
        "emac": PaperValue(0, None, "peak 11; as SAC's"),
    },
    "PointUMaze": {
        "cec": PaperValue(1.00, None, "0.97 at 30k, 1.00 from 55k"),
        "sac": PaperValue(0.98, None, "0 until 50k"),
        "emac": PaperValue(0.66, None, "peak 0.79 at 95k"),
    },
    "Point4Rooms": {
        "cec": PaperValue(0.49, None, "about 0.5 from 65k"),
        "sac": PaperValue(0.00, None, "peak 0.17 at 60k"),
        "emac": PaperValue(0.11, None, "peak 0.30 at 85k"),
    },
    "SafexpPointGoal": {
        "cec": PaperValue(0.80, 0.18, "from 30k"),
        "sac": PaperValue(0.20, None, "started at 0.60"),
        "emac": PaperValue(0.26, None, "0.40 most of the run"),
    },
    "SafexpCarGoal": {
        "cec": PaperValue(0.96, None, "0.99 at 25k"),
        "sac": PaperValue(0.00),
        "emac": PaperValue(0.47),
    },
    "SparseFetchReach": {
        "cec": PaperValue(0.63, 0.07),
        "sac": PaperValue(0.43, 0.17),
        "emac": PaperValue(0.59, 0.13),
    },
}
# Steps that a greedy episode of the last rows of its toy figure takes.
TOY_LENGTH = "10 to 15"

# Table I: how methods use their memory, and for which actions.
OVERVIEW = (
    ("MFEC", "action selection", "discrete"),
    ("NEC", "action selection", "discrete"),
    ("EMAC", "target update", "continuous"),
    ("EMDQN", "target update", "discrete"),
    ("GEM", "target update", "continuous"),
    ("MBEC", "target update", "discrete"),
    ("Neural Map", "feature storage", "discrete"),
    ("CEC", "action selection", "continuous"),
)

# Table II: dimensions of state and action.
DIMENSIONS = {
    "GrowingTree": (1, 1),
    "SparseMountainCar": (2, 1),
    "PointUMaze": (4, 2),
    "Point4Rooms": (4, 2),
    "SafexpPointGoal": (24, 2),
    "SafexpCarGoal": (36, 2),
    "SparseFetchReach": (13, 4),
}

# Table III: GrowingTree.
GROWING_TREE = {
    "state space": "[-2, 2]",
    "action space": "[-0.1, 0.1]",
    "maximum steps": "200",
    "goal": "1.0",
    "final reward": "1.0",
    "distance tolerance": "0.1",
    "start height": "0",
}

# Table IV and the text on FetchReach: k, tau, sigma, n, d.
HYPERPARAMETERS = {
    "PointUMaze": (5, 0.1, 0.3, 1, 0.1),
    "Point4Rooms": (5, 1, 0.3, 3, 0.1),
    "SafexpPointGoal": (5, 0.1, 0.1, 1, 0.1),
    "SafexpCarGoal": (1, 10, 0.1, 3, 0.1),
    "SparseFetchReach": (5, 1, 0.1, 3, 0.5),
}

"""The studies of `scrubjay reproduce`: the paper's figures and tables, and further ones.

Only their names are here, so that the command line can list them without importing anything.
"""

# name: (module in this folder, one line)
EXPERIMENTS = {
    "toy": ("toy", "GrowingTree: greedy episodes and chosen actions every 10k steps"),
    "mountain-car": ("mountain_car", "the learning curve on MountainCarContinuous"),
    "navigation": ("navigation", "the four navigation tasks"),
    "values": ("values", "state values on PointUMaze, CEC above SAC"),
    "fetch-reach": ("fetch_reach", "the learning curves on FetchReach"),
    "tables": ("tables", "methods, dimensions, GrowingTree, settings"),
    "latch": ("latch", "first success against first greedy success, seed by seed"),
    "capacity": ("capacity", "PointUMaze with 1k, 3k, 10k and unlimited rows"),
    "causes": ("causes", "what makes CEC differ from the published figures, cause by cause"),
    "ablation": ("ablation", "cec-plus without each of its parts in turn, and the paper's rule"),
    "plus": ("plus", "cec-plus against its targets, and with noise"),
    "suite": ("suite", "26 sparse tasks: cec-plus without settings against networks"),
    "parts": ("parts", "what planning and discovery of cec-plus do with real memories"),
    "speed": ("speed", "success against training time on PointUMaze"),
    "minatar": ("minatar", "MFEC, CECPlus and DQN on MinAtar and a grid"),
    "atari": ("atari", "MFEC on three Atari games, against published scores"),
    "comparison": ("comparison", "the paper's values and ours at 30k, 50k, 100k"),
}
# The agents that are run by default, where they are not the paper's.
DEFAULT_AGENTS = {
    **dict.fromkeys(("ablation", "plus", "suite"), ("cec-plus",)),
    **dict.fromkeys(("minatar", "atari"), ("mfec",)),
}
ALL = "all"
# These write tables only, and need no matplotlib.
WITHOUT_FIGURES = ("tables", "comparison")
# These are made of numbers alone, seed by seed, so that stored ones can be completed by new runs.
ADDABLE = ("mountain-car", "navigation", "fetch-reach", "latch", "suite", "speed", "comparison")

"""Methods that train networks, built on Stable-Baselines3 (extra `deep`): EMAC and baselines.

They train through the same run folder and the same evaluation as the agents without networks.
"""

from scrubjay.optional import require

for _module in ("torch", "stable_baselines3", "sb3_contrib"):
    require(_module, "deep")

from scrubjay.deep.base import DeepAgent  # noqa: E402
from scrubjay.deep.crossq import CrossQ  # noqa: E402
from scrubjay.deep.dqn import DQN  # noqa: E402
from scrubjay.deep.emac import EMAC, EMACAgent  # noqa: E402
from scrubjay.deep.episodes import NumberedEpisodes  # noqa: E402
from scrubjay.deep.pair_memory import PairMemory  # noqa: E402
from scrubjay.deep.replay import EpisodicReplayBuffer  # noqa: E402
from scrubjay.deep.sac import SAC  # noqa: E402
from scrubjay.deep.tqc import TQC  # noqa: E402
from scrubjay.deep.values import state_values  # noqa: E402

__all__ = [
    "DQN",
    "EMAC",
    "SAC",
    "TQC",
    "CrossQ",
    "DeepAgent",
    "EMACAgent",
    "EpisodicReplayBuffer",
    "NumberedEpisodes",
    "PairMemory",
    "state_values",
]

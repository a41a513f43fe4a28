"""Methods that act from memory, one file each, and what a new one is made of."""

from scrubjay.agents.base import MemoryAgent, Spaces
from scrubjay.agents.cec import CEC
from scrubjay.agents.cec_plus import CECPlus
from scrubjay.agents.explanation import Explanation, Neighbor
from scrubjay.agents.mfec import MFEC
from scrubjay.agents.recorder import CHOICE, Choice, Experience, Lanes, Learned, Notes, Step
from scrubjay.agents.schedules import LinearSchedule
from scrubjay.agents.settings import Range

__all__ = [
    "CEC",
    "CHOICE",
    "MFEC",
    "CECPlus",
    "Choice",
    "Experience",
    "Explanation",
    "Lanes",
    "Learned",
    "LinearSchedule",
    "MemoryAgent",
    "Neighbor",
    "Notes",
    "Range",
    "Spaces",
    "Step",
]

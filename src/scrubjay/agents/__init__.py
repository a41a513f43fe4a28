"""How a memory decides: one file a method."""

from scrubjay.agents.base import MemoryAgent
from scrubjay.agents.cec import CEC
from scrubjay.agents.cec_plus import CECPlus
from scrubjay.agents.schedules import LinearSchedule

__all__ = ["CEC", "CECPlus", "LinearSchedule", "MemoryAgent"]

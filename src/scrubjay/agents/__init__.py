"""How a memory decides: one file a method."""

from scrubjay.agents.base import MemoryAgent
from scrubjay.agents.cec import CEC
from scrubjay.agents.schedules import LinearSchedule

__all__ = ["CEC", "LinearSchedule", "MemoryAgent"]

"""Episodic memory: rows of key, value and payload with exact nearest-neighbour search."""

from scrubjay.memory.archive import ArchiveError, read_archive, write_archive
from scrubjay.memory.episodic_memory import EpisodicMemory
from scrubjay.memory.flat_scan import FlatScan
from scrubjay.memory.kdtree import KDTree
from scrubjay.memory.writing import Outcome

__all__ = [
    "ArchiveError",
    "EpisodicMemory",
    "FlatScan",
    "KDTree",
    "Outcome",
    "read_archive",
    "write_archive",
]

"""The indexes by name, and which of them `index="auto"` chooses."""

from scrubjay.memory.flat_scan import FlatScan
from scrubjay.memory.index import Index
from scrubjay.memory.kdtree import KDTree

INDEXES: dict[str, type[Index]] = {"kdtree": KDTree, "scan": FlatScan}
AUTO = "auto"
NAMES = (AUTO, *INDEXES)

FEW = 8
"""Up to this number of dimensions the tree is faster, above it the scan; docs/memory.md has the
measurements. The number of rows makes no difference: below 1,000 both are fast."""


def index_type(name: str, key_dim: int, distance_threshold: float) -> type[Index]:
    """Return the type of index of that name.

    "auto" chooses by the dimension of the keys. A memory with a distance threshold has the tree:
    its writes search a small radius, where the tree is fast in any number of dimensions.
    """
    if name == AUTO:
        return FlatScan if key_dim > FEW and distance_threshold == 0 else KDTree
    return INDEXES[name]

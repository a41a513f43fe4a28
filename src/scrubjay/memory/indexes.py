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


def index_type(name: str, key_dim: int) -> type[Index]:
    """Return the type of index of that name; "auto" chooses by the dimension of the keys."""
    if name == AUTO:
        return KDTree if key_dim <= FEW else FlatScan
    return INDEXES[name]

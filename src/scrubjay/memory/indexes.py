"""The indexes by name, and which of them `index="auto"` chooses."""

from collections.abc import Callable
from functools import partial

from scrubjay.memory.flat_scan import FlatScan
from scrubjay.memory.index import Index
from scrubjay.memory.kdtree import KDTree
from scrubjay.optional import require

INDEXES: dict[str, type[Index]] = {"kdtree": KDTree, "scan": FlatScan}
AUTO, TORCH = "auto", "torch"
NAMES = (AUTO, *INDEXES, TORCH)

MAX_TREE_DIMS = 8
"""Up to this number of dimensions the tree is faster, above it the scan; docs/memory.md has the
measurements. The number of rows makes no difference: below 1,000 both are fast."""


def index_type(
    name: str, key_dim: int, distance_threshold: float, device: str = "cuda"
) -> Callable[[int, int], Index]:
    """Return the type of index of that name.

    "auto" chooses by the dimension of the keys. A memory with a distance threshold has the tree:
    its writes search a small radius, where the tree is fast in any number of dimensions. "torch"
    has the same on the host, beside the rows on its device.

    Raises:
        ImportError: If torch is needed and not installed.
    """
    scans = key_dim > MAX_TREE_DIMS and distance_threshold == 0
    if name == AUTO:
        return FlatScan if scans else KDTree
    if name == TORCH:
        require("torch", "deep")
        from scrubjay.memory.torch_index import TorchScan, TorchTree

        return partial(TorchScan if scans else TorchTree, device=device)
    return INDEXES[name]

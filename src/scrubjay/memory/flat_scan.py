"""An exact, dynamic nearest-neighbour index for many dimensions: a flat scan of small codes.

In many dimensions most boxes of a tree are near every key, and a tree reads almost all rows, in the
worst order. A scan reads them one after the other, and its speed is that of the main memory. So
this index scans one byte for each number instead of four.

The rows are in blocks of 128. A block has a centre and a scale; the code of a number is its
distance from the centre in units of the scale, rounded to a whole number between -127 and 127. The
block also stores its error, the largest distance between a row and what its codes stand for. A key
that is searched is coded in the same way, in finer units. The distance between the two codes, less
the errors of both, is never more than that between key and row, and with the errors added never
less. So most rows are excluded by their codes alone, which are small whole numbers: one instruction
multiplies and adds 32 of them, without rounding errors. The squared distance is |y|^2 - 2 y z +
|z|^2, of which |y|^2 is stored for each row. Rows whose lower bound is below the k-th smallest
upper bound are collected, and measured when all blocks have been seen, a few dozen of 10^5: by an
approximate float32 distance, and if that cannot reject a row with certainty, exactly. The answers
are those of a loop over all rows, to the last bit.

A new row is coded with the centre and scale of its block; if they do not reach so far, the whole
block is coded again. A block begins with those of the block before it, and keeps them where they
suit its rows, so that a key is coded once for many blocks.

A hash table of whole keys finds a row with an identical key without a scan (0.0 and -0.0 are the
same number). It has a chain for each slot; several rows with the same key are one entry of the
chain, the smallest row id, and a ring through all of them.
"""

import numpy as np
import numpy.typing as npt

from scrubjay.memory.checks import check
from scrubjay.memory.index import Index
from scrubjay.memory.index_arrays import SIZE, IndexArrays
from scrubjay.memory.scan_arrays import (
    CENTRE,
    CHAIN,
    END,
    ERROR,
    LANES,
    NEXT,
    PREVIOUS,
    SCALE,
    SLOT,
    empty_scan,
    grown_scan,
)
from scrubjay.memory.scan_kernels import ZERO, encode_blocks, fill_hash, slot_of

__all__ = ["FlatScan"]


class FlatScan(Index):
    """The flat scan as an index: fast in many dimensions, and for identical keys.

    Args:
        key_dim: Number of dimensions of a key.
        n_rows: Number of rows to make room for; more are added when needed.

    Raises:
        TypeError: If an argument is not a whole number.
        ValueError: If an argument is less than 1.
    """

    name = "scan"

    def _empty(self, n_rows: int) -> IndexArrays:
        return empty_scan(self.key_dim, n_rows)

    def _grown(self, n_rows: int) -> IndexArrays:
        grown = grown_scan(self.arrays, n_rows)
        fill_hash(grown, self._rows())
        return grown

    def _rows(self) -> npt.NDArray[np.int64]:
        return np.flatnonzero(self.arrays.buckets[:, NEXT] >= 0)

    def rebuild(self, keys: npt.NDArray[np.float32]) -> None:
        """Replace all rows.

        Args:
            keys: The finite keys of rows 0, 1, 2, ...
        """
        self.arrays = self._empty(max(len(keys), len(self.arrays.keys)))
        self.arrays.keys[: len(keys)] = keys
        self.arrays.nodes[0, [SIZE, END]] = len(keys)
        fill_hash(self.arrays, np.arange(len(keys)))
        encode_blocks(self.arrays)

    def check_invariants(self) -> None:
        """Check codes and hash table.

        Raises:
            AssertionError: If they contradict the keys.
        """
        rows, (keys, nodes, _, _) = self._rows(), self.arrays
        check(len(self) == len(rows), f"expected {len(self)} rows, found {len(rows)}")
        check(len(rows) == 0 or rows[-1] < nodes[0, END], "a row is beyond the end")
        self._check_codes(rows)
        groups: dict[bytes, list[int]] = {}
        for row in rows.tolist():
            groups.setdefault((keys[row] + np.float32(0.0)).tobytes(), []).append(row)
        found: list[int] = []
        for slot, first in enumerate(self.arrays.buckets[:, SLOT].tolist()):
            found += self._check_chain(slot, first, groups)
        check(sorted(found) == sorted(min(group) for group in groups.values()), "wrong chains")

    def _check_chain(self, slot: int, row: int, groups: dict[bytes, list[int]]) -> list[int]:
        keys, buckets = self.arrays.keys, self.arrays.buckets
        chain: list[int] = []
        while row >= 0 and len(chain) <= len(keys):
            check(slot_of(keys[row], len(buckets)) == slot, f"row {row} is in the wrong chain")
            group = groups.get((keys[row] + np.float32(0.0)).tobytes(), [])
            check(sorted(self._ring(row, len(group))) == group, f"the ring of row {row} is wrong")
            chain.append(row)
            row = int(buckets[row, CHAIN])
        return chain

    def _ring(self, row: int, length: int) -> list[int]:
        ring, buckets = [row], self.arrays.buckets
        while (after := int(buckets[ring[-1], NEXT])) != row and len(ring) <= length:
            check(buckets[after, PREVIOUS] == ring[-1], f"row {after} has the wrong previous row")
            ring.append(after)
        return ring

    def _check_codes(self, rows: npt.NDArray[np.int64]) -> None:
        keys, nodes, boxes, _ = self.arrays
        codes = nodes[1:].view(np.uint8).reshape(len(boxes), -1, LANES)
        blocks, lanes = np.divmod(rows, LANES)
        own = codes[blocks, : self.key_dim, lanes].astype(np.float64) - ZERO
        norms = nodes[1 + blocks, nodes.shape[1] - LANES + lanes]
        check((norms == (own**2).sum(axis=1)).all(), "the norm of a row is wrong")
        scales = boxes[blocks, SCALE].astype(np.float64)
        centres = boxes[blocks, CENTRE:].astype(np.float64)
        errors = np.linalg.norm(keys[rows] - (centres + scales[:, None] * own), axis=1)
        check((errors <= boxes[blocks, ERROR]).all(), "a row is farther from its codes than stated")

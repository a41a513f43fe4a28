"""The arrays of the flat scan: their meaning, creation and growth.

`flat_scan.py` explains the scan; this file defines its layout for the compiled functions.
"""

import numpy as np

from scrubjay.memory.index_arrays import NODE_WIDTH, IndexArrays, fill_front

LANES = 128
"""Number of rows in a block."""

CHUNK = 8
"""Number of dimensions that are measured together; keys are padded to a multiple of it."""

# Columns of record 0 of `nodes`: one more than the largest row id that was ever in use, and the
# last number that was given to the centre and scale of a block. Record 1 + b
# has the codes of block b, one byte each: of all rows in the first dimension, then in the second,
# and so on, so that one instruction measures many rows. After them comes the sum of the squares of
# the codes of each row, which takes as much space as this many codes.
END, LAST_SHARED = NODE_WIDTH - 1, NODE_WIDTH - 2
NORM_CODES = 4

# Columns of `boxes`, which has one record for each block. A code c stands for the number
# centre + SCALE * c, and no row is farther than ERROR from what its codes stand for. Blocks with
# the same number SHARED, an int32, have the same centre and scale.
SCALE, ERROR, SHARED, CENTRE = range(4)

# Columns of `buckets`, which has one record for each row, and is a hash table of whole keys. SLOT
# belongs to the slot of that number, not to the row: it is the first row of its chain. A chain has
# one row, the smallest, of each different key, linked by CHAIN. All rows of one key form a ring,
# linked by NEXT and PREVIOUS. -1 ends a chain; NEXT is -1 for rows that are not in the index.
SLOT, CHAIN, NEXT, PREVIOUS = range(4)


def empty_scan(key_dim: int, n_rows: int) -> IndexArrays:
    """Return an empty index with room for row ids below `n_rows`."""
    n_blocks, n_codes = -(-n_rows // LANES), -(-key_dim // CHUNK) * CHUNK
    return IndexArrays(
        np.zeros((n_rows, key_dim), np.float32),
        np.zeros((1 + n_blocks, (n_codes + NORM_CODES) * LANES // 4), np.uint32),
        np.zeros((n_blocks, CENTRE + key_dim), np.float32),
        np.full((n_rows, 4), -1, np.int32),
    )


def grown_scan(scan: IndexArrays, n_rows: int) -> IndexArrays:
    """Return the same rows with room for `n_rows`; the hash table must be filled again."""
    grown = empty_scan(scan.keys.shape[1], n_rows)
    fill_front(scan[:-1], grown[:-1])
    return grown

"""The rows of an index on a device of torch, and the exact search among them.

A row x is stored twice: its key in float32, and its code in a fast precision, X = (x - c) / s
rounded, where c is the mean of all rows and s a power of two. A query q is coded in the same way.
The squared distance between two codes, less the part that only depends on the query, is

    v = |X|^2 - 2 X Q,

one matrix product for all rows and queries. It decides nothing by itself; it excludes rows:

- Rounding to the code moves a row by at most eta |X| + a, and |X| <= |X - Q| + |Q|. The query is
  moved by e, which is measured. With D = |X - Q| and h = eta |Q| + a + e, the distance between row
  and query, divided by s, is therefore between (1 - eta) D - h and (1 + eta) D + h.
- v is computed with an error of at most g (2 |X|^2 + |Q|^2) <= g (4 D^2 + 5 |Q|^2).

So the k-th smallest v gives an upper bound of the k-th smallest distance, and that bound a limit:
no row with a larger v is among the k nearest. The few rows below the limit are measured exactly, by
the memory's own arithmetic, and sorted by distance and row id. The answers are those of a loop over
all rows, to the last bit. Queries for which too many rows are below the limit, or whose code
overflows, are reported to the caller, who answers them in another way.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

Tensor = torch.Tensor
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

ROOM_STEP = 1 << 16
"""Rooms are multiples of this number of rows."""

CODE_BITS = 10
"""A new scale makes the largest code a number of this many bits."""

LARGEST_CODE = 30_000.0
"""Codes beyond it are not used: twice of it still fits into float16."""

CAUTION = 1.0 + 1e-6
"""More than the rounding errors of float64 in a limit and in exact distances, as a factor."""

TINY = 1e-30
"""More than what underflow takes off a sum of squares of codes."""

PIECE = 1 << 18
"""Rows that are handled together, to bound the memory for intermediate results."""

MANY = 4096
"""A query with more candidates than this, and four times k, is left to the caller."""


class Precision(NamedTuple):
    """A precision of codes, with its errors."""

    dtype: torch.dtype
    relative: float
    """eta, slightly more than half a unit in the last place."""
    absolute: float
    """The largest error of one number below the range of normal numbers."""
    sum_error: float
    """The relative error of one addition of a product."""


SINGLE = Precision(torch.float32, 1.001 * 2.0**-24, 2.0**-149, 2.0**-23)
# Tensor cores add exact products, but not in the rounding of float32; this allows for 3 bits less.
HALF = Precision(torch.float16, 1.001 * 2.0**-11, 1.01 * 2.0**-25, 2.0**-21)


class Queries(NamedTuple):
    """Coded queries, one in each row."""

    keys: Tensor
    """(m, D): their keys in float32."""
    codes: Tensor
    """(m, D): their codes."""
    squares: Tensor
    """(m,): |Q|^2, in float64."""
    slack: Tensor
    """(m,): h, in float64."""
    usable: Tensor
    """(m,): whether the code has not overflown."""


class DeviceRows:
    """Keys, codes and squared lengths of codes of all rows, on a device.

    Args:
        device: The device.
        precision: Precision of the codes.
        keys: (n, D): the keys of rows 0, 1, 2, ... on the host.
        absent: Row ids among them that are not in the index.
        room: Number of rows to make room for.
    """

    def __init__(
        self, device: torch.device, precision: Precision, keys: Singles, absent: Ints, room: int
    ) -> None:
        n, dim = keys.shape
        self.device, self.precision = device, precision
        self.room = -(-max(room, n, 1) // ROOM_STEP) * ROOM_STEP
        self.keys = torch.zeros((self.room, dim), dtype=torch.float32, device=device)
        # the kernels for float16 need a power of two; zeros change no product
        width = dim if precision is SINGLE else max(16, 1 << (dim - 1).bit_length())
        self.codes = torch.zeros((self.room, width), dtype=precision.dtype, device=device)
        # an infinite length keeps a row out of every search
        self.squares = torch.full((self.room,), math.inf, dtype=torch.float32, device=device)
        for first in range(0, n, PIECE):
            piece = torch.from_numpy(np.ascontiguousarray(keys[first : first + PIECE]))
            self.keys[first : first + len(piece)] = piece.to(device)
        self.end = n
        self._choose_centre()
        for first in range(0, n, PIECE):
            rows = slice(first, min(first + PIECE, n))
            self._encode(rows, self.keys[rows])
        self.squares[torch.from_numpy(absent).to(device)] = math.inf

    @property
    def nbytes(self) -> int:
        """Size of all arrays on the device in bytes."""
        return sum(t.numel() * t.element_size() for t in (self.keys, self.codes, self.squares))

    def _choose_centre(self) -> None:
        """Set centre and scale for the present rows."""
        rows, dim = self.keys[: self.end], self.keys.shape[1]
        total = torch.zeros(dim, dtype=torch.float64, device=self.device)
        for first in range(0, self.end, PIECE):
            total += rows[first : first + PIECE].double().sum(0)
        # a centre in float32 makes differences from keys exact in float64, or almost
        self.centre = (total / max(self.end, 1)).float().double()
        farthest = 0.0
        for first in range(0, self.end, PIECE):
            gaps = rows[first : first + PIECE].double() - self.centre
            farthest = max(farthest, gaps.abs().max().item())
        self.inverse_scale = 2.0 ** (CODE_BITS - (math.frexp(farthest)[1] if farthest else 0))
        self.host_centre = self.centre.cpu().numpy()

    def reaches(self, keys: Singles) -> bool:
        """Whether the codes of these keys do not overflow."""
        farthest = np.abs(keys - self.host_centre).max(initial=0.0)
        return bool(farthest * self.inverse_scale <= LARGEST_CODE)

    def update(self, rows: Ints, keys: Singles, absent: npt.NDArray[np.bool_]) -> None:
        """Write the present keys of some rows, which are within the room and reached by codes."""
        for first in range(0, len(rows), PIECE):
            place = slice(first, first + PIECE)
            where = torch.from_numpy(rows[place]).to(self.device)
            numbers = torch.from_numpy(keys[place]).to(self.device)
            self.keys[where] = numbers
            self._encode(where, numbers)
            if absent[place].any():
                self.squares[where[torch.from_numpy(absent[place]).to(self.device)]] = math.inf
        self.end = max(self.end, int(rows.max(initial=-1)) + 1)

    def _encode(self, rows: Any, keys: Tensor) -> None:
        codes = ((keys.double() - self.centre) * self.inverse_scale).to(self.precision.dtype)
        self.codes[rows, : keys.shape[1]] = codes
        self.squares[rows] = (codes.double() ** 2).sum(1).float()

    # ------------------------------------------------------------ search

    @property
    def product_error(self) -> float:
        """g, the relative error of v."""
        if self.precision is SINGLE and torch.get_float32_matmul_precision() != "highest":
            return 2.0**-6  # the user allows products in bfloat16
        return (self.keys.shape[1] + 16) * self.precision.sum_error

    def encode(self, keys: Tensor) -> Queries:
        """Code queries, given in float32 on the device."""
        exact = (keys.double() - self.centre) * self.inverse_scale
        usable = exact.abs().amax(1) <= LARGEST_CODE
        codes = torch.where(usable[:, None], exact, 0.0).to(self.precision.dtype)
        rounded = codes.double()
        squares = (rounded**2).sum(1)
        moved = ((exact - rounded) ** 2).sum(1).sqrt()
        absolute = self.precision.absolute * math.sqrt(keys.shape[1])
        slack = self.precision.relative * squares.sqrt() + absolute + moved
        return Queries(keys, codes, squares, slack, usable)

    def limits(self, queries: Queries, kth: Tensor, radius: float) -> Tensor:
        """The v above which no row is among the k nearest within a radius.

        Args:
            queries: The queries.
            kth: (m,): the k-th smallest v of each, infinite if there are fewer rows.
            radius: Maximum distance.

        Returns:
            (m,): the limits, in float32.
        """
        eta, error = self.precision.relative, self.product_error
        doubt = 5.0 * error * queries.squares + TINY
        nearest = (kth.double() + queries.squares + doubt).clamp(min=0.0) / (1.0 - 4.0 * error)
        upper = (1.0 + eta) * nearest.sqrt() + queries.slack
        upper = upper.clamp(max=radius * self.inverse_scale)
        farthest = CAUTION * (upper + queries.slack) / (1.0 - eta)
        limit = farthest**2 * (1.0 + 4.0 * error) + doubt - queries.squares
        return (limit + limit.abs() * 2.0**-22 + TINY).float()

    def search(self, keys: Tensor, k: int, radius: float) -> tuple[Tensor, Tensor, Tensor]:
        """Find the k nearest rows within a radius, by torch's own functions.

        Args:
            keys: (m, D): the queries in float32, on the device.
            k: Maximum number of rows.
            radius: Maximum distance.

        Returns:
            Rows (m, k), padded with -1, their squared distances, padded with infinity, and which
            queries are answered; the others must be answered in another way.
        """
        m = len(keys)
        rows = torch.full((m, k), -1, dtype=torch.int64, device=self.device)
        distances = torch.full((m, k), math.inf, dtype=torch.float64, device=self.device)
        answered = torch.zeros(m, dtype=torch.bool, device=self.device)
        together = max(1, 32 * PIECE // max(self.end, 1))
        for first in range(0, m, together):
            part = slice(first, first + together)
            self._search_part(
                self.encode(keys[part]), k, radius, rows[part], distances[part], answered[part]
            )
        return rows, distances, answered

    def _search_part(
        self,
        queries: Queries,
        k: int,
        radius: float,
        rows: Tensor,
        distances: Tensor,
        answered: Tensor,
    ) -> None:
        values = self._values(queries.codes)
        kth = torch.full((len(values),), math.inf, device=self.device)
        if k <= self.end:
            kth = values.topk(k, dim=1, largest=False, sorted=False).values.amax(1)
        limits = self.limits(queries, kth, radius)
        near = (values <= limits[:, None]) & (values < math.inf)
        answered[:] = queries.usable & (near.sum(1) <= max(MANY, 4 * k)) & ~limits.isnan()
        which, found = (near & answered[:, None]).nonzero(as_tuple=True)
        exact = torch.empty(len(found), dtype=torch.float64, device=self.device)
        for first in range(0, len(found), PIECE):
            part = slice(first, first + PIECE)
            exact[part] = squared_distances(self.keys[found[part]], queries.keys[which[part]])
        inside = exact <= radius * radius
        keep_nearest(which[inside], found[inside], exact[inside], rows, distances)

    def _values(self, codes: Tensor) -> Tensor:
        """(m, rows): v of all rows."""
        values = torch.empty((len(codes), self.end), dtype=torch.float32, device=self.device)
        doubled, dim = -2.0 * codes.float(), codes.shape[1]
        for first in range(0, self.end, PIECE):
            part = slice(first, min(first + PIECE, self.end))
            products = doubled @ self.codes[part, :dim].float().T
            values[:, part] = products + self.squares[part]
        return values


def squared_distances(keys: Tensor, queries: Tensor) -> Tensor:
    """The memory's own squared distances: float64 sums of float32 differences, in index order."""
    gaps = keys.T.double() - queries.T.double()
    squares = gaps * gaps
    total = squares[0].clone()
    for i in range(1, len(squares)):
        total += squares[i]
    return total


def keep_nearest(
    which: Tensor, found: Tensor, exact: Tensor, rows: Tensor, distances: Tensor
) -> None:
    """Fill in the nearest rows of each query, from pairs sorted by query and row."""
    order = exact.sort(stable=True).indices
    order = order[which[order].sort(stable=True).indices]
    which, found, exact = which[order], found[order], exact[order]
    counts = torch.bincount(which, minlength=len(rows))
    place = torch.arange(len(which), device=which.device) - (counts.cumsum(0) - counts)[which]
    kept = place < rows.shape[1]
    rows[which[kept], place[kept]] = found[kept]
    distances[which[kept], place[kept]] = exact[kept]

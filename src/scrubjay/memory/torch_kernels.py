"""The search of `torch_rows.py` as Triton kernels, for CUDA.

Writing all values v would cost more than computing them. So the rows are in blocks, of which only
the smallest v is written. Block b has the rows b, b + S, b + 2 S, ..., where S is the number of
blocks: rows that follow each other are often near each other, and so are in different blocks. Then:

1. `encode` codes the queries;
2. `scan` computes v of all rows, and keeps the smallest of each block;
3. `find_limits` takes the k-th smallest of these (of 1,024 groups of blocks), which is at least the
   k-th smallest v, and makes the limit of it;
4. `collect` lists the blocks below the limit;
5. `refine` computes v of their rows again, and lists those below the limit;
6. `measure` computes the exact distances of these;
7. `sort` puts each of them in its place among the k nearest.

Both lists have a fixed length; a query that needs more is reported, and `DeviceRows.search` answers
it. Up to `GRAPH_QUERIES` queries, the whole sequence is one CUDA graph.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl

from scrubjay.memory.torch_rows import CAUTION, LARGEST_CODE, TINY, DeviceRows, Singles, Tensor

GROUPS = 1024
"""Number of groups of blocks whose smallest values are sorted."""

MAX_NEIGHBORS, WIDEST = 256, 256
"""The largest k and number of dimensions for these kernels."""

MAX_BLOCKS, MAX_ROWS = 512, 512
"""The length of the lists of blocks and rows below the limit."""

REFINERS = 64
"""Number of programs that share the list of blocks of one query."""

BLOCKS = 16_384
"""Approximate number of blocks."""

GRAPH_QUERIES = 64
TOGETHER = 4096
"""Number of queries up to which they are one graph, and which are searched together."""

PARAMETERS = 8
INVERSE_SCALE, ETA, ERROR, ABSOLUTE, REACH, SQUARED_RADIUS = range(6)


@triton.jit
def encode(
    queries, centre, parameters, codes, squares, slack, counts, usable,
    D: tl.constexpr, W: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Code one query; the code is stored times -2."""
    m = tl.program_id(0)
    d = tl.arange(0, W)
    inside = d < D
    key = tl.load(queries + m * D + d, mask=inside, other=0.0).to(tl.float64)
    middle = tl.load(centre + d, mask=inside, other=0.0)
    exact = (key - middle) * tl.load(parameters + 0)
    fits = tl.max(tl.abs(exact), 0) <= LARGEST
    exact = tl.where(fits, exact, 0.0)
    code = exact.to(tl.float32).to(tl.float16)
    rounded = code.to(tl.float64)
    total = tl.sum(rounded * rounded, 0)
    moved = tl.sqrt(tl.sum((exact - rounded) * (exact - rounded), 0))
    tl.store(codes + m * W + d, (-2.0 * code.to(tl.float32)).to(tl.float16))
    tl.store(squares + m, total)
    eta, absolute = tl.load(parameters + 1), tl.load(parameters + 3)
    tl.store(slack + m, eta * tl.sqrt(total) + absolute + moved)
    tl.store(counts + 2 * m, 0)
    tl.store(counts + 2 * m + 1, 0)
    tl.store(usable + m, fits.to(tl.int32))


@triton.jit
def scan(
    codes, squares, queries, minima, n_blocks, block_rows,
    W: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """The smallest v of N blocks for M queries."""
    m = tl.program_id(0) * M + tl.arange(0, M)
    blocks = tl.program_id(1) * N + tl.arange(0, N)
    d = tl.arange(0, W)
    query = tl.load(queries + m[:, None] * W + d[None, :])
    best = tl.full((M, N), float("inf"), tl.float32)
    rows = blocks.to(tl.int64)
    for _ in range(block_rows):
        row = tl.load(codes + rows[None, :] * W + d[:, None])
        square = tl.load(squares + rows)
        start = tl.broadcast_to(square[None, :], (M, N))
        best = tl.minimum(best, tl.dot(query, row, start))
        rows += n_blocks
    tl.store(minima + m[:, None].to(tl.int64) * n_blocks + blocks[None, :], best)


@triton.jit
def find_limits(
    minima, squares, slack, parameters, limits, n_blocks, k,
    G: tl.constexpr, R: tl.constexpr, CAUTIOUS: tl.constexpr, SMALL: tl.constexpr,
):  # fmt: skip
    """The limit of one query; `DeviceRows.limits` has the same formula."""
    m = tl.program_id(0)
    places = tl.arange(0, R)[:, None] * G + tl.arange(0, G)[None, :]
    best = tl.full((G,), float("inf"), tl.float32)
    base = minima + m.to(tl.int64) * n_blocks
    for first in range(0, n_blocks, R * G):
        here = first + places
        values = tl.load(base + here, mask=here < n_blocks, other=float("inf"))
        best = tl.minimum(best, tl.min(values, 0))
    best = tl.sort(best)
    kth = tl.sum(tl.where(tl.arange(0, G) == k - 1, best, 0.0), 0).to(tl.float64)
    square, moved = tl.load(squares + m), tl.load(slack + m)
    eta, error, reach = tl.load(parameters + 1), tl.load(parameters + 2), tl.load(parameters + 4)
    doubt = 5.0 * error * square + SMALL
    nearest = tl.maximum(kth + square + doubt, 0.0) / (1.0 - 4.0 * error)
    upper = tl.minimum((1.0 + eta) * tl.sqrt(nearest) + moved, reach)
    farthest = CAUTIOUS * (upper + moved) / (1.0 - eta)
    limit = farthest * farthest * (1.0 + 4.0 * error) + doubt - square
    tl.store(limits + m, (limit + tl.abs(limit) * 2.4e-7 + SMALL).to(tl.float32))


@triton.jit
def collect(minima, limits, counts, blocks, n_blocks, P: tl.constexpr, N: tl.constexpr):
    """List the blocks below the limit of one query, among N of them."""
    m = tl.program_id(0)
    place = tl.program_id(1) * N + tl.arange(0, N)
    values = tl.load(
        minima + m.to(tl.int64) * n_blocks + place, mask=place < n_blocks, other=float("inf")
    )
    near = ((values <= tl.load(limits + m)) & (values < float("inf"))).to(tl.int32)
    found = tl.sum(near, 0)
    if found > 0:
        slot = tl.atomic_add(counts + 2 * m, found) + tl.cumsum(near, 0) - 1
        tl.store(blocks + m * P + slot, place, mask=(near > 0) & (slot < P))


@triton.jit
def refine(
    blocks, limits, counts, codes, squares, queries, candidates, n_blocks, block_rows,
    W: tl.constexpr, P: tl.constexpr, C: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """List the rows below the limit of one query, in some blocks of its list."""
    m = tl.program_id(0)
    d = tl.arange(0, W)
    query = tl.load(queries + m * W + d).to(tl.float32)
    limit = tl.load(limits + m)
    count = tl.minimum(tl.load(counts + 2 * m), P)
    for slot in range(tl.program_id(1), count, tl.num_programs(1)):
        block = tl.load(blocks + m * P + slot).to(tl.int64)
        for first in range(0, block_rows, N):
            j = first + tl.arange(0, N)
            row = block + j.to(tl.int64) * n_blocks
            inside = j < block_rows
            code = tl.load(
                codes + row[:, None] * W + d[None, :], mask=inside[:, None], other=0.0
            ).to(tl.float32)
            square = tl.load(squares + row, mask=inside, other=float("inf"))
            value = square + tl.sum(code * query[None, :], 1)
            near = ((value <= limit) & (square < float("inf"))).to(tl.int32)
            found = tl.sum(near, 0)
            if found > 0:
                place = tl.atomic_add(counts + 2 * m + 1, found) + tl.cumsum(near, 0) - 1
                tl.store(candidates + m * C + place, row, mask=(near > 0) & (place < C))


@triton.jit
def measure(
    candidates, counts, keys, queries, distances,
    D: tl.constexpr, C: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """The exact squared distances of N candidates: float64 sums in index order, never fused."""
    m, first = tl.program_id(0), tl.program_id(1) * N
    count = tl.minimum(tl.load(counts + 2 * m + 1), C)
    if first < count:
        place = first + tl.arange(0, N)
        inside = place < count
        row = tl.load(candidates + m * C + place, mask=inside, other=0)
        total = tl.zeros((N,), tl.float64)
        for i in range(D):
            number = tl.load(keys + row * D + i, mask=inside, other=0.0).to(tl.float64)
            gap = number - tl.load(queries + m * D + i).to(tl.float64)
            total += gap * gap
        tl.store(distances + m * C + place, total, mask=inside)


@triton.jit
def sort(
    candidates, distances, counts, usable, limits, parameters, out_rows, out_distances, answered, k,
    P: tl.constexpr, C: tl.constexpr, K: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Put each candidate in its place, which is the number of those before it."""
    m = tl.program_id(0)
    n_near = tl.load(counts + 2 * m + 1)
    count = tl.minimum(n_near, C)
    place = tl.arange(0, C)
    inside = place < count
    row = tl.load(candidates + m * C + place, mask=inside, other=0)
    distance = tl.load(distances + m * C + place, mask=inside, other=float("inf"))
    before = tl.zeros((C,), tl.int32)
    for first in range(0, count, N):
        other = first + tl.arange(0, N)
        real = other < count
        other_row = tl.load(candidates + m * C + other, mask=real, other=0)
        other_distance = tl.load(distances + m * C + other, mask=real, other=float("inf"))
        nearer = (other_distance[None, :] < distance[:, None]) | (
            (other_distance[None, :] == distance[:, None]) & (other_row[None, :] < row[:, None])
        )
        before += tl.sum((nearer & real[None, :]).to(tl.int32), 1)
    within = inside & (distance <= tl.load(parameters + 5))
    kept = within & (before < k)
    tl.store(out_rows + m * k + before, row, mask=kept)
    tl.store(out_distances + m * k + before, distance, mask=kept)
    n_found = tl.sum(within.to(tl.int32), 0)
    rest = tl.arange(0, K)
    empty = (rest < k) & (rest >= n_found)
    tl.store(out_rows + m * k + rest, tl.full((K,), -1, tl.int64), mask=empty)
    tl.store(out_distances + m * k + rest, tl.full((K,), float("inf"), tl.float64), mask=empty)
    limit = tl.load(limits + m)
    good = (n_near <= C) & (tl.load(counts + 2 * m) <= P) & (limit == limit)
    good = good & (tl.load(usable + m) > 0)
    tl.store(answered + m, good.to(tl.int64))


class Shape(NamedTuple):
    """The sizes for which buffers and graphs are made."""

    n_queries: int
    k: int
    n_blocks: int
    block_rows: int


class Tiles(NamedTuple):
    """How the scan is divided: queries and blocks of a program, its warps and stages."""

    queries: int
    blocks: int
    warps: int
    stages: int


SMALL_TILES = {16: Tiles(16, 128, 4, 4), 32: Tiles(32, 128, 4, 4), 64: Tiles(64, 128, 4, 4)}
LARGE_TILES = Tiles(128, 128, 8, 3)


def tiles_for(n_queries: int) -> Tiles:
    """Return the division of the scan for a number of queries, a power of two."""
    return SMALL_TILES.get(max(n_queries, 16), LARGE_TILES)


class Buffers:
    """The arrays for searches of one shape, on the device and for transfers."""

    def __init__(self, shape: Shape, rows: DeviceRows, width: int) -> None:
        m, k, dim = shape.n_queries, shape.k, rows.keys.shape[1]
        padded = max(m, tiles_for(m).queries)

        def empty(*sizes: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(sizes, dtype=dtype, device=rows.device)

        # one transfer to the device: parameters, then queries; one back: rows, distances, answered
        self.sent = torch.zeros(8 * PARAMETERS + 4 * m * dim, dtype=torch.uint8, pin_memory=True)
        self.input = self.sent.to(rows.device)
        self.output = empty(m * (2 * k + 1), dtype=torch.int64)
        self.received = torch.zeros(m * (2 * k + 1), dtype=torch.int64, pin_memory=True)
        self.parameters = self.input[: 8 * PARAMETERS].view(torch.float64)
        self.queries = self.input[8 * PARAMETERS :].view(torch.float32)
        self.codes = empty(padded, width, dtype=torch.float16)
        self.squares = empty(m, dtype=torch.float64)
        self.slack = empty(m, dtype=torch.float64)
        self.counts = empty(m, 2, dtype=torch.int32)
        self.usable = empty(m, dtype=torch.int32)
        self.limits = empty(m, dtype=torch.float32)
        self.minima = empty(padded, shape.n_blocks, dtype=torch.float32)
        self.blocks = empty(m, MAX_BLOCKS, dtype=torch.int32)
        self.candidates = empty(m, MAX_ROWS, dtype=torch.int64)
        self.distances = empty(m, MAX_ROWS, dtype=torch.float64)
        self.rows, self.found, self.answered = (
            self.output[: m * k],
            self.output[m * k : 2 * m * k].view(torch.float64),
            self.output[2 * m * k :],
        )
        sent = self.sent.numpy()
        self.host_parameters = sent[: 8 * PARAMETERS].view(np.float64)
        self.host_queries = sent[8 * PARAMETERS :].view(np.float32).reshape(m, dim)
        received = self.received.numpy()
        self.host_rows = received[: m * k].reshape(m, k)
        self.host_found = received[m * k : 2 * m * k].view(np.float64).reshape(m, k)
        self.host_answered = received[2 * m * k :]
        self.graph: Any = None


class Kernels:
    """Searches the rows on a CUDA device by Triton kernels.

    Args:
        rows: The rows, with codes in float16.
    """

    def __init__(self, rows: DeviceRows) -> None:
        self.rows = rows
        self.width = rows.codes.shape[1]
        self._buffers: dict[Shape, Buffers] = {}
        self._codes = rows.codes

    def can(self, k: int) -> bool:
        """Whether the kernels support this number of neighbours, and the rows their width."""
        return k <= MAX_NEIGHBORS and self.width <= WIDEST

    def shape(self, n_queries: int, k: int) -> Shape:
        """Return the sizes for a number of queries."""
        padded = max(1, triton.next_power_of_2(n_queries))
        tile = tiles_for(padded).blocks
        block_rows = 8
        while block_rows < 512 and self.rows.end > 2 * BLOCKS * block_rows:
            block_rows *= 2
        n_blocks = -(-self.rows.end // (block_rows * tile)) * tile
        if n_blocks * block_rows > self.rows.room:
            n_blocks = self.rows.room // block_rows  # a multiple of the tile
        return Shape(padded, k, n_blocks, block_rows)

    def search(
        self, queries: Singles, k: int, radius: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Find the k nearest rows within a radius; `DeviceRows.search` in NumPy arrays."""
        parts: list[Any] = [
            self._search_part(queries[first : first + TOGETHER], k, radius)
            for first in range(0, len(queries), TOGETHER)
        ]
        if len(parts) == 1:
            return parts[0]  # type: ignore[no-any-return]
        rows, distances, answered = zip(*parts, strict=True)
        return np.concatenate(rows), np.concatenate(distances), np.concatenate(answered)

    def _search_part(self, queries: Singles, k: int, radius: float) -> Any:
        shape, m = self.shape(len(queries), k), len(queries)
        buffers = self._buffers.get(shape)
        if buffers is None:
            # others are of earlier numbers of rows, or rarely used
            self._buffers = {s: b for s, b in self._buffers.items() if s[2:] == shape[2:]}
            buffers = self._buffers[shape] = Buffers(shape, self.rows, self.width)
        self._fill(buffers, queries, radius)
        if shape.n_queries > GRAPH_QUERIES:
            self._launch(shape, buffers)
        else:
            if buffers.graph is None:
                buffers.graph = self._capture(shape, buffers)
            buffers.graph.replay()
        torch.cuda.current_stream(self.rows.device).synchronize()
        return (
            buffers.host_rows[:m].copy(),
            buffers.host_found[:m].copy(),
            buffers.host_answered[:m] > 0,
        )

    def _fill(self, buffers: Buffers, queries: Singles, radius: float) -> None:
        rows, numbers = self.rows, buffers.host_parameters
        numbers[INVERSE_SCALE] = rows.inverse_scale
        numbers[ETA] = rows.precision.relative
        numbers[ERROR] = rows.product_error
        numbers[ABSOLUTE] = rows.precision.absolute * math.sqrt(queries.shape[1])
        numbers[REACH] = radius * rows.inverse_scale
        numbers[SQUARED_RADIUS] = radius * radius
        buffers.host_queries[: len(queries)] = queries

    def _capture(self, shape: Shape, buffers: Buffers) -> Any:
        self._launch(shape, buffers)  # compiles
        torch.cuda.synchronize(self.rows.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._launch(shape, buffers)
        return graph

    def _launch(self, shape: Shape, b: Buffers) -> None:
        rows, (m, k, n_blocks, block_rows) = self.rows, shape
        dim, width, tiles = rows.keys.shape[1], self.width, tiles_for(m)
        b.input.copy_(b.sent, non_blocking=True)
        encode[(m,)](
            b.queries, rows.centre, b.parameters, b.codes, b.squares, b.slack, b.counts, b.usable,
            dim, width, LARGEST_CODE, num_warps=1,
        )  # fmt: skip
        scan[(b.codes.shape[0] // tiles.queries, n_blocks // tiles.blocks)](
            self._codes, rows.squares, b.codes, b.minima, n_blocks, block_rows,
            width, tiles.queries, tiles.blocks, num_warps=tiles.warps, num_stages=tiles.stages,
        )  # fmt: skip
        find_limits[(m,)](
            b.minima, b.squares, b.slack, b.parameters, b.limits, n_blocks, k,
            GROUPS, 4, CAUTION, TINY, num_warps=8,
        )  # fmt: skip
        collect[(m, -(-n_blocks // 2048))](
            b.minima, b.limits, b.counts, b.blocks, n_blocks, MAX_BLOCKS, 2048,
        )  # fmt: skip
        refine[(m, REFINERS)](
            b.blocks, b.limits, b.counts, self._codes, rows.squares, b.codes, b.candidates,
            n_blocks, block_rows, width, MAX_BLOCKS, MAX_ROWS, 64,
        )  # fmt: skip
        measure[(m, MAX_ROWS // 32)](
            b.candidates, b.counts, rows.keys, b.queries, b.distances, dim, MAX_ROWS, 32,
            num_warps=1, enable_fp_fusion=False,
        )  # fmt: skip
        sort[(m,)](
            b.candidates, b.distances, b.counts, b.usable, b.limits, b.parameters,
            b.rows, b.found, b.answered, k,
            MAX_BLOCKS, MAX_ROWS, triton.next_power_of_2(k), 16,
        )  # fmt: skip
        b.received.copy_(b.output, non_blocking=True)

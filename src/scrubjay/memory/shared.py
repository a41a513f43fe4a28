"""Memories in shared memory: one process writes and others read, with short waits only.

There are two copies of every memory, the sides 0 and 1. Readers search the side that is published;
the writer changes the other one, then publishes it. A reader says in a word of its own which side
it is searching, and does so for one decision at a time; the writer changes a side only when no word
names it. So no reader ever sees a change, and the writer waits for a decision at most. A reader
that was stopped in the middle of one only delays publishing: the others continue with the
published side.

The writer's own memories stay private. `publish` applies to a side what changed since that side was
last up to date (`EpisodicMemory.changes`), so each change is applied twice.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.shared_memory import SharedMemory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from scrubjay.compiled import compiled, without_dispatch
from scrubjay.memory.episodic_memory import EpisodicMemory
from scrubjay.memory.index_arrays import IndexArrays
from scrubjay.memory.indexes import AUTO, TORCH
from scrubjay.memory.table import TableArrays

Words = npt.NDArray[np.int64]
Arrays = Sequence[npt.NDArray[Any]]

# Words of the control block: the number of publications, whose parity is the published side; then
# for each reader the side that it is searching (plus 1; 0: none) and how many decisions it has
# made; then the generation of each side's block of each memory, which changes when it grows.
PUBLISHED = 0
LINE = 8  # words in a cache line, so that readers do not slow each other down
DECISIONS = 1
ALIGNMENT = 64
HEADER = 4096
READER_TIMEOUT = 0.05  # seconds that publishing waits for a decision to end
SHM = "/dev/shm"


@intrinsic
def fence(typing_context: Any) -> Any:  # noqa: ARG001
    """A full memory barrier: what is before it happens before what is after it, for all cores."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@compiled()
def enter(words: Words, reader: int) -> int:
    """Begin a decision: say which side is searched; returns the number of its publication."""
    words[reader + DECISIONS] += 1
    while True:
        published = words[PUBLISHED]
        words[reader] = 1 + published % 2
        fence()
        # the writer may have looked at this reader's word before it was set
        if words[PUBLISHED] == published:
            return published  # type: ignore[no-any-return]


@compiled()
def leave(words: Words, reader: int) -> None:
    """End a decision."""
    fence()
    words[reader] = 0


@compiled()
def is_searched(words: Words, side: int, n_readers: int) -> bool:
    """Whether a reader is searching this side."""
    fence()
    for reader in range(n_readers):  # noqa: SIM110  compiled
        if words[reader_word(reader)] == 1 + side:
            return True
    return False


@compiled()
def reader_word(reader: int) -> int:
    """The place of a reader's words."""
    return LINE * (1 + reader)


class Address(NamedTuple):
    """Where readers find the memories: the name of the control block, and how many readers."""

    name: str
    n_readers: int


class Block:
    """Arrays in one block of shared memory, which describes itself."""

    def __init__(self, name: str, arrays: Arrays | None = None) -> None:
        if arrays is None:
            self.shared = SharedMemory(name)
            described = bytes(self._buffer[:HEADER]).partition(b"\0")[0]
            shapes = [(tuple(shape), kind) for shape, kind in json.loads(described)]
        else:
            shapes = [(array.shape, array.dtype.str) for array in arrays]
            self.shared = _reserved(name, HEADER + sum(map(_size, shapes)))
            text = json.dumps(shapes).encode()
            self._buffer[: len(text) + 1] = text + b"\0"
        self.arrays = list(_views(self.shared, shapes))
        for view, array in zip(self.arrays, arrays or (), strict=arrays is not None):
            view[...] = array

    @property
    def _buffer(self) -> memoryview:
        assert self.shared.buf is not None
        return self.shared.buf

    def close(self, unlink: bool = False) -> None:
        """Forget the arrays; nothing else may hold them."""
        self.arrays.clear()
        with contextlib.suppress(BufferError):
            self.shared.close()
        if unlink:
            self.shared.unlink()


def _size(shape: tuple[tuple[int, ...], str]) -> int:
    size = int(np.prod(shape[0])) * np.dtype(shape[1]).itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT


def _views(shared: SharedMemory, shapes: Iterable[tuple[tuple[int, ...], str]]) -> Iterable[Any]:
    offset = HEADER
    for shape, kind in shapes:
        yield np.ndarray(shape, kind, shared.buf, offset)
        offset += _size((shape, kind))


def _reserved(name: str, size: int) -> SharedMemory:
    """A block whose pages exist: writing to one that does not fit would kill the process."""
    shared = SharedMemory(name, create=True, size=size)
    path = os.path.join(SHM, shared.name)
    if not os.path.exists(path):  # not Linux
        return shared
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        shared.close()
        shared.unlink()
        raise OSError(
            error.errno,
            f"shared memory is full: expected room for {size / 1e6:.0f} MB in {SHM} "
            f"({error.strerror}); give it more (docker run --shm-size=4g), lower the capacity, or "
            "train without collectors",
        ) from error
    finally:
        os.close(descriptor)
    return shared


def empty_copy(memory: EpisodicMemory) -> EpisodicMemory:
    """A memory with the same settings and without rows, for `apply`; it is searched on the host."""
    index = AUTO if memory.index_name == TORCH else memory.index_name
    return EpisodicMemory(
        memory.key_dim,
        capacity=memory.capacity,
        distance_threshold=memory.distance_threshold,
        columns={
            name: (column.shape[1:], column.dtype) for name, column in memory.column_arrays.items()
        },
        rule=memory.rule,
        recency=memory.recency,
        index=index,
        blend_rate=memory.blend_rate,
    )


def use_arrays(memory: EpisodicMemory, arrays: Arrays) -> None:
    """Let a memory consist of a block's arrays: those of its index, its table, its threshold."""
    n = len(IndexArrays._fields)
    memory.index.arrays = IndexArrays(*arrays[:n])
    memory.table = TableArrays(*arrays[n:-1])
    memory.distance_threshold = float(arrays[-1][0])


class Side:
    """One shared copy of one memory, as the writer sees it."""

    def __init__(self, memory: EpisodicMemory, name: str) -> None:
        self.memory, self.name = memory, name
        self.copy = empty_copy(memory)
        self.generation = 0
        self.blocks: list[Block] = []
        self._place()

    def update(self) -> None:
        """Apply what changed since the last time; a copy that has grown gets a new block."""
        placed = self.copy.table
        self.copy.apply(self.memory.changes(self.copy.clock))
        if self.copy.table is not placed:
            self.generation += 1
            self._place()
        self.blocks[-1].arrays[-1][0] = self.copy.distance_threshold

    def _place(self) -> None:
        copy = self.copy
        arrays = (*copy.index.arrays, *copy.table, np.array([copy.distance_threshold]))
        self.blocks.append(Block(f"{self.name}{self.generation}", arrays))
        use_arrays(copy, self.blocks[-1].arrays)
        # the block before stays for readers that are just about to open it
        for old in self.blocks[:-2]:
            old.close(unlink=True)
        del self.blocks[:-2]

    def close(self) -> None:
        """Remove the blocks."""
        del self.copy
        for block in self.blocks:
            block.close(unlink=True)


class Publisher:
    """The writer's end: copies of memories that other processes search while it continues to write.

    Args:
        memories: The memories by name.
        n_readers: The number of processes that read.

    Raises:
        OSError: If there is not enough shared memory.
    """

    def __init__(self, memories: Mapping[str, EpisodicMemory], n_readers: int) -> None:
        self.address = Address(f"sj{secrets.token_hex(4)}", n_readers)
        n_words = LINE * (1 + n_readers) + 2 * len(memories)
        self._control = Block(self.address.name, [np.zeros(n_words, np.int64)])
        self._words = self._control.arrays[0]
        self._sides: list[list[Side]] = [[], []]
        try:
            for number, memory in enumerate(memories.values()):
                for side in (0, 1):
                    name = block_name(self.address, number, side)
                    self._sides[side].append(Side(memory, name))
        except OSError:
            self.close()
            raise
        self.publish()

    def publish(self) -> bool:
        """Let readers see the memories as they are now.

        Returns:
            Whether they do; False if a reader was stopped in the middle of a decision, and they go
            on with what was published before.

        Raises:
            OSError: If a memory has grown and there is not enough shared memory.
        """
        side = 1 - self._words.item(PUBLISHED) % 2
        end = time.monotonic() + READER_TIMEOUT
        while is_searched(self._words, side, self.address.n_readers):
            if time.monotonic() > end:
                return False
            time.sleep(0)
        for number, copy in enumerate(self._sides[side]):
            copy.update()
            self._words[generation_word(self.address, number, side)] = copy.generation
        publish(self._words)
        return True

    def release(self, reader: int) -> None:
        """A reader's process has ended: it searches nothing any more."""
        self._words[reader_word(reader)] = 0

    def decisions(self, reader: int) -> int:
        """How many decisions a reader has made, to see whether it makes progress."""
        return int(self._words[reader_word(reader) + DECISIONS])

    def close(self) -> None:
        """Remove everything that is shared; readers keep what they have opened."""
        for side in self._sides:
            for copy in side:
                copy.close()
        self._sides = [[], []]
        del self._words
        self._control.close(unlink=True)


@compiled()
def publish(words: Words) -> None:
    """Let the next decisions search the other side; all that was written there is visible then."""
    fence()
    words[PUBLISHED] += 1
    fence()


def block_name(address: Address, memory: int, side: int) -> str:
    """The name of a side's blocks, without their generation."""
    return f"{address.name}-{memory}-{side}-"


def generation_word(address: Address, memory: int, side: int) -> int:
    """The place of the number of times a side's copy of a memory has grown."""
    return LINE * (1 + address.n_readers) + 2 * memory + side


class Reader:
    """A reading process's end: between `enter` and `leave` the memories do not change.

    Args:
        address: That of the `Publisher`.
        number: Which reader this is, from 0.
        memories: Memories with the settings of the published ones, by name.
        changed: Called with the memories when others are to be searched than before.
    """

    def __init__(
        self,
        address: Address,
        number: int,
        memories: Mapping[str, EpisodicMemory],
        changed: Callable[[dict[str, EpisodicMemory]], None],
    ) -> None:
        self._address, self._changed = address, changed
        self._control = Block(address.name)
        self._words, self._word = self._control.arrays[0], reader_word(number)
        self._memories = [{n: empty_copy(m) for n, m in memories.items()} for _ in (0, 1)]
        self._blocks: dict[tuple[int, int], tuple[int, Block]] = {}
        self._seen = -1
        leave(self._words, self._word)
        enter(self._words, self._word)  # compiles it
        self._enter_code = without_dispatch(enter, self._words, self._word)
        self._leave_code = without_dispatch(leave, self._words, self._word)
        self.leave()

    def enter(self) -> None:
        """Begin a decision."""
        published = self._enter_code(self._words, self._word)
        if published != self._seen:
            self._seen = published
            self._look(published % 2)

    def leave(self) -> None:
        """End a decision."""
        self._leave_code(self._words, self._word)

    def _look(self, side: int) -> None:
        for number, memory in enumerate(self._memories[side].values()):
            block = self._open(number, side)
            use_arrays(memory, block.arrays)
        self._changed(self._memories[side])

    def _open(self, number: int, side: int) -> Block:
        """The present block of a side, which is not removed while this reader is in that side."""
        wanted = self._words.item(generation_word(self._address, number, side))
        generation, block = self._blocks.get((number, side), (-1, None))
        if block is None or generation != wanted:
            new = Block(f"{block_name(self._address, number, side)}{wanted}")
            self._blocks[number, side] = wanted, new
            return new
        return block

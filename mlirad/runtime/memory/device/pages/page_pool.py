"""The pages of a device's large sparse trees: which trees there are, what is done with pages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock

import numpy as np

from mlirad.dialect.turn import free_in_forks
from mlirad.errors import TaichiMemoryError, TaichiRuntimeError
from mlirad.ir.memory.pages import (
    BYTE_BITS,
    ENTRY,
    PAGE,
    REACH,
    TABLE,
    TREES,
    Word,
    byte_of,
    first_address,
    tree_of,
)
from mlirad.runtime.memory.device.pages.pool_memory import PoolMemory
from mlirad.runtime.memory.device.service_ir import Operation
from mlirad.runtime.memory.device.strided import Loops, Strided, contiguous
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.values import Values

_WORDS = PAGE // 8
_TABLES = 1 << 12  # that are read at once


class PagePool:
    """Trees by number, each with a root: the tables of its pages. There is a pool as long as there
    are trees."""

    def __init__(self, transfers: Transfers) -> None:
        self._transfers, self._driver = transfers, transfers.driver
        self._memory: PoolMemory | None = None
        self._roots: dict[int, tuple[int, int]] = {}  # the address of each, and the tree's bytes
        self._ended = deque[int]()  # trees that nobody can reach any more
        self._turn = free_in_forks(RLock())
        self._users = 0  # of the pool, at this moment

    # Trees.

    def obtain(self, size: int) -> int:
        """The address of a tree of zeros. Raises TaichiMemoryError where there is no room for its
        root."""
        if size > 1 << BYTE_BITS:
            raise TaichiMemoryError(f"a layout tree of {size} bytes is too large for a GPU")
        with self._in_use():
            self._release_ended()
            number = next(number for number in range(TREES) if number not in self._roots)
            if self._memory is None:
                self._memory = PoolMemory(self._driver)
            root = self._driver.allocate(_root_bytes(size))
            self._driver.fill(root, 0, _root_bytes(size))
            self._roots[number] = root, size
            self._memory.set_word(Word.ROOTS + number, root - self._memory.header)
            return first_address(number)

    def release(self, address: int) -> None:
        """Take back a tree. What collects garbage calls this, at any time: its pages are free when
        a tree is used next, or there is none."""
        self._ended.append(tree_of(address))
        if self._turn.acquire(blocking=False):
            try:
                self._close_unused()
            finally:
                self._turn.release()

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        with self._turn:
            self._users += 1
            try:
                yield
            finally:
                self._users -= 1
                self._close_unused()

    def _release_ended(self) -> None:
        while self._ended:
            number = self._ended.popleft()
            root, size = self._roots[number]
            self._clear(number, 0, _round_up(size, REACH))
            del self._roots[number]
            self._driver.free(root)

    def _close_unused(self) -> None:
        """Give the pool back if nobody uses it, or can reach a tree."""
        if self._users or self._memory is None or len(self._ended) < len(self._roots):
            return
        memory, self._memory = self._memory, None
        self._ended.clear()
        roots = [root for root, _ in self._roots.values()]
        self._roots.clear()
        for root in roots:
            self._driver.free(root)
        memory.close()

    # Launches.

    @property
    def address(self) -> int:
        """Return where the header is."""
        assert self._memory is not None, "pages of no tree"
        return self._memory.header

    @contextmanager
    def taking(self, names: Sequence[str]) -> Iterator[None]:
        """Have free pages for a launch that writes to some fields, for which it is waited. Raises
        TaichiMemoryError if they were too few."""
        with self._in_use():
            assert self._memory is not None, "pages of no tree"
            self._release_ended()
            self._memory.make_ready()
            ready = self._memory.ready
            try:
                yield
            except TaichiRuntimeError:  # some of what was launched may have run
                with suppress(TaichiRuntimeError):
                    self._memory.read_counts()
                raise
            if self._memory.read_counts():
                raise self._too_few(ready, names)

    def _too_few(self, ready: int, names: Sequence[str]) -> TaichiMemoryError:
        assert self._memory is not None
        fields = ", ".join(f"'{name}'" for name in names) or "a sparse field"
        return TaichiMemoryError(
            f"the cells of {fields} that were written to need more than the {ready} bytes of "
            f"pages that were free; sparse fields use {self._memory.bytes_in_use} bytes, and "
            f"{self._driver.free_memory()} of {self._driver.total_memory()} bytes of the GPU are "
            "free. Some written values are lost; the program can continue"
        )

    # Bytes.

    def clear(self, address: int, size: int) -> None:
        """Set bytes to 0, and give their pages back."""
        number, first = tree_of(address), byte_of(address)
        behind = first + size
        begin, end = _round_up(first, PAGE), behind // PAGE * PAGE
        with self._in_use():
            if not first and behind >= self._roots[number][1]:
                end = behind = _round_up(behind, REACH)  # all of it
            if end <= begin:
                return self._fill(address, size)
            self._fill(address, begin - first)
            self._fill(address + end - first, behind - end)
            self._clear(number, begin, end)

    def _fill(self, address: int, size: int) -> None:
        self._transfers.fill(contiguous(address, (size,), 1), np.zeros(1, np.uint8))

    def _clear(self, number: int, begin: int, end: int) -> None:
        """Free the pages of a tree from a byte to another one."""
        assert self._memory is not None
        root, size = self._roots[number]
        tables = self._memory.read(root, _root_bytes(size)).view(np.int32)
        first, last = begin // REACH, _round_up(end, REACH) // REACH
        positions = np.flatnonzero(tables[first:last]) + first
        for start in range(0, len(positions), _TABLES):
            self._clear_tables(root, tables, positions[start : start + _TABLES], begin, end)

    def _clear_tables(
        self, root: int, tables: Values, positions: Values, begin: int, end: int
    ) -> None:
        numbers = tables[positions]
        pages = self._read_tables(numbers)
        places = positions[:, np.newaxis] * TABLE + np.arange(TABLE)
        inside = (places >= begin // PAGE) & (places < end // PAGE)
        is_whole = inside.all(1)
        for number, entries, cleared in zip(
            numbers[~is_whole].tolist(), pages[~is_whole], inside[~is_whole]
        ):
            self._write(self._pages + number * PAGE, np.where(cleared, 0, entries))
        for position in _runs(positions[is_whole]):
            low, high = position
            self._driver.fill(root + low * ENTRY, 0, (high - low) * ENTRY)
        self._free(np.concatenate([pages[inside & (pages != 0)], numbers[is_whole]]))

    @property
    def _pages(self) -> int:
        assert self._memory is not None
        return self._memory.pages

    def _read_tables(self, numbers: Values) -> Values:
        """The entries of tables, a row for each."""
        count = len(numbers)
        with self._transfers.pool.lent(count * PAGE) as address:
            packed = contiguous(address, (count, TABLE), ENTRY)
            self._move(Operation.GATHER, packed, PAGE, numbers)
            return self._transfers.read(packed, np.dtype(np.int32))

    def _free(self, numbers: Values) -> None:
        """Set pages to 0, and offer them."""
        assert self._memory is not None
        if not len(numbers):
            return
        with self._transfers.pool.lent(8) as address:
            self._driver.fill(address, 0, 8)
            self._move(Operation.SCATTER, contiguous(address, (1,), 8), 0, numbers)
        self._memory.offer(numbers.astype(np.int32))

    def _move(self, operation: Operation, packed: Strided, step: int, numbers: Values) -> None:
        """Copy whole pages to packed ones, so many bytes apart, or the other way."""
        inner = 8 if step else 0
        joint = Loops(8, (len(numbers), _WORDS), ((step, inner), (0, 8), (8, 0)))
        starts = numbers.astype(np.int64) * _WORDS
        with self._transfers.pool.lent(starts.nbytes) as address:
            words = contiguous(address, starts.shape, 8)
            self._transfers.write(words, starts)
            self._transfers.launch(
                operation, joint, [packed, contiguous(self._pages, (1,), 8), words]
            )
            self._transfers.changes += 1

    def _write(self, address: int, values: Values) -> None:
        source = np.ascontiguousarray(values, np.int32)
        self._driver.write(address, source.ctypes.data, source.nbytes)


def _round_up(value: int, to: int) -> int:
    return -(-value // to) * to


def _root_bytes(size: int) -> int:
    """Return how long the root of a tree of so many bytes is."""
    return _round_up(size, REACH) // REACH * ENTRY


def _runs(positions: Values) -> list[tuple[int, int]]:
    """Runs of numbers that rise, each as its first one and the one behind its last."""
    if not len(positions):
        return []
    ends = np.flatnonzero(np.diff(positions) > 1)
    starts = np.concatenate([positions[:1], positions[ends + 1]])
    stops = np.concatenate([positions[ends], positions[-1:]]) + 1
    return list(zip(starts.tolist(), stops.tolist()))

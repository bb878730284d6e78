"""Write large arrays past the caches: through a buffer of a few elements.

    for i = low to high: a[i] = f(i)
    ->
    for block = (low rounded down) to high by 1024:
      for i = max(block, low) to min(block + 1024, high): buffer[i - block] = f(i)
      copy the buffer to a[block...] by stores that are not temporal

A store to memory that is in no cache reads a line before it writes it, which doubles the traffic;
a store that is not temporal writes whole lines, and leaves the caches alone. What is written here
is larger than most caches, so nobody would have found it there.

Sums that begin at 0 on some launches (`select(begins, 0, load)`) get two loops, one for each case;
only the one that reads nothing has buffers. Assumes memory of memrefs, and loops
`field.any_order`: an iteration does not read what another writes.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.memory.large_arrays import bytes_of_memref
from mlirad.ir.ops import Memref
from mlirad.ir.walk import functions, operations

LEAST = 1 << 25  # bytes: more than the caches of most processors hold for one core
_ALIGNMENT = 64  # bytes: a cache line


def insert_write_buffers(
    root: ir.Operation,
    *,
    width: Annotated[int, Range(16, _ALIGNMENT)] = 16,
    least: Annotated[int, Range(1, 1 << 60)] = LEAST,
) -> None:
    """Let loops write arrays past the caches of which they write at least so many bytes.

    `width`: the bytes of a vector, rounded down to a power of two.
    """
    for function in functions(root):
        stores = [op for op in operations(function) if op.name == Memref.STORE]
        if any(bytes_of_memref(store.operands[1].type) >= least for store in stores):
            # only here, for few kernels have such arrays
            from mlirad.passes.cpu.insert_write_buffers.buffered_loop import insert_buffers

            insert_buffers(function, 1 << (width.bit_length() - 1), least)

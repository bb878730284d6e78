"""Parallel loops to GPU launches, one thread an iteration.

The blocks of a box of several axes are boxes too (`block_shape.py`), so that no thread divides to
find its place: threads that are neighbors in a warp are neighbors along the last axis. Where the
extents are known at the launch only, the host chooses how wide a block is, and its threads stride
over rows that the grid has no blocks for. Boxes that no such block fits are counted through.

Assumes `split-serial-code`. The launches of a function `f` are to be outlined
(`gpu-kernel-outlining`) as `f_0`, `f_1`, ... in the order of its loops, with their names behind it
(`f_0_fill`), into the `gpu.module` named `f_kernels`.
"""

import re
from math import prod
from typing import Annotated

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.gpu.blocks import WHOLE_BLOCKS
from mlirad.ir.limits import Range
from mlirad.ir.ops import Gpu
from mlirad.ir.reports.location import source_location
from mlirad.ir.reports.loop_names import symbol_suffix
from mlirad.ir.requirements import KERNELS, is_private, symbol_of
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import before, block_operations, constant_integer, entry_of, functions
from mlirad.passes.gpu.lower_parallel_to_gpu.block_shape import MOST_BLOCKS_IN_ROW, block_shape
from mlirad.passes.gpu.lower_parallel_to_gpu.grid import (
    Launch,
    Trips,
    count_through,
    cut_into_blocks,
    stride_over_rows,
)

MAX_BLOCK = 1024

REQUIRES = KERNELS


def lower_parallel_to_gpu(
    module: ir.Operation, *, block_dim: Annotated[int, Range(1, MAX_BLOCK)] = 128
) -> None:
    """Turn the outermost parallel loops of every public function into GPU launches."""
    for function in functions(module):
        if is_private(function):
            continue
        loops = [op for op in block_operations(entry_of(function)) if is_parallel(op)]
        name = re.sub(r"\W", "_", symbol_of(function), flags=re.ASCII)
        if loops:
            _add_holder(module, f"{name}_kernels", function.location)
        for number, loop in enumerate(loops):
            with before(loop):
                symbol = f"{name}_{number}{symbol_suffix(loop, '_')}"
                _lower(loop, Launch(f"{name}_kernels", symbol), block_dim)
            loop.erase()


def _add_holder(module: ir.Operation, name: str, location: ir.Location) -> None:
    """Add the `gpu.module` that outlined kernels go to."""
    module.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with ir.InsertionPoint(module.regions[0].blocks[0]), location:
        attributes = {"sym_name": ir.StringAttr.get(name)}
        b.block(ir.Operation.create(Gpu.MODULE, [], [], attributes, regions=1), 0)


def _lower(loop: ir.Operation, launch: Launch, default: int) -> None:
    extents = [bounds.trips() for bounds in bounds_of(loop)]
    if 0 in map(constant_integer, extents):
        return
    threads = _block_size(loop, default * (1 if len(extents) == 1 else 2))
    trips = _grid(launch, extents, threads, fills=WHOLE_BLOCKS in loop.attributes)
    _move_body(loop, trips.numbers, trips.end)


def _grid(launch: Launch, extents: list[ir.Value], threads: int, *, fills: bool) -> Trips:
    if len(extents) == 1:
        return count_through(launch, extents, threads, fills=fills)
    sizes = [size for size in map(constant_integer, extents) if size is not None]
    if len(sizes) == len(extents):
        shape = block_shape(sizes, threads)
        if shape is not None:
            return cut_into_blocks(launch, extents, shape)
        if prod(sizes) <= threads * MOST_BLOCKS_IN_ROW:
            return count_through(launch, extents, threads)
    return stride_over_rows(launch, extents, threads)


def _move_body(loop: ir.Operation, numbers: list[ir.Value], end: ir.Operation) -> None:
    """Put what the loop does in front of an op, for the iteration of these numbers along each
    axis."""
    with before(end), loop.location:
        indices = [bounds.value(trip) for bounds, trip in zip(bounds_of(loop), numbers)]
    for op in block_operations(loop.regions[0].blocks[0])[:-1]:
        op.move_before(end)
    for old, new in zip(loop.regions[0].blocks[0].arguments, indices):
        old.replace_all_uses_with(new)


def _block_size(loop: ir.Operation, default: int) -> int:
    if "block_dim" not in loop.attributes:
        return min(default, MAX_BLOCK)
    size = ir.IntegerAttr(loop.attributes["block_dim"]).value
    if not 1 <= size <= MAX_BLOCK:
        raise TaichiCompilationError(
            f"block_dim is 1 to {MAX_BLOCK} threads, not {size}", source_location(loop.location)
        )
    return size

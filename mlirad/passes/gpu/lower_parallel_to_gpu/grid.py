"""Launches of a grid of blocks, and which iteration of a box each of their threads makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import box_digits, product
from mlirad.ir.gpu.blocks import WARP
from mlirad.ir.ops import Gpu
from mlirad.ir.structured import For
from mlirad.ir.walk import at_end, block_operations, constant_integer
from mlirad.passes.gpu.lower_parallel_to_gpu.block_shape import MOST_BLOCKS, Shape


class Launch(NamedTuple):
    """The names of a kernel that is to be outlined."""

    module: str
    function: str


class Trips(NamedTuple):
    """The number of a thread's trip along each axis of a box, and the op in front of which they are
    known."""

    numbers: list[ir.Value]
    end: ir.Operation


def count_through(
    launch: Launch, extents: Sequence[ir.Value], threads: int, *, fills: bool = False
) -> Trips:
    """Blocks of one axis that count through a box in row-major order; whether it `fills` them may
    be known."""
    total = product(extents)
    trips = constant_integer(total)
    threads = 1 if trips == 1 else threads
    if trips is not None:
        blocks = b.index(-(-trips // threads))
    else:
        blocks = _at_least_one(b.ceildivsi(total, b.index(threads)))
    unit = b.index(1)
    body = _open_grid(launch, [blocks, unit, unit], [b.index(threads), unit, unit])
    with at_end(body, ir.Location.current):
        number = _place(body, 0, 0, threads)
        fills = fills or (trips is not None and trips % threads == 0)
        end = _guard([] if fills else [_is_below(number, total)])
    with ir.InsertionPoint(end):
        return Trips(box_digits(number, extents), end)


def cut_into_blocks(launch: Launch, extents: Sequence[ir.Value], shape: Shape) -> Trips:
    """Blocks that are boxes, of a box whose extents are known; what is in front of its last two
    axes is counted through by the third axis of the grid."""
    outer = product(extents[:-2])
    sizes = extents[-1], extents[-2], outer
    body = _open_grid(launch, list(map(b.index, shape.blocks)), list(map(b.index, shape.threads)))
    grid_axes = (1, 0, 2) if shape.is_turned else (0, 1, 2)
    with at_end(body, ir.Location.current):
        places, inside = [], []
        for axis, (size, threads) in enumerate(zip(sizes, shape.threads)):
            place = _place(body, grid_axes[axis], axis, threads)
            extent = constant_integer(size)
            assert extent is not None
            if extent == 1:
                place = b.index(0)
            if extent % threads:
                inside.append(_is_below(place, size))
            places.append(place)
        end = _guard(inside)
    with ir.InsertionPoint(end):
        return Trips([*box_digits(places[2], extents[:-2]), places[1], places[0]], end)


def stride_over_rows(launch: Launch, extents: Sequence[ir.Value], threads: int) -> Trips:
    """Blocks of a box whose extents are known at the launch: as wide as its rows, up to a warp. A
    grid has a limited number of rows: the threads stride over those beyond."""
    outer, rows, columns = product(extents[:-2]), extents[-2], extents[-1]
    row = _row_of_threads(columns, threads)
    counts = [b.ceildivsi(columns, row.width), b.ceildivsi(rows, row.height), outer]
    blocks = [_at_least_one(counts[0]), *map(_clamp_blocks, counts[1:])]
    body = _open_grid(launch, blocks, [b.index(threads), b.index(1), b.index(1)])
    block_ids, grid = list(body.arguments)[0:3], list(body.arguments)[6:9]
    with at_end(body, ir.Location.current):
        across, down = row.place(body.arguments[3])
        column = b.add(b.mul(block_ids[0], row.width), across)
        first = b.add(b.mul(block_ids[1], row.height), down)
        step = b.mul(grid[1], row.height)
        end = _guard([_is_below(column, columns)])
    planes = _nest(end, block_ids[2], outer, grid[2])
    lines = _nest(block_operations(planes.body)[-1], first, rows, step)
    end = block_operations(lines.body)[-1]
    with ir.InsertionPoint(end):
        return Trips([*box_digits(planes.induction, extents[:-2]), lines.induction, column], end)


class _Row(NamedTuple):
    """The threads of a block as rows of a power of two, or as one row of all of them."""

    width: ir.Value
    height: ir.Value
    shift: ir.Value | None

    def place(self, thread: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return where in its row a thread is, and in which row."""
        if self.shift is None:
            return thread, b.index(0)
        mask = b.sub(self.width, b.index(1))
        return b.andi(thread, mask), b.shrui(thread, self.shift)


def _row_of_threads(columns: ir.Value, threads: int) -> _Row:
    """Rows of a warp, or of the least power of two that holds all columns."""
    if threads % WARP:
        return _Row(b.index(threads), b.index(1), None)
    shift = b.index(WARP.bit_length() - 1)
    for bits in reversed(range(WARP.bit_length() - 1)):
        fits = b.compare(b.SLE, columns, b.index(1 << bits))
        shift = b.select(fits, b.index(bits), shift)
    return _Row(b.shli(b.index(1), shift), b.shrui(b.index(threads), shift), shift)


def _nest(end: ir.Operation, first: ir.Value, last: ir.Value, step: ir.Value) -> For:
    """A loop in front of an op, empty."""
    with ir.InsertionPoint(end):
        loop = b.for_loop(first, last, step)
    with at_end(loop.body, ir.Location.current):
        b.yield_()
    return loop


# The grid, made at the insertion point.


def _open_grid(launch: Launch, blocks: Sequence[ir.Value], threads: Sequence[ir.Value]) -> ir.Block:
    op = ir.Operation.create(
        Gpu.LAUNCH,
        [],
        [*blocks, *threads],
        {
            "module": ir.FlatSymbolRefAttr.get(launch.module),
            "function": ir.FlatSymbolRefAttr.get(launch.function),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
        },
        regions=1,
    )
    return b.block(op, 0, [b.index_type()] * 12)


def _guard(conditions: Sequence[ir.Value]) -> ir.Operation:
    """End a kernel, and give the op in front of which stands what runs where all conditions
    hold."""
    if not conditions:
        return b.effect(Gpu.TERMINATOR, [])
    inside = b.if_else(b.all_of(conditions), [], with_else=False)
    b.effect(Gpu.TERMINATOR, [])
    with at_end(inside.then, ir.Location.current):
        b.yield_()
    return block_operations(inside.then)[-1]


def _place(body: ir.Block, block_axis: int, thread_axis: int, threads: int) -> ir.Value:
    """The number of a thread along an axis of the box."""
    block_id, thread_id = body.arguments[block_axis], body.arguments[3 + thread_axis]
    return b.add(b.mul(block_id, b.index(threads)), thread_id)


def _is_below(place: ir.Value, extent: ir.Value) -> ir.Value:
    return b.compare(b.ULT, place, extent)


def _at_least_one(blocks: ir.Value) -> ir.Value:
    """A launch of no blocks is an error."""
    return b.maxsi(blocks, b.index(1))


def _clamp_blocks(blocks: ir.Value) -> ir.Value:
    return b.minsi(_at_least_one(blocks), b.index(MOST_BLOCKS))

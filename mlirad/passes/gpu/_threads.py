"""The body of a kernel in loops over the blocks of its grid and the threads of a block."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import at_end, before, block_operations, entry_of, operations
from mlirad.passes.gpu._device_functions import SIZES
from mlirad.passes.gpu._thread_order import ThreadOrder


def run_blocks(function: ir.Operation, order: ThreadOrder) -> None:
    """Have a kernel run by one thread of a CPU."""
    entry = entry_of(function)
    body, end = block_operations(entry)[:-1], block_operations(entry)[-1]
    sizes = list(entry.arguments)[:SIZES]
    with before(end):
        block_ids, inside = _loop(sizes[:3], order)
    with before(inside):
        thread_ids, inside = _loop(sizes[3:], order)
    for op in body:
        op.move_before(inside)
    places: dict[str, Sequence[ir.Value]] = {
        "gpu.grid_dim": sizes[:3],
        "gpu.block_dim": sizes[3:],
        "gpu.block_id": block_ids,
        "gpu.thread_id": thread_ids,
    }
    for op in list(operations(function)):
        if op.name in places:
            op.results[0].replace_all_uses_with(places[op.name][_axis(op)])
            op.erase()
        elif op.name == "memref.alloca":
            _hoist(op, block_operations(entry)[0])


def _loop(extents: Sequence[ir.Value], order: ThreadOrder) -> tuple[list[ir.Value], ir.Operation]:
    """A loop over a box at the insertion point: the indices, and what ends its body."""
    x, y, z = extents
    count = b.mul(b.mul(x, y), z)
    loop = b.for_loop(b.index(0), count, b.index(1))
    with at_end(loop.body, ir.Location.current):
        number = order.at(loop.induction, count)
        rows = b.div(number, x)
        indices = [b.sub(number, b.mul(rows, x)), b.make("arith.remui", y.type, [rows, y])]
        indices.append(b.div(rows, y))
        b.yield_()
    return indices, block_operations(loop.body)[-1]


def _axis(op: ir.Operation) -> int:
    """0, 1, 2 for x, y, z."""
    return "xyz".index(str(op.attributes["dimension"]).rpartition(" ")[2].rstrip(">"))


def _hoist(op: ir.Operation, first: ir.Operation) -> None:
    """Allocate a thread's memory once: on a CPU the threads use it one after another."""
    if len(op.operands):
        refuse(op, "memory of a thread whose size is known only when it runs")
    op.move_before(first)

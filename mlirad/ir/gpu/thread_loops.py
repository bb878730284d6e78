"""Loops over the blocks of a grid and the threads of a block."""

from collections.abc import Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.thread_order import ThreadOrder
from mlirad.ir.walk import at_end, before, block_operations


class BoxLoop(msgspec.Struct, frozen=True):
    """A loop over a box: the indices of an iteration, the number of the point, and the operation
    in front of which its body ends."""

    op: ir.Operation
    indices: Sequence[ir.Value]
    number: ir.Value
    end: ir.Operation


class Box:
    """Blocks of a grid, or threads of a block, along x, y, z: x runs fastest."""

    def __init__(self, extents: Sequence[ir.Value], order: ThreadOrder) -> None:
        """Computes how many there are, at the insertion point."""
        self.extents, self.order = extents, order
        x, y, z = extents
        self.count = b.mul(b.mul(x, y), z)

    def loop(self, end: ir.Operation) -> BoxLoop:
        """A loop over the box in front of an operation, with nothing in it yet."""
        x, y, _ = self.extents
        with before(end):
            op, body = (loop := b.for_loop(b.index(0), self.count, b.index(1))).op, loop.body
        with at_end(body, end.location):
            number = self.order.at(loop.induction, self.count)
            rows = b.div(number, x)
            along_x = b.sub(number, b.mul(rows, x))
            along_y = b.rem(rows, y)
            indices = [along_x, along_y, b.div(rows, y)]
            b.yield_()
        return BoxLoop(op, indices, number, block_operations(body)[-1])


def axis_of(op: ir.Operation) -> int:
    """The axis of a `gpu.thread_id` and its kin: 0, 1, 2 for x, y, z."""
    return "xyz".index(str(op.attributes["dimension"]).rpartition(" ")[2].rstrip(">"))

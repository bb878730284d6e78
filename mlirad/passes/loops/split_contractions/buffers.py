"""Buffers that hold a value for every point of a block of a nest."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from mlirad.analysis.contractions.elements import Element
from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.structured import For
from mlirad.ir.walk import before, behind, owner_operation

_BLOCK = 1 << 17  # bytes of a buffer, where one iteration of the outermost loop does not need more
_LARGEST = 1 << 22  # bytes of a buffer for one iteration
_ROWS = 32  # iterations of the outermost loop for which there is a buffer of a size not known
_UNKNOWN = ir.ShapedType.get_dynamic_size()
_LINE = 64  # bytes of a cache line


class Buffer(NamedTuple):
    """Memory of a value: a block of the iterations of the outermost of some loops, and all of the
    others."""

    memref: ir.Value
    loops: tuple[ir.Operation, ...]
    block: int

    @property
    def element(self) -> Element:
        """Return the place of the value of an iteration, counted from the present start of the
        loops."""
        forms = tuple(
            linear_form(For(loop).induction).plus(linear_form(loop.operands[0]), -1)
            for loop in self.loops
        )
        return Element(self.memref, forms)


class Buffers:
    """The buffers of one nest, for what its pass may keep."""

    def __init__(self, root: ir.Operation) -> None:
        self.root = root
        self.made: dict[ir.Value, Buffer | None] = {}

    def buffer_of(self, value: ir.Value, loops: tuple[ir.Operation, ...]) -> Buffer | None:
        """The buffer of a value; None where its size is not known, or large."""
        if value not in self.made:
            self.made[value] = self._make(value.type, loops)
        return self.made[value]

    def _make(self, type_: ir.Type, loops: tuple[ir.Operation, ...]) -> Buffer | None:
        if str(type_) not in ("f32", "f64") or not loops:
            return None
        first, *inner_extents = [spans(loop)[0].trips for loop in loops]
        size = prod(extent for extent in inner_extents if extent is not None)
        size *= ir.FloatType(type_).width // 8
        if not 0 < size <= _LARGEST:
            return None
        block = max(1, _BLOCK // size) if None not in inner_extents else _ROWS
        block = block // 8 * 8 if block > 8 else block
        if first is not None:
            block = max(1, min(block, first))
        with before(self.root):
            sizes = [_UNKNOWN if extent is None else extent for extent in inner_extents]
            unknown = [
                bounds_of(loop)[0].trips()
                for loop, extent in zip(loops[1:], inner_extents)
                if extent is None
            ]
            alignment = ir.IntegerAttr.get(b.integer_type(64), _LINE)
            type_ = ir.MemRefType.get([block, *sizes], type_)
            memref = b.alloc(type_, unknown, alignment=alignment)
        with behind(self.root):
            b.dealloc(memref)
        return Buffer(memref, loops, block)

    def keep_only(self, values: set[ir.Value]) -> None:
        """Erase the buffers of other values."""
        for value, buffer in list(self.made.items()):
            if value not in values:
                del self.made[value]
                for use in [] if buffer is None else list(buffer.memref.uses):
                    use.owner.operation.erase()
                if buffer is not None:
                    owner_operation(buffer.memref).erase()

    @property
    def block(self) -> int | None:
        """Return the number of iterations of the outermost loop for which all buffers have space;
        None if there are no buffers."""
        return min(
            (buffer.block for buffer in self.made.values() if buffer is not None), default=None
        )

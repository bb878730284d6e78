"""Offsets of the cells of lanes (`analysis/lanes/cell_places.py`).

The numbers of lanes' cells are taken out of a vector once for all accesses around them, whose
distances are constants in their addresses. An access is to an element that there is, so a sum of 32
bits says where, even if what it is made of has wrapped around.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.lanes.cell_places import BITS, Cell, Term, cell_of
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.vectors import extract
from mlirad.passes.cpu.insert_lanes.values import Values


def lane_cells(
    values: Values, flat: ir.Value, steps: Sequence[ir.Value | int], indices: Sequence[ir.Value]
) -> list[ir.Value] | None:
    """Return the offset of an access in each lane, if it is at a known distance from a cell."""
    size = ir.MemRefType(flat.type).shape[0]
    cell = cell_of(values.strides, size, steps, indices)
    return None if cell is None else cell_offsets(values, cell)


def cell_offsets(values: Values, cell: Cell) -> list[ir.Value]:
    """The offset of an element in each lane."""
    terms = [(leaf, step // cell.unit) for leaf, step in cell.terms]
    offsets = _offsets(values, terms, cell.unit)
    if not cell.distance:
        return offsets
    return [b.add(offset, b.index(cell.distance)) for offset in offsets]


def _offsets(values: Values, terms: Sequence[Term], unit: int) -> list[ir.Value]:
    """The offsets of cells of `unit` elements, lane by lane, made once in a block."""

    def numbers() -> list[ir.Value]:
        i32 = b.integer_type(BITS)
        total: ir.Value | None = None
        for leaf, step in terms:
            vector = _narrow(values, values.vector(leaf))
            product = vector if step == 1 else b.mul(vector, values.splat(step, i32))
            total = product if total is None else b.add(total, product)
        assert total is not None
        return [b.to_index(extract(total, lane)) for lane in range(values.width)]

    def offsets() -> list[ir.Value]:
        cells = values.lane_by_lane(tuple(terms), numbers)
        return cells if unit == 1 else [b.mul(cell, b.index(unit)) for cell in cells]

    return values.lane_by_lane((unit, *terms), offsets)


def _narrow(values: Values, vector: ir.Value) -> ir.Value:
    element, i32 = ir.VectorType(vector.type).element_type, b.integer_type(BITS)
    if element == i32:
        return vector
    narrow = values.vector_type(i32)
    is_index = isinstance(element, ir.IndexType)
    return b.index_cast(vector, narrow) if is_index else b.trunci(vector, narrow)

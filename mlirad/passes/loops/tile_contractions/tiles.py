"""Tiles of registers in the place of one contraction."""

from __future__ import annotations

from mlirad.analysis.contractions.contraction import Contraction, contraction
from mlirad.analysis.contractions.tile_plan import Plan, plan, size
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.reports.remarks import remark
from mlirad.ir.structured import is_for
from mlirad.ir.walk import before, block_operations
from mlirad.passes.loops.tile_contractions.columns import Columns
from mlirad.passes.loops.tile_contractions.dots import Dots

_LINE = 64  # bytes of a cache line


def make_tiles(loop: ir.Operation, width: int, least: int, *, fused: bool) -> bool:
    """Make the tiles of a contraction in front of it; False where a loop is none, or too small."""
    nest = contraction(loop)
    if nest is None or size(nest) < least:
        return False
    lanes = width // (ir.FloatType(nest.element_type).width // 8)
    plans = _plans(nest, lanes, 32 if width >= _LINE else 16)
    for chosen in plans:
        _emit(chosen, fused=fused)
    return bool(plans)


def _plans(nest: Contraction, lanes: int, registers: int) -> list[Plan]:
    """One tile for all terms, or one for each; none where some have none."""
    if len(nest.terms) > 1 or not nest.terms[0].limits:
        together = plan(nest, lanes, registers)
        if together is not None:
            return [together]
    with before(nest.loop):
        alone = [plan(nest.alone(term), lanes, registers) for term in nest.terms]
    plans = [candidate for candidate in alone if candidate is not None]
    return plans if len(plans) == len(alone) else []


def _emit(chosen: Plan, *, fused: bool) -> None:
    """Make the code of a plan in front of the nest, and say what it is."""
    loop = chosen.nest.loop
    earlier = len(_loops_before(loop))
    with before(loop):
        memory = _panel(chosen) if chosen.is_packed else None
        of_rows = _row_panel(chosen) if chosen.copies_rows else None
        if chosen.is_dots:
            Dots(chosen, fused=fused).emit()
        else:
            Columns(chosen, memory, of_rows, fused=fused).emit()
        for copies in (memory, of_rows):
            if copies is not None:
                b.dealloc(copies)
    for new_loop in _loops_before(loop)[earlier:][:1]:
        remark(new_loop, str(chosen))


def _loops_before(loop: ir.Operation) -> list[ir.Operation]:
    ops = block_operations(loop.block)
    return [op for op in ops[: ops.index(loop)] if is_for(op)]


def _panel(chosen: Plan) -> ir.Value:
    """Memory for a copy of a part of the right factor."""
    shape = [chosen.panel * len(chosen.nest.terms), chosen.columns * chosen.lanes]
    return _memory(shape, chosen)


def _row_panel(chosen: Plan) -> ir.Value:
    """Memory for a copy of a block of rows of the left factor."""
    return _memory([chosen.panel * chosen.block], chosen)


def _memory(shape: list[int], chosen: Plan) -> ir.Value:
    alignment = ir.IntegerAttr.get(b.integer_type(64), _LINE)
    return b.alloc(ir.MemRefType.get(shape, chosen.nest.element_type), alignment=alignment)

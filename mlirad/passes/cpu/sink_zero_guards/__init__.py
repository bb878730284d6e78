"""Compute derivatives without guards first, and with them only where that gives a NaN.

An adjoint of 0 passes 0 on, whatever it would be multiplied by (docs/gradients.md), which takes a
comparison and a choice for each product with what may be infinite: in second order half of all
operations. Left out, such a guard changes nothing unless it makes a NaN of 0 times infinity, and
what is made of a NaN by sums and products is one. So a stretch of code runs without its guards;
where one of its results is a NaN, they are computed again by a function that has them all.

Assumes memory of memrefs that do not alias, as `insert-lanes` does, in front of which this stands.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.limits import Range
from mlirad.ir.marks.rare import RARE
from mlirad.ir.ops import Arith
from mlirad.ir.walk import functions, is_zero, operations

_FEWEST = 4  # guards of a function, for which it may pay


def sink_zero_guards(
    module: ir.Operation,
    *,
    width: Annotated[int, Range(1, 64)] = 8,
    fast: bool = True,
    always: bool = False,
) -> None:
    """Leave out guards of zero adjoints and check the results for NaN, if this is cheaper.

    Not of loops that LLVM makes vectors of `width` numbers of, but where `always` lanes are made of
    them; `fast`: sums may be taken in another order.
    """
    for function in [
        candidate for candidate in functions(module) if RARE not in candidate.attributes
    ]:
        selects = [op for op in operations(function) if op.name == Arith.SELECT]
        if sum(is_zero(op.operands[1]) for op in selects) >= _FEWEST:
            from mlirad.passes.cpu.sink_zero_guards.stretch import sink  # few have so many

            sink(function, None if always else (fast, width))

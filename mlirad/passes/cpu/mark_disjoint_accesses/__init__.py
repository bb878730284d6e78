"""Tell LLVM which accesses to one array never meet: the components of a vector field, whatever the
index, and the steps of a field over time.

Where a loop reads one part of a vector field and writes another (`x[t + 1, i] = x[t, i] + v`),
LLVM's vectorizer guards the vector code by comparing the address ranges of all accesses. The
components of a vector lie between one another, so their ranges always overlap and the vector code
would never run. Offsets that differ modulo a number that divides all strides are never equal: each
such class becomes an alias scope. The ranges are those of a whole nest of loops, even if that
leaves out some rows, so that those of `x[t, i - 1]` and `x[t - 1, i]` seem to overlap: where the
function is given t, each slab becomes a scope.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import llvm_functions, operations


def mark_disjoint_accesses(module: ir.Operation) -> None:
    """Give accesses through one pointer alias scopes, by their offsets modulo the common divisor of
    its strides, and by their slabs."""
    marked = [function for function in llvm_functions(module) if _writes_several(function)]
    if marked:
        # only here, for many kernels add up what they load
        from mlirad.passes.cpu.mark_disjoint_accesses.scopes import FunctionScopes
        from mlirad.passes.cpu.mark_disjoint_accesses.slabs import called_again

        again = called_again(operations(module))
        for function in marked:
            FunctionScopes(function, once=symbol_of(function) not in again).mark()


def _writes_several(function: ir.Operation) -> bool:
    """Return whether a function computes several addresses, and writes."""
    names = [op.name for op in operations(function)]
    return names.count(Llvm.GETELEMENTPTR) > 1 and not {Llvm.STORE, Llvm.ATOMICRMW}.isdisjoint(
        names
    )

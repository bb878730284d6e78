"""Elementary functions to calls of libmvec, of scalars and of vectors alike.

Assumes `math` ops of f32 and f64, or of vectors of these of any fixed shape; other types, and
functions that are `missing` in the library, are left for C's. Vectors are cut, and filled up, to
the lanes that the library has. A scalar goes to all lanes, in a function that LLVM's vectorizer
has variants of: so a function gives the same bits for the same argument wherever it is called,
in vector code, in what remains of it, in the primal and in derivatives (`ir/marks/rounding.py`).
"""

from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir.elementary.vector_math import ARGUMENTS, FUNCTIONS, INSTRUCTIONS
from mlirad.ir.limits import OneOf, SomeOf
from mlirad.ir.marks.rounding import is_exact
from mlirad.ir.ops import Math
from mlirad.ir.walk import before, constant_float, operations
from mlirad.passes.cpu.lower_vector_math.library import Library
from mlirad.passes.cpu.lower_vector_math.pieces import call_in_pieces

Missing = Annotated[str, SomeOf(("none", *ARGUMENTS))]


def lower_vector_math(
    module: ir.Operation,
    *,
    instructions: Annotated[str, OneOf(INSTRUCTIONS)] = "avx2",
    missing: Missing = "none",
) -> None:
    """Replace elementary functions by calls of glibc's vector functions."""
    library = Library(module, instructions)
    library_names = {op: name for op, name in FUNCTIONS.items() if name not in missing.split("+")}
    for op in [op for op in operations(module) if op.name in library_names and _is_free(op)]:
        value = op.results[0]
        with before(op):
            if _is_known(value.type):
                new = library.call_on_scalars(library_names[op.name], list(op.operands))
            elif _is_fixed(value.type):
                new = call_in_pieces(library, library_names[op.name], list(op.operands))
            else:
                continue
        value.replace_all_uses_with(new)
        op.erase()
    library.finish()


def _is_free(op: ir.Operation) -> bool:
    """Return whether a library may compute an op. It takes five times as long as C for the power of
    one number, so what is exact is C's, everywhere; LLVM knows more of constant ones."""
    return op.name != Math.POWF or (not is_exact(op) and constant_float(op.operands[1]) is None)


def _is_known(type_: ir.Type) -> bool:
    return isinstance(type_, ir.F32Type | ir.F64Type)


def _is_fixed(type_: ir.Type) -> bool:
    return isinstance(type_, ir.VectorType) and not type_.scalable and _is_known(type_.element_type)

"""Vectors, as others' programs have them, become their elements: what knows scalars knows them.

Takes functions of one block a region whose vectors have fixed shapes, of `MOST_ELEMENTS` elements
at most. Behind it no value of a function is a vector, and no op is of the `vector` dialect: what
is not known here is an error at its line. An element that is not in memory or whose mask is off
is neither read nor written. Sums have the order of the elements. Poison becomes 0.

A private function takes and gives elements, in row-major order. A public one takes
`memref<4xf64> {field.vector_argument}` in the place of `vector<4xf64>`; a vector that it gives is
written to memory behind the other arguments, `memref<4xf64> {field.vector_result = n}`, where n is
the number that the result had; results that are not vectors stay, in their order:

    func.func @f(%x: vector<4xf64>, %a: f64) -> (f64, vector<2xi32>)

becomes

    func.func @f(%x: memref<4xf64> {field.vector_argument}, %a: f64,
                 %r: memref<2xi32> {field.vector_result = 1}) -> f64
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Scf
from mlirad.ir.split_values.rewriting import Splitting
from mlirad.ir.split_values.scalars import Rule
from mlirad.passes.functions.scalarize_vectors.elements import MOST_ELEMENTS, VECTORS, count
from mlirad.passes.functions.scalarize_vectors.elementwise import RULES as ELEMENTWISE
from mlirad.passes.functions.scalarize_vectors.elementwise import elementwise, is_elementwise
from mlirad.passes.functions.scalarize_vectors.lanes import reduce_elements
from mlirad.passes.functions.scalarize_vectors.masks import RULES as MASKS
from mlirad.passes.functions.scalarize_vectors.memory import RULES as MEMORY
from mlirad.passes.functions.scalarize_vectors.rearranging import RULES as REARRANGING
from mlirad.passes.functions.scalarize_vectors.reducing import RULES as REDUCING

RULES: dict[str, Rule] = {**ELEMENTWISE, **REARRANGING, **REDUCING, **MEMORY, **MASKS}


def scalarize_vectors(module: ir.Operation) -> None:
    """Replace vectors by their elements."""
    Splitting(
        "scalarize-vectors",
        VECTORS,
        RULES,
        _what_is_wrong,
        dialect="vector",
        other_rule=lambda op: elementwise if is_elementwise(op) else None,
        ends={Scf.REDUCE: reduce_elements},
    ).rewrite(module)


def _what_is_wrong(type_: ir.Type) -> str:
    """Return what a type should be, or nothing."""
    if not isinstance(type_, ir.VectorType):
        return "no vectors within another type" if "vector<" in str(type_) else ""
    if type_.scalable:
        return "a vector of a fixed shape"
    return f"{MOST_ELEMENTS} elements at most" if count(type_) > MOST_ELEMENTS else ""
